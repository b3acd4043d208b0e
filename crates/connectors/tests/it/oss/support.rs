//! Services of type `oss` and short words to call them.

use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use testkit::conformance::{bind_and_call, call, context, result_of};
use tool::{Connector, Context, Env, Error, Outcome};

/// A service, and the folder it may keep.
pub(crate) struct Store {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) folder: Option<TempDir>,
}

impl Store {
    /// A service with these settings.
    pub(crate) fn open(settings: Value) -> Self {
        Self::open_in(settings, &Env::default())
    }

    fn open_in(settings: Value, env: &Env) -> Self {
        Self { connector: connectors::find("oss").unwrap().open(settings, env).unwrap(), folder: None }
    }

    /// A service over a new folder of a process whose callers may name private addresses.
    pub(crate) fn with_private_sources(more: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = with(json!({ "root": folder.path().join("objects") }), more);
        let env = Env { allow_private_sources: true, ..Env::default() };
        Self { folder: Some(folder), ..Self::open_in(settings, &env) }
    }

    /// A service over a new folder, with more settings.
    pub(crate) fn in_folder(more: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Self::open(with(json!({ "root": folder.path().join("objects") }), more));
        Self { folder: Some(folder), ..store }
    }

    /// The folder in which the objects lie.
    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.folder.as_ref().unwrap().path().join("objects")
    }

    pub(crate) async fn try_call(
        &self,
        cx: &Context,
        tool: &str,
        arguments: Value,
    ) -> Result<Outcome, Error> {
        bind_and_call(&*self.connector, cx, call(tool, arguments.as_object().cloned().unwrap())).await
    }

    /// The whole MCP result of a call that succeeds.
    pub(crate) async fn result(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.try_call(&context(Duration::from_secs(60)), tool, arguments.clone()).await;
        let outcome = outcome.unwrap_or_else(|error| panic!("{tool} {arguments}: {error:?}"));
        serde_json::from_str(&result_of(outcome).unwrap()).unwrap()
    }

    /// The data of a call that succeeds.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result(tool, arguments).await["structuredContent"].take()
    }

    /// How a call fails.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value) -> Error {
        match self.try_call(&context(Duration::from_secs(60)), tool, arguments.clone()).await {
            Ok(outcome) => panic!("{tool} {arguments} must fail, not answer {outcome:?}"),
            Err(error) => error,
        }
    }

    pub(crate) async fn save(&self, key: &str, content: &str) -> Value {
        self.call("save", json!({ "key": key, "content": content })).await
    }

    pub(crate) async fn load(&self, key: &str) -> String {
        self.call("load", json!({ "key": key })).await["content"].as_str().unwrap().to_owned()
    }

    /// All keys, in the order in which they come, a page at a time.
    pub(crate) async fn keys(&self, arguments: Value) -> Vec<String> {
        let (mut keys, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = self.call("list", with(arguments.clone(), json!({ "cursor": cursor }))).await;
            let objects = page["objects"].as_array().unwrap().iter().map(|object| object["key"].clone());
            let prefixes = page["prefixes"].as_array().unwrap().iter().cloned();
            let mut found: Vec<_> =
                objects.chain(prefixes).map(|key| key.as_str().unwrap().to_owned()).collect();
            found.sort();
            keys.extend(found);
            cursor = page["cursor"].clone();
            assert_eq!(page["truncated"] == true, cursor.is_string(), "{page}");
            if cursor.is_null() {
                return keys;
            }
        }
    }
}

/// An object with the fields of another beside its own; those that are null are left out.
#[expect(clippy::needless_pass_by_value, reason = "callers write it where they need it")]
pub(crate) fn with(mut value: Value, more: Value) -> Value {
    for (name, field) in more.as_object().unwrap() {
        if !field.is_null() {
            value[name] = field.clone();
        }
    }
    value
}

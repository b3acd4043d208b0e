//! `oss://`: objects under keys, in a folder of this machine or in the object store of a cloud.

mod answer;
mod arguments;
mod client;
#[cfg(feature = "oss")]
mod cloud;
mod cursor;
#[cfg(unix)]
mod fs;
#[cfg(not(unix))]
#[path = "fs_elsewhere.rs"]
mod fs;
mod key;
mod limited;
mod run;
mod settings;
mod store;
#[cfg(test)]
mod tests;
mod tools;
mod words;

pub(crate) use settings::Settings;

use crate::shared::content::{Sources, guess};
use async_trait::async_trait;
use client::Client;
use key::Key;
use limited::Limited;
use store::SaveOptions;
use tool::objects::{Body, Objects, Part, Reading};
use tool::{Call, Connector, Context, Error, Object, Outcome, Result, Tool};

/// One store, as its service offers it.
struct Oss {
    client: Client,
    sources: Sources,
    offer: Offer,
    tools: Vec<Tool>,
}

/// What the settings let callers do.
#[derive(Debug)]
struct Offer {
    /// Before every key, and shown to nobody.
    prefix: String,
    public_base_url: Option<String>,
    is_read_only: bool,
    max_object_bytes: u64,
    max_inline_bytes: u64,
    /// The service's own name, for addresses of objects.
    service: String,
}

impl Offer {
    fn key(&self, text: &str, parameter: &str) -> Result<Key> {
        Key::of(text, parameter, &self.prefix)
    }

    /// A key as links have it, with the prefix of the time when it was made.
    fn sealed_key(&self, key: &str) -> Result<Key> {
        match key.strip_prefix(&self.prefix) {
            Some(rest) => self.key(rest, "key"),
            None => Err(Error::missing("the object is not among those of the service any more")),
        }
    }

    /// An error that names keys as callers know them.
    fn without_prefix(&self, error: Error) -> Error {
        if self.prefix.is_empty() {
            return error;
        }
        error.restated(error.message().replace(&format!("'{}", self.prefix), "'"))
    }

    /// A key as callers know it.
    fn shown<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&self.prefix).unwrap_or(key)
    }
}

#[async_trait]
impl Connector for Oss {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        Ok(self.tools.clone())
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        if !self.tools.iter().any(|tool| tool.name() == call.tool) {
            return Err(Error::not_found(format!("the service has no tool '{}'", call.tool)));
        }
        let done = self.run(cx, &call).await;
        Ok(Outcome::Done(done.map_err(|error| self.offer.without_prefix(error))?))
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        self.probe(cx).await
    }

    fn objects(&self) -> Option<&dyn Objects> {
        Some(self)
    }
}

/// What links lead to. Their holders may do what the link says, as long as the service still lets anybody.
#[async_trait]
impl Objects for Oss {
    async fn read(&self, cx: &Context, key: &str, part: Part) -> Result<Reading> {
        let key = self.offer.sealed_key(key)?;
        let read = self.client.once(cx, self.client.store.load(cx, &key, part)).await;
        let mut reading = read.map_err(|error| self.offer.without_prefix(error))?;
        reading.object.key = self.offer.shown(&reading.object.key).to_owned();
        Ok(reading)
    }

    async fn write(&self, cx: &Context, key: &str, content_type: Option<&str>, body: Body) -> Result<Object> {
        if self.offer.is_read_only {
            return Err(Error::denied("the service is read-only now; see its setting 'read_only'"));
        }
        let key = self.offer.sealed_key(key)?;
        let content_type = content_type.filter(|text| arguments::is_type(text)).map(str::to_owned);
        let content_type = content_type.or_else(|| guess(key.as_str()));
        let options = SaveOptions { content_type, ..SaveOptions::default() };
        let body = Limited::body(body, self.offer.max_object_bytes);
        let saved = self.client.once(cx, self.client.store.save(cx, &key, body, options)).await;
        let mut object = saved.map_err(|error| self.offer.without_prefix(error))?;
        object.key = self.offer.shown(&object.key).to_owned();
        Ok(object)
    }
}

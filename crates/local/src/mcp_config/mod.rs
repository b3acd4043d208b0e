//! mcp.json: the services of one person, in the dialects of all the clients that write such files.

mod check;
pub(crate) mod dialect;
mod entry;
mod expand;
pub mod file;
pub mod format;
pub mod inputs;
pub mod jsonc;
mod mask;
mod set;
mod show;
pub(crate) mod switches;
mod token;
mod watch;
pub mod words;

pub use check::{check_name, problems};
pub use mask::{masked_text, masked_url};
pub use set::{Set, check_format, set};
pub use show::{masked_entry, schema, shown};
pub use watch::{Followed, follow};

use crate::Failure;
use crate::clients;
use crate::home::home;
use entry::FileContext;
use format::Format;
use gateway::ServiceDefinition;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// What the file in the home folder is called.
pub const FILE_NAME: &str = "mcp.json";

type Fields = Map<String, Value>;

/// A file as it was read.
#[derive(Debug, Clone)]
pub struct McpConfig {
    path: PathBuf,
    root: Fields,
    place: &'static [&'static str],
    services: Fields,
    repeated: Vec<jsonc::Repeated>,
}

impl McpConfig {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is no mcp.json; a service that is wrong is no error of the file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let missing = || {
            Failure::new(format!("there is no file {}", path.display()))
                .advice("see that the path is right; `mcp-all-in-one add` and `mcp-all-in-one import` make a new file")
        };
        Self::parse(path, &file::read(path)?.ok_or_else(missing)?)
    }

    /// Reads the text of the file.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let format = Format::of(path);
        let (root, place, services) = parse(format, text).map_err(|why| {
            Failure::new(format!("{} is no mcp.json: {why}", path.display()))
                .advice("it looks like {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}")
        })?;
        let repeated = if format == Format::Json { jsonc::repeated(text) } else { Vec::new() };
        Ok(Self { path: path.to_owned(), root, place, services, repeated })
    }

    /// Reads the file. If it is the one in the home folder and missing, it is made; another path may
    /// be a slip of the pen.
    ///
    /// # Errors
    /// As [`McpConfig::read`].
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if is_at_home(path) { Self::read_or_create(path) } else { Self::read(path) }
    }

    /// Reads the file; one that is missing is made, with no services in it.
    ///
    /// # Errors
    /// As [`McpConfig::read`].
    pub fn read_or_create(path: &Path) -> Result<Self, Failure> {
        if !path.exists() {
            file::change(path, |there| Ok((there.unwrap_or("{\"mcpServers\":{}}\n").to_owned(), ())))?;
        }
        Self::read(path)
    }

    /// The services as the gateway takes them. One that cannot be used says why, by itself.
    #[must_use]
    pub fn services(&self) -> Vec<ServiceDefinition> {
        let surroundings = self.surroundings();
        self.switched().iter().map(|(name, entry, _)| surroundings.definition(name, entry)).collect()
    }

    /// The same after a change of the file: a service in which there is a mistake now stays as it was, if it was good.
    pub(super) fn services_after(&self, before: &[ServiceDefinition]) -> Vec<ServiceDefinition> {
        let surroundings = self.surroundings();
        let service = |(name, entry, _): &(&str, Value, Vec<String>)| {
            let service = surroundings.definition(name, entry);
            // What is wrong only here, as a variable that is not set, is not a mistake in the file.
            let mistakes = check::problems(&surroundings.definition_anywhere(name, entry));
            let good = before.iter().find(|old| old.id == service.id && check::problems(old).is_empty());
            match (mistakes.first(), good) {
                (Some(mistake), Some(good)) => {
                    tracing::warn!("the last good state of the service '{name}' stays: {mistake}");
                    good.clone()
                }
                _ => service,
            }
        };
        self.switched().iter().map(service).collect()
    }

    /// What a service says in the words of the connector, as it stands in the file.
    pub fn understood(&self, name: &str) -> Value {
        let entry = self.services.get(name).map(|entry| self.switched_entry(name, entry).0);
        Value::Object(entry.map(|entry| self.surroundings().understood(&entry)).unwrap_or_default())
    }

    /// The services with what the rest of the file switches off in them, and what of that cannot be said.
    fn switched(&self) -> Vec<(&str, Value, Vec<String>)> {
        let switched = self.services.iter().map(|(name, entry)| {
            let (entry, notes) = self.switched_entry(name, entry);
            (name.as_str(), entry, notes)
        });
        switched.collect()
    }

    fn switched_entry(&self, name: &str, entry: &Value) -> (Value, Vec<String>) {
        let mut entry = entry.clone();
        let fields = entry.as_object_mut();
        let notes = fields.map(|fields| switches::apply(&self.root, self.place, name, fields));
        (entry, notes.unwrap_or_default())
    }

    /// The names of the services, as they stand in the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.services.keys().map(String::as_str)
    }

    /// The whole file, as it was read.
    pub fn root(&self) -> &Fields {
        &self.root
    }

    /// The services, as they stand in the file.
    pub fn entries(&self) -> &Fields {
        &self.services
    }

    /// Where the services stand.
    pub fn place(&self) -> &'static [&'static str] {
        self.place
    }

    fn surroundings(&self) -> FileContext {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        FileContext {
            folder: folder.to_owned(),
            logins: home().map_or_else(|_| folder.join("logins"), |home| home.join("logins")),
            dialect: clients::dialect_of(&self.path, self.place),
            inputs: inputs::given(&self.path),
            workspace: workspace_of(folder),
            named: (!is_at_home(&self.path)).then(|| self.path.clone()),
        }
    }
}

/// Whether this is the file in the home folder.
pub fn is_at_home(path: &Path) -> bool {
    let whole = |path: &Path| std::path::absolute(path).ok();
    let own = home().ok().and_then(|home| whole(&home.join(FILE_NAME)));
    own.is_some() && own == whole(path)
}

/// The folder that somebody works in: around `.vscode` and the like, or where we were started.
fn workspace_of(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let is_inside = |name: &str| name.starts_with('.') && name != ".mcp-all-in-one";
    let home = std::env::home_dir();
    match (whole.file_name().and_then(|name| name.to_str()), whole.parent()) {
        (Some(name), Some(parent)) if is_inside(name) && Some(parent) != home.as_deref() => parent.to_owned(),
        _ => std::env::current_dir().unwrap_or(whole),
    }
}

type Parsed = (Fields, &'static [&'static str], Fields);

/// The file's keys, and the services in it, under one of the keys that clients use.
fn parse(format: Format, text: &str) -> Result<Parsed, String> {
    let root = format.parse(text)?;
    let Some(place) = jsonc::place_of_services(&root) else {
        return if root.is_empty() {
            Ok((root, &["mcpServers"], Map::new()))
        } else {
            Err("it has no key 'mcpServers'".into())
        };
    };
    let services = jsonc::services_at(&root, place)?;
    Ok((root, place, services))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_all_clients_write() {
        for text in [
            r#"{"mcpServers":{"a":{}}}"#,
            r#"{"servers":{"a":{}}, "inputs":[]}"#,
            r#"{"mcp":{"servers":{"a":{}}}}"#,
            r#"{"mcp":{"a":{}}}"#,
            r#"{"context_servers":{"a":{}}, "theme":"x"}"#,
            r#"{"amp.mcpServers":{"a":{}}}"#,
            r#"{"a":{"command":"x"}}"#,
            r#"{"mcpServers":[{"name":"a","command":"x"}]}"#,
            "\u{feff}{ // a comment\n \"mcpServers\": {\"a\": {},}, /* more */ }",
        ] {
            assert_eq!(parse(Format::Json, text).unwrap().2.keys().collect::<Vec<_>>(), ["a"], "{text}");
        }
        let twice = r#"{"mcpServers":[{"name":"a","command":"x"},{"name":"a","command":"y"}]}"#;
        assert_eq!(parse(Format::Json, twice).unwrap().2.keys().collect::<Vec<_>>(), ["a", "a-2"]);
        assert!(parse(Format::Json, "").unwrap().2.is_empty());
        assert!(parse(Format::Json, "{}").unwrap().2.is_empty());
    }

    #[test]
    fn says_what_is_no_such_file() {
        for (text, why) in [
            ("[]", "must be a JSON object"),
            ("{", "line 1, column 2: an object is not closed"),
            (r#"{"other":1}"#, "no key 'mcpServers'"),
            (r#"{"mcpServers":[]}"#, "must be an object"),
        ] {
            let error = parse(Format::Json, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

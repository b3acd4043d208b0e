//! mcp.json: the services of one person, in the dialects of all the clients that write such files.

mod check;
mod entry;
mod expand;
pub(crate) mod file;
pub(crate) mod jsonc;
mod mask;
mod set;
mod show;
mod token;
mod watch;

pub use check::{check_name, problems};
pub(crate) use mask::{masked_text, masked_url};
pub(crate) use set::{Set, set};
pub(crate) use show::masked_entry;
pub use show::schema;
pub use watch::{Followed, follow};

use crate::Failure;
use crate::home::home;
use gateway::ServiceDefinition;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// What the file in the home folder is called.
pub(crate) const FILE_NAME: &str = "mcp.json";

type Fields = Map<String, Value>;

/// A file as it was read.
#[derive(Debug, Clone)]
pub struct McpConfig {
    path: PathBuf,
    root: Fields,
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
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let (root, services) = parse(text).map_err(|why| {
            Failure::new(format!("{} is no mcp.json: {why}", path.display()))
                .advice("it looks like {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}")
        })?;
        Ok(Self { path: path.to_owned(), root, services, repeated: jsonc::repeated(text) })
    }

    /// Reads the file. If it is the one in the home folder and missing, it is made; another path may
    /// be a slip of the pen.
    ///
    /// # Errors
    /// As [`McpConfig::read`].
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let whole = |path: &Path| std::path::absolute(path).ok();
        let own = home().ok().and_then(|home| whole(&home.join(FILE_NAME)));
        if own.is_some() && own == whole(path) { Self::read_or_create(path) } else { Self::read(path) }
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
        let folder = self.folder();
        let logins = home().map_or_else(|_| folder.join("logins"), |home| home.join("logins"));
        let entries = self.services.iter();
        entries.map(|(name, entry)| entry::definition(name, entry, folder, &logins)).collect()
    }

    /// The names of the services, as they stand in the file.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.services.keys().map(String::as_str)
    }

    /// The services, as they stand in the file.
    pub(crate) fn entries(&self) -> &Fields {
        &self.services
    }

    /// Where the services stand.
    fn place(&self) -> &'static [&'static str] {
        jsonc::place_of_services(&self.root).unwrap_or(&["mcpServers"])
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

/// The file's keys, and the services in it, under one of the keys that clients use.
fn parse(text: &str) -> Result<(Fields, Fields), String> {
    let root = jsonc::parse(text)?;
    let Some(place) = jsonc::place_of_services(&root) else {
        return if root.is_empty() {
            Ok((root, Map::new()))
        } else {
            Err("it has no key 'mcpServers'".into())
        };
    };
    let services = jsonc::at(&root, place).and_then(Value::as_object).cloned();
    let services = services.ok_or_else(|| format!("'{}' must be an object", place.join(".")))?;
    Ok((root, services))
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
            "\u{feff}{ // a comment\n \"mcpServers\": {\"a\": {},}, /* more */ }",
        ] {
            assert_eq!(parse(text).unwrap().1.keys().collect::<Vec<_>>(), ["a"], "{text}");
        }
        assert!(parse("").unwrap().1.is_empty());
        assert!(parse("{}").unwrap().1.is_empty());
    }

    #[test]
    fn says_what_is_no_such_file() {
        for (text, why) in [
            ("[]", "must be a JSON object"),
            ("{", "line 1, column 2: an object is not closed"),
            (r#"{"other":1}"#, "no key 'mcpServers'"),
            (r#"{"mcpServers":[]}"#, "must be an object"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

//! mcp.json: the services of one person, in the dialects of all the clients that write such files.

mod entry;
mod expand;
mod show;
mod watch;

pub use show::schema;
pub use watch::follow;

use crate::Failure;
use crate::home::home;
use gateway::ServiceDefinition;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The most bytes of a file.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A file as it was read.
#[derive(Debug)]
pub struct McpConfig {
    path: PathBuf,
    services: Map<String, Value>,
}

impl McpConfig {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is no mcp.json; a service that is wrong is no error of the file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let unreadable =
            |error: std::io::Error| Failure::new(format!("{} cannot be read", path.display())).because(error);
        let size = std::fs::metadata(path).map_err(unreadable)?.len();
        if size > MAX_BYTES {
            return Err(Failure::new(format!(
                "{} has {size} bytes; {MAX_BYTES} are allowed",
                path.display()
            )));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let services = parse(&text).map_err(|why| {
            Failure::new(format!("{} is no mcp.json: {why}", path.display()))
                .advice("it looks like {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}")
        })?;
        Ok(Self { path: path.to_owned(), services })
    }

    /// Reads the file; one that is missing is made, with no services in it.
    ///
    /// # Errors
    /// As [`McpConfig::read`].
    pub fn read_or_create(path: &Path) -> Result<Self, Failure> {
        if !path.exists() {
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.and_then(|()| std::fs::write(path, "{\"mcpServers\":{}}\n"))
                .map_err(|error| Failure::new(format!("{} cannot be made", path.display())).because(error))?;
        }
        Self::read(path)
    }

    /// The services as the gateway takes them. One that cannot be used says why, by itself.
    #[must_use]
    pub fn services(&self) -> Vec<ServiceDefinition> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let logins = home().map_or_else(|_| folder.join("logins"), |home| home.join("logins"));
        let entries = self.services.iter();
        entries.map(|(name, entry)| entry::definition(name, entry, folder, &logins)).collect()
    }
}

/// The services in a text: JSON with comments, under one of the keys that clients use.
fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    json_strip_comments::strip(&mut text).map_err(|error| error.to_string())?;
    let text = if text.trim().is_empty() { "{}" } else { &text };
    let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let root = root.as_object().ok_or("it must be a JSON object")?;
    let keys = ["mcpServers", "servers", "mcp"];
    let Some((key, found)) = keys.iter().find_map(|key| Some((key, root.get(*key)?))) else {
        return if root.is_empty() { Ok(Map::new()) } else { Err("it has no key 'mcpServers'".into()) };
    };
    let found = match found.get("servers") {
        Some(inner) if *key == "mcp" => inner,
        _ => found,
    };
    found.as_object().cloned().ok_or_else(|| format!("'{key}' must be an object"))
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
            assert_eq!(parse(text).unwrap().keys().collect::<Vec<_>>(), ["a"], "{text}");
        }
        assert!(parse("").unwrap().is_empty());
        assert!(parse("{}").unwrap().is_empty());
    }

    #[test]
    fn says_what_is_no_such_file() {
        for (text, why) in [
            ("[]", "must be a JSON object"),
            ("{", "EOF"),
            (r#"{"other":1}"#, "no key 'mcpServers'"),
            (r#"{"mcpServers":[]}"#, "must be an object"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

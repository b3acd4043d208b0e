//! Other MCP clients: where each keeps its servers, on every system, and how it writes them.

mod folders;
mod source;
mod table;

pub use folders::Folders;
pub use source::{Found, Source};

use crate::mcp_config::dialect::{Dialect, OURS};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::Path;
use table::TABLE;

/// A client whose file we read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "a name says all there is to say, and the command line would print the rest")]
pub enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    #[value(name = "vscode", alias = "vs-code")]
    VsCode,
    Cline,
    Gemini,
    Windsurf,
    #[value(alias = "roo-code")]
    Roo,
    #[value(alias = "copilot-cli")]
    Copilot,
    Amp,
    Zed,
    Crush,
    Opencode,
    Codex,
    Goose,
    Continue,
}

/// What is known about a client.
#[derive(Debug)]
struct Row {
    client: Client,
    /// Its name for people.
    title: &'static str,
    /// Where it has servers; into the first we write.
    files: &'static [File],
    /// Ends of paths by which its files are known wherever they are.
    suffixes: &'static [&'static str],
    dialect: Dialect,
    /// What it writes can stand in an mcp.json as it is.
    has_our_words: bool,
    shape: Shape,
}

/// A file, or every file of a folder, and where servers stand in it.
#[derive(Debug, Clone, Copy)]
struct File {
    base: Base,
    path: &'static str,
    /// The keys that lead to them; `*` is any.
    place: &'static [&'static str],
    /// The keys that lead to names of servers that are switched off; `*` is the same.
    off: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
enum Base {
    Home,
    /// Where desktop programs keep their settings.
    Settings,
    /// Where programs of the command line keep theirs, on every system.
    Config,
    ClaudeCode,
    Codex,
    Copilot,
}

/// How a client is told to start a command.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// `command` and `args`.
    Plain,
    /// The same with a `type`.
    Typed(&'static str),
    /// The same with all `tools`.
    Tools(&'static str),
    /// A `type`, and the command as a list.
    List(&'static str),
    /// `cmd` and `args`.
    Goose,
}

impl Client {
    /// Every client, in the order in which they are asked.
    pub fn all() -> Vec<Self> {
        TABLE.iter().map(|row| row.client).collect()
    }

    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.client == self).expect("a test sees that each client has its row")
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// How it writes.
    pub fn dialect(self) -> Dialect {
        self.row().dialect
    }

    /// What it writes can stand in an mcp.json as it is.
    pub fn has_our_words(self) -> bool {
        self.row().has_our_words
    }

    /// Where it reads its servers from, for all its projects.
    pub fn source(self, folders: &Folders) -> Source {
        let mut all = self.sources(folders);
        let first = all.swap_remove(0);
        // Newer versions have one level more.
        let is_deeper = |other: &Source| {
            other.file == first.file && other.place != first.place && other.place.starts_with(first.place)
        };
        all.into_iter().find(|other| is_deeper(other) && other.is_there()).unwrap_or(first)
    }

    /// Everywhere it may have servers: older versions kept them elsewhere.
    pub fn sources(self, folders: &Folders) -> Vec<Source> {
        self.row().files.iter().flat_map(|file| folders.sources(file)).collect()
    }

    /// How it is told to start a command.
    pub fn entry(self, command: &Path, arguments: &[&str]) -> Value {
        let command = command.to_string_lossy();
        match self.row().shape {
            Shape::Plain => json!({ "command": command, "args": arguments }),
            Shape::Typed(kind) => json!({ "type": kind, "command": command, "args": arguments }),
            Shape::Tools(kind) => {
                json!({ "type": kind, "command": command, "args": arguments, "tools": ["*"] })
            }
            Shape::List(kind) => {
                let words: Vec<&str> = std::iter::once(&*command).chain(arguments.iter().copied()).collect();
                json!({ "type": kind, "command": words, "enabled": true })
            }
            Shape::Goose => {
                json!({ "enabled": true, "type": "stdio", "name": "mcp-all-in-one", "cmd": command,
                "args": arguments, "timeout": 300 })
            }
        }
    }
}

/// How a file is written, as far as its name and the place of its services tell; ours, if nothing does.
pub fn dialect_of(path: &Path, place: &[&str]) -> Dialect {
    let by_name = TABLE.iter().find(|row| row.suffixes.iter().any(|suffix| path.ends_with(suffix)));
    let is_telling =
        |file: &File| file.place == place && !matches!(place, ["mcpServers" | "servers" | "mcp", ..]);
    let by_place = || TABLE.iter().find(|row| row.files.iter().any(is_telling));
    by_name.or_else(by_place).map_or(OURS, |row| row.dialect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_its_row() {
        for client in Client::value_variants() {
            assert_eq!(TABLE.iter().filter(|row| row.client == *client).count(), 1, "{client:?}");
            let folders = Folders::on("linux", "/home/ada".into(), &|_| None);
            assert!(client.source(&folders).file.is_absolute());
        }
    }

    #[test]
    fn knows_where_each_client_keeps_its_servers_on_each_system() {
        let nothing = |_: &str| None;
        let file = |system: &str, client: Client| {
            let folders = Folders::on(system, "/home/ada".into(), &nothing);
            client.source(&folders).file.to_string_lossy().into_owned()
        };
        let desktop = Client::ClaudeDesktop;
        assert_eq!(file("linux", desktop), "/home/ada/.config/Claude/claude_desktop_config.json");
        assert_eq!(
            file("macos", desktop),
            "/home/ada/Library/Application Support/Claude/claude_desktop_config.json"
        );
        assert_eq!(file("windows", desktop), "/home/ada/AppData/Roaming/Claude/claude_desktop_config.json");
        assert_eq!(file("linux", Client::ClaudeCode), "/home/ada/.claude.json");
        assert_eq!(file("macos", Client::VsCode), "/home/ada/Library/Application Support/Code/User/mcp.json");
        assert_eq!(file("linux", Client::Gemini), "/home/ada/.gemini/settings.json");
        assert_eq!(file("macos", Client::Zed), "/home/ada/.config/zed/settings.json");
        assert_eq!(file("linux", Client::Codex), "/home/ada/.codex/config.toml");
    }

    #[test]
    fn heeds_the_variables_that_move_folders() {
        let moved = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("/x".into()),
            "CLAUDE_CONFIG_DIR" => Some("/c".into()),
            "CODEX_HOME" => Some("/d".into()),
            _ => None,
        };
        let folders = Folders::on("linux", "/home/ada".into(), &moved);
        assert_eq!(Client::VsCode.sources(&folders)[1].file, Path::new("/x/Code/User/settings.json"));
        assert_eq!(Client::ClaudeCode.source(&folders).file, Path::new("/c/.claude.json"));
        assert_eq!(Client::Codex.source(&folders).file, Path::new("/d/config.toml"));
    }

    #[test]
    fn knows_dialects_by_their_files() {
        use crate::mcp_config::dialect::Timeout;
        let timeout = |path: &str, place: &[&str]| dialect_of(Path::new(path), place).timeout;
        assert_eq!(timeout("/a/cline_mcp_settings.json", &["mcpServers"]), Timeout::CallSeconds);
        assert_eq!(timeout("/a/settings.json", &["context_servers"]), Timeout::CallSeconds);
        assert_eq!(timeout("/a/crush.json", &["mcp"]), Timeout::StartSeconds);
        for (path, place) in
            [("/a/mcp.json", "mcpServers"), ("/a/mcp.json", "servers"), ("/a/mcp.json", "mcp")]
        {
            assert_eq!(dialect_of(Path::new(path), &[place]), OURS, "{path} {place}");
        }
    }
}

//! Other MCP clients: where each keeps its servers, on every system.

use crate::Failure;
use clap::ValueEnum;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A client whose file we read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    #[value(name = "vscode", alias = "vs-code")]
    VsCode,
    Cline,
    Gemini,
}

/// A file, and the keys under which servers stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) place: &'static [&'static str],
}

impl Client {
    pub(crate) const ALL: [Self; 6] =
        [Self::ClaudeDesktop, Self::ClaudeCode, Self::Cursor, Self::VsCode, Self::Cline, Self::Gemini];

    /// Its name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Cline => "Cline",
            Self::Gemini => "Gemini",
        }
    }

    /// Where it reads its servers from, for all its projects.
    pub(crate) fn source(self, folders: &Folders) -> Source {
        const SERVERS: &[&str] = &["mcpServers"];
        let (file, place) = match self {
            Self::ClaudeDesktop => (folders.settings.join("Claude/claude_desktop_config.json"), SERVERS),
            Self::ClaudeCode => (folders.claude_code.join(".claude.json"), SERVERS),
            Self::Cursor => (folders.home.join(".cursor/mcp.json"), SERVERS),
            Self::VsCode => (folders.settings.join("Code/User/mcp.json"), &["servers"][..]),
            Self::Cline => {
                let settings =
                    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
                (folders.settings.join(settings), SERVERS)
            }
            Self::Gemini => (folders.home.join(".gemini/settings.json"), SERVERS),
        };
        Source { file, place }
    }

    /// Everywhere it may have servers: older versions kept them elsewhere.
    pub(crate) fn sources(self, folders: &Folders) -> Vec<Source> {
        let mut sources = vec![self.source(folders)];
        if self == Self::VsCode {
            let file = folders.settings.join("Code/User/settings.json");
            sources.push(Source { file, place: &["mcp", "servers"] });
        }
        sources
    }

    /// How it is told to start a command.
    pub(crate) fn entry(self, command: &Path, arguments: &[&str]) -> Value {
        let mut entry = Map::new();
        if self == Self::VsCode {
            entry.insert("type".into(), "stdio".into());
        }
        entry.insert("command".into(), json!(command.to_string_lossy()));
        entry.insert("args".into(), json!(arguments));
        Value::Object(entry)
    }
}

/// The folders of this person.
#[derive(Debug)]
pub(crate) struct Folders {
    home: PathBuf,
    /// Where desktop programs keep their settings.
    settings: PathBuf,
    claude_code: PathBuf,
}

impl Folders {
    /// Those of whoever runs this process.
    pub(crate) fn here() -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let missing = || Failure::new("there is no home folder").advice("set the variable HOME");
        Ok(Self::on(std::env::consts::OS, std::env::home_dir().ok_or_else(missing)?, &variable))
    }

    fn on(system: &str, home: PathBuf, variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let given = |name: &str| variable(name).map(PathBuf::from);
        let settings = match system {
            "macos" => home.join("Library/Application Support"),
            "windows" => given("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming")),
            _ => given("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
        };
        let claude_code = given("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone());
        Self { home, settings, claude_code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn heeds_the_variables_that_move_folders() {
        let moved = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("/x".into()),
            "CLAUDE_CONFIG_DIR" => Some("/c".into()),
            _ => None,
        };
        let folders = Folders::on("linux", "/home/ada".into(), &moved);
        assert_eq!(Client::VsCode.sources(&folders)[1].file, Path::new("/x/Code/User/settings.json"));
        assert_eq!(Client::ClaudeCode.source(&folders).file, Path::new("/c/.claude.json"));
    }
}

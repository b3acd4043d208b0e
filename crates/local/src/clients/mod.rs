//! Other MCP clients: where each keeps its servers, on every system, and how it writes them.

mod table;

use crate::Failure;
use crate::mcp_config::dialect::{Dialect, OURS};
use crate::mcp_config::file;
use crate::mcp_config::format::Format;
use crate::mcp_config::{jsonc, switches};
use clap::ValueEnum;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use table::TABLE;

/// The most files of a folder that are looked at.
const MAX_FILES: usize = 100;

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

/// A file, and the keys under which servers stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where the file is.
    pub file: PathBuf,
    /// The keys that lead to the servers, from the outside in.
    pub place: &'static [&'static str],
    off: &'static [&'static str],
}

/// A server of a client, as it stands in its file.
#[derive(Debug, Clone)]
pub struct Found {
    /// What the client calls it.
    pub name: String,
    /// Its entry, in the words of the client.
    pub entry: Value,
    /// What is switched off and cannot be said in an entry.
    pub notes: Vec<String>,
}

/// The servers in a file, and everything that is in it.
type Servers = (Vec<Found>, Map<String, Value>);

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

impl Source {
    fn is_there(&self) -> bool {
        let text = file::read(&self.file).ok().flatten();
        let root = text.and_then(|text| Format::of(&self.file).parse(&text).ok());
        root.is_some_and(|root| jsonc::at(&root, self.place).is_some())
    }

    /// The servers in the file, and everything else that is in it; nothing when there is no file.
    pub fn servers(&self) -> Result<Option<Servers>, Failure> {
        let Some(text) = file::read(&self.file)? else { return Ok(None) };
        let wrong = |why: String| Failure::new(format!("{} cannot be used: {why}", self.file.display()));
        let root = Format::of(&self.file).parse(&text).map_err(wrong)?;
        let mut found = Vec::new();
        for (place, any) in places(&root, self.place) {
            let place: Vec<&str> = place.iter().map(String::as_str).collect();
            let is_empty = jsonc::at(&root, &place).is_some_and(|value| *value == json!([]));
            // Newer versions have one level more.
            if is_empty || (place == ["mcp"] && jsonc::at(&root, &["mcp", "servers"]).is_some()) {
                continue;
            }
            let servers = jsonc::services_at(&root, &place).map_err(wrong)?;
            let off = self.off.iter().map(|key| if *key == "*" { any.as_str() } else { key });
            let off = jsonc::at(&root, &off.collect::<Vec<_>>()).and_then(Value::as_array);
            let is_off = |name: &str| off.is_some_and(|names| names.iter().any(|off| off == name));
            for (name, mut entry) in servers {
                let mut notes = Vec::new();
                if let Value::Object(fields) = &mut entry {
                    if is_off(&name) {
                        fields.insert("disabled".into(), true.into());
                    }
                    notes = switches::apply(&root, &place, &name, fields);
                    // What belongs to a project runs in its folder.
                    if !any.is_empty() && fields.contains_key("command") {
                        fields.entry("cwd").or_insert_with(|| any.as_str().into());
                    }
                }
                found.push(Found { name, entry, notes });
            }
        }
        Ok(Some((found, root)))
    }
}

/// The places that there are, and what stands for `*` in each.
fn places(root: &Map<String, Value>, place: &[&str]) -> Vec<(Vec<String>, String)> {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let Some(star) = place.iter().position(|key| *key == "*") else {
        return jsonc::at(root, place).map(|_| (owned(place), String::new())).into_iter().collect();
    };
    let around = jsonc::at(root, &place[..star]).and_then(Value::as_object);
    let keys = around.into_iter().flat_map(|around| around.keys());
    let concrete = keys.map(|any| {
        let keys: Vec<&str> = place.iter().map(|key| if *key == "*" { any.as_str() } else { key }).collect();
        (owned(&keys), any.clone())
    });
    concrete
        .filter(|(keys, _)| jsonc::at(root, &keys.iter().map(String::as_str).collect::<Vec<_>>()).is_some())
        .collect()
}

/// The folders of this person.
#[derive(Debug)]
pub struct Folders {
    home: PathBuf,
    settings: PathBuf,
    config: PathBuf,
    claude_code: PathBuf,
    codex: PathBuf,
    copilot: PathBuf,
}

impl Folders {
    /// Those of whoever runs this process.
    pub fn here() -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let missing = || Failure::new("there is no home folder").advice("set the variable HOME");
        Ok(Self::on(std::env::consts::OS, std::env::home_dir().ok_or_else(missing)?, &variable))
    }

    fn on(system: &str, home: PathBuf, variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let given = |name: &str| variable(name).map(PathBuf::from);
        let config = given("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let settings = match system {
            "macos" => home.join("Library/Application Support"),
            "windows" => given("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming")),
            _ => config.clone(),
        };
        let claude_code = given("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone());
        let codex = given("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        let copilot = given("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot"));
        Self { home, settings, config, claude_code, codex, copilot }
    }

    /// The file, or those of the folder.
    fn sources(&self, file: &File) -> Vec<Source> {
        let base = match file.base {
            Base::Home => &self.home,
            Base::Settings => &self.settings,
            Base::Config => &self.config,
            Base::ClaudeCode => &self.claude_code,
            Base::Codex => &self.codex,
            Base::Copilot => &self.copilot,
        };
        let source = |path: PathBuf| Source { file: path, place: file.place, off: file.off };
        let Some(folder) = file.path.strip_suffix('/') else { return vec![source(base.join(file.path))] };
        let entries = std::fs::read_dir(base.join(folder)).into_iter().flatten().flatten();
        let is_ours = |path: &PathBuf| {
            path.extension().is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known))
        };
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(is_ours).take(MAX_FILES).collect();
        files.sort();
        files.into_iter().map(source).collect()
    }
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

//! One service of an mcp.json: from whatever dialect it is in to the settings of the connector.

use super::dialect::Dialect;
use super::expand::{Found, INPUT, expand};
use super::words::Understood;
use gateway::{ConfigProblem, ServiceDefinition};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// What a file may be called after a service, on every system.
const IN_FILE_NAMES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');
/// A call that ends sooner was meant to be in seconds.
const SHORT_MS: u64 = 1000;

/// What an entry means depends on where it stands.
#[derive(Debug)]
pub(super) struct FileContext {
    /// The folder of the file.
    pub(super) folder: PathBuf,
    /// Where logins of people are kept.
    pub(super) logins: PathBuf,
    /// How the file is written.
    pub(super) dialect: Dialect,
    /// What people have been asked for.
    pub(super) inputs: BTreeMap<String, String>,
    /// The folder that somebody works in.
    pub(super) workspace: PathBuf,
    /// The file, if it has to be named in commands.
    pub(super) named: Option<PathBuf>,
}

/// An entry, read as far as can be told without its variables.
struct Read {
    understood: Understood,
    notes: Vec<String>,
    found: Found,
}

/// What may be wrong with an entry, in sentences.
#[derive(Default)]
pub(super) struct Doubts {
    /// Variables that are not set here.
    pub(super) unset: Vec<String>,
    /// Inputs that nobody has given a value.
    pub(super) inputs: Vec<String>,
    /// What is not what it seems to be.
    pub(super) odd: Vec<String>,
}

impl FileContext {
    /// The service as the gateway takes it; what is wrong with it is its problem alone.
    pub(super) fn definition(&self, name: &str, entry: &Value) -> ServiceDefinition {
        let mut definition = self.definition_with(name, entry, &|variable| self.value(variable));
        if let Value::Object(settings) = &mut definition.settings {
            add_login(settings, &definition.id, &self.logins);
        }
        definition
    }

    /// The same, as if no variable were unset: what is wrong then is wrong everywhere.
    pub(super) fn definition_anywhere(&self, name: &str, entry: &Value) -> ServiceDefinition {
        // A digit is good as a host, a port, a number and a text.
        self.definition_with(name, entry, &|variable| self.value(variable).or_else(|| Some("1".into())))
    }

    /// What is wrong with an entry here, one by one.
    pub(super) fn problems(&self, name: &str, entry: &Value) -> Vec<String> {
        match self.read(entry, &|variable| self.value(variable)) {
            Err(problem) => vec![problem],
            Ok(read) => self.wrong_with(name, &read),
        }
    }

    /// What may be wrong with an entry, in sentences.
    pub(super) fn doubts(&self, entry: &Value) -> Doubts {
        let Ok(read) = self.read(entry, &|variable| self.value(variable)) else {
            return Doubts::default();
        };
        let unset = read.found.unset.iter();
        let unset = unset.map(|variable| format!("the environment variable {variable} is not set here"));
        let inputs = read.found.unset_inputs.iter().map(|id| self.input_is_missing(id));
        Doubts { unset: unset.collect(), inputs: inputs.collect(), odd: self.oddities(&read) }
    }

    /// What is used otherwise than it may be meant, or not at all.
    pub(super) fn warnings(&self, entry: &Value) -> Vec<String> {
        self.read(entry, &|variable| self.value(variable))
            .map(|read| self.oddities(&read))
            .unwrap_or_default()
    }

    /// What begins as a variable and has no end.
    pub(super) fn open_variables(&self, entry: &Value) -> Vec<String> {
        let read = self.read(entry, &|variable| self.value(variable));
        read.map(|read| open_variables(&read.found)).unwrap_or_default()
    }

    /// The inputs that an entry asks for, and whether each is there.
    pub(super) fn inputs_of(&self, entry: &Value) -> Vec<(String, bool)> {
        let read = self.read(entry, &|_| None);
        let ids = read.map(|read| read.found.inputs).unwrap_or_default();
        ids.into_iter().map(|id| (id.clone(), self.inputs.contains_key(&id))).collect()
    }

    /// The entry in the words of the connector, as it stands in the file.
    pub(super) fn understood(&self, entry: &Value) -> Map<String, Value> {
        let entry = entry.as_object().cloned().unwrap_or_default();
        Understood::of(&self.dialect.in_ours(&entry).entry).settings
    }

    fn definition_with(
        &self,
        name: &str,
        entry: &Value,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> ServiceDefinition {
        let read = self.read(entry, lookup);
        let is_enabled = read.as_ref().is_ok_and(|read| read.understood.is_enabled);
        let variables =
            read.as_ref().map(|read| read.found.names.iter().cloned().collect()).unwrap_or_default();
        let reason = read.as_ref().ok().and_then(|read| read.found.missing());
        let settings = read.and_then(|read| match self.wrong_with(name, &read) {
            wrong if wrong.is_empty() => self.with_env_file(read.understood),
            wrong => Err(wrong.join("; ")),
        });
        let (settings, problem) = match settings {
            Ok(settings) => (Value::Object(settings), None),
            Err(message) => (Value::Null, Some(ConfigProblem { message, reason })),
        };
        // What cannot be read is not switched off: somebody should hear of it.
        let is_enabled = is_enabled || (problem.is_some() && !entry.is_object());
        let mut hasher = DefaultHasher::new();
        (settings.to_string(), problem.as_ref().map(|problem| &problem.message), is_enabled)
            .hash(&mut hasher);
        ServiceDefinition {
            scheme: connectors::MCP_SCHEME.into(),
            id: name.to_owned(),
            name: name.to_owned(),
            settings,
            is_enabled,
            is_trusted: true,
            variables,
            problem,
            built_in: None,
            version: hasher.finish().cast_signed(),
            made_at_ms: None,
        }
    }

    fn read(&self, entry: &Value, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Read, String> {
        let entry = entry.as_object().ok_or("it must be an object")?;
        let ours = self.dialect.in_ours(entry);
        let mut understood = Understood::of(&ours.entry);
        let mut found = Found::default();
        for value in understood.settings.values_mut() {
            expand(value, lookup, &mut found);
        }
        if let Some(file) = &mut understood.env_file {
            let mut value = Value::String(std::mem::take(file));
            expand(&mut value, lookup, &mut found);
            *file = value.as_str().unwrap_or_default().to_owned();
        }
        Ok(Read { understood, notes: ours.notes, found })
    }

    fn wrong_with(&self, name: &str, read: &Read) -> Vec<String> {
        let mut wrong: Vec<String> = super::check_name(name).err().into_iter().collect();
        wrong.extend(read.understood.problems.iter().cloned());
        wrong.extend(read.found.impossible.iter().cloned());
        let unset = read.found.unset.iter();
        wrong.extend(unset.map(|variable| format!("the environment variable {variable} is not set")));
        wrong.extend(read.found.unset_inputs.iter().map(|id| self.input_is_missing(id)));
        wrong
    }

    fn oddities(&self, read: &Read) -> Vec<String> {
        let mut odd = open_variables(&read.found);
        odd.extend(read.notes.iter().cloned());
        odd.extend(read.understood.unknown.iter().map(|key| format!("'{key}' is not known and is ignored")));
        let ms = read.understood.settings.get("timeout").and_then(Value::as_u64);
        if let Some(ms) = ms.filter(|ms| *ms < SHORT_MS) {
            odd.push(format!("'timeout' is in milliseconds: {ms} is less than a second"));
        }
        odd
    }

    fn input_is_missing(&self, id: &str) -> String {
        let path = self.named.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default();
        format!("the input '{id}' has no value yet: give it with `mcp-all-in-one config input {id}{path}`")
    }

    /// What a variable is: one of our environment, an answer of a person, or a folder.
    fn value(&self, name: &str) -> Option<String> {
        if let Some(id) = name.strip_prefix(INPUT) {
            return self.inputs.get(id).cloned();
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        std::env::var(name).ok().or_else(|| match name {
            "workspaceFolder" => Some(text(&self.workspace)),
            "workspaceFolderBasename" => self.workspace.file_name().map(|name| text(Path::new(name))),
            "userHome" => std::env::home_dir().map(|home| text(&home)),
            "cwd" => std::env::current_dir().ok().map(|folder| text(&folder)),
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            _ => None,
        })
    }

    fn with_env_file(&self, understood: Understood) -> Result<Map<String, Value>, String> {
        let mut settings = understood.settings;
        if let Some(file) = understood.env_file {
            add_env_file(&mut settings, &self.folder.join(file))?;
        }
        Ok(settings)
    }
}

fn open_variables(found: &Found) -> Vec<String> {
    let open = found.open.iter();
    open.map(|text| format!("{text} has no '}}' and is used as it stands; write ${{NAME}}")).collect()
}

/// A service at a URL may be one that a person signs in to.
fn add_login(settings: &mut Map<String, Value>, name: &str, logins: &Path) {
    let is_oauth = settings.get("auth_type").is_some_and(|auth_type| auth_type == "oauth2");
    let has_key =
        ["headers", "api_key", "auth_type", "login_file"].iter().any(|key| settings.contains_key(*key));
    if settings.contains_key("url") && (is_oauth || !has_key) && !settings.contains_key("login_file") {
        let file = logins.join(format!("{}.json", utf8_percent_encode(name, IN_FILE_NAMES)));
        settings.insert("login_file".into(), file.to_string_lossy().into());
    }
}

/// `NAME=value` lines; what the entry says itself wins.
fn add_env_file(settings: &mut Map<String, Value>, path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("envFile {} cannot be read: {error}", path.display()))?;
    let env = settings.entry("env").or_insert_with(|| Value::Object(Map::new()));
    let env = env.as_object_mut().ok_or("'env' must be an object")?;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else { continue };
        let value = value.trim();
        let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
        env.entry(name.trim()).or_insert_with(|| value.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn surroundings(folder: &Path) -> FileContext {
        FileContext {
            folder: folder.to_owned(),
            logins: "/logins".into(),
            dialect: super::super::dialect::OURS,
            inputs: BTreeMap::new(),
            workspace: "/work/shop".into(),
            named: None,
        }
    }

    fn of(entry: &Value) -> ServiceDefinition {
        surroundings(Path::new(".")).definition("svc", entry)
    }

    #[test]
    fn understands_every_dialect() {
        let gemini = of(&json!({ "httpUrl": "https://x/mcp", "headers": { "A": "b" }, "trust": true }));
        assert_eq!(
            gemini.settings,
            json!({ "headers": { "A": "b" }, "url": "https://x/mcp", "type": "http" })
        );
        let windsurf = of(&json!({ "serverUrl": "https://x/sse" }));
        assert_eq!(windsurf.settings, json!({ "url": "https://x/sse", "login_file": "/logins/svc.json" }));
        let cline = of(&json!({ "command": "a", "disabled": true, "autoApprove": [], "timeout": 60 }));
        assert_eq!(cline.settings, json!({ "command": "a", "timeout": 60 }));
        assert!(!cline.is_enabled && !of(&json!({ "enabled": false })).is_enabled);
    }

    #[test]
    fn an_unset_variable_is_the_problem_of_its_service_alone() {
        let entry = json!({ "url": "https://x", "headers": { "Authorization": "${MCP_NO_SUCH_VARIABLE}" } });
        let definition = of(&entry);
        let problem = definition.problem.unwrap().message;
        assert_eq!(problem, "the environment variable MCP_NO_SUCH_VARIABLE is not set");
        assert_eq!(definition.variables, ["MCP_NO_SUCH_VARIABLE"]);
        assert!(of(&json!({ "command": "a" })).problem.is_none());
        assert!(of(&json!(7)).problem.is_some());
    }

    #[test]
    fn a_switch_of_the_wrong_type_is_named() {
        for (entry, why) in [
            (json!({ "command": "a", "disabled": "true" }), "'disabled' must be true or false, not a string"),
            (json!({ "command": "a", "enabled": 0 }), "'enabled' must be true or false, not a number"),
        ] {
            assert_eq!(of(&entry).problem.unwrap().message, why);
        }
        let folders = of(&json!({ "command": "${workspaceFolder}/${workspaceFolderBasename}" }));
        assert_eq!(folders.settings["command"], "/work/shop/shop");
    }

    #[test]
    fn the_version_changes_with_the_entry_and_only_then() {
        let entry = json!({ "command": "a" });
        assert_eq!(of(&entry).version, of(&entry).version);
        assert_ne!(of(&entry).version, of(&json!({ "command": "b" })).version);
        assert_ne!(of(&entry).version, of(&json!({ "command": "a", "disabled": true })).version);
    }

    #[test]
    fn reads_an_env_file_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "# c\nexport A=1\nB=\"two words\"\nC=x\nbad\n").unwrap();
        let entry = json!({ "command": "a", "envFile": ".env", "env": { "C": "mine" } });
        let definition = surroundings(folder.path()).definition("svc", &entry);
        assert_eq!(definition.settings["env"], json!({ "C": "mine", "A": "1", "B": "two words" }));
    }
}

//! One service of an mcp.json: from whatever dialect it is in to the settings of the connector.

use super::expand::{Found, expand};
use gateway::ServiceDefinition;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// Keys the connector takes as they are.
const SETTINGS: [&str; 18] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "timeout",
    "includeTools",
    "excludeTools",
    "reconnectInterval",
    "maxRetries",
    "pin",
    "type",
    "expose",
    "protocolVersion",
    "api_key",
    "auth_type",
    "auth_config",
];
/// What a file may be called after a service, on every system.
const IN_FILE_NAMES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// The service as the gateway takes it; what is wrong with it is its problem alone.
pub(super) fn definition(name: &str, entry: &Value, folder: &Path, logins: &Path) -> ServiceDefinition {
    let definition = definition_in(name, entry, folder, &|variable| std::env::var(variable).ok());
    with_login(definition, logins)
}

/// The same, as if no variable were unset: what is wrong then is wrong everywhere.
pub(super) fn definition_anywhere(name: &str, entry: &Value, folder: &Path) -> ServiceDefinition {
    // A digit is good as a host, a port, a number and a text.
    definition_in(name, entry, folder, &|variable| std::env::var(variable).ok().or_else(|| Some("1".into())))
}

/// What may be wrong with the variables of an entry, in sentences: those that are not set here, and
/// those without an end, which stay as they are.
pub(super) fn doubts(entry: &Value) -> (Vec<String>, Vec<String>) {
    let mut found = Found::default();
    expand(&mut entry.clone(), &|variable| std::env::var(variable).ok(), &mut found);
    let unset = found.unset.iter();
    let unset = unset.map(|variable| format!("the environment variable {variable} is not set here"));
    let open = found.open.iter();
    let open = open.map(|text| format!("{text} has no '}}' and is used as it stands; write ${{NAME}}"));
    (unset.collect(), open.collect())
}

fn definition_in(
    name: &str,
    entry: &Value,
    folder: &Path,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> ServiceDefinition {
    let mut found = Found::default();
    let mut entry = entry.clone();
    expand(&mut entry, lookup, &mut found);
    let (settings, problem) = match settings(name, &entry, &found, folder) {
        Ok(settings) => (Value::Object(settings), None),
        Err(problem) => (Value::Null, Some(problem)),
    };
    let flag = |key: &str| entry.get(key).and_then(Value::as_bool);
    let is_enabled = !flag("disabled").unwrap_or(false) && flag("enabled").unwrap_or(true);
    let mut hasher = DefaultHasher::new();
    (settings.to_string(), &problem, is_enabled).hash(&mut hasher);
    ServiceDefinition {
        scheme: "mcp".into(),
        id: name.to_owned(),
        name: name.to_owned(),
        settings,
        is_enabled,
        is_trusted: true,
        variables: found.names.into_iter().collect(),
        problem,
        built_in: None,
        version: hasher.finish().cast_signed(),
    }
}

fn settings(name: &str, entry: &Value, found: &Found, folder: &Path) -> Result<Map<String, Value>, String> {
    super::check_name(name)?;
    let entry = entry.as_object().ok_or("it must be an object")?;
    if let Some(why) = found.impossible.first() {
        return Err(why.clone());
    }
    if let Some(variable) = found.unset.first() {
        return Err(format!("the environment variable {variable} is not set"));
    }
    let mut settings: Map<String, Value> = entry
        .iter()
        .filter(|(key, _)| SETTINGS.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    for alias in ["httpUrl", "serverUrl"] {
        if let Some(url) = entry.get(alias) {
            settings.entry("url").or_insert_with(|| url.clone());
        }
    }
    if entry.contains_key("httpUrl") {
        settings.entry("type").or_insert_with(|| "http".into());
    }
    if let Some(file) = entry.get("envFile").and_then(Value::as_str) {
        add_env_file(&mut settings, &folder.join(file))?;
    }
    Ok(settings)
}

/// The service with the file where a person's login to it is kept.
fn with_login(mut definition: ServiceDefinition, logins: &Path) -> ServiceDefinition {
    if let Value::Object(settings) = &mut definition.settings {
        add_login(settings, &definition.id, logins);
    }
    definition
}

/// A service at a URL may be one that a person signs in to.
fn add_login(settings: &mut Map<String, Value>, name: &str, logins: &Path) {
    let is_oauth = settings.get("auth_type").is_some_and(|auth_type| auth_type == "oauth2");
    let has_key = ["headers", "api_key", "auth_type"].iter().any(|key| settings.contains_key(*key));
    if settings.contains_key("url") && (is_oauth || !has_key) {
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

    fn of(entry: &Value) -> ServiceDefinition {
        definition("svc", entry, Path::new("."), Path::new("/logins"))
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
        let problem = definition.problem.unwrap();
        assert_eq!(problem, "the environment variable MCP_NO_SUCH_VARIABLE is not set");
        assert_eq!(definition.variables, ["MCP_NO_SUCH_VARIABLE"]);
        assert!(of(&json!({ "command": "a" })).problem.is_none());
        assert!(of(&json!(7)).problem.is_some());
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
        let definition = definition("svc", &entry, folder.path(), folder.path());
        assert_eq!(definition.settings["env"], json!({ "C": "mine", "A": "1", "B": "two words" }));
    }
}

//! A whole new configuration: checked, with masked secrets put back, and with the comments of the old one.

use super::check::Findings;
use super::file::{self, Saved};
use super::format::Format;
use super::jsonc::{self, Document};
use super::{Fields, McpConfig, show};
use crate::Failure;
use serde_json::Value;
use std::path::Path;

/// What came of a new configuration.
#[derive(Debug)]
pub enum Set {
    /// It is in the file.
    Done {
        /// How the file has changed.
        saved: Saved,
        /// How many services there are now.
        services: usize,
        /// What may be wrong here only.
        warnings: Vec<String>,
    },
    /// It was not taken, for these reasons.
    Refused(Vec<String>),
}

/// Puts a whole configuration into the file, if nothing is wrong with it. What is masked in it, as
/// `config show` masks it, stays as it is in the file.
pub fn set(path: &Path, given: &str) -> Result<Set, Failure> {
    let mut refused = Vec::new();
    let changed = file::change(path, |there| {
        let current = there.unwrap_or_default();
        let (text, services, findings) = prepare(path, current, given)?;
        if findings.problems.is_empty() {
            return Ok((text, (services, findings.warnings)));
        }
        refused = findings.problems;
        Err(Failure::new("the configuration is refused"))
    });
    match changed {
        _ if !refused.is_empty() => Ok(Set::Refused(refused)),
        Ok((saved, (services, warnings))) => Ok(Set::Done { saved, services, warnings }),
        Err(failure) => Err(failure),
    }
}

/// A file in another format is its client's: it can be read and taken over.
pub fn check_format(path: &Path) -> Result<(), Failure> {
    match Format::of(path).only_read() {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!("{} cannot be changed: {why}", path.display()))
            .advice("`mcp-all-in-one import` takes over what other clients have, into an mcp.json")),
    }
}

fn prepare(path: &Path, current: &str, given: &str) -> Result<(String, usize, Findings), Failure> {
    if jsonc::is_blank(given) {
        return Err(Failure::new("nothing was given, and an empty file is no configuration")
            .advice("write {\"mcpServers\": {}} if there are to be no services"));
    }
    check_format(path)?;
    let as_given = McpConfig::parse(path, given)?;
    // A file that is broken is no reason not to replace it.
    let old = McpConfig::parse(path, current).ok();
    let new = match &old {
        Some(old) => as_given.with_secrets_of(old),
        None => as_given.clone(),
    };
    let mut findings = new.findings();
    // What the file said with stars in it is what it says.
    let own = old.as_ref().map(McpConfig::masks).unwrap_or_default();
    let unknown = new.masks().into_iter().filter(|place| !own.contains(place));
    findings.problems.extend(unknown.map(|place| {
        format!("{place}: '***' stands for a secret that the file does not hold; write the secret or ${{VARIABLE}}")
    }));
    let only_old_has_comments = jsonc::is_plain(given) && !jsonc::is_plain(current);
    let text = match &old {
        Some(old) if only_old_has_comments && old.place() == new.place() => new.written_over(current, old),
        _ => new.written_over(given, &as_given),
    };
    let text = text.map_err(|why| Failure::new(format!("{} cannot be changed: {why}", path.display())))?;
    Ok((text, new.services.len(), findings))
}

impl McpConfig {
    /// The same with what is masked in it put back.
    fn with_secrets_of(&self, old: &Self) -> Self {
        let mut root = Value::Object(self.root.clone());
        show::unmask(&mut root, &Value::Object(old.root.clone()), &old.masked());
        let Value::Object(root) = root else { return self.clone() };
        let services = jsonc::services_at(&root, self.place).unwrap_or_default();
        let (path, repeated) = (self.path.clone(), self.repeated.clone());
        Self { path, place: self.place, services, root, repeated }
    }

    /// Where something is masked.
    fn masks(&self) -> Vec<String> {
        let mut places = Vec::new();
        self.services.iter().for_each(|(name, entry)| show::masks(entry, name, &mut places));
        let is_own = |key: &str| self.place.first().is_none_or(|own| *own == key);
        let rest = self.root.iter().filter(|(key, _)| !is_own(key));
        rest.for_each(|(key, value)| show::masks(value, key, &mut places));
        places
    }

    /// The text that says `before`, changed in place to say what we say: its comments stay.
    fn written_over(&self, text: &str, before: &Self) -> Result<String, String> {
        let mut document = Document::open(text, self.place())?;
        let own = self.place().first().copied().unwrap_or_default();
        for key in before.root.keys().filter(|key| !self.root.contains_key(*key)) {
            document.remove_key(key);
        }
        let is_other = |there: &Fields, key: &String, value: &Value| there.get(key) != Some(value);
        for (key, value) in
            self.root.iter().filter(|(key, value)| *key != own && is_other(&before.root, key, value))
        {
            document.set_key(key, value);
        }
        for name in before.services.keys().filter(|name| !self.services.contains_key(*name)) {
            document.remove(name);
        }
        for (name, entry) in
            self.services.iter().filter(|(name, entry)| is_other(&before.services, name, entry))
        {
            document.set(name, entry);
        }
        let text = document.text()?;
        if jsonc::services_at(&jsonc::parse(&text)?, self.place)? != self.services {
            return Err("the services would not be what was given".into());
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(current: &str, given: &str) -> (String, Findings) {
        let (text, _, findings) = prepare(Path::new("mcp.json"), current, given).unwrap();
        (text, findings)
    }

    #[test]
    fn puts_masked_secrets_back_and_asks_for_those_it_does_not_know() {
        let current = r#"{"mcpServers":{"a":{"command":"x","args":["--api-key","s3cret"],"env":{"K":"s3cret","N":"1"}},
            "b":{"url":"https://x/?key=s3cret"}}}"#;
        let shown = McpConfig::parse(Path::new("mcp.json"), current).unwrap().masked().to_string();
        assert!(!shown.contains("s3cret"), "{shown}");
        let (text, findings) = prepared(current, &shown.replace("\"x\"", "\"y\""));
        assert!(findings.problems.is_empty(), "{findings:?}");
        assert_eq!(jsonc::parse(&text).unwrap(), jsonc::parse(&current.replace("\"x\"", "\"y\"")).unwrap());
        let inputs = r#"{"mcpServers":{},"inputs":[{"id":"k","password":true,"token":"s3cret"}]}"#;
        let shown = McpConfig::parse(Path::new("mcp.json"), inputs).unwrap().masked().to_string();
        assert!(!shown.contains("s3cret") && shown.contains("true"), "{shown}");
        assert_eq!(jsonc::parse(&prepared(inputs, &shown).0).unwrap(), jsonc::parse(inputs).unwrap());
        let (_, findings) = prepared("{}", r#"{"mcpServers":{"a":{"command":"x","env":{"K":"***"}}}}"#);
        assert!(findings.problems[0].starts_with("a.env.K: '***' stands for"), "{findings:?}");
    }

    #[test]
    fn keeps_comments_that_only_the_old_file_has() {
        let current = "{ // mine\n \"mcpServers\": {\n  // first\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"y\"} } }";
        let (text, _) = prepared(current, r#"{"mcpServers":{"a":{"command":"x"},"c":{"command":"z"}}}"#);
        assert!(text.contains("// mine") && text.contains("// first") && !text.contains("\"b\""), "{text}");
        let commented = "{\"mcpServers\":{} /* all gone */}\n";
        assert_eq!(prepared(current, commented).0, commented);
    }
}

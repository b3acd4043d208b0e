//! A whole new configuration: checked, with masked secrets put back, and with the comments of the old one.

use super::check::Findings;
use super::file::{self, Saved};
use super::jsonc::{self, Document};
use super::{McpConfig, show};
use crate::Failure;
use serde_json::{Map, Value};
use std::path::Path;

/// What came of a new configuration.
#[derive(Debug)]
pub(crate) enum Set {
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
pub(crate) fn set(path: &Path, given: &str) -> Result<Set, Failure> {
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

fn prepare(path: &Path, current: &str, given: &str) -> Result<(String, usize, Findings), Failure> {
    let mut new = McpConfig::parse(path, given)?;
    // A file that is broken is no reason not to replace it.
    let old = McpConfig::parse(path, current).ok();
    let restored = new.restore_secrets(old.as_ref());
    let mut findings = new.findings();
    findings.problems.extend(new.masks().map(|place| {
        format!("{place}: '***' stands for a secret that the file does not hold; write the secret or ${{VARIABLE}}")
    }));
    let text = match &old {
        Some(old) if jsonc::is_plain(given) && !jsonc::is_plain(current) && old.place() == new.place() => {
            new.written_into(current, old)
        }
        _ => new.written_as(given, &restored),
    };
    let text = text.map_err(|why| Failure::new(format!("{} cannot be changed: {why}", path.display())))?;
    Ok((text, new.services.len(), findings))
}

impl McpConfig {
    fn place(&self) -> &'static [&'static str] {
        jsonc::place_of_services(&self.root).unwrap_or(&["mcpServers"])
    }

    /// Puts back what was masked; the names of the services in which something was.
    fn restore_secrets(&mut self, old: Option<&Self>) -> Vec<String> {
        let mut restored = Vec::new();
        let Some(old) = old else { return restored };
        for (name, entry) in &mut self.services {
            let Some(known) = old.services.get(name) else { continue };
            let before = entry.clone();
            show::unmask(entry, known, &show::masked_entry(known));
            if *entry != before {
                restored.push(name.clone());
            }
        }
        restored
    }

    /// Where something is masked.
    fn masks(&self) -> impl Iterator<Item = String> {
        self.services.iter().flat_map(|(name, entry)| {
            let mut places = Vec::new();
            show::masks(entry, name, &mut places);
            places
        })
    }

    /// The text as it was given, with the secrets that were put back.
    fn written_as(&self, given: &str, restored: &[String]) -> Result<String, String> {
        let mut document = Document::open(given, self.place())?;
        for name in restored {
            document.set(name, &self.services[name]);
        }
        document.text()
    }

    /// The old text with what has changed in its place, for the sake of its comments.
    fn written_into(&self, current: &str, old: &Self) -> Result<String, String> {
        let mut document = Document::open(current, self.place())?;
        let is_gone = |there: &Map<String, Value>, key: &str| !there.contains_key(key);
        let own = self.place().first().copied().unwrap_or_default();
        for key in old.root.keys().filter(|key| is_gone(&self.root, key)) {
            document.remove_key(key);
        }
        for (key, value) in
            self.root.iter().filter(|(key, value)| *key != own && old.root.get(*key) != Some(value))
        {
            document.set_key(key, value);
        }
        for name in old.services.keys().filter(|name| is_gone(&self.services, name)) {
            document.remove(name);
        }
        for (name, entry) in
            self.services.iter().filter(|(name, entry)| old.services.get(*name) != Some(entry))
        {
            document.set(name, entry);
        }
        document.text()
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

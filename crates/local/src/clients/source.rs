//! The servers in a client's file, as they stand there.

use crate::Failure;
use crate::mcp_config::file;
use crate::mcp_config::format::Format;
use crate::mcp_config::{jsonc, switches};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// A file, and the keys under which servers stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where the file is.
    pub file: PathBuf,
    /// The keys that lead to the servers, from the outside in.
    pub place: &'static [&'static str],
    pub(super) off: &'static [&'static str],
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

impl Source {
    /// Whether the place is in the file.
    pub(super) fn is_there(&self) -> bool {
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

//! What `connect` did to the files of clients, so that `disconnect` can undo it.

use crate::Failure;
use local::home;
use local::mcp_config::file;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most bytes of the file: it holds the texts of others.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// By the file of the client.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct All(BTreeMap<String, Connection>);

/// What we did to one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Connection {
    /// Its text before us; nothing if there was no file.
    pub(super) before: Option<String>,
    /// Its text after us. If it is another by now, somebody else has changed it.
    pub(super) after: String,
    /// The entries that were taken over, as they were.
    pub(super) taken: Map<String, Value>,
    /// Nobody else has changed the file between two changes of ours.
    pub(super) is_exact: bool,
}

impl Connection {
    /// What is remembered after one more change of ours.
    pub(super) fn then(
        earlier: Option<Self>,
        before: Option<&str>,
        after: &str,
        taken: Map<String, Value>,
    ) -> Self {
        let Some(mut connection) = earlier else {
            let (before, after) = (before.map(str::to_owned), after.to_owned());
            return Self { before, after, taken, is_exact: true };
        };
        connection.is_exact &= before == Some(connection.after.as_str());
        after.clone_into(&mut connection.after);
        connection.taken.extend(taken);
        connection
    }
}

/// What we did to this file, if anything.
pub(super) fn of(client_file: &Path) -> Result<Option<Connection>, Failure> {
    let place = place()?;
    let text = file::read_up_to(&place, MAX_BYTES)?;
    Ok(parse(&place, text.as_deref())?.0.remove(&key(client_file)))
}

/// Remembers what we did to this file; nothing forgets it.
pub(super) fn remember(client_file: &Path, connection: Option<&Connection>) -> Result<(), Failure> {
    let place = place()?;
    file::change_own(&place, MAX_BYTES, |there| {
        let mut all = parse(&place, there)?;
        match connection {
            Some(connection) => drop(all.0.insert(key(client_file), connection.clone())),
            None => drop(all.0.remove(&key(client_file))),
        }
        let text = serde_json::to_string(&all)
            .map_err(|error| Failure::new(format!("{} cannot be written", place.display())).because(error))?;
        Ok((text, ()))
    })
}

fn place() -> Result<PathBuf, Failure> {
    Ok(home()?.join("connections.json"))
}

fn parse(place: &Path, text: Option<&str>) -> Result<All, Failure> {
    let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}");
    serde_json::from_str(text).map_err(|_| {
        // Its words would show what it holds.
        Failure::new(format!("{} is damaged", place.display()))
            .advice("move it away; the backups beside the clients' files are still there")
    })
}

fn key(client_file: &Path) -> String {
    let whole = std::path::absolute(client_file).unwrap_or_else(|_| client_file.to_owned());
    whole.to_string_lossy().into_owned()
}

//! `${input:…}`: what a person is asked for once, kept in a private file of the home folder.

use super::{McpConfig, file};
use crate::Failure;
use crate::home::home;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most bytes of the file.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// By mcp.json, then by id.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Answers(BTreeMap<String, BTreeMap<String, String>>);

/// Something that a service needs and only a person knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What stands in `${input:…}`.
    pub id: String,
    /// What to ask for.
    pub text: String,
    /// What is typed is not shown.
    pub is_secret: bool,
    /// The answer of whoever types nothing.
    pub default: Option<String>,
    /// The only answers, if there are any.
    pub options: Vec<String>,
}

/// Where the answers are kept.
pub fn place() -> Result<PathBuf, Failure> {
    Ok(home()?.join("inputs.json"))
}

/// The answers for an mcp.json. What cannot be read counts as not given, and is said.
pub fn given(mcp_config: &Path) -> BTreeMap<String, String> {
    let read = || {
        let place = place()?;
        let text = file::read_up_to(&place, MAX_BYTES)?;
        Ok::<_, Failure>(parse(&place, text.as_deref())?.0.remove(&key(mcp_config)).unwrap_or_default())
    };
    read().unwrap_or_else(|error| {
        tracing::warn!(%error, "inputs are not known: {error}");
        BTreeMap::new()
    })
}

/// Keeps an answer.
pub fn keep(mcp_config: &Path, id: &str, answer: &str) -> Result<(), Failure> {
    let place = place()?;
    file::change_own(&place, MAX_BYTES, |there| {
        let mut all = parse(&place, there)?;
        all.0.entry(key(mcp_config)).or_default().insert(id.to_owned(), answer.to_owned());
        let text = serde_json::to_string_pretty(&all)
            .map_err(|error| Failure::new("inputs cannot be written").because(error))?;
        Ok((text, ()))
    })
}

fn parse(place: &Path, text: Option<&str>) -> Result<Answers, Failure> {
    serde_json::from_str(text.filter(|text| !text.trim().is_empty()).unwrap_or("{}")).map_err(|_| {
        // Its words would show what it holds.
        Failure::new(format!("{} is damaged", place.display())).advice("delete it, and give the inputs again")
    })
}

fn key(mcp_config: &Path) -> String {
    let whole = std::fs::canonicalize(mcp_config).or_else(|_| std::path::absolute(mcp_config));
    whole.unwrap_or_else(|_| mcp_config.to_owned()).to_string_lossy().into_owned()
}

/// What the file says about an input, as VS Code writes it.
pub fn defined<'a>(root: &'a Map<String, Value>, id: &str) -> Option<&'a Value> {
    let inputs = root.get("inputs").and_then(Value::as_array)?;
    inputs.iter().find(|input| input.get("id").and_then(Value::as_str) == Some(id))
}

impl McpConfig {
    /// The inputs that services ask for, and whether each has been given.
    pub fn questions(&self) -> Vec<(Question, bool)> {
        let surroundings = self.surroundings();
        let mut ids = BTreeMap::new();
        for entry in self.services.values() {
            for (id, is_given) in surroundings.inputs_of(entry) {
                ids.insert(id, is_given);
            }
        }
        ids.into_iter().map(|(id, is_given)| (self.question(&id), is_given)).collect()
    }

    fn question(&self, id: &str) -> Question {
        let defined = defined(&self.root, id);
        let text = |key: &str| defined?.get(key)?.as_str().map(str::to_owned);
        let options = defined.and_then(|input| input.get("options")?.as_array());
        let option =
            |option: &Value| option.as_str().or_else(|| option.get("value")?.as_str()).map(str::to_owned);
        let is_shown = defined.is_some_and(|input| input.get("password") != Some(&Value::Bool(true)));
        let options: Vec<String> = options.into_iter().flatten().filter_map(option).collect();
        Question {
            id: id.to_owned(),
            text: text("description").unwrap_or_else(|| format!("The input '{id}'")),
            // Whoever says nothing about it may mean a secret.
            is_secret: !is_shown,
            default: text("default"),
            options,
        }
    }
}

impl Question {
    /// The answer, if it is one.
    ///
    /// # Errors
    /// What would be one.
    pub fn check(&self, answer: &str) -> Result<String, Failure> {
        let answer = match (answer, &self.default) {
            ("", Some(default)) => default.clone(),
            ("", None) => return Err(Failure::new("nothing was given")),
            (answer, _) => answer.to_owned(),
        };
        if self.options.is_empty() || self.options.contains(&answer) {
            return Ok(answer);
        }
        Err(Failure::new(format!("the input '{}' must be one of {}", self.id, self.options.join(", "))))
    }
}

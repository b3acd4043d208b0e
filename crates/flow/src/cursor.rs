//! A value of a document on its way into a type: it knows its path, and what does not fit becomes a problem.

use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::source::{Content, Entry, Place, Spot, Tree};
use document::did_you_mean;

/// Deeper places go by the path of what they are in.
const MAX_PATH_BYTES: usize = 400;

/// A value with its path.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) path: String,
    /// Of the key, where there is one: problems with the whole value are shown there.
    pub(crate) at: Place,
}

impl<'a> Cursor<'a> {
    pub(crate) fn root(tree: &'a Tree) -> Self {
        Self { tree, path: String::new(), at: tree.spot.at }
    }

    pub(crate) fn spot(&self) -> Spot {
        self.tree.spot
    }

    /// A problem with this value.
    pub(crate) fn error(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::error(code, &self.path, self.tree.spot.at, message)
    }

    /// The field of that name, if there is one.
    pub(crate) fn field(&self, key: &str) -> Option<Self> {
        let Content::Map(entries) = &self.tree.content else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| self.child(entry))
    }

    /// The fields of an object; none of anything else.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a, '_> {
        let entries = match &self.tree.content {
            Content::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|entry| (entry.key.as_str(), self.child(entry)))
    }

    fn child(&self, entry: &'a Entry) -> Self {
        // Many long paths would take more memory than the document itself.
        let is_long = self.path.len() + entry.key.len() > MAX_PATH_BYTES;
        let path = if is_long { self.path.clone() } else { join(&self.path, &entry.key) };
        Self { tree: &entry.value, path, at: entry.at }
    }

    /// The items of a list; none of anything else.
    pub(crate) fn items(&self) -> impl Iterator<Item = Self> + use<'a, '_> {
        let items = match &self.tree.content {
            Content::List(items) => items.as_slice(),
            _ => &[],
        };
        items.iter().enumerate().map(|(index, tree)| Self {
            tree,
            path: format!("{}[{index}]", self.path),
            at: tree.spot.at,
        })
    }

    pub(crate) fn as_text(&self) -> Option<&'a str> {
        match &self.tree.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.tree.content, Content::Map(_))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.tree.content, Content::List(_))
    }

    /// The value is not what belongs here.
    pub(crate) fn mismatch(&self, wanted: &str) -> Problem {
        self.error(Code::Syntax, format!("{} belongs here, not {}", wanted, self.tree.kind()))
    }

    pub(crate) fn text(&self, problems: &mut Problems) -> Option<&'a str> {
        self.as_text().or_else(|| {
            problems.add(self.mismatch("a text"));
            None
        })
    }

    /// A whole number from 1 to `max`.
    pub(crate) fn count(&self, max: u64, problems: &mut Problems) -> Option<u64> {
        let number = match &self.tree.content {
            Content::Number(number) => number.as_u64().filter(|number| (1..=max).contains(number)),
            _ => None,
        };
        if number.is_none() {
            problems.add(self.error(Code::Syntax, format!("a whole number from 1 to {max} belongs here")));
        }
        number
    }

    pub(crate) fn bool(&self, problems: &mut Problems) -> Option<bool> {
        match self.tree.content {
            Content::Bool(value) => Some(value),
            _ => {
                problems.add(self.mismatch("true or false"));
                None
            }
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&self, words: &[(&str, T)], problems: &mut Problems) -> Option<T> {
        let text = self.text(problems)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            problems.add(self.error(Code::Unknown, format!("'{text}' is none of {}", known.join(", "))));
        }
        found
    }

    /// It is an object, and has no fields but these.
    pub(crate) fn expect_fields(&self, known: &[&str], problems: &mut Problems) -> bool {
        if !self.is_map() {
            problems.add(self.mismatch("an object"));
            return false;
        }
        for (key, field) in self.entries().filter(|(key, _)| !known.contains(key)) {
            if problems.is_full() {
                break;
            }
            let meant = did_you_mean(key, known.iter().copied());
            let advice = if meant.is_empty() { format!("; known are {}", known.join(", ")) } else { meant };
            let message = format!("there is no field '{key}' here{advice}");
            problems.add(Problem::error(Code::Unknown, &field.path, field.at, message));
        }
        true
    }
}

/// As many names as a document may declare of a kind; more are a problem, and left out.
pub(crate) fn bounded<T>(mut names: Vec<T>, cursor: &Cursor<'_>, problems: &mut Problems) -> Vec<T> {
    if names.len() > limits::NAMES {
        problems.add(cursor.error(Code::LimitExceeded, format!("there are at most {} here", limits::NAMES)));
        names.truncate(limits::NAMES);
    }
    names
}

/// The path of a field.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// What expressions take for something else than a name.
const WORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Names of nodes and locals, which expressions speak of.
pub(crate) fn is_name(name: &str) -> bool {
    is_identifier(name) && !WORDS.contains(&name)
}

/// A word of letters, digits and `_`, as names are.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= 64
}

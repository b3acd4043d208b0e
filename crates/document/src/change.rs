//! Changes: what was done to a document, small enough to be written down instead of the document.

use crate::pointer::position;
use crate::{Error, Node, Pointer, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most levels of a document: one that is written must be readable again.
pub const MAX_DEPTH: usize = 100;

/// One change of a document. All of it is done, or nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Change {
    /// The document becomes this.
    Set {
        /// The whole document.
        value: Node,
    },
    /// The list gets these items at its end.
    Append {
        /// The list.
        at: Pointer,
        /// Its new items.
        values: Vec<Node>,
    },
    /// The object's fields, or the list's items, become these. Fields are added, items must be there.
    Put {
        /// The object or the list.
        at: Pointer,
        /// Names or positions, with their values.
        entries: Vec<(String, Node)>,
    },
    /// The object loses these fields, or the list these items, all of which must be there.
    Remove {
        /// The object or the list.
        at: Pointer,
        /// Names, or positions before anything is removed.
        keys: Vec<String>,
    },
}

impl Change {
    /// Makes the change. The old document, where somebody holds it, stays as it is.
    ///
    /// # Errors
    /// Why it does not fit the document, which is then as it was.
    pub fn apply(&self, root: &mut Node) -> Result<()> {
        let mut changed = root.clone();
        match self {
            Self::Set { value } => {
                check_depth(0, std::iter::once(value))?;
                changed = value.clone();
            }
            Self::Append { at, values } => {
                check_depth(at.parts().len() + 1, values.iter())?;
                let Node::Array(array) = at.resolve_mut(&mut changed)? else { return Err(no_list(at)) };
                values.iter().for_each(|value| array.push(value.clone()));
            }
            Self::Put { at, entries } => {
                check_depth(at.parts().len() + 1, entries.iter().map(|(_, value)| value))?;
                put(at, entries, at.resolve_mut(&mut changed)?)?;
            }
            Self::Remove { at, keys } => remove(at, keys, at.resolve_mut(&mut changed)?)?,
        }
        *root = changed;
        Ok(())
    }

    /// By how many bytes the document's text grows, roughly, if the change is made to it.
    #[must_use]
    pub fn growth_bytes(&self, root: &Node) -> i64 {
        let size = |node: &Node| signed(node.size_bytes());
        let old = |at: &Pointer, key: &str| at.join(key).resolve(root).map_or(0, size);
        match self {
            Self::Set { value } => size(value) - size(root),
            Self::Append { values, .. } => values.iter().map(|value| size(value) + 1).sum(),
            Self::Put { at, entries } => {
                entries.iter().map(|(key, value)| size(value) - old(at, key) + signed(key.len()) + 4).sum()
            }
            Self::Remove { at, keys } => keys.iter().map(|key| -old(at, key)).sum(),
        }
    }
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn put(at: &Pointer, entries: &[(String, Node)], place: &mut Node) -> Result<()> {
    match place {
        Node::Object(object) => {
            entries.iter().for_each(|(name, value)| object.insert(name.as_str().into(), value.clone()));
        }
        Node::Array(array) => {
            for (part, value) in entries {
                let item = position(part).ok().and_then(|position| array.get_mut(position));
                *item.ok_or_else(|| no_item(at, part))? = value.clone();
            }
        }
        other => return Err(no_container(at, other)),
    }
    Ok(())
}

fn remove(at: &Pointer, keys: &[String], place: &mut Node) -> Result<()> {
    match place {
        Node::Object(object) => {
            for name in keys {
                if !object.contains(name) {
                    return Err(Error::Missing(format!("'{at}' has no field '{name}'")));
                }
                object.remove(name);
            }
        }
        Node::Array(array) => {
            let there = |part: &String| {
                position(part).ok().filter(|at| *at < array.len()).ok_or_else(|| no_item(at, part))
            };
            let mut positions = keys.iter().map(there).collect::<Result<Vec<_>>>()?;
            positions.sort_unstable();
            if positions.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Error::Conflict("a position can only be removed once".to_owned()));
            }
            array.remove(&positions);
        }
        other => return Err(no_container(at, other)),
    }
    Ok(())
}

fn check_depth<'a>(above: usize, values: impl Iterator<Item = &'a Node>) -> Result<()> {
    let depth = above + values.map(Node::depth).max().unwrap_or_default();
    if depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(Error::Conflict(format!("the document would be {depth} levels deep; at most {MAX_DEPTH} are kept")))
}

fn no_item(at: &Pointer, part: &str) -> Error {
    Error::Missing(format!("the list at '{at}' has no item '{part}'"))
}

fn no_list(at: &Pointer) -> Error {
    Error::Conflict(format!("'{at}' is no list, so nothing can be added to its end"))
}

fn no_container(at: &Pointer, node: &Node) -> Error {
    Error::Conflict(format!("'{at}' is a {}, neither an object nor a list", node.type_name()))
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn applied(change: &serde_json::Value) -> Result<String> {
        let root = Node::from(&json!({ "list": [0, 1, 2, 3], "object": { "a": 1, "b": 2 }, "text": "x" }));
        let mut changed = root.clone();
        // By way of text, as from a database.
        let change: Change = serde_json::from_str(&change.to_string()).unwrap();
        let read: Change = serde_json::from_str(&serde_json::to_string(&change).unwrap()).unwrap();
        assert_eq!(read, change);
        let result = change.apply(&mut changed);
        if result.is_err() {
            assert_eq!(changed, root, "a change that fails changes nothing");
        }
        assert_eq!(root.as_object().unwrap().get("list").unwrap().to_json(), "[0,1,2,3]");
        result.map(|()| changed.to_json())
    }

    #[test]
    fn changes_a_copy_and_nothing_else() {
        for (change, expected) in [
            (json!({ "op": "set", "value": [1] }), "[1]"),
            (json!({ "op": "append", "at": "/list", "values": [4, 5] }), r#""list":[0,1,2,3,4,5]"#),
            (
                json!({ "op": "put", "at": "/object", "entries": [["c", 3], ["a", 0]] }),
                r#""object":{"a":0,"b":2,"c":3}"#,
            ),
            (json!({ "op": "put", "at": "/list", "entries": [["1", "x"]] }), r#""list":[0,"x",2,3]"#),
            (json!({ "op": "remove", "at": "/list", "keys": ["0", "2"] }), r#""list":[1,3]"#),
            (json!({ "op": "remove", "at": "/object", "keys": ["a"] }), r#""object":{"b":2}"#),
            (json!({ "op": "remove", "at": "", "keys": ["list", "object"] }), r#"{"text":"x"}"#),
        ] {
            let text = applied(&change).unwrap();
            assert!(text.contains(expected), "{change}: {text}");
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let deep: serde_json::Value = serde_json::from_str(&deep).unwrap();
        for change in [
            json!({ "op": "append", "at": "/object", "values": [1] }),
            json!({ "op": "append", "at": "/nope", "values": [1] }),
            json!({ "op": "append", "at": "/list", "values": [deep] }),
            json!({ "op": "put", "at": "/list", "entries": [["0", 9], ["4", 1]] }),
            json!({ "op": "put", "at": "/list", "entries": [["-", 1]] }),
            json!({ "op": "put", "at": "/text", "entries": [["0", 1]] }),
            json!({ "op": "remove", "at": "/list", "keys": ["0", "0"] }),
            json!({ "op": "remove", "at": "/object", "keys": ["a", "z"] }),
            json!({ "op": "remove", "at": "/text", "keys": ["a"] }),
        ] {
            assert!(applied(&change).is_err(), "{change}");
        }
    }
}

//! JSON Pointer, RFC 6901: the place of a value in a document.

use crate::{Error, Node, Result};
use std::fmt;
use std::str::FromStr;

/// The longest pointer, in bytes.
const MAX_LENGTH: usize = 4096;

/// The way from the root to a value, e.g. `/orders/0/id`; the empty one is the root itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// The names and positions on the way, unescaped.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The way to something one step further.
    #[must_use]
    pub fn join(&self, part: impl Into<String>) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.into());
        Self(parts)
    }

    /// The way to what holds the value, and the value's name there; nothing holds the root.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &str)> {
        let (last, parts) = self.0.split_last()?;
        Some((Self(parts.to_vec()), last))
    }

    /// The value at this place.
    ///
    /// # Errors
    /// `Missing`, saying where the way ends.
    pub fn resolve<'a>(&self, root: &'a Node) -> Result<&'a Node> {
        let mut node = root;
        for (depth, part) in self.0.iter().enumerate() {
            node = step(node, part).map_err(|why| self.missing(depth, &why))?;
        }
        Ok(node)
    }

    pub(crate) fn resolve_mut<'a>(&self, root: &'a mut Node) -> Result<&'a mut Node> {
        let mut node = root;
        for (depth, part) in self.0.iter().enumerate() {
            // Looked at first, because a change that fails must not copy anything.
            step(node, part).map_err(|why| self.missing(depth, &why))?;
            node = match node {
                Node::Object(object) => object.get_mut(part),
                Node::Array(array) => position(part).ok().and_then(|at| array.get_mut(at)),
                Node::Null | Node::Bool(_) | Node::Number(_) | Node::Text(_) => None,
            }
            .ok_or_else(|| self.missing(depth, "is gone"))?;
        }
        Ok(node)
    }

    fn missing(&self, depth: usize, why: &str) -> Error {
        let reached = Self(self.0[..depth].to_vec());
        let place = if depth == 0 { "the root".to_owned() } else { format!("'{reached}'") };
        Error::Missing(format!("nothing is at '{self}': {place} {why}"))
    }
}

/// One step down, or why it cannot be taken.
fn step<'a>(node: &'a Node, part: &str) -> Result<&'a Node, String> {
    match node {
        Node::Object(object) => object.get(part).ok_or_else(|| format!("has no field '{}'", shortened(part))),
        Node::Array(array) => {
            let at = position(part)?;
            array.get(at).ok_or_else(|| format!("has {} items, so there is no {at}", array.len()))
        }
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::Text(_) => {
            let name = node.type_name();
            let article = if name == "null" { "" } else { "a " };
            Err(format!("is {article}{name}, which holds nothing"))
        }
    }
}

/// A position in a list: digits without a leading zero. `-`, the place behind the last item, holds nothing.
pub(crate) fn position(part: &str) -> Result<usize, String> {
    let is_canonical =
        part == "0" || (!part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit()));
    let parsed = part.parse().ok().filter(|_| is_canonical && !part.is_empty());
    parsed.ok_or_else(|| format!("is a list, and '{}' is no position in it (use 0, 1, 2 …)", shortened(part)))
}

fn shortened(part: &str) -> String {
    part.chars().take(100).collect()
}

impl FromStr for Pointer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.len() > MAX_LENGTH {
            let message =
                format!("a JSON Pointer has at most {MAX_LENGTH} bytes, this one has {}", text.len());
            return Err(Error::BadPointer(message));
        }
        let Some(rest) = text.strip_prefix('/') else {
            let message = format!(
                "a JSON Pointer is empty or begins with '/', e.g. '/orders'; '{}' does not",
                shortened(text)
            );
            return Err(Error::BadPointer(message));
        };
        rest.split('/').map(unescape).collect::<Result<_>>().map(Self)
    }
}

fn unescape(part: &str) -> Result<String> {
    let mut text = String::with_capacity(part.len());
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '~' => match characters.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => {
                    let message = format!(
                        "in a JSON Pointer '~' is written '~0' and '/' is written '~1'; see '{}'",
                        shortened(part)
                    );
                    return Err(Error::BadPointer(message));
                }
            },
            other => other,
        });
    }
    Ok(text)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "/{}", part.replace('~', "~0").replace('/', "~1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn find(pointer: &str) -> Result<String> {
        let root =
            json!({ "foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8, " ": 7, "01": [[5]], "n": null });
        pointer.parse::<Pointer>()?.resolve(&Node::from(&root)).map(Node::to_json)
    }

    #[test]
    fn follows_rfc_6901() {
        for (pointer, expected) in [
            ("/foo", r#"["bar","baz"]"#),
            ("/foo/0", "\"bar\""),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/m~0n", "8"),
            ("/ ", "7"),
            ("/01/0/0", "5"),
        ] {
            assert_eq!(find(pointer).unwrap(), expected, "{pointer}");
            assert_eq!(pointer.parse::<Pointer>().unwrap().to_string(), pointer);
        }
        assert!(find("").unwrap().starts_with("{\"foo\""));
        let order = "/~01".parse::<Pointer>().unwrap();
        assert_eq!(order.parts(), ["~1"], "~0 is read before ~1");
    }

    #[test]
    fn says_where_the_way_ends() {
        for (pointer, why) in [
            ("/nope", "nothing is at '/nope': the root has no field 'nope'"),
            ("/foo/2", "'/foo' has 2 items, so there is no 2"),
            ("/foo/01", "'01' is no position"),
            ("/foo/-", "'-' is no position"),
            ("/foo/-1", "'-1' is no position"),
            ("/foo/+1", "'+1' is no position"),
            ("/foo/", "'' is no position"),
            ("/foo/99999999999999999999999", "is no position"),
            ("/foo/0/x", "'/foo/0' is a string, which holds nothing"),
            ("/n/x", "'/n' is null, which holds nothing"),
        ] {
            let error = find(pointer).unwrap_err();
            assert!(
                matches!(error, Error::Missing(_)) && error.to_string().contains(why),
                "{pointer}: {error}"
            );
        }
        for pointer in ["foo", "#/foo", "/a~", "/a~2", "/~", &format!("/{}", "x".repeat(5000))] {
            assert!(matches!(find(pointer), Err(Error::BadPointer(_))), "{pointer}");
        }
    }
}

//! Leaves: every text below a place of a document, with its place and its hash.

use document::{Node, Pointer};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// A text of a document.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Where it stands, a JSON Pointer from the root.
    pub pointer: String,
    /// What it is known by.
    pub hash: String,
    /// The text.
    pub text: Arc<str>,
}

/// Every text below the mount that says something; none where the mount leads nowhere.
#[must_use]
pub fn below(document: &Node, mount: &Pointer) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    if let Ok(node) = mount.resolve(document) {
        let mut pointer = mount.to_string();
        collect(node, &mut pointer, &mut leaves);
    }
    leaves
}

/// What a text is known by: its SHA-256 in hexadecimal.
#[must_use]
pub fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Documents are only so deep, so this is too.
fn collect(node: &Node, pointer: &mut String, leaves: &mut Vec<Leaf>) {
    let length = pointer.len();
    match node {
        Node::Text(text) if !text.trim().is_empty() => {
            leaves.push(Leaf { pointer: pointer.clone(), hash: hash(text), text: text.clone() });
        }
        Node::Array(array) => {
            for (at, item) in array.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&at.to_string());
                collect(item, pointer, leaves);
                pointer.truncate(length);
            }
        }
        Node::Object(object) => {
            for (name, field) in object.iter() {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                collect(field, pointer, leaves);
                pointer.truncate(length);
            }
        }
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::Text(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_text_below_the_mount() {
        let text = r#"{"a/b":{"m~n":["x",{"y":"z"}," ",7,null]},"other":"o"}"#;
        let document = Node::parse(text).unwrap();
        let places = |mount: &str| -> Vec<String> {
            below(&document, &mount.parse().unwrap()).into_iter().map(|leaf| leaf.pointer).collect()
        };
        assert_eq!(places("/a~1b"), ["/a~1b/m~0n/0", "/a~1b/m~0n/1/y"]);
        assert_eq!(places("").len(), 3);
        assert_eq!(places("/other"), ["/other"], "the mount may be a text itself");
        assert!(places("/nowhere").is_empty());
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}

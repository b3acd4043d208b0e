//! `.proto` files, compiled in memory.

use super::bounds::{
    self, Count, MAX_BYTES, MAX_DEFINITIONS, MAX_FILES, MAX_NAME_BYTES, MAX_NAMES_BYTES, check, refused,
};
use super::schema::{NO_EDITIONS, Schema};
use protox_parse::ParseError;
use std::collections::BTreeMap;
use tool::{Error, Result};

/// Compiles the files; what they import is among them, or a well-known type. Each is parsed by itself: who imports whom is
/// our own affair, as imports may go round, and deeper than a stack.
///
/// # Errors
/// `InvalidInput` with what is wrong in which file.
pub(in crate::svc) fn compile(files: &BTreeMap<String, String>) -> Result<Schema> {
    check(files.len(), MAX_FILES, "files")?;
    check(files.values().map(String::len).sum(), MAX_BYTES, "bytes")?;
    let mut extent = Extent::default();
    for (name, text) in files {
        check(name.len(), MAX_NAME_BYTES, "bytes of a name")?;
        extent.add(text)?;
    }
    let mut count = Count::default();
    let mut parsed = BTreeMap::new();
    for (name, text) in files {
        let mut file = protox_parse::parse(name, text).map_err(|error| invalid(name, text, &error))?;
        count.add_parsed(&mut file)?;
        parsed.insert(name.clone(), file);
    }
    Schema::build(parsed)
}

/// What the parser does not say of a path that begins with a slash.
const IMPORT: &str = "an import names a file as schema.protos does, from their common folder: no '/' at its beginning, no '.', \
     '..', '//' or backslash, e.g. \"a/b.proto\"";

fn invalid(name: &str, text: &str, error: &ParseError) -> Error {
    let start = error.span().and_then(|span| text.get(..span.start));
    let line = start.map(|start| format!(" in line {}", start.matches('\n').count() + 1)).unwrap_or_default();
    let why = error.to_string();
    let has_edition = text.lines().any(|line| line.trim_start().starts_with("edition"));
    let remedy = if has_edition { format!("; {NO_EDITIONS}") } else { String::new() };
    let before = start.map_or("", |start| start.rsplit('\n').next().unwrap_or_default());
    // The parser says of paths what it says of groups.
    let is_import = why == "invalid group name" && before.contains("import");
    let why = if is_import { IMPORT.to_owned() } else { tool::plain(&why).into_owned() };
    refused("Invalid", format!("schema.protos: '{name}' cannot be compiled{line}: {why}{remedy}"))
}

/// How much the compiler would make of texts, at the most: what it makes of ten bytes can be a thousand, and its
/// parser goes down with each level.
#[derive(Debug, Default)]
struct Extent {
    definitions: usize,
    names_bytes: usize,
}

impl Extent {
    fn add(&mut self, text: &str) -> Result<()> {
        let mut levels: Vec<usize> = Vec::new();
        let (mut word, mut last_word, mut parentheses) = (0_usize, 0_usize, 0_usize);
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') {
                word += 1;
                check(word, MAX_NAME_BYTES, "bytes in a name")?;
                last_word = word;
                continue;
            }
            word = 0;
            match byte {
                b'{' => {
                    self.define(&levels, last_word)?;
                    levels.push(last_word);
                    check(levels.len(), bounds::MAX_DEPTH, "levels of braces")?;
                }
                b'}' => drop(levels.pop()),
                b';' => self.define(&levels, last_word)?,
                b'[' | b'(' | b'<' => {
                    parentheses += 1;
                    check(parentheses, MAX_DEFINITIONS, "brackets")?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn define(&mut self, levels: &[usize], name: usize) -> Result<()> {
        self.definitions += 1;
        check(self.definitions, MAX_DEFINITIONS, "definitions")?;
        self.names_bytes += levels.iter().sum::<usize>() + name;
        check(self.names_bytes, MAX_NAMES_BYTES, "bytes of full names")
    }
}

//! `.proto` files, compiled in memory.

use super::bounds::{
    self, MAX_BYTES, MAX_DEFINITIONS, MAX_FILES, MAX_NAME_BYTES, MAX_NAMES_BYTES, check, refused,
};
use super::schema::Schema;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};
use std::collections::BTreeMap;
use tool::{Error, Result};

/// Files by the names that they import one another with.
struct Texts(BTreeMap<String, String>);

impl FileResolver for Texts {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let text = self.0.get(name).ok_or_else(|| protox::Error::file_not_found(name))?;
        File::from_source(name, text)
    }
}

/// Compiles the files; what they import is among them, or a well-known type.
///
/// # Errors
/// `InvalidInput` with what is wrong in which file.
pub(in crate::svc) fn compile(files: &BTreeMap<String, String>) -> Result<Schema> {
    check(files.len(), MAX_FILES, "files")?;
    check(files.values().map(String::len).sum(), MAX_BYTES, "bytes")?;
    let mut extent = Extent::default();
    for text in files.values() {
        extent.add(text)?;
    }
    let mut resolver = ChainFileResolver::new();
    resolver.add(Texts(files.clone()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    for name in files.keys() {
        compiler.open_file(name).map_err(|error| invalid(name, &error))?;
    }
    let pool = compiler.descriptor_pool();
    Schema::build(
        pool.files().map(|file| (file.name().to_owned(), file.file_descriptor_proto().clone())).collect(),
    )
}

fn invalid(name: &str, error: &protox::Error) -> Error {
    let file = error.file().unwrap_or(name);
    refused(
        "Invalid",
        format!("schema.protos: '{file}' cannot be compiled: {}", tool::plain(&error.to_string())),
    )
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

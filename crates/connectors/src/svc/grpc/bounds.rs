//! How much descriptors may hold, counted on the wire before anything is made of them.
//!
//! Two bytes of a descriptor can become hundreds in memory, and a long name stands before the name of everything
//! in it: so it is not the size alone that is bounded.

use super::wire::{Field, Wire};
use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use tool::{Error, Result};

/// Of all descriptors together, as they are on the wire.
pub(in crate::svc) const MAX_BYTES: usize = 4 * 1024 * 1024;
pub(super) const MAX_FILES: usize = 1_000;
pub(super) const MAX_METHODS: usize = 5_000;
/// Of all files together, those that public imports bring among them.
pub(super) const MAX_IMPORTS: usize = 20_000;
/// Messages, fields, enums, values, methods, imports.
pub(super) const MAX_DEFINITIONS: usize = 150_000;
/// Places in the source, of which some have comments.
const MAX_LOCATIONS: usize = 300_000;
/// What `protoc` takes, too.
pub(super) const MAX_DEPTH: usize = 32;
/// Of one identifier, of a package, of a file's name.
pub(super) const MAX_NAME_BYTES: usize = 512;
/// Of all full names together.
pub(super) const MAX_NAMES_BYTES: usize = 32 * 1024 * 1024;

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Count {
    bytes: usize,
    files: usize,
    methods: usize,
    definitions: usize,
    locations: usize,
    names_bytes: usize,
}

/// The messages of descriptor.proto that hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    File,
    Message,
    Enum,
    Service,
    Field,
    Method,
    /// A value of an enum, a oneof, or a range of extensions.
    Small,
    SourceInfo,
    Location,
    Options,
    Uninterpreted,
    /// Holds nothing that is counted.
    Leaf,
}

impl Part {
    /// What a field with this number holds.
    fn child(self, number: u32) -> Self {
        match (self, number) {
            (Self::File, 4) | (Self::Message, 3) => Self::Message,
            (Self::File, 5) | (Self::Message, 4) => Self::Enum,
            (Self::File, 6) => Self::Service,
            (Self::File, 7) | (Self::Message, 2 | 6) => Self::Field,
            (Self::Service, 2) => Self::Method,
            (Self::Enum, 2) | (Self::Message, 5 | 8) => Self::Small,
            (Self::File, 9) => Self::SourceInfo,
            (Self::SourceInfo, 1) => Self::Location,
            (Self::File | Self::Field, 8) | (Self::Message, 7) | (Self::Enum | Self::Service, 3) => {
                Self::Options
            }
            (Self::Method, 4) | (Self::Small, 2 | 3) => Self::Options,
            (Self::Options, 999) => Self::Uninterpreted,
            _ => Self::Leaf,
        }
    }

    /// Its field 1 is a name that stands in the full names of what it holds.
    fn is_named(self) -> bool {
        matches!(self, Self::Message | Self::Enum | Self::Service | Self::Field | Self::Method)
    }
}

impl Count {
    /// Counts one `FileDescriptorProto`.
    ///
    /// # Errors
    /// `InvalidInput` naming the limit that is passed.
    pub(super) fn add_file(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        check(self.bytes, MAX_BYTES, "bytes")?;
        self.files += 1;
        check(self.files, MAX_FILES, "files")?;
        self.add_content(bytes)
    }

    /// Counts a file that was parsed, whose size is that of its text, and whose places are many.
    pub(super) fn add_parsed(&mut self, file: &mut FileDescriptorProto) -> Result<()> {
        let places = file.source_code_info.take();
        let counted = self.add_content(&file.encode_to_vec());
        file.source_code_info = places;
        counted
    }

    fn add_content(&mut self, bytes: &[u8]) -> Result<()> {
        let package = name_of(bytes, 2)?;
        // Every part of a package is a name, too.
        let parts = package.iter().filter(|byte| **byte == b'.').count() + 1;
        check(parts, MAX_DEPTH, "parts of a package")?;
        self.add_names(parts.saturating_mul(package.len()))?;
        name_of(bytes, 1)?;
        self.walk(Part::File, bytes, package.len(), 0)
    }

    fn walk(&mut self, part: Part, bytes: &[u8], prefix: usize, depth: usize) -> Result<()> {
        check(depth, MAX_DEPTH, "levels of nested messages")?;
        let mut name_parts = 0;
        for field in Wire(bytes) {
            let Field { number, content } = field.ok_or_else(broken)?;
            let Some(content) = content else { continue };
            if (part, number) == (Part::Uninterpreted, 2) {
                // Each part is a message within the one before.
                name_parts += 1;
                check(name_parts, MAX_DEPTH, "parts of an option's name")?;
            }
            let child = part.child(number);
            self.count(child)?;
            let name = if child.is_named() { name_of(content, 1)?.len() } else { 0 };
            self.add_names(if child.is_named() { prefix + name + 1 } else { 0 })?;
            if child != Part::Leaf {
                self.walk(child, content, prefix + name + 1, depth + 1)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, part: Part) -> Result<()> {
        match part {
            Part::Location => {
                self.locations += 1;
                return check(self.locations, MAX_LOCATIONS, "places with source information");
            }
            Part::Method => {
                self.methods += 1;
                check(self.methods, MAX_METHODS, "methods")?;
            }
            _ => {}
        }
        self.definitions += 1;
        // A place has up to four parts with a length, which are none.
        check(self.definitions, MAX_DEFINITIONS + self.locations * 4, "definitions")
    }

    fn add_names(&mut self, bytes: usize) -> Result<()> {
        self.names_bytes = self.names_bytes.saturating_add(bytes);
        check(self.names_bytes, MAX_NAMES_BYTES, "bytes of full names")
    }
}

/// A field that holds a name, which is the last one with its number.
fn name_of(bytes: &[u8], number: u32) -> Result<&[u8]> {
    let mut name: &[u8] = &[];
    for field in Wire(bytes) {
        match field.ok_or_else(broken)? {
            Field { number: found, content: Some(content) } if found == number => name = content,
            _ => {}
        }
    }
    check(name.len(), MAX_NAME_BYTES, "bytes of a name")?;
    Ok(name)
}

/// Refuses what is too much of something.
pub(super) fn check(count: usize, limit: usize, what: &str) -> Result<()> {
    if count <= limit {
        return Ok(());
    }
    Err(refused(
        "TooLarge",
        format!(
            "the descriptors have more than {limit} {what}; give only the files that are needed, in schema.descriptor_set or schema.protos"
        ),
    ))
}

pub(super) fn broken() -> Error {
    refused(
        "Unreadable",
        "the descriptors are no FileDescriptorSet; make one with `protoc --include_imports --descriptor_set_out`",
    )
}

/// A schema that cannot be used.
pub(super) fn refused(code: &'static str, message: impl Into<String>) -> Error {
    let message = message.into();
    Error::invalid_input(message.clone()).with_problems(vec![tool::Problem::new("schema", code, message)])
}

//! What authors wrote beside their definitions.

use prost_reflect::prost_types::source_code_info::Location;
use prost_reflect::prost_types::{FileDescriptorProto, SourceCodeInfo};
use std::collections::HashMap;
use std::sync::Arc;

/// More would only fill a model's context.
const MAX_CHARACTERS: usize = 1_000;

/// Comments by file and by the path of what they speak of; the places without one are forgotten.
#[derive(Debug, Clone, Default)]
pub(super) struct Comments(Arc<HashMap<String, HashMap<Vec<i32>, String>>>);

impl Comments {
    /// Takes the comments out of a file, and the rest of its source information with them.
    pub(super) fn take(&mut self, file: &mut FileDescriptorProto) {
        let Some(info) = file.source_code_info.take() else { return };
        let comments: HashMap<_, _> = info.location.into_iter().filter_map(comment).collect();
        if !comments.is_empty() {
            Arc::make_mut(&mut self.0).insert(file.name().to_owned(), comments);
        }
    }

    /// What is said of the thing at this path of a file.
    pub(super) fn get(&self, file: &str, path: &[i32]) -> Option<&str> {
        self.0.get(file)?.get(path).map(String::as_str)
    }

    /// The file with its comments in it again.
    pub(super) fn put_back(&self, mut file: FileDescriptorProto) -> FileDescriptorProto {
        let Some(comments) = self.0.get(file.name()) else { return file };
        let mut comments: Vec<_> = comments.iter().collect();
        comments.sort();
        let location = |(path, text): (&Vec<i32>, &String)| Location {
            path: path.clone(),
            span: vec![0, 0, 0],
            leading_comments: Some(text.clone()),
            ..Location::default()
        };
        file.source_code_info =
            Some(SourceCodeInfo { location: comments.into_iter().map(location).collect() });
        file
    }
}

/// The comment before a definition, or else the one behind it.
fn comment(location: Location) -> Option<(Vec<i32>, String)> {
    let said = [location.leading_comments, location.trailing_comments].into_iter().flatten();
    let mut said = said.map(|text| tidy(&text)).filter(|text| !text.is_empty());
    said.next().map(|text| (location.path, text))
}

/// Lines joined where they belong together, without the spaces and stars that comments begin with.
fn tidy(text: &str) -> String {
    let mut tidied = String::new();
    for line in text.lines() {
        let line = line.trim().trim_start_matches('*').trim();
        if line.is_empty() {
            if !tidied.is_empty() && !tidied.ends_with('\n') {
                tidied.push('\n');
            }
            continue;
        }
        if !tidied.is_empty() && !tidied.ends_with('\n') {
            tidied.push(' ');
        }
        tidied.push_str(line);
    }
    shorten(tidied.trim_end())
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

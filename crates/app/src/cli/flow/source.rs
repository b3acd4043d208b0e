//! The text of a flow, and its problems as compilers write them.

use crate::Failure;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// More than any flow may have, so that the check says so.
const MAX_BYTES: u64 = 2 * flow::MAX_BYTES as u64;

/// A text with the name that its problems are shown under.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

impl Source {
    /// Reads a file, or stdin for `-`.
    pub(super) fn read(given: &str) -> Result<Self, Failure> {
        let unreadable =
            |error: std::io::Error| Failure::new(format!("'{given}' cannot be read")).because(error);
        let reader: Box<dyn Read> = match given {
            "-" => Box::new(std::io::stdin()),
            _ => Box::new(std::fs::File::open(given).map_err(unreadable)?),
        };
        let mut bytes = Vec::new();
        reader.take(MAX_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
        let name = if given == "-" { "stdin" } else { given };
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            Failure::new(format!("{name}:{line}: this is no UTF-8")).advice("save the file as UTF-8")
        })?;
        Ok(Self { name: name.to_owned(), text })
    }

    /// The id that the flow goes by: its own, else the file's name without its ending.
    pub(super) fn id(&self) -> Option<String> {
        let own = flow::read(&self.text).flow.and_then(|flow| flow.id);
        let stem = || Some(Path::new(&self.name).file_stem()?.to_str()?.to_owned());
        own.or_else(|| stem().filter(|_| self.name != "stdin"))
    }

    /// Every problem on a line of its own.
    pub(super) fn lines(&self, problems: &[Found]) -> Vec<String> {
        problems.iter().map(|problem| problem.line(&self.name)).collect()
    }
}

/// A problem, as a server tells it.
#[derive(Deserialize)]
pub(super) struct Found {
    code: String,
    message: String,
    line: usize,
    column: usize,
    severity: String,
}

impl Found {
    /// Those in a field of an answer.
    pub(super) fn in_answer(answer: &Value, field: &str) -> Vec<Self> {
        serde_json::from_value(answer[field].clone()).unwrap_or_default()
    }

    pub(super) fn is_error(&self) -> bool {
        self.severity == "error"
    }

    fn line(&self, name: &str) -> String {
        let Self { code, message, line, column, .. } = self;
        let severity = if self.is_error() { "" } else { "warning: " };
        format!("{name}:{line}:{column}: {severity}{message} [{code}]")
    }
}

impl From<&flow::Problem> for Found {
    fn from(problem: &flow::Problem) -> Self {
        Self {
            code: problem.code.as_str().to_owned(),
            message: problem.message.clone(),
            line: problem.line,
            column: problem.column,
            severity: if problem.is_error() { "error" } else { "warning" }.to_owned(),
        }
    }
}

/// `1 error`, `2 errors`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A part of an address.
pub(super) fn segment(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let encoded = text.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    encoded.collect()
}

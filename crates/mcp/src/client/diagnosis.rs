//! What a child process said besides the protocol, kept for the error that may follow.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

const STDERR_LINES: usize = 50;
const STRAY_LINES: usize = 5;
const LINE_BYTES: usize = 1024;

/// The last lines on stderr, and what stood on stdout before the first call without being a message.
#[derive(Debug, Default)]
pub struct Diagnosis(Mutex<LastLines>);

#[derive(Debug, Default)]
struct LastLines {
    stderr: VecDeque<String>,
    stray_output: VecDeque<String>,
    /// From now on stdout may hold what belongs to one caller alone.
    has_calls: bool,
}

impl Diagnosis {
    /// The last lines on stderr, oldest first: at most 50, each of at most 1 KiB.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        self.kept().stderr.iter().cloned().collect()
    }

    /// The last lines of plain text that stood on stdout while the server started.
    #[must_use]
    pub fn stray_output(&self) -> Vec<String> {
        self.kept().stray_output.iter().cloned().collect()
    }

    pub(super) fn add_stderr(&self, line: &[u8]) {
        keep(&mut self.kept().stderr, STDERR_LINES, line);
    }

    /// Keeps a line that is no message, unless it may be part of somebody's answer.
    pub(super) fn add_noise(&self, line: &[u8]) {
        let mut kept = self.kept();
        if !kept.has_calls && is_plain_text(line) {
            keep(&mut kept.stray_output, STRAY_LINES, line);
        }
    }

    /// Calls may follow: what cannot be read on stdout is from now on perhaps the answer to one of
    /// them, or a line of it, and nobody else's business.
    pub(super) fn calls_begin(&self) {
        self.kept().has_calls = true;
    }

    fn kept(&self) -> MutexGuard<'_, LastLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// It neither begins like JSON nor holds a piece of a message.
fn is_plain_text(line: &[u8]) -> bool {
    let starts_json = line.trim_ascii_start().first().is_none_or(|byte| b"{}[]\"\xef".contains(byte));
    !starts_json && memchr::memmem::find(line, b"jsonrpc").is_none()
}

fn keep(lines: &mut VecDeque<String>, most: usize, line: &[u8]) {
    let text = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES)]);
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    if text.trim().is_empty() {
        return;
    }
    if lines.len() == most {
        lines.pop_front();
    }
    lines.push_back(text);
}

/// Cuts a stream into lines and keeps the beginning of each, however long they are.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    pub(super) fn push(&mut self, chunk: &[u8], diagnosis: &Diagnosis) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES.saturating_sub(self.0.len());
            self.0.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.end(diagnosis);
            }
        }
    }

    pub(super) fn end(&mut self, diagnosis: &Diagnosis) {
        diagnosis.add_stderr(&self.0);
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_and_the_beginning_of_each() {
        let diagnosis = Diagnosis::default();
        let mut lines = Lines::default();
        for number in 0..60 {
            lines.push(format!("line {number}").as_bytes(), &diagnosis);
            lines.push(b"\x1b[0m and more\r\n", &diagnosis);
        }
        lines.push(&[b'x'; 1_000_000], &diagnosis);
        lines.end(&diagnosis);
        let kept = diagnosis.stderr();
        assert_eq!((kept.len(), kept[0].as_str()), (50, "line 11[0m and more"));
        assert_eq!(kept[49].len(), LINE_BYTES);
    }

    #[test]
    fn keeps_of_stdout_only_plain_text_from_before_the_first_call() {
        let diagnosis = Diagnosis::default();
        for line in ["Server v1.0", "{\"id\":1", "[1", "\"text\": \"x\"", "}]", "\u{feff}{", "x \"jsonrpc\""]
        {
            diagnosis.add_noise(line.as_bytes());
        }
        diagnosis.calls_begin();
        diagnosis.add_noise(b"the rest of an answer");
        assert_eq!(diagnosis.stray_output(), ["Server v1.0"]);
    }
}

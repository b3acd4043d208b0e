//! What a child process said besides the protocol, kept for the error that may follow.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

const STDERR_LINES: usize = 50;
const NOISE_LINES: usize = 5;
const LINE_BYTES: usize = 1024;

/// The last lines on stderr, and what stood on stdout without being a message.
#[derive(Debug, Default)]
pub struct Diagnosis(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    stderr: VecDeque<String>,
    noise: VecDeque<String>,
    noise_count: u64,
}

impl Diagnosis {
    /// The last lines on stderr, oldest first: at most 50, each of at most 1 KiB.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        self.kept().stderr.iter().cloned().collect()
    }

    /// The last lines on stdout that were no messages.
    #[must_use]
    pub fn noise(&self) -> Vec<String> {
        self.kept().noise.iter().cloned().collect()
    }

    /// How many lines on stdout were no messages.
    #[must_use]
    pub fn noise_count(&self) -> u64 {
        self.kept().noise_count
    }

    pub(super) fn add_stderr(&self, line: &[u8]) {
        keep(&mut self.kept().stderr, STDERR_LINES, line);
    }

    pub(super) fn add_noise(&self, line: &[u8]) {
        let mut kept = self.kept();
        kept.noise_count += 1;
        keep(&mut kept.noise, NOISE_LINES, line);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
}

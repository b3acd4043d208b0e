//! The flags, width and precision of one `printf` verb, and padding by them.

use crate::budget::Buffer;
use crate::error::Fault;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%#v`: the value as Go source.
    pub(super) source: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

impl Flags {
    /// Writes text padded to the width, which counts characters.
    pub(super) fn pad(&self, buffer: &mut Buffer, text: &[u8]) -> Result<(), Fault> {
        let Some(width) = self.width else { return buffer.push(text) };
        let missing = width.saturating_sub(count_chars(text));
        if self.minus {
            buffer.push(text)?;
            return buffer.push_repeated(b' ', missing);
        }
        buffer.push_repeated(if self.zero { b'0' } else { b' ' }, missing)?;
        buffer.push(text)
    }

    /// Writes a signed number: zeros go between the sign and the digits.
    pub(super) fn pad_number(&self, buffer: &mut Buffer, text: &str) -> Result<(), Fault> {
        let signed = text.starts_with(['+', '-', ' ']);
        let width = self.width.unwrap_or(0);
        if self.zero && !self.minus && signed && width > text.len() {
            buffer.push_str(&text[..1])?;
            buffer.push_repeated(b'0', width - text.len())?;
            return buffer.push_str(&text[1..]);
        }
        self.pad(buffer, text.as_bytes())
    }

    /// Whether a number is written as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.width.is_none() && self.precision.is_none() && !self.plus && !self.space
    }

    /// The same flags without zero padding.
    pub(super) fn without_zero(mut self) -> Self {
        self.zero = false;
        self
    }
}

fn count_chars(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

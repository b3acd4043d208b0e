//! Bodies that come in chunks, each with its size before it (RFC 9112, section 7.1).

use crate::body;
use crate::error::Error;
use bytes::{Buf, Bytes, BytesMut};

/// How many digits a size may have.
const MAX_DIGITS: u8 = 16;
/// How long all the extensions of a body may be together; they are skipped.
const MAX_EXTENSION_BYTES: usize = 16 * 1024;
/// How long the trailers may be; they are skipped.
const MAX_TRAILER_BYTES: usize = 16 * 1024;

/// Where we are in a body in chunks. The ends of lines are taken as they should be and not otherwise.
#[derive(Debug, Default)]
pub(crate) struct Chunked {
    state: State,
    extension_bytes: usize,
    trailer_bytes: usize,
}

/// What comes next.
#[derive(Debug, Clone, Copy)]
enum State {
    Size {
        digits: u8,
        size: u64,
    },
    /// Spaces behind a size, which some servers write.
    Padding {
        size: u64,
    },
    Extension {
        size: u64,
    },
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    DataReturn,
    DataEnd,
    /// A trailer or the empty line.
    TrailerStart,
    Trailer,
    TrailerEnd,
    LastEnd,
    Ended,
}

impl Default for State {
    fn default() -> Self {
        Self::Size { digits: 0, size: 0 }
    }
}

impl Chunked {
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// The next part of a chunk out of what has arrived. If there is none, the body has ended or
    /// more has to arrive.
    pub(crate) fn take(&mut self, input: &mut BytesMut) -> Result<Option<Bytes>, Error> {
        let mut read = 0;
        while !matches!(self.state, State::Data { .. } | State::Ended) && read < input.len() {
            self.state = self.next(input[read])?;
            read += 1;
        }
        input.advance(read);
        let State::Data { left } = &mut self.state else { return Ok(None) };
        let part = body::take(input, left);
        if *left == 0 {
            self.state = State::DataReturn;
        }
        Ok(part)
    }

    /// What comes behind a byte that is not data.
    fn next(&mut self, byte: u8) -> Result<State, Error> {
        Ok(match (self.state, byte) {
            (State::Size { digits: 1.., size }, b'\r') => State::SizeEnd { size },
            (State::Size { digits: 1.., size }, b' ' | b'\t') => State::Padding { size },
            (State::Size { digits: 1.., size }, b';') => State::Extension { size },
            (State::Size { digits, size }, digit) => {
                State::Size { digits: digits + 1, size: larger(digits, size, digit)? }
            }
            (State::Padding { size } | State::Extension { size }, b'\r') => State::SizeEnd { size },
            (State::Padding { size }, b';') => State::Extension { size },
            (state @ State::Padding { .. }, b' ' | b'\t') => self.skip_extension(state)?,
            (state @ State::Extension { .. }, byte) if byte != b'\n' => self.skip_extension(state)?,
            (State::SizeEnd { size: 0 }, b'\n') => State::TrailerStart,
            (State::SizeEnd { size }, b'\n') => State::Data { left: size },
            (State::DataReturn, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => State::default(),
            (State::TrailerStart, b'\r') => State::LastEnd,
            (State::Trailer, b'\r') => State::TrailerEnd,
            (State::TrailerStart | State::Trailer, byte) if byte != b'\n' => self.skip_trailer()?,
            (State::TrailerEnd, b'\n') => State::TrailerStart,
            (State::LastEnd, b'\n') => State::Ended,
            _ => return Err(Error::malformed("the chunks of the answer are not as they should be")),
        })
    }

    fn skip_extension(&mut self, state: State) -> Result<State, Error> {
        self.extension_bytes += 1;
        if self.extension_bytes > MAX_EXTENSION_BYTES {
            return Err(Error::malformed("the chunk extensions of the answer are too long"));
        }
        Ok(state)
    }

    fn skip_trailer(&mut self) -> Result<State, Error> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > MAX_TRAILER_BYTES {
            return Err(Error::malformed("the trailers of the answer are too long"));
        }
        Ok(State::Trailer)
    }
}

/// The size with one more digit.
fn larger(digits: u8, size: u64, digit: u8) -> Result<u64, Error> {
    let value = match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => return Err(Error::malformed("the size of a chunk is no number")),
    };
    if digits >= MAX_DIGITS {
        return Err(Error::malformed("the size of a chunk is too large"));
    }
    let size = size.checked_mul(16).and_then(|size| size.checked_add(u64::from(value)));
    size.ok_or_else(|| Error::malformed("the size of a chunk is too large"))
}

//! What a render may still spend, and the buffer that cannot outgrow it.

use crate::error::Fault;
use crate::options::{Escape, Limits, Missing, Options};
use crate::regexes::Regexes;
use crate::value::Value;

/// The allowance of one render, counted down by loops and functions.
pub(crate) struct Budget<'o> {
    options: &'o Options,
    regexes: &'o Regexes,
    steps_left: usize,
    work_left: usize,
}

impl<'o> Budget<'o> {
    pub(crate) fn new(options: &'o Options, regexes: &'o Regexes) -> Self {
        Self { options, regexes, steps_left: options.limits.steps, work_left: options.limits.work }
    }

    pub(crate) fn limits(&self) -> &'o Limits {
        &self.options.limits
    }

    pub(crate) fn regexes(&self) -> &'o Regexes {
        self.regexes
    }

    pub(crate) fn missing(&self) -> Missing {
        self.options.missing
    }

    pub(crate) fn escape(&self) -> Escape {
        self.options.escape
    }

    /// Counts one loop step.
    pub(crate) fn step(&mut self) -> Result<(), Fault> {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(Fault::limit("the number of loop steps", self.limits().steps)),
        }
    }

    /// Counts `units` bytes or items that a function reads or writes.
    #[inline]
    pub(crate) fn work(&mut self, units: usize) -> Result<(), Fault> {
        match self.work_left.checked_sub(units) {
            Some(left) => {
                self.work_left = left;
                Ok(())
            }
            None => {
                self.work_left = 0;
                Err(Fault::limit("the work of the functions", self.limits().work))
            }
        }
    }

    /// Counts operations of the program that are about to run.
    #[inline]
    pub(crate) fn operations(&mut self, count: usize) -> Result<(), Fault> {
        const OPERATION_COST: usize = 14;
        self.work(count * OPERATION_COST)
    }

    /// Counts a list or map of `items` entries that is about to be made.
    pub(crate) fn items(&mut self, items: usize) -> Result<(), Fault> {
        const ITEM_COST: usize = 24;
        self.work(items.saturating_mul(ITEM_COST).saturating_add(ITEM_COST))
    }

    /// Refuses a string of `bytes` before it is made.
    pub(crate) fn string(&self, bytes: usize) -> Result<(), Fault> {
        let limit = self.limits().string_bytes;
        if bytes > limit { Err(too_long(limit)) } else { Ok(()) }
    }

    /// The string in a finished buffer, paid for.
    pub(crate) fn finish<'a>(&mut self, buffer: Buffer) -> Result<Value<'a>, Fault> {
        self.work(buffer.bytes.len())?;
        Ok(Value::string(buffer.bytes))
    }

    /// An empty buffer for an intermediate string that may well be long.
    pub(crate) fn long_buffer(&self) -> Buffer {
        let mut buffer = self.buffer();
        buffer.bytes.reserve(512.min(buffer.limit));
        buffer
    }

    /// An empty buffer for an intermediate string.
    pub(crate) fn buffer(&self) -> Buffer {
        Buffer {
            bytes: Vec::new(),
            limit: self.limits().string_bytes,
            depth: self.limits().safe_value_depth(),
        }
    }
}

fn too_long(limit: usize) -> Fault {
    Fault::limit("the size of a string", limit)
}

/// Bytes under a limit: the output, or a string a function is making.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    limit: usize,
    /// How deep a value may be that is printed into this buffer.
    pub(crate) depth: usize,
}

impl Buffer {
    /// The buffer of a whole output, with room for `capacity` bytes.
    pub(crate) fn output(limits: &Limits, capacity: usize) -> Self {
        let bytes = Vec::with_capacity(capacity.min(limits.output_bytes));
        Self { bytes, limit: limits.output_bytes, depth: limits.safe_value_depth() }
    }

    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.len() > self.limit - self.bytes.len() {
            return Err(too_long(self.limit));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    pub(crate) fn push_str(&mut self, text: &str) -> Result<(), Fault> {
        self.push(text.as_bytes())
    }

    /// The text between quotes.
    pub(crate) fn push_quoted(&mut self, text: &str) -> Result<(), Fault> {
        if text.len() + 2 > self.limit - self.bytes.len() {
            return Err(too_long(self.limit));
        }
        self.bytes.reserve(text.len() + 2);
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(b'"');
        Ok(())
    }

    pub(crate) fn push_char(&mut self, c: char) -> Result<(), Fault> {
        self.push(c.encode_utf8(&mut [0; 4]).as_bytes())
    }

    #[inline]
    pub(crate) fn push_byte(&mut self, byte: u8) -> Result<(), Fault> {
        if self.bytes.len() == self.limit {
            return Err(too_long(self.limit));
        }
        self.bytes.push(byte);
        Ok(())
    }

    pub(crate) fn push_repeated(&mut self, byte: u8, count: usize) -> Result<(), Fault> {
        if count > self.limit - self.bytes.len() {
            return Err(too_long(self.limit));
        }
        self.bytes.resize(self.bytes.len() + count, byte);
        Ok(())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

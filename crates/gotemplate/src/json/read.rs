//! Parses JSON text into values; integers of any size keep their digits.

use std::borrow::Cow;
use std::marker::PhantomData;

use crate::budget::Budget;
use crate::error::Fault;
use crate::value::{Value, Width};

/// Depth at which a document is refused.
const DEEPEST: usize = 100;

/// The bytes that end a string or are no plain part of one.
const ENDS_PLAIN_TEXT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8, 0..0x20 | b'"' | b'\\');
        byte += 1;
    }
    table
};

/// Parses a whole document; the message of the error says what is wrong and where. Its plain texts
/// stay where they are.
pub(crate) fn read<'t>(budget: &mut Budget<'_>, text: &'t str) -> Result<Value<'t>, Fault> {
    Reader::<Borrowed>::read(budget, text)
}

/// Parses a whole document whose text does not last.
pub(crate) fn read_copied<'a>(budget: &mut Budget<'_>, text: &str) -> Result<Value<'a>, Fault> {
    Reader::<Copied>::read(budget, text)
}

/// What becomes of the texts in a document.
trait Keep<'t, 'a> {
    fn key(text: Cow<'t, str>) -> Cow<'a, str>;
    fn value(text: Cow<'t, str>) -> Value<'a>;
}

struct Borrowed;

impl<'t> Keep<'t, 't> for Borrowed {
    fn key(text: Cow<'t, str>) -> Cow<'t, str> {
        text
    }

    fn value(text: Cow<'t, str>) -> Value<'t> {
        match text {
            Cow::Borrowed(text) => Value::Str(text),
            Cow::Owned(text) => Value::text(text),
        }
    }
}

struct Copied;

impl<'t, 'a> Keep<'t, 'a> for Copied {
    fn key(text: Cow<'t, str>) -> Cow<'a, str> {
        Cow::Owned(text.into_owned())
    }

    fn value(text: Cow<'t, str>) -> Value<'a> {
        Value::text(text)
    }
}

struct Reader<'t, 'b, 'o, K> {
    text: &'t str,
    at: usize,
    budget: &'b mut Budget<'o>,
    keep: PhantomData<K>,
}

impl<'t, 'b, 'o, K> Reader<'t, 'b, 'o, K> {
    fn read<'a>(budget: &'b mut Budget<'o>, text: &'t str) -> Result<Value<'a>, Fault>
    where
        K: Keep<'t, 'a>,
    {
        let mut reader = Self { text, at: 0, budget, keep: PhantomData };
        let value = reader.value(0)?;
        reader.skip_space();
        if reader.at < text.len() { Err(reader.wrong("the end of the text")) } else { Ok(value) }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The byte that comes next.
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.next() {
            self.at += 1;
        }
    }

    fn wrong(&self, expected: &str) -> Fault {
        Fault::new(crate::ErrorKind::Data, format!("invalid JSON at byte {}", self.at)).expecting(expected)
    }

    fn take(&mut self, token: u8) -> bool {
        self.skip_space();
        let found = self.next() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn value<'a>(&mut self, depth: usize) -> Result<Value<'a>, Fault>
    where
        K: Keep<'t, 'a>,
    {
        if depth > DEEPEST {
            return Err(Fault::limit("the depth of JSON", DEEPEST));
        }
        self.skip_space();
        match self.next() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(K::value),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word<'a>(&mut self) -> Result<Value<'a>, Fault> {
        let words = [("null", Value::Nil), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong("a JSON value"))
    }

    fn array<'a>(&mut self, depth: usize) -> Result<Value<'a>, Fault>
    where
        K: Keep<'t, 'a>,
    {
        self.at += 1;
        let mut items = Vec::new();
        if !self.take(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.wrong("\",\" or \"]\""));
                }
            }
        }
        Value::list(self.budget, items)
    }

    fn object<'a>(&mut self, depth: usize) -> Result<Value<'a>, Fault>
    where
        K: Keep<'t, 'a>,
    {
        self.at += 1;
        let mut entries = Vec::new();
        if !self.take(b'}') {
            loop {
                self.skip_space();
                let key = self.string()?;
                if !self.take(b':') {
                    return Err(self.wrong("\":\""));
                }
                entries.push((K::key(key), self.value(depth + 1)?));
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.wrong("\",\" or \"}\""));
                }
            }
        }
        Value::map(self.budget, entries)
    }

    /// A string with its quotes; the escapes are left to `serde_json`.
    fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        let bytes = &self.text.as_bytes()[self.at..];
        if bytes.first() != Some(&b'"') {
            return Err(self.wrong("a string"));
        }
        let is_special = |byte: &u8| ENDS_PLAIN_TEXT[usize::from(*byte)];
        let mut end = 1 + bytes[1..].iter().position(is_special).unwrap_or(bytes.len());
        if bytes.get(end) == Some(&b'"') {
            let text = &self.text[self.at + 1..self.at + end];
            self.at += end + 1;
            return Ok(Cow::Borrowed(text));
        }
        while bytes.get(end).is_some_and(|byte| *byte != b'"') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            return Err(self.wrong("a string that ends"));
        }
        let text: String =
            serde_json::from_str(&self.rest()[..=end]).map_err(|_| self.wrong("a valid string"))?;
        self.at += end + 1;
        Ok(Cow::Owned(text))
    }

    fn number<'a>(&mut self) -> Result<Value<'a>, Fault> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
        let length = self.rest().bytes().take_while(is_part).count();
        let token = &self.rest()[..length];
        if let Some(int) = small_integer(token) {
            self.at += length;
            return Ok(Value::Int(int, Width::Int));
        }
        let number: serde_json::Number = serde_json::from_str(token).map_err(|_| self.wrong("a number"))?;
        let value = if let Some(int) = number.as_i64() {
            Value::Int(int, Width::Int)
        } else if let Some(uint) = number.as_u64() {
            Value::Uint(uint)
        } else if token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && token != "-0" {
            Value::Big(token.into())
        } else {
            Value::Float(token.parse().map_err(|_| self.wrong("a number"))?)
        };
        self.at += length;
        Ok(value)
    }
}

/// The number that a few digits make; what looks otherwise is left to `serde_json`.
fn small_integer(token: &str) -> Option<i64> {
    const FEW: usize = 18;
    let is_plain = token.len() == 1 || !token.starts_with('0');
    if !is_plain || token.len() > FEW {
        return None;
    }
    token
        .bytes()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

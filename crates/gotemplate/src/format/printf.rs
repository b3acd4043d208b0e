//! Reads a `printf` format and hands each verb its argument.

use super::flags::Flags;
use super::verb;
use crate::budget::{Budget, Buffer};
use crate::error::Fault;
use crate::value::Value;

/// Go's `Sprintf`.
pub(crate) fn printf(budget: &mut Budget<'_>, format: &str, values: &[Value<'_>]) -> Result<Buffer, Fault> {
    let mut formatter = Formatter {
        buffer: budget.buffer(),
        limit: budget.limits().printf_width,
        values,
        next: 0,
        reordered: false,
        good_index: true,
    };
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        formatter.buffer.push_str(&rest[..at])?;
        rest = formatter.directive(&rest[at + 1..])?;
    }
    formatter.buffer.push_str(rest)?;
    formatter.extra()?;
    Ok(formatter.buffer)
}

struct Formatter<'v, 'a> {
    buffer: Buffer,
    /// The greatest width and precision.
    limit: usize,
    values: &'v [Value<'a>],
    next: usize,
    /// An index such as `%[2]d` was used; then unused values are no mistake.
    reordered: bool,
    good_index: bool,
}

impl Formatter<'_, '_> {
    /// Formats one verb; returns what follows it.
    fn directive<'f>(&mut self, text: &'f str) -> Result<&'f str, Fault> {
        let mut flags = Flags::default();
        self.good_index = true;
        let mut rest = read_flags(text, &mut flags);
        let mut after_index = false;
        rest = self.index(rest, &mut after_index);
        if let Some(after) = rest.strip_prefix('*') {
            rest = after;
            match self.star()? {
                Some(width) => {
                    flags.minus |= width < 0;
                    flags.width = Some(usize::try_from(width.unsigned_abs()).unwrap_or(0));
                }
                None => self.buffer.push_str("%!(BADWIDTH)")?,
            }
            after_index = false;
        } else {
            let width;
            (width, rest) = self.count(rest)?;
            // An index must stand right before the verb or a star.
            self.good_index &= !(after_index && width.is_some());
            flags.width = width;
        }
        rest = self.precision(rest, &mut flags, &mut after_index)?;
        if !after_index {
            rest = self.index(rest, &mut after_index);
        }
        let Some(verb) = rest.chars().next() else {
            self.buffer.push_str("%!(NOVERB)")?;
            return Ok("");
        };
        self.verb(verb, flags)?;
        Ok(&rest[verb.len_utf8()..])
    }

    fn precision<'f>(
        &mut self,
        rest: &'f str,
        flags: &mut Flags,
        after_index: &mut bool,
    ) -> Result<&'f str, Fault> {
        let Some(mut rest) = rest.strip_prefix('.') else { return Ok(rest) };
        self.good_index &= !*after_index;
        rest = self.index(rest, after_index);
        if let Some(after) = rest.strip_prefix('*') {
            *after_index = false;
            match self.star()? {
                Some(precision) if precision >= 0 => {
                    flags.precision = Some(usize::try_from(precision).unwrap_or(0));
                }
                Some(_) | None => self.buffer.push_str("%!(BADPREC)")?,
            }
            return Ok(after);
        }
        let (precision, rest) = self.count(rest)?;
        flags.precision = Some(precision.unwrap_or(0));
        Ok(rest)
    }

    fn verb(&mut self, verb: char, mut flags: Flags) -> Result<(), Fault> {
        if verb == '%' {
            return self.buffer.push_str("%");
        }
        if !self.good_index {
            return self.complain(verb, "BADINDEX");
        }
        let Some(value) = self.values.get(self.next) else {
            return self.complain(verb, "MISSING");
        };
        self.next += 1;
        if matches!(verb, 'v' | 'w') {
            flags.source = std::mem::take(&mut flags.sharp);
            flags.plus = false;
        }
        verb::write(&mut self.buffer, &flags, verb, value)
    }

    fn complain(&mut self, verb: char, what: &str) -> Result<(), Fault> {
        self.buffer.push_str(&format!("%!{verb}({what})"))
    }

    /// An argument index in brackets, if there is one.
    fn index<'f>(&mut self, rest: &'f str, found: &mut bool) -> &'f str {
        let Some(inner) = rest.strip_prefix('[') else { return rest };
        self.reordered = true;
        *found = true;
        let Some(end) = inner.find(']') else {
            self.good_index = false;
            return inner;
        };
        let index = inner[..end]
            .parse::<usize>()
            .ok()
            .filter(|index| inner.as_bytes()[0].is_ascii_digit() && (1..=self.values.len()).contains(index));
        match index {
            Some(index) => self.next = index - 1,
            None => self.good_index = false,
        }
        &inner[end + 1..]
    }

    /// The integer argument of a `*`.
    fn star(&mut self) -> Result<Option<i64>, Fault> {
        let value = self.values.get(self.next);
        self.next += usize::from(value.is_some());
        match value {
            Some(Value::Int(count, _)) => {
                self.check(usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX))?;
                Ok(Some(*count))
            }
            _ => Ok(None),
        }
    }

    /// A decimal count at the start of `rest`.
    fn count<'f>(&self, rest: &'f str) -> Result<(Option<usize>, &'f str), Fault> {
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return Ok((None, rest));
        }
        let count = rest[..length].parse().unwrap_or(usize::MAX);
        self.check(count)?;
        Ok((Some(count), &rest[length..]))
    }

    fn check(&self, count: usize) -> Result<(), Fault> {
        if count > self.limit { Err(Fault::limit("the width of a printf verb", self.limit)) } else { Ok(()) }
    }

    /// Names the values that no verb used.
    fn extra(&mut self) -> Result<(), Fault> {
        let unused = self.values.get(self.next..).unwrap_or_default();
        if self.reordered || unused.is_empty() {
            return Ok(());
        }
        self.buffer.push_str("%!(EXTRA ")?;
        for (at, value) in unused.iter().enumerate() {
            if at > 0 {
                self.buffer.push_str(", ")?;
            }
            self.buffer.push_str(value.type_name())?;
            if !matches!(value, Value::Nil) {
                self.buffer.push_str("=")?;
                super::write(&mut self.buffer, value)?;
            }
        }
        self.buffer.push_str(")")
    }
}

fn read_flags<'f>(text: &'f str, flags: &mut Flags) -> &'f str {
    let rest = text.trim_start_matches(['#', '0', '+', '-', ' ']);
    for flag in text[..text.len() - rest.len()].bytes() {
        match flag {
            b'#' => flags.sharp = true,
            b'0' => flags.zero = true,
            b'+' => flags.plus = true,
            b'-' => flags.minus = true,
            _ => flags.space = true,
        }
    }
    flags.zero &= !flags.minus;
    rest
}

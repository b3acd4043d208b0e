//! Rows as JSON, written while they are read and never more than there is room for.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Number;
use serde_json::value::RawValue;
use std::ops::ControlFlow;
use tool::{Error, Result};

/// Whole numbers up to here are exact in every JSON parser; larger ones are written as texts.
const EXACT: i64 = 9_007_199_254_740_991;

/// What stands around the rows of an answer, e.g. the names of its columns, has so many bytes at the most, and no more than a
/// quarter of a small answer.
const FRAME_BYTES: usize = 16 * 1024;

/// The most that an answer may hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) rows: usize,
    /// Of the rows.
    pub(super) bytes: usize,
    /// Of the answer, with all that stands around the rows: somebody else would cut it there.
    pub(super) answer_bytes: usize,
    /// What the service says of the rows.
    max_bytes: usize,
}

impl Limits {
    /// So many rows and bytes, whatever stands around them.
    pub(super) const fn new(rows: usize, bytes: usize) -> Self {
        Self { rows, bytes, answer_bytes: usize::MAX, max_bytes: bytes }
    }

    /// No more than an answer with so many bytes has room for.
    pub(super) fn within(self, answer_bytes: usize) -> Self {
        let answer_bytes = answer_bytes.min(self.answer_bytes);
        let room = answer_bytes - FRAME_BYTES.min(answer_bytes / 4);
        Self { bytes: room.min(self.bytes), answer_bytes, ..self }
    }

    /// So many rows and no more.
    pub(super) fn of_rows(self, rows: u64) -> Self {
        Self { rows: usize::try_from(rows).unwrap_or(usize::MAX), ..self }
    }

    /// The same beside a frame of which it is known how large it is.
    pub(super) fn beside(self, frame_bytes: usize) -> Self {
        let room = self.answer_bytes.saturating_sub(frame_bytes);
        Self { bytes: room.min(self.bytes), ..self }
    }

    /// The answer, unless it would be cut: rows that nobody gets must not count as told.
    ///
    /// # Errors
    /// `InvalidInput` when what stands around the rows is too large.
    pub(super) fn check_answer(self, json: String) -> Result<String> {
        match json.len() <= self.answer_bytes {
            true => Ok(json),
            false => Err(Error::invalid_input(format!(
                "the answer has {} bytes, and there is room for {} (max_result_bytes of the Tool, --max-result-bytes of \
                 the server); ask for fewer columns or order by smaller ones, or allow more",
                json.len(),
                self.answer_bytes
            ))),
        }
    }
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) name: String,
    /// As the database calls it; empty where it does not say.
    pub(super) type_name: String,
}

/// The rows of one answer: JSON objects behind each other.
#[derive(Debug)]
pub(super) struct Rows {
    limits: Limits,
    headings: Option<Vec<Heading>>,
    /// Each column's name as JSON, with its colon.
    keys: Vec<Vec<u8>>,
    json: Vec<u8>,
    count: usize,
    /// Where the last row begins.
    last: usize,
    cut: Option<Cut>,
}

/// Why rows were not read to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// There are enough of them.
    Rows,
    /// There are enough bytes.
    Bytes,
    /// One row has more bytes than an answer.
    OversizedRow,
}

impl Rows {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, headings: None, keys: Vec::new(), json: Vec::new(), count: 0, last: 0, cut: None }
    }

    /// Says what the columns are; once is enough.
    pub(super) fn set_headings(&mut self, headings: impl FnOnce() -> Vec<Heading>) {
        if self.headings.is_some() {
            return;
        }
        let mut headings = headings();
        distinguish(&mut headings);
        let key = |heading: &Heading| {
            let mut key = Vec::new();
            push_text(&mut key, &heading.name);
            key.push(b':');
            key
        };
        self.keys = headings.iter().map(key).collect();
        self.headings = Some(headings);
    }

    /// Takes one row whose cells `write` writes, in the order of the columns. Breaks when there is no room for more.
    ///
    /// # Errors
    /// What `write` says.
    pub(super) fn push<E>(
        &mut self,
        write: impl FnOnce(&mut Cells<'_>) -> Result<(), E>,
    ) -> Result<ControlFlow<()>, E> {
        if self.count == self.limits.rows {
            return Ok(self.cut_at(self.json.len(), Cut::Rows));
        }
        let begin = self.json.len();
        if self.count > 0 {
            self.json.push(b',');
        }
        self.json.push(b'{');
        let most = begin + self.limits.bytes;
        let mut cells = Cells { keys: &self.keys, at: 0, json: &mut self.json, most, is_oversized: false };
        write(&mut cells)?;
        let is_oversized = cells.is_oversized;
        self.json.push(b'}');
        if is_oversized || self.json.len() - begin > self.limits.bytes {
            return Ok(self.cut_at(begin, Cut::OversizedRow));
        }
        if self.json.len() > self.limits.bytes {
            return Ok(self.cut_at(begin, Cut::Bytes));
        }
        self.last = if self.count > 0 { begin + 1 } else { begin };
        self.count += 1;
        Ok(ControlFlow::Continue(()))
    }

    fn cut_at(&mut self, end: usize, cut: Cut) -> ControlFlow<()> {
        self.json.truncate(end);
        self.cut = Some(cut);
        ControlFlow::Break(())
    }

    /// Why there is more than was read, if there is.
    pub(super) fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// What was read.
    ///
    /// # Errors
    /// `InvalidInput` when a row alone is larger than an answer may be.
    pub(super) fn finish(self) -> Result<Finished> {
        if self.cut == Some(Cut::OversizedRow) {
            return Err(too_large(self.limits));
        }
        let json = String::from_utf8(self.json)
            .map_err(|error| Error::internal("an answer is no UTF-8").caused_by(error))?;
        Ok(Finished {
            headings: self.headings.unwrap_or_default(),
            json,
            count: self.count,
            last: self.last,
            is_truncated: self.cut.is_some(),
        })
    }
}

/// A row does not fit into an answer.
pub(super) fn too_large(Limits { bytes, max_bytes, .. }: Limits) -> Error {
    let limit = match bytes == max_bytes {
        true => "'max_bytes' of the service",
        false => {
            "an answer has room for ('max_result_bytes' of the Tool, --max-result-bytes of the server; 'max_bytes' of the service allows more)"
        }
    };
    Error::invalid_input(format!(
        "a row is larger than {limit}, {bytes} bytes; ask for fewer columns or parts of them"
    ))
}

/// A statement of SQLite was ended because of its memory.
pub(super) fn needs_memory() -> Error {
    Error::invalid_input(
        "the statement needs more memory than there is for one and was ended; select, sort or group fewer or smaller values",
    )
}

/// Columns of the same name would hide one another.
fn distinguish(headings: &mut [Heading]) {
    for index in 1..headings.len() {
        let (before, rest) = headings.split_at_mut(index);
        let is_taken = |name: &str| before.iter().any(|other| other.name == name);
        let plain = rest[0].name.clone();
        let mut number = 2;
        while is_taken(&rest[0].name) {
            rest[0].name = format!("{plain}_{number}");
            number += 1;
        }
    }
}

/// The rows of an answer that was read to its end, or to a limit.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) headings: Vec<Heading>,
    /// Objects with commas between them.
    pub(super) json: String,
    pub(super) count: usize,
    last: usize,
    pub(super) is_truncated: bool,
}

impl Finished {
    /// The last row as JSON.
    pub(super) fn last_row(&self) -> Option<&str> {
        (self.count > 0).then(|| &self.json[self.last..])
    }

    /// The first row as JSON, where only one was asked for.
    pub(super) fn into_row(self) -> Option<Box<RawValue>> {
        (self.count > 0).then(|| RawValue::from_string(self.json).unwrap_or_default())
    }
}

/// The cells of the row that is being written.
pub(super) struct Cells<'a> {
    keys: &'a [Vec<u8>],
    at: usize,
    json: &'a mut Vec<u8>,
    /// How long the JSON may become with this row.
    most: usize,
    is_oversized: bool,
}

impl Cells<'_> {
    /// Begins the next cell, whose value has about so many bytes. None when it does not fit, which ends the row.
    pub(super) fn next(&mut self, value_bytes: usize) -> Option<Cell<'_>> {
        if self.is_oversized || self.json.len() + value_bytes > self.most {
            self.is_oversized = true;
            return None;
        }
        if self.at > 0 {
            self.json.push(b',');
        }
        self.json.extend_from_slice(self.keys.get(self.at).map_or(b"\"\":", Vec::as_slice));
        self.at += 1;
        Some(Cell(self.json))
    }

    /// The value of the next cell was too large for the database to hand it over.
    pub(super) fn oversized(&mut self) {
        self.is_oversized = true;
    }
}

/// Where one value is written.
pub(super) struct Cell<'a>(&'a mut Vec<u8>);

impl Cell<'_> {
    pub(super) fn null(&mut self) {
        self.raw("null");
    }

    /// JSON as it is.
    pub(super) fn raw(&mut self, json: &str) {
        self.0.extend_from_slice(json.as_bytes());
    }

    /// JSON that somebody else wrote; a text where it is none.
    pub(super) fn json(&mut self, text: &str) {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(json) => self.raw(json.get()),
            Err(_) => self.text(text),
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        push_text(self.0, text);
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    pub(super) fn integer(&mut self, value: i64) {
        if value.unsigned_abs() <= EXACT.unsigned_abs() {
            self.raw(&Number::from(value).to_string());
        } else {
            self.text(&value.to_string());
        }
    }

    /// Of MySQL alone.
    #[cfg(any(test, feature = "mysql"))]
    pub(super) fn unsigned(&mut self, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) => self.text(&value.to_string()),
        }
    }

    /// What JSON has no number for is its name.
    pub(super) fn float(&mut self, value: f64) {
        match Number::from_f64(value) {
            Some(number) => self.raw(&number.to_string()),
            None if value.is_nan() => self.text("NaN"),
            None if value > 0.0 => self.text("Infinity"),
            None => self.text("-Infinity"),
        }
    }

    pub(super) fn bytes(&mut self, value: &[u8]) {
        self.text(&BASE64_STANDARD.encode(value));
    }
}

fn push_text(json: &mut Vec<u8>, text: &str) {
    if serde_json::to_writer(&mut *json, text).is_err() {
        json.extend_from_slice(b"null"); // A Vec takes everything.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headings(names: &[&str]) -> Vec<Heading> {
        names.iter().map(|name| Heading { name: (*name).to_owned(), type_name: "text".to_owned() }).collect()
    }

    fn push(rows: &mut Rows, text: &str) -> ControlFlow<()> {
        rows.push(|cells| {
            if let Some(mut cell) = cells.next(text.len()) {
                cell.text(text);
            }
            Ok::<_, std::convert::Infallible>(())
        })
        .unwrap()
    }

    #[test]
    fn stops_at_the_limits_and_keeps_whole_rows() {
        let mut rows = Rows::new(Limits::new(2, 1000));
        rows.set_headings(|| headings(&["a"]));
        assert!(push(&mut rows, "x").is_continue() && push(&mut rows, "\"").is_continue());
        assert!(push(&mut rows, "z").is_break() && rows.cut() == Some(Cut::Rows));
        let finished = rows.finish().unwrap();
        assert_eq!(finished.json, r#"{"a":"x"},{"a":"\""}"#);
        assert!(finished.is_truncated && finished.count == 2);
        assert_eq!(finished.last_row(), Some(r#"{"a":"\""}"#));

        let mut rows = Rows::new(Limits::new(100, 30));
        rows.set_headings(|| headings(&["a"]));
        assert!(push(&mut rows, "0123456789").is_continue() && push(&mut rows, "0123456789").is_break());
        let finished = rows.finish().unwrap();
        assert_eq!((finished.json.as_str(), finished.is_truncated), (r#"{"a":"0123456789"}"#, true));
    }

    #[test]
    fn refuses_a_row_that_no_answer_can_hold() {
        let mut rows = Rows::new(Limits::new(100, 30));
        rows.set_headings(|| headings(&["a"]));
        assert!(push(&mut rows, &"x".repeat(31)).is_break());
        let error = rows.finish().unwrap_err();
        assert_eq!(error.kind(), tool::ErrorKind::InvalidInput);
        assert!(error.message().contains("max_bytes"), "{error}");
    }

    #[test]
    fn writes_numbers_that_every_parser_reads_right() {
        let written = |write: fn(&mut Cell<'_>)| {
            let mut json = Vec::new();
            write(&mut Cell(&mut json));
            String::from_utf8(json).unwrap()
        };
        assert_eq!(written(|cell| cell.integer(EXACT)), "9007199254740991");
        assert_eq!(written(|cell| cell.integer(EXACT + 1)), "\"9007199254740992\"");
        assert_eq!(written(|cell| cell.integer(i64::MIN)), "\"-9223372036854775808\"");
        assert_eq!(written(|cell| cell.unsigned(u64::MAX)), "\"18446744073709551615\"");
        assert_eq!(written(|cell| cell.float(f64::NAN)), "\"NaN\"");
        assert_eq!(written(|cell| cell.float(0.1)), "0.1");
        assert_eq!(written(|cell| cell.bytes(&[0, 255])), "\"AP8=\"");
        assert_eq!(written(|cell| cell.json("{\"a\": 1}")), "{\"a\": 1}");
        assert_eq!(written(|cell| cell.json("{")), "\"{\"");
    }

    #[test]
    fn tells_columns_of_the_same_name_apart() {
        let mut found = headings(&["id", "id", "id_2", "id"]);
        distinguish(&mut found);
        let names: Vec<_> = found.iter().map(|heading| heading.name.as_str()).collect();
        assert_eq!(names, ["id", "id_2", "id_2_2", "id_3"]);
    }
}

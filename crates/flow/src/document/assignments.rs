//! The origin's texts in `args`, `with`, `sets` and `vars`: `a = e, b`, one or more on a line, `...x`, `# comment`.

use super::data::{Data, Field, Formula, Key, Origin};
use crate::cursor::{Cursor, is_identifier};
use crate::problem::{Code, Problems};
use expression::Position;
use serde_json::{Map, Value};

/// What a name that stands alone means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lone {
    /// The value, as in `with: total`.
    Value,
    /// A field of that name, as in `args: orderId`.
    Field,
}

pub(super) fn read(text: &str, cursor: &Cursor<'_>, lone: Lone, problems: &mut Problems) -> Data {
    let parts = split(text);
    if let [(start, part)] = parts.as_slice()
        && assigned(part).is_none()
        && !part.starts_with("...")
        && !(lone == Lone::Field && is_identifier(part))
    {
        let formula = formula(text, cursor, *start, part, problems);
        return formula.map_or(Data::Literal(Value::Null), Data::Formula);
    }
    if parts.is_empty() {
        return Data::Literal(Value::Object(Map::new()));
    }
    let fields = parts.iter().filter_map(|(start, part)| field(text, cursor, *start, part, problems));
    Data::Fields(fields.collect())
}

fn field(
    text: &str,
    cursor: &Cursor<'_>,
    start: usize,
    part: &str,
    problems: &mut Problems,
) -> Option<Field> {
    if let Some(rest) = part.strip_prefix("...") {
        return formula(text, cursor, start + 3, rest, problems).map(Field::Spread);
    }
    if let Some((name, value)) = assigned(part) {
        let formula = formula(text, cursor, start + part.len() - value.len(), value, problems)?;
        return Some(Field::Set(key(text, cursor, start, name), Data::Formula(formula)));
    }
    if is_identifier(part) {
        let formula = formula(text, cursor, start, part, problems)?;
        return Some(Field::Set(key(text, cursor, start, part), Data::Formula(formula)));
    }
    let message = format!("'{part}' has no name to be assigned to; write 'name = {part}'");
    problems.add(cursor.error(Code::Syntax, message));
    None
}

fn formula(
    text: &str,
    cursor: &Cursor<'_>,
    start: usize,
    part: &str,
    problems: &mut Problems,
) -> Option<Formula> {
    let origin = Origin::within(cursor, Position::of(text, start));
    Formula::parse(part, origin, problems)
}

fn key(text: &str, cursor: &Cursor<'_>, start: usize, name: &str) -> Key {
    Key::new(name, cursor.spot().place_of(Position::of(text, start)))
}

/// `name = value`, but not `name == value`.
fn assigned(part: &str) -> Option<(&str, &str)> {
    let (name, value) = part.split_once('=')?;
    let is_assignment = is_identifier(name.trim()) && !value.starts_with(['=', '>']);
    is_assignment.then(|| (name.trim(), value.trim_start()))
}

/// The parts between commas and ends of lines that stand in no brackets and no text, without comments,
/// each with the byte it begins at.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0_usize);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' | b'`' => at = end_of_text(bytes, at),
            b'#' => {
                push(text, start, at, &mut parts);
                at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
                start = at;
                continue;
            }
            b',' | b'\n' if depth == 0 => {
                push(text, start, at, &mut parts);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    push(text, start, text.len(), &mut parts);
    parts
}

/// The closing quote of the text that begins at `at`, or the last byte where there is none.
fn end_of_text(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != quote {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    end.min(bytes.len() - 1)
}

fn push<'a>(text: &'a str, start: usize, end: usize, parts: &mut Vec<(usize, &'a str)>) {
    let part = text.get(start..end).unwrap_or_default();
    let trimmed = part.trim();
    if !trimmed.is_empty() {
        parts.push((start + part.len() - part.trim_start().len(), trimmed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_at_commas_and_lines_outside_of_brackets_and_texts() {
        let text = "a = [1,\n 2], b # and c, d\n...rest, x = 'p, # q'\n\n";
        let parts: Vec<_> = split(text).into_iter().map(|(_, part)| part).collect();
        assert_eq!(parts, ["a = [1,\n 2]", "b", "...rest", "x = 'p, # q'"]);
        assert_eq!(split(text)[1].0, text.find(" b ").unwrap() + 1);
        for odd in ["'", "a = '\\", "]", "é, ü", "#", ""] {
            split(odd);
        }
    }

    #[test]
    fn comparisons_are_no_assignments() {
        assert_eq!(assigned("a = 1"), Some(("a", "1")));
        assert_eq!(assigned("a == 1"), None);
        assert_eq!(assigned("list.map(x => x)"), None);
        assert_eq!(assigned("x => x"), None);
    }
}

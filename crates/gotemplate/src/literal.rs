//! Go's literals: quoted strings, character constants and numbers.

use crate::error::Fault;

/// A number written in a template.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    /// Fits no signed integer; Go refuses it when it is used.
    Uint(u64),
    Float(f64),
}

/// The bytes of a string literal, quotes included in `token`.
pub(crate) fn unquote(token: &str) -> Result<Vec<u8>, Fault> {
    if let Some(raw) = token.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        return Ok(raw.bytes().filter(|byte| *byte != b'\r').collect());
    }
    let mut rest = &token[1..token.len() - 1];
    let mut bytes = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (unit, tail) = unescape(rest, '"')?;
        match unit {
            Unit::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Unit::Byte(byte) => bytes.push(byte),
        }
        rest = tail;
    }
    Ok(bytes)
}

/// The code point of a character constant, quotes included in `token`.
pub(crate) fn character(token: &str) -> Result<i64, Fault> {
    let malformed =
        || Fault::syntax(format!("malformed character constant {token}")).expecting("one character");
    let inner = token[1..].strip_suffix('\'').filter(|inner| !inner.is_empty()).ok_or_else(malformed)?;
    let (unit, tail) = unescape(inner, '\'')?;
    if !tail.is_empty() {
        return Err(malformed());
    }
    Ok(match unit {
        Unit::Char(c) => i64::from(u32::from(c)),
        Unit::Byte(byte) => i64::from(byte),
    })
}

enum Unit {
    Char(char),
    Byte(u8),
}

fn unescape(text: &str, quote: char) -> Result<(Unit, &str), Fault> {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    if first == quote {
        return Err(bad_escape(text));
    }
    if first != '\\' {
        return Ok((Unit::Char(first), chars.as_str()));
    }
    let letter = chars.next().ok_or_else(|| bad_escape(text))?;
    let rest = chars.as_str();
    let simple = |byte: u8| Ok((Unit::Char(char::from(byte)), rest));
    match letter {
        'a' => simple(7),
        'b' => simple(8),
        'f' => simple(12),
        'n' => simple(b'\n'),
        'r' => simple(b'\r'),
        't' => simple(b'\t'),
        'v' => simple(11),
        '\\' => simple(b'\\'),
        '\'' | '"' if letter == quote => Ok((Unit::Char(letter), rest)),
        'x' => digits(rest, 2, 16).map(|(code, rest)| (Unit::Byte(code as u8), rest)),
        'u' | 'U' => {
            let (code, rest) = digits(rest, if letter == 'u' { 4 } else { 8 }, 16)?;
            let c = char::from_u32(code).ok_or_else(|| bad_escape(text))?;
            Ok((Unit::Char(c), rest))
        }
        '0'..='7' => {
            let (code, rest) = digits(&text[1..], 3, 8)?;
            let byte = u8::try_from(code).map_err(|_| bad_escape(text))?;
            Ok((Unit::Byte(byte), rest))
        }
        _ => Err(bad_escape(text)),
    }
}

fn digits(text: &str, count: usize, radix: u32) -> Result<(u32, &str), Fault> {
    let digits = text.get(..count).ok_or_else(|| bad_escape(text))?;
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(bad_escape(text));
    }
    let code = u32::from_str_radix(digits, radix).map_err(|_| bad_escape(text))?;
    Ok((code, &text[count..]))
}

fn bad_escape(text: &str) -> Fault {
    let shown: String = text.chars().take(10).collect();
    Fault::syntax(format!("invalid escape at {shown:?}")).expecting("one of \\n \\t \\\\ \\xHH \\uHHHH")
}

/// A number token, as the lexer cut it out.
pub(crate) fn number(token: &str) -> Result<Number, Fault> {
    if token.ends_with('i') && !token.starts_with("0x") {
        return Err(Fault::syntax(format!("imaginary number {token} is not supported")));
    }
    if let Some(int) = integer(token) {
        return Ok(int);
    }
    let float = float(token).ok_or_else(|| Fault::syntax(format!("illegal number syntax {token}")))?;
    if !token.contains(['.', 'e', 'E', 'p', 'P']) {
        return Err(Fault::syntax(format!("integer overflow in {token}")));
    }
    Ok(Number::Float(float))
}

/// An integer in Go's notation: sign, base prefix, underscores between digits.
pub(crate) fn integer(token: &str) -> Option<Number> {
    let (negative, unsigned) = match token.strip_prefix(['-', '+']) {
        Some(rest) => (token.starts_with('-'), rest),
        None => (false, token),
    };
    let (radix, digits) = radix_of(unsigned);
    if !underscores_separate_digits(unsigned) {
        return None;
    }
    let cleaned: String = digits.chars().filter(|c| *c != '_').collect();
    if !cleaned.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(&cleaned, radix).ok()?;
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Number::Int);
    }
    match i64::try_from(magnitude) {
        Ok(int) => Some(Number::Int(int)),
        Err(_) if token.starts_with('+') => None,
        Err(_) => Some(Number::Uint(magnitude)),
    }
}

fn radix_of(unsigned: &str) -> (u32, &str) {
    let lower = unsigned.get(..2).map(str::to_ascii_lowercase);
    match lower.as_deref() {
        Some("0x") => (16, &unsigned[2..]),
        Some("0o") => (8, &unsigned[2..]),
        Some("0b") => (2, &unsigned[2..]),
        _ if unsigned.len() > 1 && unsigned.starts_with('0') => (8, &unsigned[1..]),
        _ => (10, unsigned),
    }
}

/// An underscore may stand between two digits or after a base prefix, nowhere else.
fn underscores_separate_digits(unsigned: &str) -> bool {
    let bytes = unsigned.as_bytes();
    let hex = bytes.len() > 1 && bytes[0] == b'0' && bytes[1].eq_ignore_ascii_case(&b'x');
    let digit = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_digit() || hex && b.is_ascii_hexdigit());
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let after_prefix = at == 2 && bytes[0] == b'0' && matches!(bytes[1] | 0x20, b'x' | b'o' | b'b');
        at > 0 && (digit(bytes.get(at - 1)) || after_prefix) && digit(bytes.get(at + 1))
    })
}

/// A decimal or hexadecimal floating-point number in Go's notation.
pub(crate) fn float(token: &str) -> Option<f64> {
    let unsigned = token.strip_prefix(['-', '+']).unwrap_or(token);
    if !underscores_separate_digits(unsigned) {
        return None;
    }
    let cleaned: String = unsigned.chars().filter(|c| *c != '_').collect();
    let magnitude = match cleaned.strip_prefix("0x").or_else(|| cleaned.strip_prefix("0X")) {
        Some(hex) => hex_float(hex)?,
        None if cleaned.starts_with(|c: char| c.is_ascii_digit() || c == '.') => cleaned.parse().ok()?,
        None => return None,
    };
    let value: f64 = if token.starts_with('-') { -magnitude } else { magnitude };
    value.is_finite().then_some(value)
}

fn hex_float(hex: &str) -> Option<f64> {
    let (mantissa, exponent) = hex.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    let bits = u64::from_str_radix(&digits, 16).ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let shift = exponent.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    Some(bits as f64 * 2f64.powi(shift))
}

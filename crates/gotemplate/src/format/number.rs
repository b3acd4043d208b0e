//! Formats numbers by a `printf` verb; a whole float is as good as an integer, and the reverse.

use super::flags::Flags;
use super::float;
use super::quote::{is_printable, quote_char};
use crate::budget::Buffer;
use crate::error::Fault;

/// Writes the integer, or returns false when the verb does not suit it.
pub(super) fn write_integer(buffer: &mut Buffer, flags: &Flags, verb: char, int: i64) -> Result<bool, Fault> {
    if matches!(verb, 'e' | 'E' | 'f' | 'F' | 'g' | 'G') {
        return write_float(buffer, flags, verb, int as f64);
    }
    write_magnitude(buffer, flags, verb, int.unsigned_abs(), int < 0)
}

/// [`write_integer`] for integers without a sign.
pub(super) fn write_uint(buffer: &mut Buffer, flags: &Flags, verb: char, uint: u64) -> Result<bool, Fault> {
    if matches!(verb, 'e' | 'E' | 'f' | 'F' | 'g' | 'G') {
        return write_float(buffer, flags, verb, uint as f64);
    }
    write_magnitude(buffer, flags, verb, uint, false)
}

fn write_magnitude(
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    magnitude: u64,
    negative: bool,
) -> Result<bool, Fault> {
    if matches!(verb, 'd' | 'v') && flags.is_plain() {
        if negative {
            buffer.push_str("-")?;
        }
        buffer.push_str(itoa::Buffer::new().format(magnitude))?;
        return Ok(true);
    }
    let (digits, prefix) = match verb {
        'd' | 'v' => (magnitude.to_string(), ""),
        'b' => (format!("{magnitude:b}"), "0b"),
        'o' | 'O' => (format!("{magnitude:o}"), "0"),
        'x' => (format!("{magnitude:x}"), "0x"),
        'X' => (format!("{magnitude:X}"), "0X"),
        'c' | 'q' | 'U' => {
            write_code_point(buffer, flags, verb, magnitude, negative)?;
            return Ok(true);
        }
        _ => return Ok(false),
    };
    write_digits(buffer, flags, verb, digits, prefix, negative)?;
    Ok(true)
}

fn write_digits(
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    mut digits: String,
    prefix: &str,
    negative: bool,
) -> Result<(), Fault> {
    let sign = match negative {
        true => "-",
        false if flags.plus => "+",
        false if flags.space => " ",
        false => "",
    };
    let least = match (flags.precision, flags.width) {
        (Some(0), _) if digits == "0" => return flags.without_zero().pad(buffer, b""),
        (Some(precision), _) => precision,
        (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(sign.len()),
        _ => 0,
    };
    if digits.len() < least {
        digits.insert_str(0, &"0".repeat(least - digits.len()));
    }
    let prefix = match (flags.sharp, prefix) {
        (false, _) => "",
        // Octal digits that start with a zero need no other.
        (true, "0") if digits.starts_with('0') => "",
        (true, prefix) => prefix,
    };
    let octal = if verb == 'O' { "0o" } else { "" };
    flags.without_zero().pad(buffer, format!("{sign}{octal}{prefix}{digits}").as_bytes())
}

fn write_code_point(
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    magnitude: u64,
    negative: bool,
) -> Result<(), Fault> {
    let code = u32::try_from(magnitude).ok().filter(|_| !negative);
    let c = code.and_then(char::from_u32);
    let shown = c.unwrap_or(char::REPLACEMENT_CHARACTER);
    let text = match verb {
        'c' => shown.to_string(),
        'q' => quote_char(shown, flags.plus),
        _ => {
            let wrapped = if negative { magnitude.wrapping_neg() } else { magnitude };
            let digits = flags.precision.unwrap_or(4).max(4);
            match c.filter(|c| flags.sharp && is_printable(*c)) {
                Some(c) => format!("U+{wrapped:0digits$X} '{c}'"),
                None => format!("U+{wrapped:0digits$X}"),
            }
        }
    };
    let flags = if verb == 'U' { flags.without_zero() } else { *flags };
    flags.pad(buffer, text.as_bytes())
}

/// Writes the float, or returns false when the verb does not suit it.
pub(super) fn write_float(buffer: &mut Buffer, flags: &Flags, verb: char, value: f64) -> Result<bool, Fault> {
    if let Some(special) = float::special(value).filter(|_| verb != 'd') {
        flags.without_zero().pad(buffer, special.as_bytes())?;
        return Ok(true);
    }
    let text = match verb {
        'v' if flags.precision.is_some() => float::general(value, flags.precision),
        'v' => float::plain(value),
        'f' | 'F' => float::fixed(value, Some(flags.precision.unwrap_or(6))),
        'e' => float::exponential(value, Some(flags.precision.unwrap_or(6))),
        'E' => float::exponential(value, Some(flags.precision.unwrap_or(6))).to_uppercase(),
        'g' => float::general(value, flags.precision),
        'G' => float::general(value, flags.precision).to_uppercase(),
        'b' => float::binary(value),
        'x' => float::hexadecimal(value, flags.precision),
        'X' => float::hexadecimal(value, flags.precision).to_uppercase(),
        // A whole number is an integer, however JSON spelled it.
        'd' if value.fract() == 0.0 && value.abs() < 9.2e18 => {
            return write_integer(buffer, flags, verb, value as i64);
        }
        _ => return Ok(false),
    };
    let text = if flags.sharp { sharpen(&text, verb, flags.precision) } else { text };
    let sign = match text.starts_with('-') {
        true => "",
        false if flags.plus => "+",
        false if flags.space => " ",
        false => "",
    };
    flags.pad_number(buffer, &format!("{sign}{text}"))?;
    Ok(true)
}

/// `#` keeps the decimal point, and for `%g` the trailing zeros.
fn sharpen(text: &str, verb: char, precision: Option<usize>) -> String {
    if matches!(verb, 'b' | 'x' | 'X') || !text.contains(|c: char| c.is_ascii_digit()) {
        return text.to_owned();
    }
    let at = text.find(['e', 'E']).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(at);
    let mut mantissa = mantissa.to_owned();
    if !mantissa.contains('.') {
        mantissa.push('.');
    }
    if matches!(verb, 'g' | 'G' | 'v') {
        let significant =
            mantissa.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count().max(1);
        let wanted = precision.unwrap_or(6);
        mantissa.extend(std::iter::repeat_n('0', wanted.saturating_sub(significant)));
    }
    mantissa + exponent
}

//! Go's quoting of strings and characters.

use std::fmt::Write as _;

/// Whether Go would print the character as itself: not a control, not a strange space, assigned.
pub(crate) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    // The standard library's debug form keeps exactly those characters; one letter in front
    // keeps combining marks from being escaped for want of a base.
    let mut text = String::with_capacity(8);
    text.push('a');
    text.push(c);
    text.escape_debug().nth(1) == Some(c)
}

/// The bytes in double quotes, escaped as in Go source.
pub(crate) fn quote(bytes: &[u8], ascii_only: bool) -> String {
    let mut quoted = String::with_capacity(bytes.len() + 2);
    quoted.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            escape(&mut quoted, c, '"', ascii_only);
        }
        for byte in chunk.invalid() {
            push(&mut quoted, format_args!("\\x{byte:02x}"));
        }
    }
    quoted.push('"');
    quoted
}

/// A code point in single quotes, escaped as in Go source.
pub(super) fn quote_char(c: char, ascii_only: bool) -> String {
    let mut quoted = String::from("'");
    escape(&mut quoted, c, '\'', ascii_only);
    quoted.push('\'');
    quoted
}

/// Whether Go would write the string in back quotes for `%#q`.
pub(super) fn can_back_quote(text: &str) -> bool {
    text.chars().all(|c| c == '\t' || c != '`' && c != '\u{feff}' && c >= ' ' && c != '\u{7f}')
}

fn escape(quoted: &mut String, c: char, quote: char, ascii_only: bool) {
    match c {
        '\x07' => quoted.push_str("\\a"),
        '\x08' => quoted.push_str("\\b"),
        '\x0c' => quoted.push_str("\\f"),
        '\n' => quoted.push_str("\\n"),
        '\r' => quoted.push_str("\\r"),
        '\t' => quoted.push_str("\\t"),
        '\x0b' => quoted.push_str("\\v"),
        '\\' => quoted.push_str("\\\\"),
        _ if c == quote => {
            quoted.push('\\');
            quoted.push(c);
        }
        _ if is_printable(c) && (c.is_ascii() || !ascii_only) => quoted.push(c),
        _ if c < ' ' || c == '\x7f' => push(quoted, format_args!("\\x{:02x}", u32::from(c))),
        _ if u32::from(c) < 0x10000 => push(quoted, format_args!("\\u{:04x}", u32::from(c))),
        _ => push(quoted, format_args!("\\U{:08x}", u32::from(c))),
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes everything that is written to it");
}

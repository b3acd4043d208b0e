//! Words, numbers, texts and signs of an expression, one after the other as the parser asks for them.

use crate::error::Fault;
use std::borrow::Cow;

/// One piece of the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'a> {
    Name(&'a str),
    Int(i64),
    /// A whole number one too large for `Int`, which a minus before it makes fit.
    IntMin,
    Uint(u64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The beginning of a text with values in it.
    Backtick,
    End,
}

/// How a literal part of a text with values ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PartEnd {
    /// `${`
    Value,
    /// The closing backtick.
    Backtick,
    /// The end of everything.
    End,
}

/// Longer signs first.
const SIGNS: [&str; 28] = [
    "&&", "||", "==", "!=", "<=", ">=", "=>", "?.", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+",
    "-", "*", "/", "%", "!", "<", ">", ";", "=",
];

/// The reader of an expression's text.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    /// Where the next token begins, or white space before it.
    pub(crate) offset: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str, offset: usize) -> Self {
        Self { text, offset }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    /// The next token and where it begins.
    pub(crate) fn next(&mut self) -> Result<(usize, Token<'a>), Fault> {
        self.skip_blanks();
        let at = self.offset;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok((at, Token::End)) };
        let is_fraction = first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit());
        let token = match first {
            '0'..='9' => self.number()?,
            '.' if is_fraction => self.number()?,
            '"' | '\'' => self.quoted(Prefix::default())?,
            '`' => {
                self.offset += 1;
                Token::Backtick
            }
            'a'..='z' | 'A'..='Z' | '_' => self.word()?,
            _ => self.sign()?,
        };
        Ok((at, token))
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']).len();
            self.offset += blanks;
            if !self.rest().starts_with("//") {
                return;
            }
            let line = self.rest().find('\n').unwrap_or(self.rest().len());
            self.offset += line;
        }
    }

    fn sign(&mut self) -> Result<Token<'a>, Fault> {
        let rest = self.rest();
        let fits = |sign: &&&str| {
            rest.starts_with(**sign)
                && !(**sign == "?." && rest[2..].starts_with(|c: char| c.is_ascii_digit()))
        };
        if let Some(sign) = SIGNS.iter().find(fits) {
            self.offset += sign.len();
            return Ok(Token::Sign(sign));
        }
        let sign = rest.chars().next().unwrap_or(' ');
        let hint = match sign {
            '&' => "; 'and' is '&&'",
            '|' => "; 'or' is '||'",
            '$' => "; values are not marked inside an expression",
            '“' | '”' | '‘' | '’' => "; texts stand in plain quotes",
            _ => "",
        };
        Err(Fault::syntax(self.offset, format!("'{}' has no meaning here{hint}", sign.escape_debug())))
    }

    fn word(&mut self) -> Result<Token<'a>, Fault> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..length];
        if let Some(prefix) = Prefix::of(word)
            && rest[length..].starts_with(['"', '\''])
        {
            self.offset += length;
            return self.quoted(prefix);
        }
        self.offset += length;
        Ok(Token::Name(word))
    }

    fn number(&mut self) -> Result<Token<'a>, Fault> {
        let at = self.offset;
        let rest = self.rest();
        if let Some(digits) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            self.offset += 2 + length;
            return self.whole(at, u64::from_str_radix(&digits[..length], 16).ok());
        }
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut length = digits(rest);
        let mut is_whole = true;
        if rest[length..].starts_with('.') && digits(&rest[length + 1..]) > 0 {
            is_whole = false;
            length += 1 + digits(&rest[length + 1..]);
        }
        if rest[length..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[length + 1 + sign..]);
            if exponent > 0 {
                is_whole = false;
                length += 1 + sign + exponent;
            }
        }
        self.offset += length;
        if is_whole {
            return self.whole(at, rest[..length].parse().ok());
        }
        let number: f64 = rest[..length].parse().map_err(|_| Fault::syntax(at, "this is no number"))?;
        self.end_of_number(at)?;
        Ok(Token::Double(number))
    }

    fn whole(&mut self, at: usize, number: Option<u64>) -> Result<Token<'a>, Fault> {
        let too_large = || Fault::syntax(at, "this whole number does not fit into 64 bits");
        let number = number.ok_or_else(too_large)?;
        if self.rest().starts_with(['u', 'U']) {
            self.offset += 1;
            self.end_of_number(at)?;
            return Ok(Token::Uint(number));
        }
        self.end_of_number(at)?;
        match i64::try_from(number) {
            Ok(number) => Ok(Token::Int(number)),
            Err(_) if number == 1 << 63 => Ok(Token::IntMin),
            Err(_) => Err(too_large()),
        }
    }

    fn end_of_number(&self, at: usize) -> Result<(), Fault> {
        if self.rest().starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return Err(Fault::syntax(
                at,
                "a number is followed by letters; put a blank or an operator between",
            ));
        }
        Ok(())
    }

    /// A text or bytes in quotes, single, double or triple.
    fn quoted(&mut self, prefix: Prefix) -> Result<Token<'a>, Fault> {
        let at = self.offset;
        let rest = self.rest();
        let quote = &rest[..1];
        let triple = quote.repeat(3);
        let is_triple = rest.starts_with(&triple);
        let end = if is_triple { triple.as_str() } else { quote };
        let body = &rest[end.len()..];
        let length = closing(body, end, prefix.is_raw, is_triple)
            .ok_or_else(|| Fault::syntax(at, format!("this text does not end: {end} is missing")))?;
        let inner = at + end.len();
        let body = &body[..length];
        self.offset += length + 2 * end.len();
        if prefix.is_raw || !body.contains('\\') {
            return Ok(match prefix.is_bytes {
                true => Token::Bytes(body.as_bytes().to_vec()),
                false => Token::Text(Cow::Borrowed(body)),
            });
        }
        let bytes = unescape(body, inner, prefix.is_bytes)?;
        if prefix.is_bytes {
            return Ok(Token::Bytes(bytes));
        }
        let text = String::from_utf8(bytes).map_err(|_| Fault::syntax(at, "the escapes make no text"))?;
        Ok(Token::Text(Cow::Owned(text)))
    }

    /// The literal text up to the next value or the end of a text with values in it. `$${` is `${`.
    pub(crate) fn part(&mut self, is_in_backticks: bool) -> Result<(String, PartEnd), Fault> {
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let Some(at) = rest.find(['$', '`', '\\']) else {
                text.push_str(rest);
                self.offset = self.text.len();
                return Ok((text, PartEnd::End));
            };
            text.push_str(&rest[..at]);
            let rest = &rest[at..];
            self.offset += at;
            let (literal, length) = if rest.starts_with("$${") {
                ("${", 3)
            } else if rest.starts_with("${") {
                self.offset += 2;
                return Ok((text, PartEnd::Value));
            } else if is_in_backticks && rest.starts_with('`') {
                self.offset += 1;
                return Ok((text, PartEnd::Backtick));
            } else if is_in_backticks && rest.starts_with('\\') {
                let (escaped, length) = escape(rest, self.offset, false)?;
                text.push_str(&String::from_utf8_lossy(&escaped));
                self.offset += length;
                continue;
            } else {
                (&rest[..1], 1)
            };
            text.push_str(literal);
            self.offset += length;
        }
    }
}

/// What stands before a quote.
#[derive(Debug, Default, Clone, Copy)]
struct Prefix {
    is_raw: bool,
    is_bytes: bool,
}

impl Prefix {
    fn of(word: &str) -> Option<Self> {
        let (is_raw, is_bytes) = match word {
            "r" | "R" => (true, false),
            "b" | "B" => (false, true),
            "rb" | "br" | "Rb" | "rB" | "RB" | "bR" | "Br" | "BR" => (true, true),
            _ => return None,
        };
        Some(Self { is_raw, is_bytes })
    }
}

/// Where a text ends: at its quote, but not at one behind a backslash, nor over the end of a line.
fn closing(body: &str, end: &str, is_raw: bool, is_triple: bool) -> Option<usize> {
    let mut at = 0;
    while at < body.len() {
        let rest = &body[at..];
        if rest.starts_with(end) {
            return Some(at);
        }
        let first = rest.chars().next()?;
        if !is_triple && (first == '\n' || first == '\r') {
            return None;
        }
        at += first.len_utf8();
        if first == '\\' && !is_raw {
            at += body[at..].chars().next()?.len_utf8();
        }
    }
    None
}

fn unescape(body: &str, offset: usize, is_bytes: bool) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut at = 0;
    while at < body.len() {
        let rest = &body[at..];
        if rest.starts_with('\\') {
            let (escaped, length) = escape(rest, offset + at, is_bytes)?;
            bytes.extend_from_slice(&escaped);
            at += length;
        } else {
            let plain = rest.find('\\').unwrap_or(rest.len());
            bytes.extend_from_slice(&rest.as_bytes()[..plain]);
            at += plain;
        }
    }
    Ok(bytes)
}

/// What an escape at the beginning of `text` stands for, and its length.
fn escape(text: &str, at: usize, is_bytes: bool) -> Result<(Vec<u8>, usize), Fault> {
    let unknown = || Fault::syntax(at, "this escape is unknown; a backslash itself is written \\\\");
    let kind = text[1..].chars().next().ok_or_else(unknown)?;
    let code = |digits: usize, radix: u32, skip: usize| {
        let code = text.get(skip..skip + digits).and_then(|digits| u32::from_str_radix(digits, radix).ok());
        code.map(|code| (code, skip + digits)).ok_or_else(unknown)
    };
    let (code, length) = match kind {
        'n' => (10, 2),
        't' => (9, 2),
        'r' => (13, 2),
        'a' => (7, 2),
        'b' => (8, 2),
        'f' => (12, 2),
        'v' => (11, 2),
        '\\' | '\'' | '"' | '`' | '?' | '$' => (kind as u32, 2),
        'x' | 'X' => code(2, 16, 2)?,
        'u' if !is_bytes => code(4, 16, 2)?,
        'U' if !is_bytes => code(8, 16, 2)?,
        '0'..='3' => code(3, 8, 1)?,
        _ => return Err(unknown()),
    };
    if is_bytes {
        return Ok((vec![u8::try_from(code).map_err(|_| unknown())?], length));
    }
    let letter = char::from_u32(code).ok_or_else(unknown)?;
    Ok((letter.encode_utf8(&mut [0; 4]).as_bytes().to_vec(), length))
}

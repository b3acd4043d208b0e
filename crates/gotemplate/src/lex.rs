//! Cuts a template's source into tokens, Go's trim markers and comments already applied.

use crate::error::Fault;

/// A token with its byte offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Token<'s> {
    pub(crate) kind: Kind<'s>,
    pub(crate) offset: usize,
    /// White space stands before it; it separates arguments.
    pub(crate) spaced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind<'s> {
    End,
    Text(&'s str),
    LeftDelimiter,
    RightDelimiter,
    LeftParenthesis,
    RightParenthesis,
    Pipe,
    Assign,
    Declare,
    Comma,
    Dot,
    Nil,
    Bool(bool),
    /// The name without its dot.
    Field(&'s str),
    /// The name with its dollar sign.
    Variable(&'s str),
    Identifier(&'s str),
    Keyword(Keyword),
    Number(&'s str),
    /// With its quotes.
    Character(&'s str),
    /// With its quotes.
    String(&'s str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

impl Kind<'_> {
    /// How a message names the token.
    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::End => "the end of the template".to_owned(),
            Kind::Text(_) => "text".to_owned(),
            Kind::LeftDelimiter => "\"{{\"".to_owned(),
            Kind::RightDelimiter => "\"}}\"".to_owned(),
            Kind::LeftParenthesis => "\"(\"".to_owned(),
            Kind::RightParenthesis => "\")\"".to_owned(),
            Kind::Pipe => "\"|\"".to_owned(),
            Kind::Assign => "\"=\"".to_owned(),
            Kind::Declare => "\":=\"".to_owned(),
            Kind::Comma => "\",\"".to_owned(),
            Kind::Dot => "\".\"".to_owned(),
            Kind::Nil => "\"nil\"".to_owned(),
            Kind::Bool(value) => format!("\"{value}\""),
            Kind::Field(name) => format!("\".{name}\""),
            Kind::Variable(name) | Kind::Identifier(name) => format!("\"{name}\""),
            Kind::Keyword(keyword) => format!("{{{{{}}}}}", keyword.as_str()),
            Kind::Number(text) | Kind::Character(text) | Kind::String(text) => shorten(text),
        }
    }
}

fn shorten(text: &str) -> String {
    let short: String = text.chars().take(30).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

impl Keyword {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "block" => Self::Block,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "define" => Self::Define,
            "else" => Self::Else,
            "end" => Self::End,
            "if" => Self::If,
            "range" => Self::Range,
            "template" => Self::Template,
            "with" => Self::With,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Break => "break",
            Self::Continue => "continue",
            Self::Define => "define",
            Self::Else => "else",
            Self::End => "end",
            Self::If => "if",
            Self::Range => "range",
            Self::Template => "template",
            Self::With => "with",
        }
    }
}

/// Reads tokens one after the other.
pub(crate) struct Lexer<'s> {
    source: &'s str,
    offset: usize,
    inside: bool,
    parentheses: usize,
}

/// A failure and its byte offset.
pub(crate) type Located = (Fault, usize);

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, offset: 0, inside: false, parentheses: 0 }
    }

    pub(crate) fn next(&mut self) -> Result<Token<'s>, Located> {
        if self.inside { self.inside_action() } else { self.text() }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.offset..]
    }

    fn text(&mut self) -> Result<Token<'s>, Located> {
        loop {
            let start = self.offset;
            let Some(length) = self.rest().find("{{") else {
                let text = self.rest();
                self.offset = self.source.len();
                let kind = if text.is_empty() { Kind::End } else { Kind::Text(text) };
                return Ok(Token { kind, offset: start, spaced: false });
            };
            let delimiter = start + length;
            let trims = trims_before(&self.source[delimiter + 2..]);
            let mut text = &self.source[start..delimiter];
            if trims {
                text = text.trim_end_matches(SPACES);
            }
            self.offset = delimiter;
            if !text.is_empty() {
                return Ok(Token { kind: Kind::Text(text), offset: start, spaced: false });
            }
            self.offset += if trims { 4 } else { 2 };
            if !self.rest().starts_with("/*") {
                self.inside = true;
                self.parentheses = 0;
                return Ok(Token { kind: Kind::LeftDelimiter, offset: delimiter, spaced: false });
            }
            self.comment(delimiter)?;
        }
    }

    fn comment(&mut self, delimiter: usize) -> Result<(), Located> {
        let Some(length) = self.rest().find("*/") else {
            return Err((Fault::syntax("unclosed comment").expecting("\"*/}}\""), delimiter));
        };
        self.offset += length + 2;
        let fault =
            || Fault::syntax("comment ends before the closing delimiter").expecting("\"}}\" after \"*/\"");
        let spaced = self.rest().starts_with(SPACES);
        let rest = if spaced && self.rest()[1..].starts_with('-') { &self.rest()[1..] } else { self.rest() };
        match rest.strip_prefix("-}}").filter(|_| spaced) {
            Some(after) => self.offset = self.source.len() - after.trim_start_matches(SPACES).len(),
            None if self.rest().starts_with("}}") => self.offset += 2,
            None => return Err((fault(), self.offset)),
        }
        Ok(())
    }

    fn inside_action(&mut self) -> Result<Token<'s>, Located> {
        let before = self.offset;
        let trimmed = self.rest().trim_start_matches(SPACES);
        self.offset = self.source.len() - trimmed.len();
        let spaced = self.offset > before;
        let offset = self.offset;
        let trims = spaced && trimmed.starts_with("-}}");
        let kind = if trims || trimmed.starts_with("}}") {
            self.right_delimiter(trims)?
        } else {
            self.token(offset)?
        };
        Ok(Token { kind, offset, spaced })
    }

    fn right_delimiter(&mut self, trims: bool) -> Result<Kind<'s>, Located> {
        if self.parentheses > 0 {
            return Err((Fault::syntax("unclosed left parenthesis").expecting("\")\""), self.offset));
        }
        self.inside = false;
        self.offset += if trims { 3 } else { 2 };
        if trims {
            self.offset = self.source.len() - self.rest().trim_start_matches(SPACES).len();
        }
        Ok(Kind::RightDelimiter)
    }

    fn token(&mut self, offset: usize) -> Result<Kind<'s>, Located> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Err((Fault::syntax("unclosed action").expecting("\"}}\""), offset));
        };
        let mut single = |kind| {
            self.offset += 1;
            Ok(kind)
        };
        match first {
            '=' => single(Kind::Assign),
            '|' => single(Kind::Pipe),
            ',' => single(Kind::Comma),
            '(' => {
                self.parentheses += 1;
                self.offset += 1;
                Ok(Kind::LeftParenthesis)
            }
            ')' => {
                let closed = self.parentheses.checked_sub(1);
                self.parentheses =
                    closed.ok_or_else(|| (Fault::syntax("unexpected right parenthesis"), offset))?;
                self.offset += 1;
                Ok(Kind::RightParenthesis)
            }
            ':' if rest.starts_with(":=") => {
                self.offset += 2;
                Ok(Kind::Declare)
            }
            ':' => Err((Fault::syntax("unexpected \":\"").expecting("\":=\""), offset)),
            '"' => self.quoted('"').map(Kind::String),
            '\'' => self.quoted('\'').map(Kind::Character),
            '`' => self.raw_string(),
            '$' => self.word(1).map(Kind::Variable),
            '.' if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                let word = self.word(1)?;
                Ok(if word.len() == 1 { Kind::Dot } else { Kind::Field(&word[1..]) })
            }
            '+' | '-' | '.' | '0'..='9' => self.number(),
            _ if is_word(first) => self.word(0).map(identifier),
            _ => Err((Fault::syntax(format!("unexpected character {first:?} in action")), offset)),
        }
    }

    /// A name after `skip` bytes of prefix; what follows it must be able to end a name.
    fn word(&mut self, skip: usize) -> Result<&'s str, Located> {
        let rest = self.rest();
        let length = rest[skip..].find(|c| !is_word(c)).map_or(rest.len(), |length| length + skip);
        let after = &rest[length..];
        let ends = after.is_empty()
            || after.starts_with(SPACES)
            || after.starts_with(['.', ',', '|', ':', ')', '('])
            || after.starts_with("}}");
        if !ends {
            let bad = after.chars().next().unwrap_or_default();
            let fault = Fault::syntax(format!("bad character {bad:?} after {}", shorten(&rest[..length])));
            return Err((fault.expecting("a space, \"|\", \".\" or \"}}\""), self.offset + length));
        }
        self.offset += length;
        Ok(&rest[..length])
    }

    fn quoted(&mut self, quote: char) -> Result<&'s str, Located> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == quote => {
                    self.offset += at + 1;
                    return Ok(&rest[..=at]);
                }
                _ => {}
            }
        }
        let what = if quote == '"' { "quoted string" } else { "character constant" };
        Err((Fault::syntax(format!("unterminated {what}")).expecting(format!("{quote}")), self.offset))
    }

    fn raw_string(&mut self) -> Result<Kind<'s>, Located> {
        let rest = self.rest();
        match rest[1..].find('`') {
            Some(length) => {
                self.offset += length + 2;
                Ok(Kind::String(&rest[..length + 2]))
            }
            None => Err((Fault::syntax("unterminated raw string").expecting("`"), self.offset)),
        }
    }

    fn number(&mut self) -> Result<Kind<'s>, Located> {
        let rest = self.rest();
        let length = number_length(rest.as_bytes());
        let after = rest[length..].chars().next();
        if length == 0 || after.is_some_and(|c| is_word(c) || c == '+' || c == '-') {
            let shown = shorten(&rest[..length + after.map_or(0, char::len_utf8)]);
            return Err((Fault::syntax(format!("bad number syntax {shown}")), self.offset));
        }
        self.offset += length;
        Ok(Kind::Number(&rest[..length]))
    }
}

fn identifier(word: &str) -> Kind<'_> {
    match word {
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        "nil" => Kind::Nil,
        _ => Keyword::parse(word).map_or(Kind::Identifier(word), Kind::Keyword),
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphabetic() || c.is_numeric()
}

fn trims_before(after: &str) -> bool {
    after.strip_prefix('-').is_some_and(|rest| rest.starts_with(SPACES))
}

/// How many bytes look like a number; whether they are one is decided when it is converted.
fn number_length(bytes: &[u8]) -> usize {
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let run = |at: usize, allowed: fn(&u8) -> bool| {
        at + bytes[at..].iter().take_while(|byte| **byte == b'_' || allowed(byte)).count()
    };
    let prefix = bytes.get(at + 1).map(u8::to_ascii_lowercase).filter(|_| bytes.get(at) == Some(&b'0'));
    let (digit, exponent): (fn(&u8) -> bool, u8) = match prefix {
        Some(b'x') => (u8::is_ascii_hexdigit, b'p'),
        Some(b'o') => (|byte| (b'0'..=b'7').contains(byte), 0),
        Some(b'b') => (|byte| matches!(byte, b'0' | b'1'), 0),
        _ => (u8::is_ascii_digit, b'e'),
    };
    if exponent != b'e' {
        at += 2;
    }
    at = run(at, digit);
    if bytes.get(at) == Some(&b'.') {
        at = run(at + 1, digit);
    }
    if exponent != 0 && bytes.get(at).is_some_and(|byte| byte.to_ascii_lowercase() == exponent) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = run(at, u8::is_ascii_digit);
    }
    at + usize::from(bytes.get(at) == Some(&b'i'))
}

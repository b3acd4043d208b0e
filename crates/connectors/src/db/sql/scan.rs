//! Reads SQL as far as safety needs it: words, names, texts, comments and parameters.

use super::super::settings::DbType;
use std::ops::Range;

/// What stands in a statement, as far as we tell it apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword or an unquoted name, in lower case.
    Word(String),
    /// A quoted name, as it is meant.
    Name(String),
    /// A text in quotes of any kind.
    Text,
    /// A number or an operator: nothing that walls care about.
    Other,
    /// A parameter of ours, `:name`.
    Parameter(String),
    /// A placeholder of the engine's own, such as `?` or `$1`.
    Placeholder,
    Semicolon,
    /// A comment that servers of some kind execute, `/*! … */`.
    ExecutableComment,
    /// A text, a name or a comment that does not end.
    Unended,
    /// What servers, or versions of one, read differently, e.g. a number that runs into a text.
    Unclear,
}

/// The tokens of a statement and where they stand; comments and space are left out.
pub(super) fn scan(sql: &str, db_type: DbType) -> Vec<(Token, Range<usize>)> {
    let mut scanner = Scanner { sql, bytes: sql.as_bytes(), at: 0, db_type };
    let mut tokens = Vec::new();
    while let Some(found) = scanner.next() {
        tokens.push(found);
    }
    tokens
}

struct Scanner<'a> {
    sql: &'a str,
    bytes: &'a [u8],
    at: usize,
    db_type: DbType,
}

impl Scanner<'_> {
    fn next(&mut self) -> Option<(Token, Range<usize>)> {
        if let Some(comment) = self.skip_space_and_comments() {
            return Some(comment);
        }
        let begin = self.at;
        let byte = *self.bytes.get(self.at)?;
        let token = match byte {
            b';' => self.single(Token::Semicolon),
            b'\'' => self.text(b'\'', self.db_type == DbType::Mysql),
            b'"' if self.db_type == DbType::Mysql => self.text(b'"', true),
            b'"' => self.name(b'"'),
            b'`' if self.db_type != DbType::Postgresql => self.name(b'`'),
            b'[' if self.db_type == DbType::Sqlite => self.name(b']'),
            b':' => self.colon(),
            b'$' => self.dollar(),
            b'?' if self.db_type != DbType::Postgresql => self.single(Token::Placeholder),
            b'@' | b'#' if self.db_type == DbType::Sqlite => self.single(Token::Placeholder),
            // The end of a statement for some servers, and nothing for others.
            0 => self.single(Token::Unclear),
            b'0'..=b'9' => self.number(),
            _ if is_word_start(byte) => self.word(),
            _ => self.single(Token::Other),
        };
        Some((token, begin..self.at))
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn single(&mut self, token: Token) -> Token {
        // Whole characters, so that every range can be cut.
        self.at += self.sql[self.at..].chars().next().map_or(1, char::len_utf8);
        token
    }

    /// A comment comes out only where it is more than a comment.
    fn skip_space_and_comments(&mut self) -> Option<(Token, Range<usize>)> {
        loop {
            let begin = self.at;
            match (self.peek(0), self.peek(1)) {
                (Some(byte), _) if byte.is_ascii_whitespace() || byte == 0x0b => self.at += 1,
                (Some(b'-'), Some(b'-')) if self.is_line_comment() => {
                    if !self.skip_line() {
                        return Some((Token::Unclear, begin..self.at));
                    }
                }
                (Some(b'#'), _) if self.db_type == DbType::Mysql => {
                    if !self.skip_line() {
                        return Some((Token::Unclear, begin..self.at));
                    }
                }
                (Some(b'/'), Some(b'*')) => {
                    let is_executable = matches!((self.peek(2), self.peek(3)), (Some(b'!'), _))
                        || matches!((self.peek(2), self.peek(3)), (Some(b'M' | b'm'), Some(b'!')));
                    if !self.skip_block() {
                        return Some((Token::Unended, begin..self.at));
                    }
                    if is_executable {
                        return Some((Token::ExecutableComment, begin..self.at));
                    }
                }
                _ => return None,
            }
        }
    }

    /// MySQL wants space or a control character behind the dashes.
    fn is_line_comment(&self) -> bool {
        let is_end = |byte: u8| byte == b' ' || byte.is_ascii_control();
        self.db_type != DbType::Mysql || self.peek(2).is_none_or(is_end)
    }

    /// Past a comment to the end of its line; false where engines differ about that end. To PostgreSQL a carriage return
    /// is one, to MySQL a zero.
    fn skip_line(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let line = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
        self.at += length;
        !line.iter().any(|byte| matches!(byte, b'\r' | 0))
    }

    /// Past a block comment; false when it does not end. Only PostgreSQL nests them.
    fn skip_block(&mut self) -> bool {
        let mut depth = 1;
        self.at += 2;
        while depth > 0 {
            match (self.peek(0), self.peek(1)) {
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                }
                (Some(b'/'), Some(b'*')) if self.db_type == DbType::Postgresql => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(_), _) => self.at += 1,
                (None, _) => return false,
            }
        }
        true
    }

    fn text(&mut self, quote: u8, has_escapes: bool) -> Token {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\\' if has_escapes => self.at = (self.at + 1).min(self.bytes.len()),
                0 => return Token::Unclear,
                _ if byte == quote && self.peek(0) == Some(quote) => self.at += 1,
                _ if byte == quote => return Token::Text,
                _ => {}
            }
        }
        Token::Unended
    }

    fn name(&mut self, end: u8) -> Token {
        self.at += 1;
        let mut name = Vec::new();
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == end {
                if self.peek(0) != Some(end) || end == b']' {
                    return Token::Name(String::from_utf8_lossy(&name).into_owned());
                }
                self.at += 1;
            }
            name.push(byte);
        }
        Token::Unended
    }

    fn colon(&mut self) -> Token {
        let is_free = self.at == 0 || !matches!(self.bytes[self.at - 1], b')' | b']' | b':');
        let is_free = is_free && (self.at == 0 || !is_word_part(self.bytes[self.at - 1]));
        if self.peek(1) == Some(b':') {
            self.at += 2;
            return Token::Other;
        }
        if !is_free || !self.peek(1).is_some_and(is_word_start) {
            return self.single(Token::Other);
        }
        self.at += 1;
        let begin = self.at;
        self.skip_word();
        Token::Parameter(self.sql[begin..self.at].to_owned())
    }

    /// `$1`, or a text between two equal tags of PostgreSQL.
    fn dollar(&mut self) -> Token {
        if self.db_type != DbType::Postgresql || self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) {
            return self.single(Token::Placeholder);
        }
        let rest = &self.sql[self.at + 1..];
        let length = rest.bytes().take_while(|byte| is_word_part(*byte) && *byte != b'$').count();
        if rest.as_bytes().get(length) != Some(&b'$') {
            return self.single(Token::Other);
        }
        let tag = &self.sql[self.at..self.at + length + 2];
        let inside = self.at + tag.len();
        match self.sql[inside..].find(tag) {
            Some(end) => {
                self.at = inside + end + tag.len();
                Token::Text
            }
            None => {
                self.at = self.bytes.len();
                Token::Unended
            }
        }
    }

    /// What follows must not run into it: older servers end the number in `1e'…'` and begin a text with escapes.
    fn number(&mut self) -> Token {
        let begin = self.at;
        while self.peek(0).is_some_and(|byte| (is_word_part(byte) && byte != b'$') || byte == b'.') {
            self.at += 1;
        }
        let is_joined = self.db_type == DbType::Postgresql && !is_plain_number(&self.sql[begin..self.at]);
        match self.peek(0) {
            Some(b'\'' | b'"' | b'`' | b'$') => self.single(Token::Unclear),
            _ if is_joined => Token::Unclear,
            _ => Token::Other,
        }
    }

    fn word(&mut self) -> Token {
        let begin = self.at;
        self.skip_word();
        let word = self.sql[begin..self.at].to_ascii_lowercase();
        if self.peek(0) == Some(b'\'') && self.db_type == DbType::Postgresql && word == "e" {
            return self.text(b'\'', true);
        }
        Token::Word(word)
    }

    fn skip_word(&mut self) {
        while self.peek(0).is_some_and(is_word_part) {
            self.at += 1;
        }
    }
}

/// A number and nothing behind it that could be a name of its own: older servers of PostgreSQL read `1.f` as two things.
fn is_plain_number(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let (digits, is_digit): (&str, fn(&u8) -> bool) = match text.as_bytes() {
        [b'0', b'x' | b'o' | b'b', ..] => (&text[2..], u8::is_ascii_hexdigit),
        _ => (text.trim_end_matches(|character: char| character.is_ascii_digit()), u8::is_ascii_digit),
    };
    let digits = digits.strip_suffix('e').unwrap_or(digits);
    digits.bytes().all(|byte| is_digit(&byte) || matches!(byte, b'_' | b'.'))
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_word_part(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(sql: &str, db_type: DbType) -> Vec<String> {
        let tokens = scan(sql, db_type).into_iter();
        tokens
            .filter_map(|(token, _)| match token {
                Token::Word(word) => Some(word),
                Token::Name(name) => Some(format!("<{name}>")),
                Token::Parameter(name) => Some(format!(":{name}")),
                Token::Other | Token::Text => None,
                other => Some(format!("{other:?}")),
            })
            .collect()
    }

    #[test]
    fn sees_through_texts_names_and_comments_of_each_engine() {
        use DbType::{Mysql, Postgresql, Sqlite};
        for (db_type, sql, expected) in [
            (Postgresql, "a /* /* x */ ; */ b", vec!["a", "b"]),
            (Sqlite, "a /* /* x */ b", vec!["a", "b"]),
            (Postgresql, "a 'it''s; b' c", vec!["a", "c"]),
            (Postgresql, r"a '\' b 'x'", vec!["a", "b"]),
            (Postgresql, r"a E'\' b' c", vec!["a", "c"]),
            (Mysql, r"a '\' b' c", vec!["a", "c"]),
            (Postgresql, "a $x$ ; $y$ $x$ b", vec!["a", "b"]),
            (Postgresql, "a $$ ; $$ b $1", vec!["a", "b", "Placeholder"]),
            (Mysql, "a -- b\nc --d", vec!["a", "c", "d"]),
            (Postgresql, "a --b\nc", vec!["a", "c"]),
            (Mysql, "a # b\nc", vec!["a", "c"]),
            (Mysql, "a /*!50000 b */", vec!["a", "ExecutableComment"]),
            (Mysql, "a /*M! b */", vec!["a", "ExecutableComment"]),
            (Postgresql, "\"a\"\"b\" c", vec!["<a\"b>", "c"]),
            (Mysql, "`a;b` c \"x;y\"", vec!["<a;b>", "c"]),
            (Sqlite, "[a;b] c; d", vec!["<a;b>", "c", "Semicolon", "d"]),
            (Postgresql, "a = :who::text and b[1:n]", vec!["a", ":who", "text", "and", "b", "n"]),
            (Sqlite, "a = :who", vec!["a", ":who"]),
            (Sqlite, "? @a", vec!["Placeholder", "Placeholder", "a"]),
            (Postgresql, "a 'b", vec!["a", "Unended"]),
            (Postgresql, "a /* b", vec!["a", "Unended"]),
            (Postgresql, "é :ü", vec!["é", ":ü"]),
            (Postgresql, "a -- b\rc", vec!["a", "Unclear"]),
            (Postgresql, "a -- b\r\nc", vec!["a", "c"]),
            (Postgresql, "1e'x' b", vec!["Unclear", "x", "Unended"]),
            (Postgresql, "1$$ a $$", vec!["Unclear", "a", "Unended"]),
            (Postgresql, "1.f 1or 0x1F 1e5 1.5e+10 1_000.5", vec!["Unclear", "Unclear"]),
            (Postgresql, "a \0 b", vec!["a", "Unclear", "b"]),
            (Mysql, "a --\u{7f} '\nb", vec!["a", "b"]),
            (Sqlite, "#a(')", vec!["Placeholder", "a", "Unended"]),
        ] {
            assert_eq!(words(sql, db_type), expected, "{sql}");
        }
    }
}

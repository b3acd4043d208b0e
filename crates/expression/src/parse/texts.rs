//! Texts with values in them: in backticks, and templates as a whole.

use super::{Parsed, Parser, place};
use crate::MAX_LENGTH;
use crate::error::Fault;
use crate::lex::{PartEnd, Token};
use crate::tree::{Names, Piece};

/// Parses a text with `${…}` in it, which reaches to the end.
pub(crate) fn template(text: &str) -> Parsed<(Vec<Piece>, Names)> {
    let mut parser = Parser::unread(text);
    let pieces = parser.pieces(false)?;
    Ok((pieces, parser.names))
}

impl Parser<'_> {
    /// The parts of a text with values in it; the lexer stands behind its beginning.
    pub(super) fn pieces(&mut self, is_in_backticks: bool) -> Parsed<Vec<Piece>> {
        let begin = self.lexer.offset;
        let mut pieces = Vec::new();
        loop {
            let (text, end) = self.lexer.part(is_in_backticks)?;
            if !text.is_empty() {
                pieces.push(Piece::Text(text.into()));
            }
            match end {
                PartEnd::End if is_in_backticks => {
                    return Err(Fault::syntax(
                        begin.saturating_sub(1),
                        "this text does not end: ` is missing",
                    ));
                }
                PartEnd::End | PartEnd::Backtick => return Ok(pieces),
                PartEnd::Value => {
                    let opened = self.lexer.offset;
                    self.advance()?;
                    if self.token == Token::End {
                        return Err(Fault::syntax(
                            opened - 2,
                            "'${' is not closed by '}'; a plain one is written '$${'",
                        ));
                    }
                    let node = self.expression()?;
                    if !self.is("}") {
                        return Err(self.unexpected("'}' is missing at the end of '${'"));
                    }
                    if self.lexer.offset - opened > MAX_LENGTH {
                        let message = format!("an expression has at most {MAX_LENGTH} bytes");
                        return Err(Fault::limit(message).at(place(opened)));
                    }
                    pieces.push(Piece::Value(node));
                }
            }
        }
    }
}

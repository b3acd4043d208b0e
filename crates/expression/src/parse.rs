//! From text to tree, by recursive descent; how deep it goes is counted.

use crate::error::Fault;
use crate::functions;
use crate::lex::{Lexer, Token};
use crate::tree::{Choice, Kind, Literal, Member, MemberKind, Names, Node, Operator, Tree};
use crate::{MAX_DEPTH, check_length};

mod calls;
mod texts;

pub(crate) use texts::template;

/// Words that CEL keeps for itself.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Parses a whole text as one expression.
pub(crate) fn expression(text: &str) -> Result<Tree, Fault> {
    check_length(text)?;
    let mut parser = Parser::new(text, 0)?;
    if parser.token == Token::End {
        return Err(Fault::syntax(0, "there is no expression"));
    }
    let root = parser.expression()?;
    parser.expect_end()?;
    Ok(Tree { root, names: parser.names })
}

pub(crate) struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// Where `token` begins.
    at: usize,
    depth: usize,
    names: Names,
    /// The variables of the lambdas around, outermost first.
    locals: Vec<&'a str>,
}

type Parsed<T> = Result<T, Fault>;

impl<'a> Parser<'a> {
    fn unread(text: &'a str) -> Self {
        let lexer = Lexer::new(text, 0);
        Self { lexer, token: Token::End, at: 0, depth: 0, names: Vec::new(), locals: Vec::new() }
    }

    fn new(text: &'a str, offset: usize) -> Parsed<Self> {
        let mut parser = Self { lexer: Lexer::new(text, offset), ..Self::unread(text) };
        parser.advance()?;
        Ok(parser)
    }

    fn advance(&mut self) -> Parsed<Token<'a>> {
        let (at, token) = self.lexer.next()?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign(found) if found == sign)
    }

    fn take(&mut self, sign: &str) -> Parsed<bool> {
        let is = self.is(sign);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign)? {
            return Ok(());
        }
        Err(self.unexpected(&format!("'{sign}' is missing here")))
    }

    fn expect_end(&self) -> Parsed<()> {
        if self.token == Token::End {
            return Ok(());
        }
        Err(self.unexpected("the expression could end here"))
    }

    fn unexpected(&self, wanted: &str) -> Fault {
        let found = match &self.token {
            Token::Name(name) => format!("'{name}'"),
            Token::Sign("=") => "'=' (to compare, write '==')".to_owned(),
            Token::Sign(sign) => format!("'{sign}'"),
            Token::End => return Fault::syntax(self.at, format!("{wanted}, but the text ends")),
            Token::Backtick | Token::Text(_) | Token::Bytes(_) => "a text".to_owned(),
            Token::Int(_) | Token::IntMin | Token::Uint(_) | Token::Double(_) => "a number".to_owned(),
        };
        Fault::syntax(self.at, format!("{wanted}, but {found} follows"))
    }

    /// Runs a part that may contain itself, and counts how deep that goes.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            let message = format!("the expression is nested more than {MAX_DEPTH} levels deep");
            return Err(Fault::limit(message).at(place(self.at)));
        }
        self.depth += 1;
        let parsed = part(self);
        self.depth -= 1;
        parsed
    }

    fn expression(&mut self) -> Parsed<Node> {
        self.deeper(|parser| {
            let condition = parser.or()?;
            let at = place(parser.at);
            if !parser.take("?")? {
                return Ok(condition);
            }
            let yes = parser.or()?;
            parser.expect(":")?;
            let no = parser.expression()?;
            Ok(Node { at, kind: Kind::Choice(Box::new(Choice { condition, yes, no })) })
        })
    }

    fn or(&mut self) -> Parsed<Node> {
        self.list_of("||", Self::and, Kind::Or)
    }

    fn and(&mut self) -> Parsed<Node> {
        self.list_of("&&", Self::relation, Kind::And)
    }

    fn list_of(
        &mut self,
        sign: &str,
        part: fn(&mut Self) -> Parsed<Node>,
        kind: fn(Vec<Node>) -> Kind,
    ) -> Parsed<Node> {
        let first = part(self)?;
        if !self.is(sign) {
            return Ok(first);
        }
        let at = place(self.at);
        let mut parts = vec![first];
        while self.take(sign)? {
            parts.push(part(self)?);
        }
        Ok(Node { at, kind: kind(parts) })
    }

    fn relation(&mut self) -> Parsed<Node> {
        self.chain(Self::addition, |token| {
            Some(match token {
                Token::Sign("==") => Operator::Equal,
                Token::Sign("!=") => Operator::NotEqual,
                Token::Sign("<") => Operator::Less,
                Token::Sign("<=") => Operator::LessOrEqual,
                Token::Sign(">") => Operator::Greater,
                Token::Sign(">=") => Operator::GreaterOrEqual,
                Token::Name("in") => Operator::In,
                _ => return None,
            })
        })
    }

    fn addition(&mut self) -> Parsed<Node> {
        self.chain(Self::multiplication, |token| match token {
            Token::Sign("+") => Some(Operator::Add),
            Token::Sign("-") => Some(Operator::Subtract),
            _ => None,
        })
    }

    fn multiplication(&mut self) -> Parsed<Node> {
        self.chain(Self::unary, |token| match token {
            Token::Sign("*") => Some(Operator::Multiply),
            Token::Sign("/") => Some(Operator::Divide),
            Token::Sign("%") => Some(Operator::Remainder),
            _ => None,
        })
    }

    fn chain(
        &mut self,
        part: fn(&mut Self) -> Parsed<Node>,
        operator: fn(&Token<'a>) -> Option<Operator>,
    ) -> Parsed<Node> {
        let first = part(self)?;
        let mut rest = Vec::new();
        while let Some(found) = operator(&self.token) {
            let at = place(self.at);
            self.advance()?;
            rest.push((found, at, part(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Node { at: first.at, kind: Kind::Chain(Box::new(first), rest) })
    }

    fn unary(&mut self) -> Parsed<Node> {
        let at = place(self.at);
        if self.take("!")? {
            let node = self.deeper(Self::unary)?;
            return Ok(Node { at, kind: Kind::Not(Box::new(node)) });
        }
        if !self.take("-")? {
            return self.members();
        }
        match self.token {
            Token::IntMin => {
                self.advance()?;
                Ok(Node { at, kind: Kind::Literal(Literal::Int(i64::MIN)) })
            }
            _ => {
                let node = self.deeper(Self::unary)?;
                Ok(Node { at, kind: Kind::Negate(Box::new(node)) })
            }
        }
    }

    fn members(&mut self) -> Parsed<Node> {
        let mut node = self.primary()?;
        loop {
            let at = place(self.at);
            let member = if self.take(".")? {
                let name = self.name_of_member()?;
                if self.is("(") {
                    node = self.deeper(|parser| parser.call(at, name, Some(node)))?;
                    continue;
                }
                MemberKind::Field(name.into())
            } else if self.take("?.")? {
                MemberKind::FieldIfThere(self.name_of_member()?.into())
            } else if self.take("[")? {
                let index = self.expression()?;
                self.expect("]")?;
                MemberKind::Index(index)
            } else {
                return Ok(node);
            };
            let member = Member { at, kind: member };
            node = match node.kind {
                Kind::Members(base, mut members) => {
                    members.push(member);
                    Node { at: node.at, kind: Kind::Members(base, members) }
                }
                kind => Node {
                    at: node.at,
                    kind: Kind::Members(Box::new(Node { at: node.at, kind }), vec![member]),
                },
            };
        }
    }

    fn name_of_member(&mut self) -> Parsed<&'a str> {
        let Token::Name(name) = self.token else {
            let wanted = "a field's name belongs behind the dot; other names go into brackets: a['b c']";
            return Err(self.unexpected(wanted));
        };
        self.advance()?;
        Ok(name)
    }

    fn primary(&mut self) -> Parsed<Node> {
        let at = place(self.at);
        if self.token == Token::Backtick {
            // What follows is no token yet: the lexer stands right behind the backtick.
            let pieces = self.deeper(|parser| parser.pieces(true))?;
            self.advance()?;
            return Ok(Node { at, kind: Kind::Text(pieces) });
        }
        let missing = self.unexpected("a value is missing here");
        let kind = match self.advance()? {
            Token::Int(number) => Kind::Literal(Literal::Int(number)),
            Token::IntMin => {
                return Err(Fault::syntax(at as usize, "this whole number does not fit into 64 bits"));
            }
            Token::Uint(number) => Kind::Literal(Literal::Uint(number)),
            Token::Double(number) => Kind::Literal(Literal::Double(number)),
            Token::Text(text) => Kind::Literal(Literal::Text(text.into())),
            Token::Bytes(bytes) => Kind::Literal(Literal::Bytes(bytes.into())),
            Token::Name(name) => return self.named(at, name),
            Token::Sign("(") => {
                let node = self.expression()?;
                self.expect(")")?;
                return Ok(node);
            }
            Token::Sign("[") => Kind::List(self.deeper(|parser| parser.items("]", Self::expression))?),
            Token::Sign("{") => Kind::Map(self.deeper(|parser| parser.items("}", Self::entry))?),
            // A name from the outermost scope, which is the only one that we have.
            Token::Sign(".") => {
                let name = self.name_of_member()?;
                return self.named(at, name);
            }
            Token::Backtick | Token::Sign(_) | Token::End => return Err(missing),
        };
        Ok(Node { at, kind })
    }

    fn items<T>(&mut self, end: &str, item: fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.take(end)? {
            items.push(item(self)?);
            if !self.take(",")? {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn entry(&mut self) -> Parsed<(Node, Node)> {
        let key = self.expression()?;
        self.expect(":")?;
        Ok((key, self.expression()?))
    }

    /// A name, or what begins with one.
    fn named(&mut self, at: u32, name: &'a str) -> Parsed<Node> {
        let literal = |literal| Ok(Node { at, kind: Kind::Literal(literal) });
        match name {
            "true" => return literal(Literal::Bool(true)),
            "false" => return literal(Literal::Bool(false)),
            "null" => return literal(Literal::Null),
            "in" => return Err(Fault::syntax(at as usize, "'in' stands between two values")),
            _ if RESERVED.contains(&name) => {
                return Err(Fault::syntax(at as usize, format!("'{name}' is reserved and cannot be a name")));
            }
            _ if self.is("(") => return self.deeper(|parser| parser.call(at, name, None)),
            _ => {}
        }
        Ok(Node { at, kind: self.variable(at, name) })
    }

    fn variable(&mut self, at: u32, name: &'a str) -> Kind {
        // The innermost of equal names is meant.
        if let Some(index) = self.locals.iter().rposition(|local| *local == name) {
            return Kind::Local(place(index));
        }
        let known = self.names.iter().position(|(known, _)| **known == *name);
        let index = known.unwrap_or_else(|| {
            self.names.push((name.into(), at));
            self.names.len() - 1
        });
        Kind::Name(place(index))
    }
}

/// Texts are shorter than 4 GiB by far.
fn place(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// The function of a name, or what to say if there is none.
fn function(at: u32, name: &str) -> Parsed<&'static functions::Function> {
    functions::find(name).ok_or_else(|| {
        let near = functions::nearest(name).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        Fault::syntax(at as usize, format!("there is no function '{name}'{near}"))
    })
}

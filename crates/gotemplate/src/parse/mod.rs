//! Builds the syntax tree: blocks here, pipelines in `pipeline`.

mod pipeline;

use crate::ast::{Branch, Definition, Node, Pipe, Tree, is_blank};
use crate::error::Fault;
use crate::lex::{Keyword, Kind, Lexer, Located, Token};
use crate::literal;

/// Parses `source`, nesting no deeper than `nesting`; `name` is what the main body is called.
pub(crate) fn parse<'s>(name: &str, source: &'s str, nesting: usize) -> Result<Tree<'s>, Located> {
    let mut parser = Parser::new(source, nesting)?;
    let main = parser.main()?;
    let end = parser.token.offset;
    parser.finish(name, main, end)
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    /// The token to look at next.
    token: Token<'s>,
    definitions: Vec<Definition<'s>>,
    nesting: usize,
    depth: usize,
    /// Loops around the place being parsed, within the template being parsed.
    loops: usize,
}

/// What closed a list of nodes.
enum Close {
    End,
    Else,
}

type Parsed<T> = Result<T, Located>;

impl<'s> Parser<'s> {
    fn new(source: &'s str, nesting: usize) -> Parsed<Self> {
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        Ok(Self { lexer, token, definitions: Vec::new(), nesting, depth: 0, loops: 0 })
    }

    /// Takes the current token and reads the one after it.
    fn advance(&mut self) -> Parsed<Token<'s>> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn unexpected<T>(&self, expected: &str) -> Parsed<T> {
        let fault = Fault::syntax(format!("unexpected {}", self.token.kind.describe()));
        Err((fault.expecting(expected), self.token.offset))
    }

    fn expect(&mut self, kind: Kind<'s>, expected: &str) -> Parsed<Token<'s>> {
        if self.token.kind == kind { self.advance() } else { self.unexpected(expected) }
    }

    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > self.nesting {
            return Err((Fault::limit("the nesting", self.nesting), self.token.offset));
        }
        Ok(())
    }

    fn main(&mut self) -> Parsed<Vec<Node<'s>>> {
        let mut nodes = Vec::new();
        loop {
            match self.token.kind {
                Kind::End => return Ok(nodes),
                Kind::Text(text) => {
                    let offset = self.advance()?.offset;
                    nodes.push(Node::Text { text, offset });
                }
                _ => {
                    self.expect(Kind::LeftDelimiter, "text or \"{{\"")?;
                    match self.token.kind {
                        Kind::Keyword(Keyword::Define) => self.definition()?,
                        Kind::Keyword(Keyword::End | Keyword::Else) => {
                            return self
                                .unexpected("an open {{if}}, {{with}}, {{range}}, {{define}} or {{block}}");
                        }
                        _ => nodes.push(self.action()?),
                    }
                }
            }
        }
    }

    /// Nodes up to the `{{end}}` or `{{else` that closes them.
    fn list(&mut self, what: &str) -> Parsed<(Vec<Node<'s>>, Close)> {
        let mut nodes = Vec::new();
        loop {
            match self.token.kind {
                Kind::End => return self.unexpected(&format!("{{{{end}}}} of {{{{{what}}}}}")),
                Kind::Text(text) => {
                    let offset = self.advance()?.offset;
                    nodes.push(Node::Text { text, offset });
                }
                _ => {
                    self.expect(Kind::LeftDelimiter, "text or \"{{\"")?;
                    match self.token.kind {
                        Kind::Keyword(Keyword::End) => {
                            self.advance()?;
                            self.expect(Kind::RightDelimiter, "\"}}\"")?;
                            return Ok((nodes, Close::End));
                        }
                        Kind::Keyword(Keyword::Else) => {
                            self.advance()?;
                            return Ok((nodes, Close::Else));
                        }
                        _ => nodes.push(self.action()?),
                    }
                }
            }
        }
    }

    /// What follows `{{`, up to and including its `}}` and, for a block, its `{{end}}`.
    fn action(&mut self) -> Parsed<Node<'s>> {
        let Kind::Keyword(keyword) = self.token.kind else {
            return self.pipeline("an action", Kind::RightDelimiter).map(Node::Action);
        };
        match keyword {
            Keyword::If | Keyword::With => self.branch(keyword),
            Keyword::Range => self.range(),
            Keyword::Template => self.call(),
            Keyword::Block => self.block(),
            Keyword::Break | Keyword::Continue => self.jump(keyword),
            Keyword::Define => self.unexpected("{{define}} at the top level only"),
            Keyword::Else | Keyword::End => self.unexpected("an action"),
        }
    }

    fn branch(&mut self, keyword: Keyword) -> Parsed<Node<'s>> {
        let word = keyword.as_str();
        self.enter()?;
        let mut branch = Branch { sets_dot: keyword == Keyword::With, arms: Vec::new(), otherwise: None };
        loop {
            // The keyword of this arm.
            self.advance()?;
            let pipe = self.pipeline(word, Kind::RightDelimiter)?;
            let (body, close) = self.list(word)?;
            branch.arms.push((pipe, body));
            match close {
                Close::End => break,
                Close::Else if self.token.kind == Kind::Keyword(keyword) => {}
                Close::Else => {
                    branch.otherwise = Some(self.otherwise(word)?);
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(Node::Branch(branch))
    }

    /// The rest of a plain `{{else}}` and its list.
    fn otherwise(&mut self, what: &str) -> Parsed<Vec<Node<'s>>> {
        self.expect(Kind::RightDelimiter, "\"}}\" after else")?;
        let (nodes, close) = self.list(what)?;
        match close {
            Close::End => Ok(nodes),
            Close::Else => self.unexpected(&format!("{{{{end}}}} of {{{{{what}}}}}")),
        }
    }

    fn range(&mut self) -> Parsed<Node<'s>> {
        self.enter()?;
        self.advance()?;
        let pipe = self.pipeline("range", Kind::RightDelimiter)?;
        self.loops += 1;
        let (body, close) = self.list("range")?;
        self.loops -= 1;
        let otherwise = match close {
            Close::End => None,
            Close::Else => Some(self.otherwise("range")?),
        };
        self.depth -= 1;
        Ok(Node::Range { pipe, body, otherwise })
    }

    fn jump(&mut self, keyword: Keyword) -> Parsed<Node<'s>> {
        if self.loops == 0 {
            return self.unexpected(&format!("{{{{{}}}}} inside {{{{range}}}} only", keyword.as_str()));
        }
        self.advance()?;
        self.expect(Kind::RightDelimiter, "\"}}\"")?;
        Ok(if keyword == Keyword::Break { Node::Break } else { Node::Continue })
    }

    fn call(&mut self) -> Parsed<Node<'s>> {
        let offset = self.advance()?.offset;
        let name = self.template_name()?;
        let argument = match self.token.kind {
            Kind::RightDelimiter => {
                self.advance()?;
                None
            }
            _ => Some(self.pipeline("template", Kind::RightDelimiter)?),
        };
        Ok(Node::Call { name, argument, offset })
    }

    fn block(&mut self) -> Parsed<Node<'s>> {
        let offset = self.advance()?.offset;
        let name = self.template_name()?;
        let argument: Pipe<'s> = self.pipeline("block", Kind::RightDelimiter)?;
        self.body_of(name.clone(), "block")?;
        Ok(Node::Call { name, argument: Some(argument), offset })
    }

    fn definition(&mut self) -> Parsed<()> {
        self.advance()?;
        let name = self.template_name()?;
        self.expect(Kind::RightDelimiter, "\"}}\" after the template's name")?;
        self.body_of(name, "define")
    }

    fn template_name(&mut self) -> Parsed<String> {
        let Kind::String(text) = self.token.kind else {
            return self.unexpected("a template name in quotes");
        };
        let bytes = literal::unquote(text).map_err(|fault| (fault, self.token.offset))?;
        self.advance()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The body of a template of its own: loops around it do not reach inside.
    fn body_of(&mut self, name: String, what: &str) -> Parsed<()> {
        let offset = self.token.offset;
        self.enter()?;
        let loops = std::mem::take(&mut self.loops);
        let (body, close) = self.list(what)?;
        if let Close::Else = close {
            return self.unexpected(&format!("{{{{end}}}} of {{{{{what}}}}}"));
        }
        self.loops = loops;
        self.depth -= 1;
        self.define(name, body, offset)
    }

    /// Adds a definition; only a blank one may be replaced.
    fn define(&mut self, name: String, body: Vec<Node<'s>>, offset: usize) -> Parsed<()> {
        match self.definitions.iter_mut().find(|definition| definition.name == name) {
            None => self.definitions.push(Definition { name, body }),
            Some(present) if is_blank(&present.body) => present.body = body,
            Some(_) if is_blank(&body) => {}
            Some(_) => return Err((Fault::syntax(format!("template {name:?} is defined twice")), offset)),
        }
        Ok(())
    }

    /// A definition under the main template's own name stands in for a blank main body.
    fn finish(mut self, name: &str, mut main: Vec<Node<'s>>, end: usize) -> Parsed<Tree<'s>> {
        if let Some(at) = self.definitions.iter().position(|definition| definition.name == name) {
            let definition = self.definitions.remove(at);
            if is_blank(&main) {
                main = definition.body;
            } else if !is_blank(&definition.body) {
                return Err((Fault::syntax(format!("template {name:?} is defined twice")), end));
            }
        }
        Ok(Tree { main, definitions: self.definitions })
    }
}

//! Pipelines: declarations, commands, operands.

use super::{Parsed, Parser};
use crate::ast::{Command, Operand, OperandKind, Pipe};
use crate::error::Fault;
use crate::lex::Kind;
use crate::literal;

const OPERAND: &str = "a field, variable, function, literal or \"(\"";

impl<'s> Parser<'s> {
    /// A pipeline and the `end` that closes it.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind<'s>) -> Parsed<Pipe<'s>> {
        let offset = self.token.offset;
        let mut pipe = Pipe { offset, variables: Vec::new(), assigns: false, commands: Vec::new() };
        let leading = self.declarations(context, &mut pipe)?;
        if let Some(operand) = leading {
            let command = self.command(Some(operand))?;
            pipe.commands.push(command);
        }
        while self.token.kind != end {
            let command = self.command(None)?;
            if !pipe.commands.is_empty() && !can_take_argument(&command) {
                let fault =
                    Fault::syntax("a value cannot stand after \"|\"").expecting("a function after \"|\"");
                return Err((fault, command.operands[0].offset));
            }
            pipe.commands.push(command);
            if pipe.commands.len() > self.nesting {
                return Err((Fault::limit("the length of a pipeline", self.nesting), self.token.offset));
            }
        }
        if pipe.commands.is_empty() {
            return self.unexpected(&format!("a value for {context}"));
        }
        self.advance()?;
        Ok(pipe)
    }

    /// Variables before `:=` or `=`; a first variable that is an operand after all is returned.
    fn declarations(&mut self, context: &str, pipe: &mut Pipe<'s>) -> Parsed<Option<Operand<'s>>> {
        while let Kind::Variable(name) = self.token.kind {
            let offset = self.advance()?.offset;
            match self.token.kind {
                Kind::Assign | Kind::Declare => {
                    pipe.assigns = self.token.kind == Kind::Assign;
                    pipe.variables.push((name, offset));
                    self.advance()?;
                    return Ok(None);
                }
                Kind::Comma => {
                    pipe.variables.push((name, offset));
                    if context != "range" || pipe.variables.len() > 1 {
                        return self.unexpected("one variable only");
                    }
                    self.advance()?;
                    if !matches!(
                        self.token.kind,
                        Kind::Variable(_) | Kind::RightDelimiter | Kind::RightParenthesis
                    ) {
                        return self.unexpected("a second variable");
                    }
                }
                _ => {
                    let kind = OperandKind::Variable { name, path: Vec::new() };
                    return self.chain(Operand { offset, kind }).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Operands up to `|`, `)` or `}}`; the `|` is consumed.
    fn command(&mut self, leading: Option<Operand<'s>>) -> Parsed<Command<'s>> {
        let mut operands = Vec::with_capacity(2);
        match leading {
            Some(operand) => operands.push(operand),
            None => operands.push(self.operand()?),
        }
        loop {
            match self.token.kind {
                Kind::RightDelimiter | Kind::RightParenthesis => break,
                Kind::Pipe => {
                    self.advance()?;
                    break;
                }
                _ if self.token.spaced => operands.push(self.operand()?),
                _ => return self.unexpected("a space, \"|\", \")\" or \"}}\""),
            }
        }
        Ok(Command { operands })
    }

    fn operand(&mut self) -> Parsed<Operand<'s>> {
        let offset = self.token.offset;
        let located = |fault: Fault| (fault, offset);
        let kind = match self.token.kind {
            Kind::Dot => OperandKind::Dot,
            Kind::Nil => OperandKind::Nil,
            Kind::Bool(value) => OperandKind::Bool(value),
            Kind::Field(name) => OperandKind::Field(vec![name]),
            Kind::Variable(name) => OperandKind::Variable { name, path: Vec::new() },
            Kind::Identifier(name) => OperandKind::Function(name),
            Kind::Number(text) => {
                OperandKind::Number { value: literal::number(text).map_err(located)?, text }
            }
            Kind::Character(text) => {
                let value = literal::Number::Int(literal::character(text).map_err(located)?);
                OperandKind::Number { value, text }
            }
            Kind::String(text) => {
                OperandKind::String { value: literal::unquote(text).map_err(located)?, text }
            }
            Kind::LeftParenthesis => {
                self.enter()?;
                self.advance()?;
                let pipe = self.pipeline("parentheses", Kind::RightParenthesis)?;
                self.depth -= 1;
                return self.chain(Operand { offset, kind: OperandKind::Pipe(Box::new(pipe)) });
            }
            _ => return self.unexpected(OPERAND),
        };
        self.advance()?;
        self.chain(Operand { offset, kind })
    }

    /// Adds the fields that follow an operand without a space.
    fn chain(&mut self, mut operand: Operand<'s>) -> Parsed<Operand<'s>> {
        let mut added = Vec::new();
        while let Kind::Field(name) = self.token.kind
            && !self.token.spaced
        {
            added.push(name);
            self.advance()?;
        }
        if added.is_empty() {
            return Ok(operand);
        }
        if added.len() > self.nesting {
            return Err((Fault::limit("the length of a field chain", self.nesting), operand.offset));
        }
        let offset = operand.offset;
        match &mut operand.kind {
            OperandKind::Field(path) | OperandKind::Variable { path, .. } => path.append(&mut added),
            OperandKind::Function(_) | OperandKind::Pipe(_) => {
                let base = Box::new(operand);
                operand = Operand { offset, kind: OperandKind::Chain { base, path: added } };
            }
            _ => {
                let fault = Fault::syntax("unexpected \".\" after a literal");
                return Err((fault.expecting("a field of a value"), offset));
            }
        }
        Ok(operand)
    }
}

/// A literal cannot receive the value of the command before it.
fn can_take_argument(command: &Command<'_>) -> bool {
    !matches!(
        command.operands[0].kind,
        OperandKind::Dot
            | OperandKind::Nil
            | OperandKind::Bool(_)
            | OperandKind::Number { .. }
            | OperandKind::String { .. }
    )
}

//! Resolves pipelines, commands and operands.

use super::scope::undefined;
use super::{Resolved, Resolver};
use crate::ast::{Command, Operand, OperandKind, Pipe};
use crate::error::{ErrorKind, Fault};
use crate::funcs::{self, Function, Parameter};
use crate::literal::Number;
use crate::program::{Apply, Compare, Expression, ExpressionKind, Path, Pipeline, Store};

impl<'s> Resolver<'_, 's> {
    pub(super) fn pipeline(&mut self, pipe: &Pipe<'s>) -> Resolved<Pipeline> {
        let announced: Vec<usize> =
            pipe.variables.iter().map(|(name, _)| self.scope.announce(name)).collect();
        let mut commands = pipe.commands.iter();
        let first = match commands.next() {
            Some(command) => self.command(command, Position::First)?,
            None => Expression { offset: pipe.offset, kind: ExpressionKind::Nil },
        };
        let rest = commands.map(|command| self.command(command, Position::Later)).collect::<Resolved<_>>()?;
        let stores = pipe
            .variables
            .iter()
            .zip(announced)
            .map(|((name, offset), announced)| {
                let slot = if pipe.assigns { self.scope.find(name) } else { Ok(self.scope.fill(announced)) };
                Store { slot, offset: *offset }
            })
            .collect();
        Ok(Pipeline { first, rest, stores })
    }

    fn command(&mut self, command: &Command<'s>, position: Position) -> Resolved<Expression> {
        let (head, arguments) = command.operands.split_first().ok_or_else(|| {
            // The parser makes no command without an operand.
            (Fault::syntax("empty command"), 0)
        })?;
        if let OperandKind::Function(name) = head.kind {
            return self.apply(name, arguments, head.offset, position);
        }
        // Resolved in any case: an unknown name in an argument is an error even where it is not used.
        for argument in arguments {
            self.operand(argument)?;
        }
        if let OperandKind::Nil = head.kind {
            let fault = Fault::wrong_type("nil is not a command").expecting("a value");
            return Ok(failing(head.offset, fault));
        }
        let value = self.operand(head)?;
        if arguments.is_empty() && position == Position::First {
            return Ok(value);
        }
        Ok(with_arguments(value))
    }

    fn apply(
        &mut self,
        name: &str,
        arguments: &[Operand<'s>],
        offset: usize,
        position: Position,
    ) -> Resolved<Expression> {
        let Some(function) = funcs::find(name) else {
            let mut fault =
                Fault::new(ErrorKind::UnknownFunction, format!("function {name:?} is not defined"));
            if let Some(close) = funcs::nearest(name) {
                fault = fault.expecting(format!("perhaps {close:?}"));
            }
            return Err((fault, offset));
        };
        let arguments = arguments
            .iter()
            .enumerate()
            .map(|(at, argument)| self.argument(function, at, argument))
            .collect::<Resolved<Vec<_>>>()?;
        let kind = match (function.comparison(), <[Expression; 2]>::try_from(arguments)) {
            (Some(comparison), Ok([left, right])) if position == Position::First => {
                ExpressionKind::Compare(Box::new(Compare { comparison, left, right }))
            }
            (_, arguments) => {
                let arguments = arguments.map_or_else(|arguments| arguments, Vec::from);
                ExpressionKind::Function(Box::new(Apply { function, arguments }))
            }
        };
        Ok(Expression { offset, kind })
    }

    /// A whole number written as a float suits an integer parameter.
    fn argument(&mut self, function: &Function, at: usize, argument: &Operand<'s>) -> Resolved<Expression> {
        let mut expression = self.operand(argument)?;
        if function.parameter(at) == Some(Parameter::Int)
            && let ExpressionKind::Number(Number::Float(float)) = expression.kind
            && float.fract() == 0.0
            && float.abs() < 9e15
        {
            expression.kind = ExpressionKind::Number(Number::Int(float as i64));
        }
        Ok(expression)
    }

    fn operand(&mut self, operand: &Operand<'s>) -> Resolved<Expression> {
        let offset = operand.offset;
        let kind = match &operand.kind {
            OperandKind::Dot => ExpressionKind::Dot,
            OperandKind::Nil => ExpressionKind::Nil,
            OperandKind::Bool(value) => ExpressionKind::Bool(*value),
            OperandKind::Number { value: Number::Uint(_), text } => {
                return Ok(failing(offset, Fault::wrong_type(format!("{text} overflows an integer"))));
            }
            OperandKind::Number { value, .. } => ExpressionKind::Number(*value),
            OperandKind::String { value, .. } => match std::str::from_utf8(value) {
                Ok(text) => ExpressionKind::Text(text.into()),
                Err(_) => ExpressionKind::Bytes(value.as_slice().into()),
            },
            OperandKind::Field(names) => ExpressionKind::Field(path(names)),
            OperandKind::Variable { name, path: names } => return self.variable(name, names, offset),
            OperandKind::Function(name) => return self.apply(name, &[], offset, Position::First),
            OperandKind::Pipe(pipe) => ExpressionKind::Pipeline(Box::new(self.pipeline(pipe)?)),
            OperandKind::Chain { base, path: names } => {
                ExpressionKind::Chain(Box::new(self.operand(base)?), path(names))
            }
        };
        Ok(Expression { offset, kind })
    }

    fn variable(&mut self, name: &str, names: &[&str], offset: usize) -> Resolved<Expression> {
        if !self.scope.knows(name) {
            return Err((undefined(name), offset));
        }
        Ok(match self.scope.find(name) {
            Err(fault) => failing(offset, fault),
            Ok(slot) if names.is_empty() => Expression { offset, kind: ExpressionKind::Variable(slot) },
            Ok(slot) => Expression { offset, kind: ExpressionKind::VariableField(slot, path(names)) },
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    First,
    Later,
}

fn failing(offset: usize, fault: Fault) -> Expression {
    Expression { offset, kind: ExpressionKind::Fault(Box::new(fault)) }
}

fn path(names: &[&str]) -> Path {
    Path { names: names.iter().map(|name| Box::from(*name)).collect() }
}

/// Something that is no function was given arguments; a field of nothing is still nothing.
fn with_arguments(value: Expression) -> Expression {
    let offset = value.offset;
    let kind = match value.kind {
        ExpressionKind::Field(path) => last_field(Expression { offset, kind: ExpressionKind::Dot }, path),
        ExpressionKind::VariableField(slot, path) => {
            last_field(Expression { offset, kind: ExpressionKind::Variable(slot) }, path)
        }
        ExpressionKind::Chain(base, path) => last_field(*base, path),
        ExpressionKind::Fault(fault) => ExpressionKind::Fault(fault),
        _ => ExpressionKind::Fault(Box::new(
            Fault::wrong_type("can't give an argument to something that is not a function")
                .expecting("a function"),
        )),
    };
    Expression { offset, kind }
}

/// Splits a path before its last name: the receiver decides whether arguments are an error.
fn last_field(base: Expression, path: Path) -> ExpressionKind {
    let mut names = path.names.into_vec();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() {
        return ExpressionKind::FieldWithArguments(Box::new(base), last);
    }
    let offset = base.offset;
    let receiver = ExpressionKind::Chain(Box::new(base), Path { names: names.into() });
    ExpressionKind::FieldWithArguments(Box::new(Expression { offset, kind: receiver }), last)
}

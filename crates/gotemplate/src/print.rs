//! Prints a syntax tree as a template again.

use std::fmt::{Formatter, Result};

use crate::ast::{Command, Node, Operand, OperandKind, Pipe, Tree};

/// The main body, then the definitions.
pub(crate) fn tree(f: &mut Formatter<'_>, tree: &Tree<'_>) -> Result {
    nodes(f, &tree.main)?;
    for definition in &tree.definitions {
        write!(f, "{{{{define {}}}}}", name(&definition.name))?;
        nodes(f, &definition.body)?;
        f.write_str("{{end}}")?;
    }
    Ok(())
}

fn nodes(f: &mut Formatter<'_>, nodes: &[Node<'_>]) -> Result {
    nodes.iter().try_for_each(|one| node(f, one))
}

fn node(f: &mut Formatter<'_>, node: &Node<'_>) -> Result {
    match node {
        Node::Text { text, .. } => self::text(f, text),
        Node::Action(pipe) => action(f, "", pipe),
        Node::Branch(branch) => {
            let word = if branch.sets_dot { "with" } else { "if" };
            for (at, (pipe, body)) in branch.arms.iter().enumerate() {
                action(f, &if at == 0 { format!("{word} ") } else { format!("else {word} ") }, pipe)?;
                nodes(f, body)?;
            }
            otherwise(f, branch.otherwise.as_deref())
        }
        Node::Range { pipe, body, otherwise } => {
            action(f, "range ", pipe)?;
            nodes(f, body)?;
            self::otherwise(f, otherwise.as_deref())
        }
        Node::Break => f.write_str("{{break}}"),
        Node::Continue => f.write_str("{{continue}}"),
        Node::Call { name, argument, .. } => {
            write!(f, "{{{{template {}", self::name(name))?;
            if let Some(pipe) = argument {
                f.write_str(" ")?;
                self::pipe(f, pipe)?;
            }
            f.write_str("}}")
        }
    }
}

/// A brace at the end could join the one of an action, so that it becomes an action itself.
fn text(f: &mut Formatter<'_>, text: &str) -> Result {
    let plain = text.trim_end_matches('{');
    f.write_str(plain)?;
    if plain.len() < text.len() {
        write!(f, "{{{{{:?}}}}}", &text[plain.len()..])?;
    }
    Ok(())
}

fn otherwise(f: &mut Formatter<'_>, body: Option<&[Node<'_>]>) -> Result {
    if let Some(body) = body {
        f.write_str("{{else}}")?;
        nodes(f, body)?;
    }
    f.write_str("{{end}}")
}

fn action(f: &mut Formatter<'_>, keyword: &str, pipe: &Pipe<'_>) -> Result {
    write!(f, "{{{{{keyword}")?;
    self::pipe(f, pipe)?;
    f.write_str("}}")
}

fn pipe(f: &mut Formatter<'_>, pipe: &Pipe<'_>) -> Result {
    for (at, (name, _)) in pipe.variables.iter().enumerate() {
        write!(f, "{}{name}", if at > 0 { ", " } else { "" })?;
    }
    if !pipe.variables.is_empty() {
        f.write_str(if pipe.assigns { " = " } else { " := " })?;
    }
    for (at, command) in pipe.commands.iter().enumerate() {
        if at > 0 {
            f.write_str(" | ")?;
        }
        self::command(f, command)?;
    }
    Ok(())
}

fn command(f: &mut Formatter<'_>, command: &Command<'_>) -> Result {
    for (at, one) in command.operands.iter().enumerate() {
        if at > 0 {
            f.write_str(" ")?;
        }
        operand(f, one)?;
    }
    Ok(())
}

fn operand(f: &mut Formatter<'_>, operand: &Operand<'_>) -> Result {
    match &operand.kind {
        OperandKind::Dot => f.write_str("."),
        OperandKind::Nil => f.write_str("nil"),
        OperandKind::Bool(value) => write!(f, "{value}"),
        OperandKind::Number { text, .. } | OperandKind::String { text, .. } => f.write_str(text),
        OperandKind::Field(names) => path(f, names),
        OperandKind::Variable { name, path: names } => {
            f.write_str(name)?;
            path(f, names)
        }
        OperandKind::Function(name) => f.write_str(name),
        OperandKind::Pipe(inner) => {
            f.write_str("(")?;
            pipe(f, inner)?;
            f.write_str(")")
        }
        OperandKind::Chain { base, path: names } => {
            self::operand(f, base)?;
            path(f, names)
        }
    }
}

fn path(f: &mut Formatter<'_>, names: &[&str]) -> Result {
    names.iter().try_for_each(|name| write!(f, ".{name}"))
}

/// A template's name as a literal.
fn name(name: &str) -> String {
    crate::format::quote(name.as_bytes(), false)
}

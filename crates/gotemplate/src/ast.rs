//! The syntax tree as it is written, before names are resolved.

use crate::literal::Number;

/// A whole source: the main body and the templates it defines.
#[derive(Debug)]
pub(crate) struct Tree<'s> {
    pub(crate) main: Vec<Node<'s>>,
    pub(crate) definitions: Vec<Definition<'s>>,
}

#[derive(Debug)]
pub(crate) struct Definition<'s> {
    pub(crate) name: String,
    pub(crate) body: Vec<Node<'s>>,
}

#[derive(Debug)]
pub(crate) enum Node<'s> {
    Text { text: &'s str, offset: usize },
    Action(Pipe<'s>),
    Branch(Branch<'s>),
    Range { pipe: Pipe<'s>, body: Vec<Node<'s>>, otherwise: Option<Vec<Node<'s>>> },
    Break,
    Continue,
    Call { name: String, argument: Option<Pipe<'s>>, offset: usize },
}

/// `if` or `with`, its `else if` or `else with` arms flattened.
#[derive(Debug)]
pub(crate) struct Branch<'s> {
    pub(crate) sets_dot: bool,
    pub(crate) arms: Vec<(Pipe<'s>, Vec<Node<'s>>)>,
    pub(crate) otherwise: Option<Vec<Node<'s>>>,
}

#[derive(Debug)]
pub(crate) struct Pipe<'s> {
    pub(crate) offset: usize,
    /// Variables left of `:=` or `=`, dollar signs included.
    pub(crate) variables: Vec<(&'s str, usize)>,
    /// `=` rather than `:=`.
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Command<'s>>,
}

/// A function or a value, then its arguments.
#[derive(Debug)]
pub(crate) struct Command<'s> {
    pub(crate) operands: Vec<Operand<'s>>,
}

#[derive(Debug)]
pub(crate) struct Operand<'s> {
    pub(crate) offset: usize,
    pub(crate) kind: OperandKind<'s>,
}

#[derive(Debug)]
pub(crate) enum OperandKind<'s> {
    Dot,
    Nil,
    Bool(bool),
    Number { value: Number, text: &'s str },
    String { value: Vec<u8>, text: &'s str },
    Field(Vec<&'s str>),
    Variable { name: &'s str, path: Vec<&'s str> },
    Function(&'s str),
    Pipe(Box<Pipe<'s>>),
    Chain { base: Box<Operand<'s>>, path: Vec<&'s str> },
}

/// Whether the body holds nothing but white space; such a definition may be replaced.
pub(crate) fn is_blank(body: &[Node<'_>]) -> bool {
    body.iter().all(|node| matches!(node, Node::Text { text, .. } if text.trim().is_empty()))
}

//! The resolved tree: flat operations for blocks, expressions with slots and function pointers.

use crate::error::Fault;
use crate::funcs::Function;
use crate::literal::Number;

/// A compiled source; body 0 is the main template.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) bodies: Vec<Body>,
}

/// One template. Blocks are jumps, so that running it never recurses.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) operations: Vec<Operation>,
    /// Variables alive at once, `$` included.
    pub(crate) slots: usize,
}

/// An index into a body's operations.
pub(crate) type Target = usize;
/// A variable's place, counted from its template's first.
pub(crate) type Slot = usize;

#[derive(Debug)]
pub(crate) enum Operation {
    /// Writes a part of the source.
    Text {
        start: usize,
        end: usize,
    },
    /// Writes a field of the dot, the commonest action by far.
    PrintField {
        path: Path,
        offset: usize,
    },
    /// Writes a value.
    Print(Pipeline),
    /// Evaluates for the sake of its variables.
    Run(Pipeline),
    /// Jumps when the value is empty.
    If(Pipeline, Target),
    /// Makes the value the dot and keeps the old one in `saved`, or jumps when the value is empty.
    With {
        pipeline: Pipeline,
        saved: Slot,
        otherwise: Target,
    },
    /// Takes the dot back from a slot.
    RestoreDot(Slot),
    Jump(Target),
    /// Starts a loop, or jumps when there is nothing to loop over.
    Range {
        range: Box<Range>,
        otherwise: Target,
    },
    /// Goes to the next item, or leaves the loop, which ends before `end`.
    Next {
        exit: Target,
        end: Target,
    },
    Break {
        exit: Target,
    },
    Call(Box<Call>),
    Return,
}

#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) pipeline: Pipeline,
    /// Declared with two variables, whether they are read or not.
    pub(crate) is_paired: bool,
    pub(crate) key: Option<Store>,
    pub(crate) item: Option<Store>,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) body: Result<usize, Fault>,
    pub(crate) argument: Option<Pipeline>,
    pub(crate) offset: usize,
}

/// Commands from left to right, each but the first getting the value before it as last argument.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) first: Expression,
    pub(crate) rest: Vec<Expression>,
    pub(crate) stores: Vec<Store>,
}

/// Where a variable goes; a name nobody declared fails when the assignment runs.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) slot: Result<Slot, Fault>,
    pub(crate) offset: usize,
}

#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) offset: usize,
    pub(crate) kind: ExpressionKind,
}

#[derive(Debug)]
pub(crate) enum ExpressionKind {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text(Box<str>),
    /// A string literal that is not UTF-8.
    Bytes(Box<[u8]>),
    Field(Path),
    Variable(Slot),
    VariableField(Slot, Path),
    Chain(Box<Expression>, Path),
    Pipeline(Box<Pipeline>),
    Function(Box<Apply>),
    /// A comparison of exactly two values.
    Compare(Box<Compare>),
    /// A field given arguments: an error unless there is nothing to take the field of.
    FieldWithArguments(Box<Expression>, Box<str>),
    /// Fails when it is reached.
    Fault(Box<Fault>),
}

#[derive(Debug)]
pub(crate) struct Apply {
    pub(crate) function: &'static Function,
    pub(crate) arguments: Vec<Expression>,
}

#[derive(Debug)]
pub(crate) struct Compare {
    pub(crate) comparison: Comparison,
    pub(crate) left: Expression,
    pub(crate) right: Expression,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) names: Box<[Box<str>]>,
}

//! A parsed expression.

use crate::functions::Body;
use regex::Regex;

/// An expression and the names it takes from outside.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: Node,
    /// Each with the place where it stands first.
    pub(crate) names: Names,
}

/// Names with their places.
pub(crate) type Names = Vec<(Box<str>, u32)>;

/// One part, with its place in the text.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: u32,
    pub(crate) kind: Kind,
}

impl Node {
    /// The name, where the part is one of the scope.
    pub(crate) fn as_name<'a>(&self, names: &'a [(Box<str>, u32)]) -> Option<&'a str> {
        match self.kind {
            Kind::Name(number) => names.get(number as usize).map(|(name, _)| &**name),
            _ => None,
        }
    }
}

/// What a part is. Chains of operators, of `&&`, and of members are lists, so that only brackets nest.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A value without variables.
    Literal(Literal),
    /// A name of the scope, as a number in `Tree::names`.
    Name(u32),
    /// A variable of a lambda around it, counted from the outermost.
    Local(u32),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// `` `text ${e}` ``
    Text(Vec<Piece>),
    Not(Box<Node>),
    Negate(Box<Node>),
    Or(Vec<Node>),
    And(Vec<Node>),
    Choice(Box<Choice>),
    /// Operators of one strength, from left to right, each with its place.
    Chain(Box<Node>, Vec<(Operator, u32, Node)>),
    /// `base.a[b]?.c`
    Members(Box<Node>, Vec<Member>),
    Call(Box<Call>),
    Has(Box<Node>),
    Default(Box<Node>, Box<Node>),
}

/// A value that stands in the text.
#[derive(Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

/// `a ? b : c`
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) condition: Node,
    pub(crate) yes: Node,
    pub(crate) no: Node,
}

/// A part of a text with values in it.
#[derive(Debug)]
pub(crate) enum Piece {
    Text(Box<str>),
    Value(Node),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

/// One step from a value to a part of it.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) at: u32,
    pub(crate) kind: MemberKind,
}

#[derive(Debug)]
pub(crate) enum MemberKind {
    Field(Box<str>),
    /// `?.name`: null where there is none.
    FieldIfThere(Box<str>),
    Index(Node),
}

/// A call of a function; a method's receiver is its first argument.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) body: Body,
    pub(crate) arguments: Vec<Node>,
    pub(crate) lambda: Option<Lambda>,
    /// The second body of `map(x, condition, e)`.
    pub(crate) second: Option<Node>,
    /// Compiled here where the pattern of `matches` stands in the text.
    pub(crate) pattern: Option<Regex>,
    /// Compiled here where the query of `jmespath` stands in the text.
    pub(crate) query: Option<document::Query>,
}

/// `x => e`, or the pair `x, e`.
#[derive(Debug)]
pub(crate) struct Lambda {
    /// One, or two for `(item, index) => e`.
    pub(crate) variables: usize,
    pub(crate) body: Node,
}

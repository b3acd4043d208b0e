//! Calls: functions, methods, and the lambdas that some of them take.

use super::{Parsed, Parser, function};
use crate::error::Fault;
use crate::functions::{Body, Function};
use crate::lex::Token;
use crate::tree::{Call, Kind, Lambda, Literal, Node};

impl<'a> Parser<'a> {
    /// A call; the opening bracket is the next token.
    pub(super) fn call(&mut self, at: u32, name: &'a str, receiver: Option<Node>) -> Parsed<Node> {
        self.expect("(")?;
        match name {
            "has" if receiver.is_none() => self.has(at),
            "default" => self.default(at, receiver),
            _ => {
                let function = function(at, name)?;
                self.call_of(at, function, receiver)
            }
        }
    }

    fn has(&mut self, at: u32) -> Parsed<Node> {
        let field = self.expression()?;
        self.expect(")")?;
        if !matches!(field.kind, Kind::Members(..) | Kind::Name(_)) {
            return Err(Fault::syntax(at as usize, "has() asks for a field: has(a.b)"));
        }
        Ok(Node { at, kind: Kind::Has(Box::new(field)) })
    }

    fn default(&mut self, at: u32, receiver: Option<Node>) -> Parsed<Node> {
        let value = match receiver {
            Some(receiver) => receiver,
            None => {
                let value = self.expression()?;
                self.expect(",")?;
                value
            }
        };
        let instead = self.expression()?;
        self.expect(")")?;
        Ok(Node { at, kind: Kind::Default(Box::new(value), Box::new(instead)) })
    }

    fn call_of(&mut self, at: u32, function: &'static Function, receiver: Option<Node>) -> Parsed<Node> {
        let mut arguments: Vec<Node> = receiver.into_iter().collect();
        let (mut lambda, mut second) = (None, None);
        let mut is_first = true;
        while !self.is(")") {
            if !is_first {
                self.expect(",")?;
            }
            is_first = false;
            let takes_lambda = lambda.is_none() && !arguments.is_empty();
            if takes_lambda && let Some((variables, is_pair)) = self.variables_of_lambda(function.body)? {
                (lambda, second) = self.lambda(&variables, is_pair)?;
                continue;
            }
            arguments.push(self.expression()?);
        }
        self.expect(")")?;
        let given = arguments.len();
        let is_complete = !matches!(function.body, Body::Lambda(_)) || lambda.is_some();
        if !is_complete || given < function.least || given > function.most {
            let message = format!("{}() is called like this: {}", function.name, function.usage);
            return Err(Fault::syntax(at as usize, message));
        }
        let constant = arguments.get(1).and_then(as_text);
        let failed =
            |message: String| Fault::syntax(arguments.get(1).map_or(at, |node| node.at) as usize, message);
        let pattern = constant.filter(|_| function.name == "matches");
        let pattern =
            pattern.map(|text| crate::functions::texts::pattern(text).map_err(|fault| failed(fault.message)));
        let query = constant.filter(|_| function.name == "jmespath");
        let query =
            query.map(|text| document::Query::compile(text).map_err(|error| failed(error.to_string())));
        let (pattern, query) = (pattern.transpose()?, query.transpose()?);
        let call =
            Call { name: function.name, body: function.body, arguments, lambda, second, pattern, query };
        Ok(Node { at, kind: Kind::Call(Box::new(call)) })
    }

    /// Takes the variables of a lambda if one begins here, and says whether it is CEL's pair `x, e`.
    fn variables_of_lambda(&mut self, body: Body) -> Parsed<Option<(Vec<&'a str>, bool)>> {
        if matches!(body, Body::Plain(_)) {
            return Ok(None);
        }
        let mut ahead = self.lexer.clone();
        let mut next = || ahead.next().map(|(_, token)| token);
        let (variables, is_pair) = match self.token {
            Token::Name(name) => match next()? {
                Token::Sign("=>") => (vec![name], false),
                Token::Sign(",") if matches!(body, Body::Lambda(_)) => (vec![name], true),
                _ => return Ok(None),
            },
            Token::Sign("(") => match (next()?, next()?, next()?, next()?, next()?) {
                (Token::Name(a), Token::Sign(","), Token::Name(b), Token::Sign(")"), Token::Sign("=>")) => {
                    (vec![a, b], false)
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.lexer = ahead;
        self.advance()?;
        Ok(Some((variables, is_pair)))
    }

    /// The body behind the variables; of a pair there may be a second one: `map(x, condition, e)`.
    fn lambda(&mut self, variables: &[&'a str], is_pair: bool) -> Parsed<(Option<Lambda>, Option<Node>)> {
        let depth = self.locals.len();
        self.locals.extend_from_slice(variables);
        let body = self.expression()?;
        let second = match is_pair && self.take(",")? {
            true => Some(self.expression()?),
            false => None,
        };
        self.locals.truncate(depth);
        Ok((Some(Lambda { variables: variables.len(), body }), second))
    }
}

fn as_text(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Literal(Literal::Text(text)) => Some(text),
        _ => None,
    }
}

//! Turns the syntax tree into operations: blocks become jumps, names become slots and functions.

mod expression;
mod scope;

use self::scope::Scope;
use crate::ast::{Branch, Node, Pipe, Tree};
use crate::error::{ErrorKind, Fault};
use crate::lex::Located;
use crate::program::{Body, Call, ExpressionKind, Operation, Pipeline, Program, Range, Target};

/// Resolves a parsed source; `name` is what the main body is called.
pub(crate) fn resolve(name: &str, tree: &Tree<'_>) -> Result<Program, Located> {
    let names: Vec<&str> = std::iter::once(name)
        .chain(tree.definitions.iter().map(|definition| definition.name.as_str()))
        .collect();
    let bodies = std::iter::once(&tree.main)
        .chain(tree.definitions.iter().map(|definition| &definition.body))
        .map(|body| Resolver::new(&names).body(body))
        .collect::<Result<_, _>>()?;
    Ok(Program { bodies })
}

struct Resolver<'t, 's> {
    names: &'t [&'t str],
    operations: Vec<Operation>,
    scope: Scope<'s>,
    loops: Vec<Loop>,
}

/// A loop being resolved: where its next step is and which operations leave it.
struct Loop {
    next: Target,
    leaving: Vec<Target>,
}

type Resolved<T> = Result<T, Located>;

/// Stands in for a target that is set once it is known.
const LATER: Target = usize::MAX;

impl<'t, 's> Resolver<'t, 's> {
    fn new(names: &'t [&'t str]) -> Self {
        Self { names, operations: Vec::new(), scope: Scope::new(), loops: Vec::new() }
    }

    fn body(mut self, nodes: &[Node<'s>]) -> Resolved<Body> {
        self.nodes(nodes)?;
        self.operations.push(Operation::Return);
        Ok(Body { operations: self.operations, slots: self.scope.slots() })
    }

    fn nodes(&mut self, nodes: &[Node<'s>]) -> Resolved<()> {
        nodes.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node<'s>) -> Resolved<()> {
        match node {
            Node::Text { text, offset } => {
                self.emit(Operation::Text { start: *offset, end: offset + text.len() });
            }
            Node::Action(pipe) => {
                let pipeline = self.pipeline(pipe)?;
                let silent = !pipe.variables.is_empty();
                self.emit(if silent { Operation::Run(pipeline) } else { printing(pipeline) });
            }
            Node::Branch(branch) => self.branch(branch)?,
            Node::Range { pipe, body, otherwise } => self.range(pipe, body, otherwise.as_deref())?,
            Node::Break => {
                let at = self.emit(Operation::Break { exit: LATER });
                if let Some(innermost) = self.loops.last_mut() {
                    innermost.leaving.push(at);
                }
            }
            Node::Continue => {
                let next = self.loops.last().map_or(LATER, |innermost| innermost.next);
                self.emit(Operation::Jump(next));
            }
            Node::Call { name, argument, offset } => self.call(name, argument.as_ref(), *offset)?,
        }
        Ok(())
    }

    /// Adds an operation; its place is where jumps to it lead.
    fn emit(&mut self, operation: Operation) -> Target {
        self.operations.push(operation);
        self.operations.len() - 1
    }

    /// Points an operation that jumps forward to the place reached now.
    fn land(&mut self, at: Target) {
        let here = self.operations.len();
        match &mut self.operations[at] {
            Operation::If(_, target)
            | Operation::Jump(target)
            | Operation::With { otherwise: target, .. }
            | Operation::Range { otherwise: target, .. }
            | Operation::Next { exit: target, .. }
            | Operation::Break { exit: target } => *target = here,
            Operation::Text { .. }
            | Operation::PrintField { .. }
            | Operation::Print(_)
            | Operation::Run(_)
            | Operation::RestoreDot(_)
            | Operation::Call(_)
            | Operation::Return => {}
        }
    }

    fn branch(&mut self, branch: &Branch<'s>) -> Resolved<()> {
        let outer = self.scope.mark();
        let mut leaving = Vec::new();
        for (pipe, body) in &branch.arms {
            let pipeline = self.pipeline(pipe)?;
            let inner = self.scope.mark();
            let test = if branch.sets_dot {
                let saved = self.scope.reserve();
                let test = self.emit(Operation::With { pipeline, saved, otherwise: LATER });
                self.nodes(body)?;
                self.emit(Operation::RestoreDot(saved));
                test
            } else {
                let test = self.emit(Operation::If(pipeline, LATER));
                self.nodes(body)?;
                test
            };
            leaving.push(self.emit(Operation::Jump(LATER)));
            self.land(test);
            self.scope.hide(inner);
        }
        if let Some(nodes) = &branch.otherwise {
            self.nodes(nodes)?;
        }
        self.scope.leave(outer);
        leaving.into_iter().for_each(|at| self.land(at));
        Ok(())
    }

    /// Loop variables that nothing reads need not be kept up to date.
    fn forget_unread(&mut self, start: Target, declared: std::ops::Range<usize>) {
        let Operation::Range { range, .. } = &mut self.operations[start] else { return };
        let unread: Vec<bool> = declared.map(|at| !self.scope.is_read(at)).collect();
        match unread.as_slice() {
            [true] => range.item = None,
            [key, item] => {
                range.key = range.key.take().filter(|_| !key);
                range.item = range.item.take().filter(|_| !item);
            }
            _ => {}
        }
        if unread.iter().all(|unread| *unread) {
            range.pipeline.stores.clear();
        }
    }

    fn range(&mut self, pipe: &Pipe<'s>, body: &[Node<'s>], otherwise: Option<&[Node<'s>]>) -> Resolved<()> {
        let outer = self.scope.mark();
        let pipeline = self.pipeline(pipe)?;
        let inner = self.scope.mark();
        let mut stores = pipeline.stores.iter().rev().cloned();
        let (item, key) = (stores.next(), stores.next());
        let range = Box::new(Range { pipeline, is_paired: key.is_some(), key, item });
        let start = self.emit(Operation::Range { range, otherwise: LATER });
        let declared = inner.names_since(outer);
        let next = self.emit(Operation::Next { exit: LATER, end: LATER });
        self.loops.push(Loop { next, leaving: vec![next] });
        self.nodes(body)?;
        self.emit(Operation::Jump(next));
        let mut leaving = self.loops.pop().map_or_else(Vec::new, |finished| finished.leaving);
        self.land(start);
        let here = self.operations.len();
        if let Operation::Next { end, .. } = &mut self.operations[next] {
            *end = here;
        }
        self.scope.hide(inner);
        if let Some(nodes) = otherwise {
            self.nodes(nodes)?;
        }
        if !pipe.assigns {
            self.forget_unread(start, declared);
        }
        self.scope.leave(outer);
        leaving.drain(..).for_each(|at| self.land(at));
        Ok(())
    }

    fn call(&mut self, name: &str, argument: Option<&Pipe<'s>>, offset: usize) -> Resolved<()> {
        let argument = argument.map(|pipe| self.pipeline(pipe)).transpose()?;
        let body = self.names.iter().position(|known| *known == name).ok_or_else(|| {
            Fault::new(ErrorKind::UnknownTemplate, format!("template {name:?} is not defined"))
                .expecting(format!("{{{{define {name:?}}}}} in the same source"))
        });
        self.emit(Operation::Call(Box::new(Call { body, argument, offset })));
        Ok(())
    }
}

/// A plain field has an operation of its own.
fn printing(pipeline: Pipeline) -> Operation {
    match pipeline.first.kind {
        ExpressionKind::Field(path) if pipeline.rest.is_empty() => {
            Operation::PrintField { path, offset: pipeline.first.offset }
        }
        kind => Operation::Print(Pipeline {
            first: crate::program::Expression { offset: pipeline.first.offset, kind },
            ..pipeline
        }),
    }
}

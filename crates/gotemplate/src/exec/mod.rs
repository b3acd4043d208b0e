//! Runs a program over borrowed data: one loop, no recursion between blocks or templates.

mod eval;
mod range;
mod stack;

use self::range::{Items, Loop};
use self::stack::Stack;
use crate::budget::{Budget, Buffer};
use crate::error::{ErrorKind, Fault};
use crate::format;
use crate::funcs::escape::html;
use crate::lex::Located;
use crate::options::{Escape, Options};
use crate::program::{Body, Call, Operation, Path, Pipeline, Program, Range, Slot, Store, Target};
use crate::regexes::Regexes;
use crate::value::{Value, lookup};

/// Renders `data` into a buffer that starts with room for `capacity` bytes.
pub(crate) fn run<'a>(
    program: &'a Program,
    source: &'a str,
    options: &'a Options,
    regexes: &'a Regexes,
    data: Value<'a>,
    capacity: usize,
) -> Result<Vec<u8>, Located> {
    let mut machine = Machine {
        program,
        source,
        budget: Budget::new(options, regexes),
        output: Buffer::output(&options.limits, capacity),
        dot: data,
        variables: Stack::new(),
        first_variable: 0,
        loops: Stack::new(),
        calls: Vec::new(),
    };
    machine.run()?;
    Ok(machine.output.into_bytes())
}

struct Machine<'a> {
    program: &'a Program,
    source: &'a str,
    budget: Budget<'a>,
    output: Buffer,
    dot: Value<'a>,
    /// Slots of all templates being run; `None` is a variable whose declaration was skipped.
    variables: Stack<Option<Value<'a>>, 8>,
    /// Where the slots of the innermost template start.
    first_variable: usize,
    loops: Stack<Option<Loop<'a>>, 2>,
    calls: Vec<Caller<'a>>,
}

/// Where to go on after a called template.
struct Caller<'a> {
    body: &'a Body,
    next: Target,
    dot: Value<'a>,
    first_variable: usize,
}

type Executed<T> = Result<T, Located>;

impl<'a> Machine<'a> {
    fn run(&mut self) -> Executed<()> {
        let mut body = &self.program.bodies[0];
        let mut next = 0;
        self.variables.extend(body.slots);
        self.set(0, self.dot.clone());
        loop {
            let operation = &body.operations[next];
            next += 1;
            match operation {
                Operation::Text { start, end } => {
                    let text = &self.source.as_bytes()[*start..*end];
                    self.output.push(text).map_err(|fault| (fault, *start))?;
                }
                Operation::PrintField { path, offset } => {
                    self.print_field(path).map_err(|fault| (fault, *offset))?;
                }
                Operation::Print(pipeline) => self.print(pipeline)?,
                Operation::Run(pipeline) => {
                    self.pipeline(pipeline)?;
                }
                Operation::If(pipeline, otherwise) => {
                    if !self.pipeline(pipeline)?.is_true() {
                        next = *otherwise;
                    }
                }
                Operation::With { pipeline, saved, otherwise } => {
                    if !self.with(pipeline, *saved)? {
                        next = *otherwise;
                    }
                }
                Operation::RestoreDot(saved) => self.dot = self.get(*saved).cloned().unwrap_or(Value::Nil),
                Operation::Jump(target) => next = *target,
                Operation::Range { range, otherwise } => {
                    if !self.start_loop(range)? {
                        next = *otherwise;
                    }
                }
                Operation::Next { exit, end } => {
                    // Between two steps of loops or calls, operations run once at most.
                    if !self.next_item(*end - next)? {
                        next = *exit;
                    }
                }
                Operation::Break { exit } => {
                    self.leave_loop();
                    next = *exit;
                }
                Operation::Call(call) => {
                    body = self.call(call, body, next)?;
                    next = 0;
                }
                Operation::Return => match self.calls.pop() {
                    None => return Ok(()),
                    Some(caller) => (body, next) = self.leave(caller),
                },
            }
        }
    }

    /// Makes a value the dot, if it is true.
    #[inline]
    fn with(&mut self, pipeline: &'a Pipeline, saved: usize) -> Executed<bool> {
        let value = self.pipeline(pipeline)?;
        let is_true = value.is_true();
        if is_true {
            let outer = std::mem::replace(&mut self.dot, value);
            self.set(saved, outer);
        }
        Ok(is_true)
    }

    #[inline]
    fn print_field(&mut self, path: &'a Path) -> Result<(), Fault> {
        if let ([name], Value::Object(entries)) = (&*path.names, &self.dot)
            && let Some(json) = lookup(entries, name)
            && self.budget.escape() == Escape::Nothing
        {
            return format::print_json(&mut self.output, json, self.budget.missing());
        }
        self.pay(path)?;
        let value = self.fields(&self.dot, path)?;
        self.print_value(value)
    }

    fn print(&mut self, pipeline: &'a Pipeline) -> Executed<()> {
        let value = self.pipeline(pipeline)?;
        self.print_value(value).map_err(|fault| (fault, pipeline.first.offset))
    }

    #[inline]
    fn print_value(&mut self, value: Value<'a>) -> Result<(), Fault> {
        let value = match self.budget.escape() {
            Escape::Nothing => value,
            Escape::Html => html(&mut self.budget, &[value])?,
        };
        format::print(&mut self.output, &value, self.budget.missing())
    }

    #[inline]
    fn get(&self, slot: Slot) -> Option<&Value<'a>> {
        self.variables.get(self.first_variable + slot).and_then(Option::as_ref)
    }

    #[inline]
    fn set(&mut self, slot: Slot, value: Value<'a>) {
        if let Some(variable) = self.variables.get_mut(self.first_variable + slot) {
            *variable = Some(value);
        }
    }

    fn store(&mut self, store: &Store, value: Value<'a>) -> Executed<()> {
        match &store.slot {
            Ok(slot) => {
                self.set(*slot, value);
                Ok(())
            }
            Err(fault) => Err((fault.clone(), store.offset)),
        }
    }

    /// Enters the called template; `body` and `next` are where to go on after it.
    fn call(&mut self, call: &'a Call, body: &'a Body, next: Target) -> Executed<&'a Body> {
        let called = match &call.body {
            Ok(called) => &self.program.bodies[*called],
            Err(fault) => return Err((fault.clone(), call.offset)),
        };
        let dot = match &call.argument {
            Some(pipeline) => self.pipeline(pipeline)?,
            None => Value::Nil,
        };
        let dot = std::mem::replace(&mut self.dot, dot);
        let caller = Caller { body, next, dot, first_variable: self.first_variable };
        self.enter(caller, called).map_err(|fault| (fault, call.offset))?;
        Ok(called)
    }

    fn enter(&mut self, caller: Caller<'a>, called: &'a Body) -> Result<(), Fault> {
        let limit = self.budget.limits().calls;
        if self.calls.len() >= limit {
            return Err(Fault::limit("the depth of template calls", limit));
        }
        self.budget.step()?;
        self.budget.operations(called.operations.len() + called.slots)?;
        self.calls.push(caller);
        self.first_variable = self.variables.len();
        self.variables.extend(called.slots);
        self.set(0, self.dot.clone());
        Ok(())
    }

    /// Goes back to the caller: its body and its next operation.
    fn leave(&mut self, caller: Caller<'a>) -> (&'a Body, Target) {
        self.variables.truncate(self.first_variable);
        self.first_variable = caller.first_variable;
        self.dot = caller.dot;
        (caller.body, caller.next)
    }

    /// Whether there is anything to loop over; if so the loop is entered.
    fn start_loop(&mut self, range: &'a Range) -> Executed<bool> {
        let value = self.pipeline(&range.pipeline)?;
        let offset = range.pipeline.first.offset;
        if range.is_paired && matches!(value, Value::Int(..) | Value::Uint(_)) {
            let fault = Fault::wrong_type("can't range over a number with two variables");
            return Err((fault.expecting("one variable"), offset));
        }
        match Items::new(&mut self.budget, value).map_err(|fault| (fault, offset))? {
            None => Ok(false),
            Some(items) => {
                self.loops.push(Some(Loop { items, dot: self.dot.clone(), range }));
                Ok(true)
            }
        }
    }

    /// Whether there is another item; if so it is the dot and in the loop's variables.
    #[inline]
    fn next_item(&mut self, operations: usize) -> Executed<bool> {
        let Some(Some(innermost)) = self.loops.last_mut() else { return Ok(false) };
        let range = innermost.range;
        let Some((key, item)) = innermost.items.next(range.key.is_some()) else {
            self.leave_loop();
            return Ok(false);
        };
        self.budget
            .step()
            .and_then(|()| self.budget.operations(operations))
            .map_err(|fault| (fault, range.pipeline.first.offset))?;
        if let Some(store) = &range.key {
            self.store(store, key)?;
        }
        if let Some(store) = &range.item {
            self.store(store, item.clone())?;
        }
        self.dot = item;
        Ok(true)
    }

    fn leave_loop(&mut self) {
        if let Some(Some(finished)) = self.loops.pop() {
            self.dot = finished.dot;
        }
    }

    fn missing_key(name: &str) -> Fault {
        Fault::new(ErrorKind::Missing, format!("there is no key {name:?}"))
    }
}

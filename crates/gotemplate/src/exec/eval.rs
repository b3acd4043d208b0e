//! Evaluates pipelines and expressions.

use super::{Executed, Machine};
use crate::error::{ErrorKind, Fault};
use crate::funcs::{Function, Run};
use crate::literal::Number;
use crate::program::{Apply, Compare, Comparison, Expression, ExpressionKind, Path, Pipeline};
use crate::value::{Field, Value, equals, is_less, lookup};

/// Calls with so many arguments need no allocation.
const FEW: usize = 4;

impl<'a> Machine<'a> {
    #[inline]
    pub(super) fn pipeline(&mut self, pipeline: &'a Pipeline) -> Executed<Value<'a>> {
        let mut value = self.expression(&pipeline.first)?;
        for command in &pipeline.rest {
            value = self.command(command, value)?;
        }
        for store in &pipeline.stores {
            self.store(store, value.clone())?;
        }
        Ok(value)
    }

    /// A command that gets the value before it as its last argument.
    fn command(&mut self, command: &'a Expression, last: Value<'a>) -> Executed<Value<'a>> {
        match &command.kind {
            ExpressionKind::Function(apply) => self.apply(apply, command.offset, Some(last)),
            _ => self.expression(command),
        }
    }

    #[inline]
    fn expression(&mut self, expression: &'a Expression) -> Executed<Value<'a>> {
        match &expression.kind {
            ExpressionKind::Field(path) => {
                if let ([name], Value::Object(entries)) = (&*path.names, &self.dot)
                    && let Some(json) = lookup(entries, name)
                {
                    return Ok(Value::from_json(json));
                }
                self.pay(path).map_err(|fault| (fault, expression.offset))?;
                self.fields(&self.dot, path).map_err(|fault| (fault, expression.offset))
            }
            ExpressionKind::Dot => Ok(self.dot.clone()),
            ExpressionKind::Compare(compare) => self.compare(compare, expression.offset).map(Value::Bool),
            ExpressionKind::Function(apply) => self.apply(apply, expression.offset, None),
            ExpressionKind::Number(Number::Int(int)) => Ok(Value::int(*int)),
            ExpressionKind::Text(text) => Ok(Value::Str(text)),
            _ => self.rare_expression(expression),
        }
    }

    fn rare_expression(&mut self, expression: &'a Expression) -> Executed<Value<'a>> {
        let offset = expression.offset;
        Ok(match &expression.kind {
            ExpressionKind::Nil => Value::Nil,
            ExpressionKind::Bool(value) => Value::Bool(*value),
            ExpressionKind::Number(Number::Int(int)) => Value::int(*int),
            ExpressionKind::Number(Number::Uint(uint)) => Value::Uint(*uint),
            ExpressionKind::Number(Number::Float(float)) => Value::Float(*float),
            ExpressionKind::Text(text) => Value::Str(text),
            ExpressionKind::Bytes(bytes) => Value::string(bytes.to_vec()),
            ExpressionKind::Variable(slot) => self.variable(*slot, offset)?.clone(),
            ExpressionKind::VariableField(slot, path) => {
                self.pay(path).map_err(|fault| (fault, offset))?;
                self.fields(self.variable(*slot, offset)?, path).map_err(|fault| (fault, offset))?
            }
            ExpressionKind::Chain(base, path) => {
                self.pay(path).map_err(|fault| (fault, offset))?;
                let base = self.expression(base)?;
                self.fields(&base, path).map_err(|fault| (fault, offset))?
            }
            ExpressionKind::Pipeline(pipeline) => self.pipeline(pipeline)?,
            ExpressionKind::FieldWithArguments(base, name) => {
                if !matches!(self.expression(base)?, Value::Nil) {
                    let message = format!("{name} is not a function but has arguments");
                    return Err((Fault::wrong_type(message).expecting("a function"), offset));
                }
                Value::Nil
            }
            ExpressionKind::Fault(fault) => return Err((Fault::clone(fault), offset)),
            ExpressionKind::Field(_)
            | ExpressionKind::Dot
            | ExpressionKind::Compare(_)
            | ExpressionKind::Function(_) => self.expression(expression)?,
        })
    }

    fn compare(&mut self, compare: &'a Compare, offset: usize) -> Executed<bool> {
        let left = self.expression(&compare.left)?;
        let right = self.expression(&compare.right)?;
        self.budget.work(16 + left.weight().min(right.weight()) / 16).map_err(|fault| (fault, offset))?;
        match compare.comparison {
            Comparison::Equal => equals(&left, &right),
            Comparison::NotEqual => equals(&left, &right).map(|equal| !equal),
            Comparison::Less => is_less(&left, &right),
            Comparison::LessOrEqual => is_less(&right, &left).map(|greater| !greater),
            Comparison::Greater => is_less(&right, &left),
            Comparison::GreaterOrEqual => is_less(&left, &right).map(|less| !less),
        }
        .map_err(|fault| (fault, offset))
    }

    fn variable(&self, slot: usize, offset: usize) -> Executed<&Value<'a>> {
        self.get(slot).ok_or_else(|| {
            let fault = Fault::new(ErrorKind::UnknownVariable, "the variable was never given a value");
            (fault, offset)
        })
    }

    /// Counts the steps of a path that is about to be followed.
    #[inline]
    pub(super) fn pay(&mut self, path: &Path) -> Result<(), Fault> {
        const STEP_COST: usize = 20;
        self.budget.work(path.names.len() * STEP_COST)
    }

    #[inline]
    pub(super) fn fields(&self, base: &Value<'a>, path: &Path) -> Result<Value<'a>, Fault> {
        let mut names = path.names.iter();
        let Some(first) = names.next() else { return Ok(base.clone()) };
        let mut value = self.field(base, first)?;
        for name in names {
            value = self.field(&value, name)?;
        }
        Ok(value)
    }

    #[inline]
    fn field(&self, value: &Value<'a>, name: &str) -> Result<Value<'a>, Fault> {
        match value.field(name) {
            Some(Field::Present(value)) => Ok(value),
            Some(Field::Absent | Field::OfNothing) if !self.budget.missing().refuses_absent_keys() => {
                Ok(Value::Nil)
            }
            Some(Field::Absent | Field::OfNothing) => Err(Self::missing_key(name)),
            None => Err(no_fields(value, name)),
        }
    }

    fn apply(&mut self, apply: &'a Apply, offset: usize, last: Option<Value<'a>>) -> Executed<Value<'a>> {
        let function = apply.function;
        let count = apply.arguments.len() + usize::from(last.is_some());
        let located = |fault| (fault, offset);
        self.budget.work(16 + 12 * count).map_err(located)?;
        function.check_count(count).map_err(located)?;
        let run = match function.run {
            Run::Plain(run) => run,
            Run::And => return self.short_circuit(apply, last, false),
            Run::Or => return self.short_circuit(apply, last, true),
        };
        if count <= FEW {
            let mut few = [const { Value::Nil }; FEW];
            for (place, argument) in few.iter_mut().zip(&apply.arguments) {
                *place = self.expression(argument)?;
            }
            if let Some(last) = last {
                few[count - 1] = last;
            }
            return self.invoke(function, run, &few[..count]).map_err(located);
        }
        let mut many = Vec::with_capacity(count);
        for argument in &apply.arguments {
            many.push(self.expression(argument)?);
        }
        many.extend(last);
        self.invoke(function, run, &many).map_err(located)
    }

    fn invoke(
        &mut self,
        function: &Function,
        run: crate::funcs::Plain,
        arguments: &[Value<'a>],
    ) -> Result<Value<'a>, Fault> {
        let weight = arguments.iter().map(Value::weight).sum::<usize>();
        self.budget.work(weight / 16)?;
        function.check_types(arguments)?;
        run(&mut self.budget, arguments)
    }

    /// `and` and `or`: the first argument that decides, or the last one.
    fn short_circuit(
        &mut self,
        apply: &'a Apply,
        last: Option<Value<'a>>,
        decisive: bool,
    ) -> Executed<Value<'a>> {
        let mut value = Value::Nil;
        for argument in &apply.arguments {
            value = self.expression(argument)?;
            if value.is_true() == decisive {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }
}

#[cold]
fn no_fields(value: &Value<'_>, name: &str) -> Fault {
    let message = format!("can't take field {name:?} of a {}", value.type_name());
    Fault::wrong_type(message).expecting("an object")
}

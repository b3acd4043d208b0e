//! Operators between two values: arithmetic, joining, comparing, looking for.

use crate::budget::Budget;
use crate::error::Fault;
use crate::number;
use crate::time;
use crate::tree::Operator;
use crate::value::{Fields, Key, List, Val};
use std::cmp::Ordering;
use std::rc::Rc;

/// What an operator makes of two values.
pub(crate) fn apply<'a>(
    operator: Operator,
    a: &Val<'a>,
    b: &Val<'a>,
    budget: &mut Budget,
) -> Result<Val<'a>, Fault> {
    let is = |wanted: fn(Ordering) -> bool, budget: &mut Budget| match compare(a, b, budget)? {
        Some(ordering) => Ok(Val::Bool(wanted(ordering))),
        // Nothing is smaller or larger than what is not a number, nor equal to it.
        None => Ok(Val::Bool(false)),
    };
    match operator {
        Operator::Equal => Ok(Val::Bool(equal(a, b, budget)?)),
        Operator::NotEqual => Ok(Val::Bool(!equal(a, b, budget)?)),
        Operator::Less => is(Ordering::is_lt, budget),
        Operator::LessOrEqual => is(Ordering::is_le, budget),
        Operator::Greater => is(Ordering::is_gt, budget),
        Operator::GreaterOrEqual => is(Ordering::is_ge, budget),
        Operator::In => contains(b, a, budget).map(Val::Bool),
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            match number::arithmetic(operator, a, b) {
                Some(result) => result,
                None => join(operator, a, b, budget),
            }
        }
    }
}

/// What `+` and `-` make of values that are no numbers.
fn join<'a>(operator: Operator, a: &Val<'a>, b: &Val<'a>, budget: &mut Budget) -> Result<Val<'a>, Fault> {
    let out_of_range = || Fault::failed("the result is out of the range of times");
    match (operator, a, b) {
        (Operator::Add, Val::Text(a), Val::Text(b)) => {
            budget.build(a.len() + b.len())?;
            Ok(Val::text([&**a, &**b].concat()))
        }
        (Operator::Add, Val::Bytes(a), Val::Bytes(b)) => {
            budget.build(a.len() + b.len())?;
            Ok(Val::Bytes(Rc::from([&**a, &**b].concat())))
        }
        (Operator::Add, Val::List(a), Val::List(b)) => {
            budget.build_slots(a.len() + b.len())?;
            Ok(Val::list(a.iter().chain(b.iter()).collect()))
        }
        (Operator::Add, Val::Time(time), Val::Duration(by))
        | (Operator::Add, Val::Duration(by), Val::Time(time)) => {
            time::computed(time.checked_add_signed(*by)).map(Val::Time)
        }
        (Operator::Subtract, Val::Time(time), Val::Duration(by)) => {
            time::computed(time.checked_sub_signed(*by)).map(Val::Time)
        }
        (Operator::Subtract, Val::Time(a), Val::Time(b)) => Ok(Val::Duration(a.signed_duration_since(*b))),
        (Operator::Add, Val::Duration(a), Val::Duration(b)) => {
            a.checked_add(b).map(Val::Duration).ok_or_else(out_of_range)
        }
        (Operator::Subtract, Val::Duration(a), Val::Duration(b)) => {
            a.checked_sub(b).map(Val::Duration).ok_or_else(out_of_range)
        }
        _ => Err(Fault::failed(no_operation(operator, a, b))),
    }
}

fn no_operation(operator: Operator, a: &Val<'_>, b: &Val<'_>) -> String {
    let (verb, between) = match operator {
        Operator::Add => ("added to", "+"),
        Operator::Subtract => ("subtracted from", "-"),
        Operator::Multiply => ("multiplied with", "*"),
        Operator::Divide => ("divided by", "/"),
        _ => ("combined with", "%"),
    };
    let is_text = |value: &Val<'_>| matches!(value, Val::Text(_));
    let hint = if operator == Operator::Add && is_text(a) != is_text(b) {
        "; string() makes a text of a value, double() a number of a text"
    } else {
        ""
    };
    match operator {
        Operator::Divide => format!("{} cannot be {verb} {} ('{between}'){hint}", a.kind(), b.kind()),
        _ => format!("{} cannot be {verb} {} ('{between}'){hint}", b.kind(), a.kind()),
    }
}

/// Values of different types are not equal, but for numbers.
pub(crate) fn equal(a: &Val<'_>, b: &Val<'_>, budget: &mut Budget) -> Result<bool, Fault> {
    budget.step()?;
    Ok(match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Text(a), Val::Text(b)) => {
            budget.read(a.len().min(b.len()))?;
            **a == **b
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            budget.read(a.len().min(b.len()))?;
            a == b
        }
        (Val::Time(a), Val::Time(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::List(a), Val::List(b)) => equal_lists(a, b, budget)?,
        (Val::Map(a), Val::Map(b)) => equal_maps(a, b, budget)?,
        _ => number::compare(a, b) == Some(Ordering::Equal),
    })
}

fn equal_lists(a: &List<'_>, b: &List<'_>, budget: &mut Budget) -> Result<bool, Fault> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        if !equal(&a, &b, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(a: &Fields<'_>, b: &Fields<'_>, budget: &mut Budget) -> Result<bool, Fault> {
    if a.len() != b.len() {
        return Ok(false);
    }
    budget.steps(a.len())?;
    for (key, value) in a.entries() {
        let other = match &key {
            Key::Text(name) => b.get(name),
            Key::Number(_) | Key::Bool(_) => match b {
                Fields::Made(fields) => {
                    fields.iter().find(|(other, _)| **other == key).map(|(_, value)| value.clone())
                }
                Fields::Given(_) => None,
            },
        };
        let Some(other) = other else { return Ok(false) };
        if !equal(&value, &other, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How two values compare; `None` where one is not a number.
pub(crate) fn compare(a: &Val<'_>, b: &Val<'_>, budget: &mut Budget) -> Result<Option<Ordering>, Fault> {
    budget.step()?;
    Ok(match (a, b) {
        (Val::Text(a), Val::Text(b)) => {
            budget.read(a.len().min(b.len()))?;
            Some((**a).cmp(&**b))
        }
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Bytes(a), Val::Bytes(b)) => {
            budget.read(a.len().min(b.len()))?;
            Some(a.cmp(b))
        }
        (Val::Time(a), Val::Time(b)) => Some(a.cmp(b)),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
        _ => {
            let are_numbers = number::as_double(a).is_some() && number::as_double(b).is_some();
            if !are_numbers {
                return Err(Fault::failed(format!("{} cannot be compared with {}", a.kind(), b.kind())));
            }
            number::compare(a, b)
        }
    })
}

/// `value in container`
fn contains<'a>(container: &Val<'a>, value: &Val<'a>, budget: &mut Budget) -> Result<bool, Fault> {
    match container {
        Val::List(items) => {
            for item in items.iter() {
                if equal(&item, value, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Val::Map(fields) => Ok(Key::of(value).is_ok_and(|key| fields.get_key(&key).is_some())),
        Val::Text(_) => {
            Err(Fault::failed("'in' looks into lists and objects; for texts there is contains()"))
        }
        other => Err(Fault::failed(format!("'in' looks into lists and objects, this is {}", other.kind()))),
    }
}

//! Functions of numbers.

use super::Found;
use super::lists::{keyed, order};
use crate::error::Fault;
use crate::eval::Run;
use crate::number::{arithmetic, as_double, as_index};
use crate::tree::{Lambda, Operator};
use crate::value::{List, Val};
use std::cmp::Ordering;

/// `f(list)`, `f(list, x => e)` and `f(a, b …)` all go over values.
fn values<'a>(
    run: &mut Run<'a>,
    arguments: &[Val<'a>],
    lambda: Option<&'a Lambda>,
) -> Result<Vec<(Val<'a>, Val<'a>)>, Fault> {
    let items = match arguments {
        [Val::List(items)] => items.clone(),
        several => {
            run.budget.build_slots(several.len())?;
            List::Made(several.into())
        }
    };
    keyed(run, &items, lambda)
}

/// Null is left out, as in SQL.
fn numbers<'a>(
    function: &str,
    run: &mut Run<'a>,
    arguments: &[Val<'a>],
    lambda: Option<&'a Lambda>,
) -> Result<Vec<Val<'a>>, Fault> {
    let mut numbers = Vec::new();
    for (value, _) in values(run, arguments, lambda)? {
        match value {
            Val::Null => {}
            Val::Int(_) | Val::Uint(_) | Val::Double(_) => numbers.push(value),
            other => {
                return Err(Fault::failed(format!("{function}() needs numbers, this is {}", other.kind())));
            }
        }
    }
    Ok(numbers)
}

fn total<'a>(numbers: &[Val<'a>]) -> Found<'a> {
    let mut sum = Val::Int(0);
    for number in numbers {
        sum = arithmetic(Operator::Add, &sum, number).unwrap_or(Ok(Val::Null))?;
    }
    Ok(sum)
}

pub(super) fn sum<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    total(&numbers("sum", run, arguments, lambda)?)
}

pub(super) fn avg<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    let numbers = numbers("avg", run, arguments, lambda)?;
    let sum: f64 = numbers.iter().filter_map(as_double).sum();
    Ok(if numbers.is_empty() { Val::Null } else { Val::Double(sum / numbers.len() as f64) })
}

pub(super) fn med<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    let numbers = numbers("med", run, arguments, lambda)?;
    let mut numbers: Vec<f64> = numbers.iter().filter_map(as_double).collect();
    run.budget.steps(numbers.len())?;
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    Ok(match (numbers.get(middle), numbers.len() % 2) {
        (None, _) => Val::Null,
        (Some(number), 1) => Val::Double(*number),
        (Some(number), _) => Val::Double(f64::midpoint(numbers[middle - 1], *number)),
    })
}

pub(super) fn min<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    extreme(run, arguments, lambda, Ordering::Less)
}

pub(super) fn max<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    extreme(run, arguments, lambda, Ordering::Greater)
}

/// With a lambda, the item whose key is the smallest or largest; the first of equal ones.
fn extreme<'a>(
    run: &mut Run<'a>,
    arguments: &[Val<'a>],
    lambda: Option<&'a Lambda>,
    wanted: Ordering,
) -> Found<'a> {
    let mut best: Option<(Val<'a>, Val<'a>)> = None;
    for (key, item) in values(run, arguments, lambda)? {
        if key.is_null() {
            continue;
        }
        let is_better = match &best {
            Some((other, _)) => order(run, &key, other)? == wanted,
            None => true,
        };
        if is_better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Val::Null, |(_, item)| item))
}

pub(super) fn round<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    /// A double has no more.
    const PLACES: i64 = 15;
    let number = match &arguments[0] {
        Val::Int(_) | Val::Uint(_) => return Ok(arguments[0].clone()),
        other => as_double(other)
            .ok_or_else(|| Fault::failed(format!("round() needs a number, this is {}", other.kind())))?,
    };
    let Some(places) = arguments.get(1) else {
        let whole = number.round();
        // Beyond that a double is no exact whole number.
        return Ok(if whole.abs() < 9e15 { Val::Int(whole as i64) } else { Val::Double(whole) });
    };
    let places = as_index(places).filter(|places| (0..=PLACES).contains(places));
    let places = places.ok_or_else(|| Fault::failed(format!("round() takes 0 to {PLACES} places")))?;
    Ok(Val::Double(round_written(number, places)))
}

/// Rounds a number as it is written, not as it is stored: 1.005 is a little less than that.
fn round_written(number: f64, places: i64) -> f64 {
    let text = format!("{:e}", number.abs());
    // Neither infinity nor what is no number has an exponent.
    let Some((digits, exponent)) = text.split_once('e') else { return number };
    let digits = digits.replace('.', "");
    let kept = exponent.parse::<i64>().unwrap_or_default() + 1 + places;
    let Ok(kept) = usize::try_from(kept) else { return 0f64.copysign(number) };
    let Some((kept, rest)) = digits.split_at_checked(kept).filter(|(_, rest)| !rest.is_empty()) else {
        return number;
    };
    let rounded = kept.parse::<u64>().unwrap_or_default() + u64::from(rest >= "5");
    format!("{rounded}e-{places}").parse().unwrap_or(number).copysign(number)
}

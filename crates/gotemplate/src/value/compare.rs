//! Comparing values as `eq` and `lt` do, numbers always as numbers.

use std::cmp::Ordering;

use super::Value;
use crate::budget::Budget;
use crate::error::Fault;

/// How two numbers or two strings stand to each other.
type Order = Ordering;

/// Go's `eq` of two values; lists and maps compare with nil only.
pub(crate) fn equals(left: &Value<'_>, right: &Value<'_>) -> Result<bool, Fault> {
    if let Some(order) = order_numbers(left, right) {
        return Ok(order == Order::Equal);
    }
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        _ => match (left.as_bytes(), right.as_bytes()) {
            (Some(left), Some(right)) => Ok(left == right),
            _ => Err(incomparable(left, right)),
        },
    }
}

/// Go's `lt` of two values: two numbers or two strings.
pub(crate) fn is_less(left: &Value<'_>, right: &Value<'_>) -> Result<bool, Fault> {
    if let Some(order) = order_numbers(left, right) {
        return Ok(order == Order::Less);
    }
    match (left.as_bytes(), right.as_bytes()) {
        (Some(left), Some(right)) => Ok(left < right),
        _ => Err(incomparable(left, right)),
    }
}

fn incomparable(left: &Value<'_>, right: &Value<'_>) -> Fault {
    let message = format!("can't compare {} with {}", left.type_name(), right.type_name());
    Fault::wrong_type(message).expecting("two numbers or two strings")
}

/// Deep equality of any two values, for `has`, `uniq` and `without`.
pub(crate) fn same(
    budget: &mut Budget<'_>,
    left: &Value<'_>,
    right: &Value<'_>,
    depth: usize,
) -> Result<bool, Fault> {
    budget.work(48)?;
    let limit = budget.limits().safe_value_depth();
    if depth > limit {
        return Err(Fault::limit("the depth of a value", limit));
    }
    if let (Some(left), Some(right)) = (left.as_list(), right.as_list()) {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (left, right) in left.iter().zip(right.iter()) {
            if !same(budget, &left, &right, depth + 1)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    if let (Some(_), Some(_)) = (left.as_map(), right.as_map()) {
        return same_maps(budget, left, right, depth);
    }
    if let Some(text) = left.as_bytes() {
        budget.work(text.len() / 8)?;
    }
    Ok(equals(left, right).unwrap_or(false))
}

fn same_maps(
    budget: &mut Budget<'_>,
    left: &Value<'_>,
    right: &Value<'_>,
    depth: usize,
) -> Result<bool, Fault> {
    let (Some(entries), Some(others)) = (left.as_map(), right.as_map()) else {
        return Ok(false);
    };
    if left.weight() != right.weight() {
        return Ok(false);
    }
    budget.items(left.weight())?;
    for (key, value) in entries.sorted() {
        let Some(other) = others.get(&key) else { return Ok(false) };
        if !same(budget, &value, &other, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The order of two numbers, exact across integers and floats; `None` unless both are numbers.
#[inline]
fn order_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Order> {
    match (left, right) {
        (Value::Int(left, _), Value::Int(right, _)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        _ => order_mixed(left, right),
    }
}

fn order_mixed(left: &Value<'_>, right: &Value<'_>) -> Option<Order> {
    if let (Some(left), Some(right)) = (whole(left), whole(right)) {
        return Some(left.cmp(&right));
    }
    match (left, right) {
        (Value::Float(left), right) => whole(right).map(|right| order_with_float(right, *left).reverse()),
        (left, Value::Float(right)) => whole(left).map(|left| order_with_float(left, *right)),
        _ => None,
    }
    .or_else(|| approximate(left)?.partial_cmp(&approximate(right)?))
}

fn whole(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(int, _) => Some(i128::from(*int)),
        Value::Uint(uint) => Some(i128::from(*uint)),
        Value::Big(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn order_with_float(whole: i128, float: f64) -> Order {
    // Beyond i128 the cast saturates, which keeps the order.
    match whole.cmp(&(float.trunc() as i128)) {
        Order::Equal => 0.0.partial_cmp(&float.fract()).unwrap_or(Order::Equal),
        unequal => unequal,
    }
}

fn approximate(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(int, _) => Some(*int as f64),
        Value::Uint(uint) => Some(*uint as f64),
        Value::Float(float) => Some(*float),
        Value::Big(digits) => digits.parse().ok(),
        _ => None,
    }
}

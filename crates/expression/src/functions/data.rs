//! Functions between texts, bytes and JSON, and queries.

use super::{Found, text};
use crate::error::Fault;
use crate::eval::Run;
use crate::value::{Key, Text, Val};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Budget, Query};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub(super) fn uuid<'a>(_: &mut Run<'a>, _: &[Val<'a>]) -> Found<'a> {
    Ok(Val::text(uuid::Uuid::new_v4().to_string()))
}

pub(super) fn to_json<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let text = arguments[0].to_json(&mut run.budget)?.to_string();
    run.budget.build(text.len())?;
    Ok(Val::text(text))
}

pub(super) fn from_json<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let text = text("fromJson", arguments, 0)?;
    run.budget.read(text.len())?;
    // A value of JSON takes more room than its text; how much is counted when it is made ours.
    run.budget.build(text.len())?;
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Fault::failed(format!("this text is no JSON (its line {}, column {})", error.line(), error.column()))
    })?;
    own(run, value)
}

/// A value that belongs to nobody, as one of ours.
fn own<'a>(run: &mut Run<'a>, value: Value) -> Found<'a> {
    run.budget.build_slots(1)?;
    Ok(match value {
        Value::String(text) => {
            run.budget.build(text.len())?;
            Val::text(text)
        }
        Value::Array(items) => {
            Val::list(items.into_iter().map(|item| own(run, item)).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let entry = |(key, value): (String, Value)| {
                run.budget.build(key.len())?;
                Ok((Key::Text(Text::Made(key.into())), own(run, value)?))
            };
            Val::map(fields.into_iter().map(entry).collect::<Result<_, Fault>>()?)
        }
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Val::Int(number),
            (None, Some(number)) => Val::Uint(number),
            (None, None) => Val::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Bool(value) => Val::Bool(value),
        Value::Null => Val::Null,
    })
}

fn bytes<'v>(function: &str, value: &'v Val<'_>) -> Result<&'v [u8], Fault> {
    match value {
        Val::Text(text) => Ok(text.as_bytes()),
        Val::Bytes(bytes) => Ok(bytes),
        other => Err(Fault::failed(format!("{function}() needs a text or bytes, this is {}", other.kind()))),
    }
}

pub(super) fn base64<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let bytes = bytes("base64", &arguments[0])?;
    run.budget.read(bytes.len())?;
    run.budget.build(bytes.len() / 3 * 4 + 4)?;
    Ok(Val::text(STANDARD.encode(bytes)))
}

pub(super) fn sha256<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    use std::fmt::Write;
    let bytes = bytes("sha256", &arguments[0])?;
    run.budget.read(bytes.len())?;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(Val::text(text))
}

pub(super) fn jmespath<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let query =
        Query::compile(text("jmespath", arguments, 1)?).map_err(|error| Fault::failed(error.to_string()))?;
    self::query(run, &arguments[0], &query)
}

/// What a compiled query finds in a value.
pub(crate) fn query<'a>(run: &mut Run<'a>, value: &Val<'a>, query: &Query) -> Found<'a> {
    /// What a query may do, and what it costs whether it does it or not: a hundred are the most.
    const STEPS: u64 = 20_000;
    const COST: usize = 1000;
    run.budget.steps(COST)?;
    let root = document::Node::from(&value.to_json(&mut run.budget)?);
    let mut budget = Budget::new(STEPS, &|| false);
    let found = query.run(&root, &mut budget).map_err(|error| Fault::failed(error.to_string()))?;
    let found = serde_json::to_value(&found).map_err(|_| Fault::failed("the query found what is no JSON"))?;
    own(run, found)
}

//! Crate `cel` as the oracle: where it gives a value over JSON's types, ours is the same.

use super::scope;
use cel::{Context, Program};
use expression::{Expression, Setting};
use serde_json::{Map, Value};

/// What crate `cel` gives, if it gives anything; its ways of failing are its own.
pub(super) fn cel(text: &str, scope: &Map<String, Value>) -> Option<Value> {
    let program = Program::compile(text).ok()?;
    let mut context = Context::default();
    for (name, value) in scope {
        context.add_variable(name.as_str(), value.clone()).ok()?;
    }
    program.execute(&context).ok()?.json().ok()
}

/// Equal as values: `1` and `1.0` are.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}

/// Written after the chapters of CEL's language definition.
const CASES: &[&str] = &[
    "1 + 2 * 3 - 4 / 2 % 3",
    "-(3) * -2",
    "2.5 * 4.0 - 1.5",
    "7 / 2",
    "-7 / 2",
    "-7 % 3",
    "7.5 / 2.5",
    "5u + 3u",
    "10u % 4u",
    "'a' + 'b' + \"c\"",
    "b'a' + b'b'",
    "[1, 2] + [3] + []",
    "1 == 1",
    "1 == 1.0",
    "1u == 1",
    "1.0 == 1u",
    "'1' == '1'",
    "[1, 2] == [1, 2]",
    "[1] == [2]",
    "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}",
    "{'a': 1} == {'a': 2}",
    "null == null",
    "1 != 2",
    "'a' != 'a'",
    "1 < 2",
    "2 <= 2",
    "'a' < 'b'",
    "'Z' < 'a'",
    "'ab' >= 'aa'",
    "1.5 > 1.4",
    "false < true",
    "b'a' < b'b'",
    "1 < 1.5",
    "2u > 1.5",
    "true && false",
    "true || false",
    "!true",
    "!!true",
    "false || false || true",
    "true && true && false",
    "1 < 2 && 2 < 3",
    "true ? 1 : 2",
    "false ? 1 : true ? 2 : 3",
    "1 > 2 ? 'a' : 'b'",
    "1 in [1, 2, 3]",
    "4 in [1, 2, 3]",
    "'a' in {'a': 1}",
    "'b' in {'a': 1}",
    "[1] in [[1], [2]]",
    "1.0 in [1]",
    "[1, 2, 3][1]",
    "{'a': {'b': 3}}['a']['b']",
    "{'a': {'b': 3}}.a.b",
    "[[1, 2], [3]][0][1]",
    "{1: 'x'}[1]",
    "size('abc')",
    "size('äöü')",
    "'世界'.size()",
    "size([1, 2])",
    "[].size()",
    "size({'a': 1})",
    "size(b'abc')",
    "'hello'.contains('ell')",
    "'hello'.startsWith('he')",
    "'hello'.endsWith('lo')",
    "'hello'.matches('h.*o')",
    "'hello'.matches('^ell')",
    "matches('abc', 'b')",
    "''.contains('')",
    "has({'a': 1}.a)",
    "has({'a': 1}.b)",
    "[1, 2, 3].all(x, x > 0)",
    "[1, 2, 3].all(x, x > 1)",
    "[].all(x, false)",
    "[1, 2, 3].exists(x, x == 2)",
    "[].exists(x, true)",
    "[1, 2, 3].exists_one(x, x > 2)",
    "[1, 2, 3].exists_one(x, x > 1)",
    "[1, 2, 3].map(x, x * 2)",
    "[1, 2, 3].map(x, x > 1, x * 2)",
    "[1, 2, 3].filter(x, x % 2 == 1)",
    "{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])",
    "{'a': 1}.exists(k, k == 'a')",
    "[[1, 2], [3]].map(l, l.map(x, x + 1))",
    "[1, 2].map(x, [3, 4].filter(y, y > x + 2))",
    "int('42')",
    "int(3.7)",
    "int(-3.7)",
    "int(5u)",
    "uint(7)",
    "uint('8')",
    "double(3)",
    "double('2.5')",
    "string(42)",
    "string(2.5)",
    "string(true)",
    "string('a')",
    "string(b'abc')",
    "bytes('abc') == b'abc'",
    "int('-5') + 1",
    "type(1) == int",
    "type('a') == string",
    "type([]) == list",
    "type({}) == map",
    "type(1.0) == double",
    "type(true) == bool",
    "type(null) == null_type",
    "dyn(1) == 1",
    "'\\x41\\u00e9\\101'",
    "r'a\\b'",
    "'''a'b'''",
    "\"a\\\"b\"",
    "0xff",
    "1e3",
    "1.5e-2",
    "timestamp('2026-07-28T10:00:00Z').getFullYear()",
    "timestamp('2026-07-28T10:00:00Z').getMonth()",
    "timestamp('2026-07-28T10:00:00Z').getDate()",
    "timestamp('2026-07-28T10:00:00Z').getDayOfMonth()",
    "timestamp('2026-07-28T10:00:00Z').getDayOfWeek()",
    "timestamp('2026-07-28T10:00:00Z').getDayOfYear()",
    "timestamp('2026-07-28T10:11:12Z').getHours()",
    "timestamp('2026-07-28T10:11:12Z').getMinutes()",
    "timestamp('2026-07-28T10:11:12Z').getSeconds()",
    "timestamp('2026-07-28T10:11:12.345Z').getMilliseconds()",
    "timestamp('2026-07-28T10:00:00Z') < timestamp('2026-07-29T10:00:00Z')",
    "duration('1h') < duration('61m')",
    "timestamp('2026-07-28T10:00:00Z') + duration('24h') == timestamp('2026-07-29T10:00:00Z')",
    "timestamp('2026-07-29T10:00:00Z') - timestamp('2026-07-28T10:00:00Z') == duration('24h')",
    "duration('1h') + duration('30m') == duration('90m')",
    "order.id",
    "order.lines[0].sku",
    "order.lines.map(l, l.sku)",
    "order.lines.filter(l, l.sku == 'a').size()",
    "has(order.nope)",
    "order.paid && order.id == 'O-1'",
    "tags[0] + tags[1]",
    "text.size()",
    "nothing == null",
    "order.lines.all(l, has(l.sku))",
    "order.lines.exists(l, l.sku == 'b')",
    "x * 2.0",
    "'red' in tags",
    "tags == ['red', 'green']",
    "order.note == null",
    "{'k': order.id, 'n': [x]}",
    "yes ? tags : []",
    "false || yes",
    "1 == 1 || 1 / 0 == 1",
    "1 / 0 == 1 || true",
    "false && 1 / 0 == 1",
    "[0, 1].exists(x, 1 / x == 1)",
];

/// The oracle's values that ours differs from on purpose: each with the reason.
const DIFFERENT: &[(&str, &str)] = &[];

#[test]
fn gives_what_cel_gives() {
    let scope = scope();
    let (mut compared, mut wrong) = (0, Vec::new());
    for text in CASES {
        if DIFFERENT.iter().any(|(known, _)| known == text) {
            continue;
        }
        let ours = Expression::parse(text).and_then(|parsed| parsed.evaluate(&scope, &Setting::default()));
        let Some(theirs) = cel(text, &scope) else { continue };
        compared += 1;
        match ours {
            Ok(ours) if is_same(&ours, &theirs) => {}
            Ok(ours) => wrong.push(format!("{text}: {ours}, but cel gives {theirs}")),
            Err(error) => wrong.push(format!("{text}: {error}, but cel gives {theirs}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared * 10 >= CASES.len() * 9, "only {compared} of {} could be compared", CASES.len());
}

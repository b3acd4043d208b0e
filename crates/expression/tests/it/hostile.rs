//! Expressions that want too much.

use super::{scope, setting};
use expression::{Expression, Kind, Limits, MAX_DEPTH, Setting, Template};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

fn limit_of(text: &str, scope: &Map<String, Value>) -> String {
    let begun = Instant::now();
    let result = Expression::parse(text).and_then(|parsed| parsed.evaluate(scope, &setting()));
    let error = result.expect_err("it wants too much");
    assert_eq!(error.kind(), Kind::Limit, "{text}: {error}");
    // Generous: the build for tests is slow, and the machine may be busy.
    assert!(begun.elapsed() < Duration::from_secs(20), "{text} took {:?}", begun.elapsed());
    error.message().to_owned()
}

/// FL-17
#[test]
fn what_explodes_ends_at_its_budget() {
    let many: Vec<Value> = (0..1000).map(Value::from).collect();
    let long = "x".repeat(1 << 19);
    let Value::Object(scope) = json!({"many": many, "long": long, "a": "0123456789"}) else { unreachable!() };
    let doubling = format!("[1]{}", ".map(a, [a, a])".repeat(100));
    for text in [
        "many.map(a, many.map(b, many.map(c, a + b + c)))",
        "many.map(a, long)",
        "many.map(a, long.size())",
        "many.map(a, long == long + '')",
        "[long, long, long].join()",
        "long.replace('x', 'yyyyyyyyyy')",
        "long.replace('', 'yyyyyyyyyy')",
        "many.map(a, many)",
        "many.map(a, toJson(many))",
        "many.map(a, jmespath(many, '[*]'))",
        "many.map(a, many == many)",
        "many.map(a, long.matches('x+y'))",
        "many.map(a, long.matches('x+' + 'y'))",
        "many.map(a, sort(many))",
        "long.split('')",
        "`${long}${long}${long}`",
        "long + long + long + long",
        &doubling,
    ] {
        let message = limit_of(text, &scope);
        assert!(message.contains("more than") || message.contains("at most"), "{text}: {message}");
    }
}

/// FL-17
#[test]
fn what_is_too_long_or_too_deep_is_not_run() {
    let scope = scope();
    for text in [
        "(".repeat(2000),
        "[".repeat(2000),
        "!".repeat(3000) + "true",
        "-".repeat(3000) + "1",
        "`${".repeat(1000),
        "{'a':".repeat(500),
        "true ? 1 : ".repeat(300),
        "size(".repeat(500),
        format!("n{}", ".map(a, a".repeat(300)),
        "a".repeat(4097),
    ] {
        let message = limit_of(&text, &scope);
        assert!(message.contains("deep") || message.contains("at most"), "{message}");
    }
    let within = format!("{}1{}", "(".repeat(MAX_DEPTH - 1), ")".repeat(MAX_DEPTH - 1));
    assert_eq!(Expression::parse(&within).unwrap().evaluate(&scope, &setting()).unwrap(), json!(1));
}

/// Chains are no nesting: they may be as long as the text.
#[test]
fn long_chains_are_no_depth() {
    let scope = scope();
    let sum = format!("1{}", " + 1".repeat(1000));
    let or = format!("false{}", " || false".repeat(400));
    let members = format!("n in [{}7]", "1, ".repeat(1000));
    for (text, wanted) in [(sum, json!(1001)), (or, json!(false)), (members, json!(true))] {
        assert_eq!(Expression::parse(&text).unwrap().evaluate(&scope, &setting()).unwrap(), wanted);
    }
}

#[test]
fn a_pattern_that_is_too_large_is_refused() {
    let error = Expression::parse("'a'.matches('(a{1000}){1000}')").unwrap_err();
    assert!(error.message().contains("too large"), "{error}");
}

/// Found by `make fuzz`: the compiler of patterns calls itself for each repetition of a repetition.
#[test]
fn a_pattern_that_is_too_deep_is_refused_on_any_stack() {
    let work = || {
        for deep in ["+".repeat(200), "*".repeat(100)] {
            let error = Expression::parse(&format!("'a'.matches('a{deep}')")).unwrap_err();
            assert!(error.message().contains("no regular expression"), "{error}");
        }
        assert!(Expression::parse("'a'.matches('((a+)+)+')").is_ok());
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn limits_can_be_chosen() {
    let setting = Setting { limits: Limits { steps: 10, built_bytes: 100 }, ..setting() };
    let run = |text: &str| Expression::parse(text).unwrap().evaluate(&scope(), &setting);
    assert_eq!(run("n + 1").unwrap(), json!(8));
    assert!(run("[1, 2, 3].map(a, a + 1)").unwrap_err().message().contains("10 steps"));
    assert!(run("'0123456789' + '0123456789012345678901234567890123456789012345678901234567890123456789012345678901'")
        .unwrap_err().message().contains("100 bytes"));
    assert_eq!(Template::parse("${n}").unwrap().evaluate(&scope(), &setting).unwrap(), json!(7));
}

/// A value is no deeper than those can read who get it.
#[test]
fn values_that_are_too_deep_are_refused() {
    let deep = "[".repeat(65) + &"]".repeat(65);
    let steps = ".map(x, [x])".repeat(80);
    for text in [format!("fromJson('{deep}')"), format!("[1]{steps}"), format!("toJson([1]{steps})")] {
        let error = expression::Expression::parse(&text)
            .unwrap()
            .evaluate(&serde_json::Map::new(), &expression::Setting::default())
            .unwrap_err();
        assert_eq!(error.kind(), expression::Kind::Limit, "{text}");
        assert!(error.message().contains("64 levels"), "{}", error.message());
    }
}

//! The published cases of CEL (npm `@bufbuild/cel-spec`, read where `scripts/servers run cel` has put them): where one gives a
//! value over JSON's types, ours is the same. What is about protobuf, unsigned numbers, bytes, times and types is not ours.

use super::oracle::is_same;
use expression::{Expression, Setting};
use serde_json::{Map, Number, Value};

/// What the others are about has no place in JSON.
const SUITES: [&str; 13] = [
    "basic",
    "comparisons",
    "conversions",
    "fields",
    "fp_math",
    "integer_math",
    "lists",
    "logic",
    "macros",
    "namespace",
    "parse",
    "plumbing",
    "string",
];

/// Where we say something else, on purpose, and why.
const EXACT: &str = "numbers are compared as what they are, not as the nearest double";
const FIRST: &str = "`a || b` is a where a is neither false, null nor absent";
const OTHERWISE: [(&str, &str); 5] = [
    ("comparisons/lt_literal/not_lt_dyn_int_big_lossy_double", EXACT),
    ("comparisons/gt_literal/not_gt_dyn_big_double_int", EXACT),
    ("comparisons/lte_literal/lte_dyn_big_double_int", EXACT),
    ("comparisons/gte_literal/gte_dyn_int_big_lossy_double", EXACT),
    ("logic/OR/short_circuit_type_right", FIRST),
];

/// As many gave their value when this was written; fewer is a step back.
const AT_LEAST: usize = 750;

/// A value of CEL as JSON, if it is one.
fn json(value: &Value) -> Option<Value> {
    let (kind, value) = value.as_object()?.iter().next()?;
    let entries = |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    match kind.as_str() {
        "nullValue" => Some(Value::Null),
        "boolValue" | "stringValue" => Some(value.clone()),
        "int64Value" => value.as_str()?.parse::<i64>().ok().map(Value::from),
        "doubleValue" => Some(Value::Number(Number::from_f64(value.as_f64()?)?)),
        "listValue" => entries("values").iter().map(json).collect::<Option<Vec<_>>>().map(Value::Array),
        "mapValue" => {
            let pair =
                |entry: &Value| Some((json(&entry["key"])?.as_str()?.to_owned(), json(&entry["value"])?));
            entries("entries").iter().map(pair).collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        _ => None,
    }
}

/// What a case binds, if all of it is JSON.
fn bindings(case: &Value) -> Option<Map<String, Value>> {
    let none = Map::new();
    let bound = case.get("bindings").and_then(Value::as_object).unwrap_or(&none);
    bound.iter().map(|(name, bound)| Some((name.clone(), json(bound.get("value")?)?))).collect()
}

fn collect(suite: &Value, path: &str, cases: &mut Vec<(String, Value)>) {
    let name = |of: &Value| of["name"].as_str().unwrap_or_default().to_owned();
    for inner in suite["suites"].as_array().into_iter().flatten() {
        collect(inner, &format!("{path}/{}", name(inner)), cases);
    }
    for case in suite["tests"].as_array().into_iter().flatten() {
        let case = &case["original"];
        cases.push((format!("{path}/{}", name(case)), case.clone()));
    }
}

#[test]
fn gives_what_the_published_cases_give() {
    let file = std::env::var("MCP_TEST_CEL_CASES");
    let file = file.expect("MCP_TEST_CEL_CASES is not set; run the tests with scripts/servers run -- CMD");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).expect("a file")).expect("JSON");
    let mut cases = Vec::new();
    for suite in all["suites"].as_array().into_iter().flatten() {
        let name = suite["name"].as_str().unwrap_or_default();
        if SUITES.contains(&name) {
            collect(suite, name, &mut cases);
        }
    }
    let (mut same, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
    for (path, case) in &cases {
        let (Some(scope), Some(text)) = (bindings(case), case["expr"].as_str()) else { continue };
        // Without anything to compare with, a case says that the value is true.
        let wanted = match case.get("value") {
            Some(value) => json(value),
            None if case.get("evalError").is_some() || case.get("unknown").is_some() => None,
            None => Some(Value::Bool(true)),
        };
        let Some(wanted) = wanted.filter(|_| case.get("container").is_none()) else { continue };
        match Expression::parse(text).map(|parsed| parsed.evaluate(&scope, &Setting::default())) {
            Ok(Ok(value)) if is_same(&value, &wanted) => same += 1,
            Ok(Ok(value)) => wrong.push((path.clone(), format!("{text} gives {value}, not {wanted}"))),
            Ok(Err(error)) => refused.push(format!("{path}: {text}: {error}")),
            Err(error) => refused.push(format!("{path}: {text}: {error}")),
        }
    }
    wrong.retain(|(path, _)| !OTHERWISE.iter().any(|(known, _)| known == path));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(same >= AT_LEAST, "{same} cases give their value, {} are refused: {refused:#?}", refused.len());
}

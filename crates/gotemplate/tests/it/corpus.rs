//! Cases whose expectations come from Go's text/template and Sprig themselves.

use gotemplate::{Error, Options, Template};
use serde::Deserialize;
use serde_json::value::RawValue;

const CASES: &str = include_str!("../data/gotmpl.jsonl");

#[derive(Deserialize)]
struct Case {
    name: String,
    template: String,
    data: Box<RawValue>,
    expected: Option<String>,
    stage: Option<String>,
}

fn cases() -> Vec<Case> {
    CASES.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs every case and lists the ones that differ.
fn failures(render: impl Fn(&Template, &str) -> Result<String, Error>, skip: &[&str]) -> Vec<String> {
    let mut failures = Vec::new();
    for case in cases().iter().filter(|case| !skip.contains(&case.name.as_str())) {
        let compiled = Template::compile("main", &case.template, &Options::default());
        let got = compiled.clone().and_then(|template| render(&template, case.data.get()));
        let holds = match (&got, &case.expected) {
            (Ok(got), Some(expected)) => got == expected,
            (Err(_), None) => case.stage.as_deref() != Some("parse") || compiled.is_err(),
            _ => false,
        };
        if !holds {
            failures.push(format!(
                "{}: {:?}\n  want {:?}\n  got  {got:?}",
                case.name, case.template, case.expected
            ));
        }
    }
    failures
}

/// HT-3.2 HT-3.3 HT-3.4 HT-3.6
#[test]
fn every_case_renders_as_go_does_from_json_text() {
    let failures = failures(|template, data| template.render_json(data), &[]);
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

/// HT-3.2 HT-3.3 HT-3.4 HT-3.6
#[test]
fn every_case_renders_as_go_does_from_a_parsed_value() {
    // A parsed value has already lost the digits of integers beyond 64 bits.
    let beyond_64_bits = ["num-bigint-001", "num-bigint-002"];
    let render = |template: &Template, data: &str| template.render(&serde_json::from_str(data).unwrap());
    let failures = failures(render, &beyond_64_bits);
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

/// HD-5
#[test]
fn every_syntax_error_of_the_corpus_has_its_place() {
    for case in cases().iter().filter(|case| case.stage.as_deref() == Some("parse")) {
        let error = Template::compile("main", &case.template, &Options::default()).unwrap_err();
        let lines = case.template.lines().count().max(1);
        assert!((1..=lines).contains(&error.line()), "{}: {error}", case.name);
        assert!(error.column() >= 1 && error.column() <= case.template.chars().count() + 1, "{error}");
        assert!(error.report().contains('^'), "{}", case.name);
    }
}

//! Texts with values in them.

use super::{scope, setting};
use expression::Template;
use serde_json::{Value, json};

fn evaluate(text: &str) -> Result<Value, expression::Error> {
    Template::parse(text)?.evaluate(&scope(), &setting())
}

#[test]
fn a_lone_value_keeps_its_type_and_text_prints() {
    for (text, wanted) in [
        ("plain", json!("plain")),
        ("", json!("")),
        ("${n}", json!(7)),
        ("${order.lines[0]}", json!({"sku": "a", "price": 10, "count": 2})),
        (" ${n}", json!(" 7")),
        ("${n}${x}", json!("72.5")),
        ("Order ${order.id}: ${tags}, ${nothing}", json!("Order O-1: [\"red\",\"green\"], null")),
        ("$${n} costs 5$ or $5, \\ `too`", json!("${n} costs 5$ or $5, \\ `too`")),
        ("${ {'a': '}'}.a }", json!("}")),
        ("${`in ${n}`}!", json!("in 7!")),
    ] {
        assert_eq!(evaluate(text).unwrap(), wanted, "{text}");
    }
    assert!(Template::parse("a $${b}").unwrap().is_literal());
    assert!(!Template::parse("a ${b}").unwrap().is_literal());
}

#[test]
fn what_is_wrong_is_told_where_it_stands_in_the_whole_text() {
    for (text, wanted) in [
        ("a\nb ${", "'${' is not closed by '}'; a plain one is written '$${' (line 2, column 3)"),
        ("a ${b c}", "'}' is missing at the end of '${', but 'c' follows (line 1, column 7)"),
        (
            "a\n${order.nope}!",
            "there is no field 'nope' (there are id, total, paid, note, lines) (line 2, column 8)",
        ),
    ] {
        assert_eq!(evaluate(text).unwrap_err().to_string(), wanted, "{text}");
    }
}

#[test]
fn names_of_all_values_are_told() {
    let template = Template::parse("a ${b.c} ${d.map(e, e + f)}").unwrap();
    let names: Vec<_> = template.names().map(|(name, place)| (name, place.column)).collect();
    assert_eq!(names, [("b", 5), ("d", 12), ("f", 25)]);
}

#[test]
fn a_lone_name_is_told() {
    for (text, name) in
        [("${n}", Some("n")), ("${ n }", Some("n")), ("${n} ", None), ("${n.a}", None), ("n", None)]
    {
        assert_eq!(Template::parse(text).unwrap().as_name(), name, "{text}");
    }
    assert_eq!(expression::Expression::parse("(n)").unwrap().as_name(), Some("n"));
}

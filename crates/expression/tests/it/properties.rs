//! Random expressions: no panic, no hang, and the same value as crate `cel` where it gives one.

use super::oracle::{cel, is_same};
use super::scope;
use expression::{Expression, Kind, Setting, Template};
use proptest::prelude::*;

/// Well-formed expressions over numbers, texts, lists and conditions.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-20i64..20).prop_map(|number| format!("({number})")),
        (-8i32..8).prop_map(|quarters| format!("({:?})", f64::from(quarters) / 4.0)),
        "[a-c]{0,3}".prop_map(|text| format!("'{text}'")),
        prop::sample::select(vec![
            "true",
            "false",
            "null",
            "x",
            "tags",
            "order.id",
            "text",
            "yes",
            "[]",
            "order.paid"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        let operator =
            prop::sample::select(vec!["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&"]);
        let method = prop::sample::select(vec![
            "size()",
            "contains('a')",
            "all(v, v == v)",
            "map(v, [v])",
            "filter(v, v != 1)",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(a, operator, b)| format!("({a} {operator} {b})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
            // One field only: the oracle's maps have no order.
            inner.clone().prop_map(|a| format!("{{'k': {a}}}")),
            (inner.clone(), method).prop_map(|(a, method)| format!("{a}.{method}")),
            inner.clone().prop_map(|a| format!("!({a})")),
            (inner, 0..3usize).prop_map(|(a, index)| format!("{a}[{index}]")),
        ]
    })
}

/// Where the crate gives what the language does not: the names of an object for a list, and null for NaN and infinity.
fn is_stricter(error: &expression::Error) -> bool {
    let said = error.to_string();
    ["an object cannot be added to a list", "NaN has no place in JSON", "inf has no place in JSON"]
        .iter()
        .any(|known| said.contains(known))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gives_what_cel_gives_for_random_expressions(text in expressions()) {
        let scope = scope();
        let ours = Expression::parse(&text).and_then(|parsed| parsed.evaluate(&scope, &Setting::default()));
        if let Some(theirs) = cel(&text, &scope) {
            match ours {
                Ok(ours) => prop_assert!(is_same(&ours, &theirs), "{text}: {ours}, but cel gives {theirs}"),
                Err(error) => {
                    let is_fine = error.kind() == Kind::Limit || is_stricter(&error);
                    prop_assert!(is_fine, "{text}: {error}, but cel gives {theirs}");
                }
            }
        }
    }

    #[test]
    fn random_texts_never_panic(text in "\\PC{0,60}") {
        let _ = Expression::parse(&text).map(|parsed| parsed.evaluate(&scope(), &Setting::default()));
        let _ = Template::parse(&text).map(|parsed| parsed.evaluate(&scope(), &Setting::default()));
    }

    #[test]
    fn random_pieces_never_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "a", "order", ".", "?.", "[", "]", "(", ")", "{", "}", ",", ":", "?", "=>", "'x'", "`", "${", "1", "2.5", "-", "!",
            "+", "||", "&&", "in", "==", "map", "size", "has", "default", "sort", "x", "\\", "\n", "//", "0x", "b'", "r\"", "'''",
        ]), 0..20)
    ) {
        let text = parts.concat();
        let _ = Expression::parse(&text).map(|parsed| parsed.evaluate(&scope(), &Setting::default()));
        let _ = Template::parse(&text).map(|parsed| parsed.evaluate(&scope(), &Setting::default()));
    }
}

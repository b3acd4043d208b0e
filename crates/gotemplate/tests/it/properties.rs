//! What holds for every template and every value.

use gotemplate::{Options, Template};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Any JSON, not too large.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[a-e]", inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Text that is often nearly a template.
fn near_template() -> impl Strategy<Value = String> {
    let names: Vec<String> = gotemplate::functions().map(|function| function.name.to_owned()).collect();
    let piece = prop_oneof![
        prop::sample::select(vec![
            "{{",
            "}}",
            "{{-",
            "-}}",
            " ",
            "(",
            ")",
            "|",
            ":=",
            "=",
            ",",
            ".",
            ".a",
            ".b.c",
            "$",
            "$x",
            "$.a",
            "if",
            "else",
            "end",
            "range",
            "with",
            "define",
            "template",
            "block",
            "break",
            "continue",
            "nil",
            "true",
            "\"t\"",
            "`raw`",
            "'c'",
            "1",
            "-2.5",
            "0x1f",
            "1e3",
            "/*",
            "*/",
            "\"%v %5d\"",
            "{{end}}",
            "{{else}}",
            "{{if .a}}",
            "{{range $i, $e := .}}",
            "{{$x := .}}",
            "text",
            "{",
            "}",
            "\n",
        ])
        .prop_map(str::to_owned),
        prop::sample::select(names),
        ".{0,3}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A template that always parses.
fn good_template() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        ".",
        ".a",
        ".b.c",
        "$",
        "$.a",
        "1",
        "\"x\"",
        "(len \"ab\")",
        "true",
        "(list 1 .a)",
    ]);
    let action = (value.clone(), value).prop_flat_map(|(one, two)| {
        prop::sample::select(vec![
            format!("{{{{{one}}}}}"),
            format!("{{{{print {one} {two}}}}}"),
            format!("{{{{printf \"%v|%q\" {one} {two}}}}}"),
            format!("{{{{- {one} | default {two} -}}}}"),
            format!("{{{{eq {one} {two}}}}}"),
            "{{/* a note */}}".to_owned(),
            " plain { text }\n".to_owned(),
        ])
    });
    action.prop_recursive(4, 24, 4, |inner| {
        let condition = prop::sample::select(vec![".", ".a", "not .b", "$x := .a"]);
        (condition, inner.clone(), inner.clone(), inner).prop_flat_map(|(test, a, b, c)| {
            prop::sample::select(vec![
                format!("{{{{if {test}}}}}{a}{{{{else if .b}}}}{b}{{{{else}}}}{c}{{{{end}}}}"),
                format!("{{{{with {test}}}}}{a}{{{{else}}}}{b}{{{{end}}}}{c}"),
                format!("{{{{range $i, $e := .}}}}{a}{{{{$i}}}}{{{{else}}}}{b}{{{{end}}}}"),
                format!("{{{{range .a}}}}{a}{{{{break}}}}{{{{end}}}}{b}"),
                format!("{a}{{{{block \"t\" .a}}}}body{{{{end}}}}{{{{template \"t\" 5}}}}"),
            ])
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_and_no_data_make_it_panic(source in near_template(), data in any_json()) {
        match Template::compile("t", &source, &Options::default()) {
            Ok(template) => {
                let _ = template.render(&data).map_err(|error| error.report());
                let _ = template.render_json(&data.to_string());
            }
            Err(error) => prop_assert!(error.report().contains('^')),
        }
    }

    #[test]
    fn every_function_takes_any_arguments(at in 0usize..200, arguments in prop::collection::vec(any_json(), 0..4)) {
        let functions: Vec<_> = gotemplate::functions().collect();
        let name = functions[at % functions.len()].name;
        let source = format!("{{{{{name}{}}}}}", (0..arguments.len()).map(|n| format!(" (index . {n})")).collect::<String>());
        let _ = Template::compile("t", &source, &Options::default()).unwrap().render(&Value::Array(arguments));
    }

    #[test]
    fn printf_takes_any_format(format in "(%[-+# 0]{0,2}[0-9*]{0,2}(\\.[0-9*]{0,2})?(\\[[0-9]\\])?[a-zA-Z%]|.){0,6}", data in any_json()) {
        let template = Template::compile("t", "{{printf .f .v .v}}", &Options::default()).unwrap();
        let _ = template.render(&json!({ "f": format, "v": data }));
    }

    #[test]
    fn a_printed_template_means_the_same(source in good_template(), data in any_json()) {
        let options = Options::default();
        let Ok(template) = Template::compile("t", &source, &options) else { return Ok(()) };
        let printed = template.to_string();
        let again = Template::compile("t", &printed, &options)
            .unwrap_or_else(|error| panic!("{source:?} prints as {printed:?}: {error}"));
        prop_assert_eq!(&again.to_string(), &printed);
        let (one, two) = (template.render(&data), again.render(&data));
        prop_assert_eq!(one.ok(), two.ok(), "{} | {}", source, printed);
    }

    #[test]
    fn text_without_actions_is_itself(text in "[^{]{0,80}") {
        let template = Template::compile("t", &text, &Options::default()).unwrap();
        prop_assert_eq!(template.render(&Value::Null).unwrap(), text);
    }

    #[test]
    fn json_goes_out_and_in_again(data in any_json()) {
        let template = Template::compile("t", "{{ toRawJson (fromJson (toJson .)) }}", &Options::default()).unwrap();
        let again: Value = serde_json::from_str(&template.render(&data).unwrap()).unwrap();
        prop_assert!(alike(&again, &data), "{again} {data}");
    }
}

/// Equal but for whole floats, which are written as integers.
fn alike(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            // The parser of the test data may be off by one in the last place, which for the
            // smallest numbers is always the same place.
            const SMALLEST: f64 = 5e-324;
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            (left - right).abs() <= (right.abs() * 1e-15).max(SMALLEST)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| alike(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| alike(value, other)))
        }
        _ => left == right,
    }
}

//! Types that authors write: as deep as is of use to anybody, and never in circles.

use super::problems;
use flow::Code;

/// On a stack as small as any that reads flows.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

/// FL-17: a type that is too deep is a problem at its place, and nobody runs it.
#[test]
fn a_type_that_is_too_deep_is_refused() {
    on_a_small_stack(|| {
        for deep in [
            format!("int{}", "?".repeat(1000)),
            format!("int{}", "[]".repeat(780)),
            format!("{}int{}", "map<".repeat(1000), ">".repeat(1000)),
            format!("{}int", "map<".repeat(1000)),
        ] {
            for (text, column) in [
                (format!("inputs: {{a: \"{deep}\"}}\nnodes: {{n: {{with: 1}}}}"), 13),
                (format!("inputs: {{a: {{b: [\"{deep}\"]}}}}\nnodes: {{n: {{with: 1}}}}"), 18),
                (format!("returns: \"{deep}\"\nnodes: {{n: {{with: 1}}}}"), 10),
                (format!("types: {{T: \"{deep}\"}}\nnodes: {{n: {{with: 1}}}}"), 12),
                (format!("nodes: {{n: {{approval: {{title: x, fields: {{f: \"{deep}\"}}}}}}}}"), 46),
            ] {
                let reading = flow::read(&text);
                let found: Vec<_> = super::codes(&reading.problems);
                assert_eq!(found, [(Code::LimitExceeded, 1, column)], "{:?}", reading.problems);
                assert!(reading.flow.is_none());
            }
        }
        assert!(
            problems(&format!(
                "inputs: {{a: 'map<int[]?>{}'}}\nnodes: {{n: {{with: '${{a}}'}}}}",
                "[]".repeat(13)
            ))
            .is_empty()
        );
    });
}

/// FL-32: what is neither true nor false is no way to say that something is not secret.
#[test]
fn secret_is_true_or_false() {
    for word in ["yes", "'true'", "1", "null", "[true]"] {
        let text = format!("inputs: {{p: {{type: string, secret: {word}}}}}\nnodes: {{n: {{with: p}}}}");
        let reading = flow::read(&text);
        assert_eq!(
            super::codes(&reading.problems),
            [(Code::Syntax, 1, 36)],
            "{word}: {:?}",
            reading.problems
        );
        assert!(reading.flow.unwrap().inputs[0].is_secret, "{word}");
    }
    for (word, is_secret) in [("true", true), ("True", true), ("false", false)] {
        let text = format!("inputs: {{p: {{type: string, secret: {word}}}}}\nnodes: {{n: {{with: p}}}}");
        let reading = flow::read(&text);
        assert!(reading.problems.is_empty(), "{word}: {:?}", reading.problems);
        assert_eq!(reading.flow.unwrap().inputs[0].is_secret, is_secret, "{word}");
    }
}

/// FL-32: what is said to be secret where nothing is sealed is refused, and not shown.
#[test]
fn only_inputs_themselves_are_secret() {
    let nodes = "nodes: {n: {approval: {title: x, fields: {f: string}}}}";
    for (field, line, column) in [
        ("inputs: {a: {type: object, properties: {p: {type: string, secret: true}}}}", 1, 44),
        ("inputs: {a: {type: array, items: {type: string, secret: true}}}", 1, 34),
        ("inputs: {a: {p: {type: string, secret: true}}}", 1, 17),
        ("types: {A: {type: string, secret: true}}", 1, 12),
        ("returns: {a: {type: string, secret: true}}", 1, 14),
    ] {
        let found = problems(&format!("{field}\n{nodes}"));
        assert_eq!(super::codes(&found), [(Code::Syntax, line, column)], "{field}: {found:?}");
        assert!(found[0].message.contains("inputs themselves"), "{found:?}");
    }
    let right = "inputs: {a: {type: string, secret: true}, secret: bool, b: {type: object, properties: {secret: {type: string}}, default: {secret: true}}}";
    assert!(
        problems(&format!("{right}\n{nodes}")).is_empty(),
        "{:?}",
        problems(&format!("{right}\n{nodes}"))
    );
}

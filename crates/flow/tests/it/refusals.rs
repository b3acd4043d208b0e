//! What is refused because it can never be right, told where it stands.

use super::codes;
use flow::{Code, Lookup, Tools, Validation, validate};
use serde_json::json;
use std::sync::Arc;
use tool::Uri;

/// One tool with a parameter that is required, and others that are not.
struct Echo;

impl Tools for Echo {
    fn find(&self, _: &Uri) -> Lookup {
        let schema = json!({
            "type": "object", "required": ["must"],
            "properties": { "must": {}, "text": {"type": "string"}, "count": {"type": "integer"}, "real": {"type": "number"},
                "what": {}, "line": {"$ref": "#/$defs/Line"} },
            "$defs": { "Line": { "type": "object" } },
        });
        Lookup::Found { input: Arc::new(schema) }
    }
}

fn check(text: &str) -> Validation {
    validate(text, &Echo)
}

fn found(text: &str) -> Vec<(Code, String)> {
    check(text).problems.iter().map(|problem| (problem.code, problem.path.clone())).collect()
}

/// FL-16: what may be left out is taken from a name only where its type fits for sure; what must be there, where it may.
#[test]
fn only_what_fits_for_sure_is_bound_to_what_may_be_left_out() {
    let bound = |text: &str| -> Vec<String> {
        let checked = check(text);
        assert!(checked.is_valid(), "{:?}", checked.problems);
        checked.bound.into_iter().map(|bound| bound.parameter).collect()
    };
    let inputs = "inputs: {must: any, text: string, count: 'int?', real: int, what: bool}";
    let call = "nodes: {a: {exec: 'api://x/y'}}";
    assert_eq!(bound(&format!("{inputs}\n{call}")), ["must", "text", "count", "real", "what"]);
    let inputs = "inputs: {must: any, text: any, count: number, real: 'string?', what: any}";
    assert_eq!(bound(&format!("{inputs}\n{call}")), ["must"]);
    let nodes = "nodes: {must: {with: 1, next: a}, text: {with: 1, next: a}, what: {with: 1, next: a}, a: {exec: 'api://x/y'}}";
    assert_eq!(bound(nodes), ["must"]);
    let items = "nodes: {e: {each: '[1] => text', nodes: {a: {exec: 'api://x/y', args: {must: 1}}}}}";
    assert_eq!(bound(items), Vec::<String>::new());
    let vars = "vars: {text: x, count: '${1 + 1}'}\nnodes: {a: {exec: 'api://x/y', args: {must: 1}}}";
    assert_eq!(bound(vars), ["text"]);
    let types = "types: {T: {type: string}}\ninputs: {text: T, line: 'T?'}\nnodes: {a: {exec: 'api://x/y', args: {must: 1}}}";
    assert_eq!(bound(types), ["text"]);
}

/// FL-32: the text of a flow is stored and shown as it is, so that a secret in it is none.
#[test]
fn a_secret_input_has_no_default() {
    let text = "inputs: {k: {type: string, secret: true, default: hunter2}}\nnodes: {a: {with: k}}";
    let checked = check(text);
    assert_eq!(codes(&checked.problems), [(Code::Syntax, 1, 51)], "{:?}", checked.problems);
    assert_eq!(checked.problems[0].path, "inputs.k.default");
    assert!(!checked.problems[0].message.contains("hunter2"));
    let flow = checked.flow.unwrap();
    assert!(!flow.input_schema().to_string().contains("hunter2"), "nobody is shown what it is");
    for right in [
        "inputs: {k: {type: string, secret: true, default: null}}\nnodes: {a: {with: k}}",
        "inputs: {k: {type: string, secret: false, default: open}}\nnodes: {a: {with: k}}",
    ] {
        assert!(check(right).is_valid(), "{right}: {:?}", check(right).problems);
    }
}

/// FL-9: each word calls what it says.
#[test]
fn a_node_calls_what_its_word_says() {
    for (node, right) in [
        ("agent: 'agent://b'", true),
        ("agent: b", true),
        ("flow: 'flow://b?version=2'", true),
        ("handoff: 'agent://b'", true),
        ("handoff: 'flow://b'", false),
        ("agent: 'api://b/c'", false),
        ("flow: 'api://b/c'", false),
        ("flow: 'agent://b'", false),
    ] {
        let text = format!("nodes: {{a: {{{node}, args: {{must: 1}}}}}}");
        let expected = if right { Vec::new() } else { vec![Code::Syntax] };
        let seen: Vec<_> = found(&text).into_iter().map(|(code, _)| code).collect();
        assert_eq!(seen, expected, "{node}");
    }
}

#[test]
fn blocks_stand_eight_levels_deep_in_one_another() {
    let nested = |levels: usize| {
        let mut text = "{with: '1'}".to_owned();
        for level in 0..levels {
            text = format!("{{nodes: {{b{level}: {text}}}}}");
        }
        found(&format!("nodes: {{a: {text}}}"))
    };
    assert_eq!(nested(8), []);
    assert_eq!(nested(9).into_iter().map(|(code, _)| code).collect::<Vec<_>>(), [Code::LimitExceeded]);
}

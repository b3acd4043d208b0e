//! Checks against tools: all problems at once, and what is bound by name.

use super::codes;
use flow::{Code, Lookup, Tools, Validation, validate};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::Uri;

/// A few tools with schemas.
struct Shop;

impl Tools for Shop {
    fn find(&self, uri: &Uri) -> Lookup {
        let schema = match (uri.service(), uri.tool().unwrap_or_default()) {
            ("shop", "order") => json!({
                "type": "object", "additionalProperties": false, "required": ["orderId", "tenantId"],
                "properties": {"orderId": {"type": "string"}, "tenantId": {"type": "string"}, "top": {"type": "integer"}, "note": {"type": "string"}}
            }),
            ("shop", "any") => json!({"type": "object"}),
            ("down", _) => return Lookup::Unchecked("the service 'down' cannot be reached".to_owned()),
            _ => return Lookup::Missing(format!("there is no tool '{uri}'")),
        };
        Lookup::Found { input: Arc::new(schema) }
    }
}

fn check(text: &str) -> Validation {
    validate(text, &Shop)
}

fn all(validation: &Validation) -> String {
    validation.problems.iter().map(|problem| format!("{problem} [{}]\n", problem.path)).collect()
}

/// FL-16: what is left out is bound by name where the type fits, and nothing else is.
#[test]
fn parameters_left_out_are_bound_by_name() {
    let text = "
inputs: {orderId: string, top: string, id: int}
vars: {x: 1}
nodes:
  a: {exec: 'api://shop/order', args: {note: hi}, next: b}
  b: {exec: 'api://shop/order', bind: false, args: {orderId: '${id}', tenantId: t, top: '${x}'}}
  c: {each: '[1] => orderId2', nodes: {d: {exec: 'api://shop/order'}}}
";
    let checked = check(text);
    let bound: Vec<_> = checked.bound.iter().map(|bound| (&*bound.node, &*bound.parameter)).collect();
    assert_eq!(
        bound,
        [
            ("nodes.a", "orderId"),
            ("nodes.a", "tenantId"),
            ("nodes.c.nodes.d", "orderId"),
            ("nodes.c.nodes.d", "tenantId")
        ]
    );
    assert_eq!(
        codes(&checked.problems),
        [(Code::Unused, 2, 32), (Code::TypeMismatch, 6, 53)],
        "{}",
        all(&checked)
    );
}

/// FL-18: one text with nearly everything wrong, and every problem at its place.
#[test]
fn every_problem_is_found_at_once() {
    let text = "inputs: {orderId: string, unused: int}
vars: {n: 0, m: '${nope}'}
nodes:
  a:
    exec: api://shop/gone
    next: [b, c]
  b:
    exec: api://shop/order
    args:
      orderID: x
      top: many
    sets: {n: '${n + a.total}', orderId: '1'}
    next: d
  c:
    exec: api://down/x
    sets: {n: '${lateer}'}
    next: d
  d: {with: '[later, a, d]', next: later}
  later: {return: 1, next: never}
  never: {with: orderId}
  e: {each: '[1] => orderId', limit: 2, nodes: {f: {sets: {n: '${n + 1}'}}}}
output: '${nothing}'
";
    let checked = check(text);
    let found = codes(&checked.problems);
    let wanted = [
        (Code::Unused, 1, 35),
        (Code::Unused, 2, 14),
        (Code::UnknownName, 2, 20),
        (Code::UnknownTool, 5, 11),
        (Code::Race, 7, 3),
        (Code::UnknownArgument, 10, 7),
        (Code::TypeMismatch, 11, 7),
        (Code::UnknownName, 12, 33),
        (Code::Unchecked, 15, 11),
        (Code::UnknownName, 16, 18),
        (Code::NotUpstream, 18, 15),
        (Code::Unreachable, 20, 3),
        (Code::Duplicate, 21, 3),
        (Code::Race, 21, 49),
        (Code::UnknownName, 22, 12),
    ];
    assert_eq!(found, wanted, "{}", all(&checked));
    assert!(!checked.is_valid());
    let value: Value = serde_json::to_value(&checked.problems[4]).unwrap();
    assert_eq!(value["severity"], "warning");
    assert_eq!(value["code"], "Race");
    assert_eq!(value["path"], "nodes.b");
}

#[test]
fn a_missing_argument_is_told_where_the_tool_is() {
    let checked = check(
        "nodes:\n  a: {exec: 'api://shop/order', args: {top: 1}}\n  b: {exec: 'api://shop/order', args: '...a'}\n  c: {exec: 'api://shop/any', args: {what: 1}}",
    );
    let found = codes(&checked.problems);
    assert_eq!(found, [(Code::MissingArgument, 2, 13), (Code::NotUpstream, 3, 43)], "{}", all(&checked));
}

#[test]
fn names_are_seen_where_they_are() {
    let fine = "
inputs: {list: 'string[]'}
vars: {n: 0}
fail: sorry
nodes:
  a: {exec: 'api://shop/any', with: 'a.x', sets: {n: '${a.x + n}'}, next: l}
  l: {vars: {i: 0, j: '${i + n}'}, when: i < 2, nodes: {m: {with: '[a, i, j, n]', sets: {i: '${i + 1}'}}}, with: '[l, i]', next: e}
  e: {each: 'list.map(x, x + a) => item, index', nodes: {p: {with: '[item, index, l]', next: q}, q: {with: p}}, next: g}
  g: {guard: {check: custom, of: '${e}', when: size(e) > 0}, next: ok}
  ok: {approval: {title: '${g.value}'}, notify: {exec: 'api://shop/any', args: {t: '${tenantId}'}}}
  sorry: {with: '[run.error.code, a, ok, trigger, buCode]'}
concurrency: {limit: 1, key: '${list[0]}'}
triggers: [{type: webhook, inputs: {list: '${trigger.body.list}'}}]
output: ['${ok}', '${sorry}', '${n}']
";
    let checked = check(fine);
    assert!(checked.problems.is_empty(), "{}", all(&checked));
    for (text, code) in [
        ("nodes: {a: {with: b}, b: {with: '1'}}", Code::NotUpstream),
        ("nodes: {a: {exec: 'api://shop/any', args: {x: '${a}'}}}", Code::NotUpstream),
        ("nodes: {a: {nodes: {b: {with: a}}}}", Code::NotUpstream),
        ("nodes: {a: {nodes: {b: {with: '1'}}, next: c}, c: {with: b}}", Code::UnknownName),
        ("nodes: {a: {each: '[1] => x', nodes: {b: {with: x}}, next: c}, c: {with: x}}", Code::UnknownName),
        ("nodes: {a: {nodes: {a: {with: '1'}}}}", Code::Duplicate),
        ("inputs: {run: 'int?'}\nnodes: {a: {with: run}}", Code::Duplicate),
        ("inputs: {a: 'int?'}\nnodes: {a: {with: '1'}}\noutput: '${a}'", Code::Duplicate),
        ("nodes: {a: {with: '1', sets: {v: 1}}}", Code::UnknownName),
        (
            "inputs: {x: any}\nnodes: {a: {with: x}}\ntriggers: [{type: webhook, inputs: {x: '${a}'}}]",
            Code::UnknownName,
        ),
    ] {
        let checked = check(text);
        assert_eq!(
            checked.problems.iter().map(|problem| problem.code).collect::<Vec<_>>(),
            [code],
            "{text}\n{}",
            all(&checked)
        );
    }
}

/// FL-18: many warnings hide no error.
#[test]
fn warnings_take_no_errors_place() {
    let inputs: String = (0..300).map(|input| format!("  i{input}: int\n")).collect();
    let checked = check(&format!("inputs:\n{inputs}nodes: {{a: {{with: nope}}}}"));
    assert!(!checked.is_valid());
    assert_eq!(checked.problems.last().map(|problem| problem.code), Some(Code::UnknownName));
}

#[test]
fn branches_do_not_race() {
    let text =
        "vars: {n: 0}\nnodes: {c: {when: n == 0, then: a, else: b}, a: {sets: {n: 1}}, b: {sets: {n: 2}}}";
    assert!(check(text).problems.is_empty(), "{}", all(&check(text)));
    let text = "vars: {n: 0}\nnodes: {a: {sets: {n: '${n + 1}'}}, b: {sets: {n: 2}}}";
    assert_eq!(codes(&check(text).problems), [(Code::Race, 2, 9)]);
}

/// SC-4: what a flow refers to is listed with its places.
#[test]
fn references_are_listed() {
    let text = "
nodes:
  a: {each: '[1] => x', nodes: {b: {exec: 'api://shop/any'}}}
  c: {approval: T, notify: {exec: 'api://mail/send'}}
  d: {guard: {check: jailbreak, of: x, by: 'agent://judge'}}
triggers: [{type: message, from: 'mq://svc/orders'}]
";
    let flow = flow::read(text).flow.unwrap();
    let found: Vec<_> =
        flow::references(&flow).into_iter().map(|one| (one.node, one.uri.to_string())).collect();
    let wanted = [
        ("nodes.a.nodes.b", "api://shop/any"),
        ("nodes.c", "api://mail/send"),
        ("nodes.d", "agent://judge"),
        ("triggers[0]", "mq://svc/orders"),
    ];
    assert_eq!(found, wanted.map(|(node, uri)| (node.to_owned(), uri.to_owned())));
}

/// SC-4: a draft whose edges are broken refers to what it names all the same.
#[test]
fn broken_edges_hide_no_reference() {
    for edges in ["a: {with: '1', next: nowhere}", "a: {with: '1', next: c}, c: {with: '1', next: a}"] {
        let checked = check(&format!("nodes: {{{edges}, x: {{exec: 'api://shop/any'}}}}"));
        assert!(checked.flow.is_none());
        let found: Vec<_> = checked.references.iter().map(|one| one.uri.to_string()).collect();
        assert_eq!(found, ["api://shop/any"]);
    }
}

/// FL-18: an edge that leads nowhere, or in a circle, hides nothing else that is wrong.
#[test]
fn an_unknown_node_hides_no_other_problem() {
    for edges in ["a: {with: '1', next: nowhere}", "a: {with: '1', next: c}, c: {with: '1', next: a}"] {
        let text = format!("nodes: {{{edges}, x: {{exec: 'api://no/tool'}}, y: {{with: 'unknown + a'}}}}");
        let checked = check(&text);
        let found: Vec<_> = checked.problems.iter().map(|problem| problem.code).collect();
        assert!(
            found.contains(&Code::UnknownTool) && found.contains(&Code::UnknownName),
            "{}",
            all(&checked)
        );
        assert!(!found.contains(&Code::NotUpstream), "{}", all(&checked));
        assert!(checked.flow.is_none(), "it cannot be run");
    }
}

/// FL-3: what a sub-flow sees as its tenant and unit may be said, whatever it declares.
#[test]
fn a_sub_flow_may_be_told_of_another_unit() {
    struct Closed;
    impl Tools for Closed {
        fn find(&self, _: &Uri) -> Lookup {
            let schema = json!({"type": "object", "additionalProperties": false, "properties": {"x": {}}});
            Lookup::Found { input: Arc::new(schema) }
        }
    }
    let found = |text: &str| {
        codes(&validate(text, &Closed).problems).into_iter().map(|(code, ..)| code).collect::<Vec<_>>()
    };
    assert_eq!(found("nodes: {a: {flow: child, args: {x: 1, buCode: b, tenantId: t}}}"), []);
    assert_eq!(found("nodes: {a: {flow: child, args: {other: 1}}}"), [Code::UnknownArgument]);
    assert_eq!(found("nodes: {a: {exec: 'api://a/b', args: {buCode: b}}}"), [Code::UnknownArgument]);
}

/// A node that waits for more edges than there are never runs.
#[test]
fn a_join_of_more_edges_than_there_are_is_told() {
    let text = |join: usize| {
        format!(
            "nodes: {{a: {{with: '1', next: c}}, b: {{with: '1', next: c}}, c: {{with: '1', join: {join}}}}}"
        )
    };
    assert!(check(&text(2)).is_valid(), "{}", all(&check(&text(2))));
    assert_eq!(
        codes(&check(&text(3)).problems).into_iter().map(|(code, ..)| code).collect::<Vec<_>>(),
        [Code::Unreachable]
    );
}

/// FL-17, FL-18: what is too much is told without looking at all of it.
#[test]
fn hostile_sizes_are_told_quickly() {
    let nodes: String = (0..20_000).map(|n| format!("n{n}: {{with: '1', next: n{}}}, ", n + 1)).collect();
    let fields: String = (0..40_000).map(|n| format!("f{n}: 1, ")).collect();
    for (text, code) in [
        (format!("nodes: {{{nodes}}}"), Code::LimitExceeded),
        (format!("{{nodes: {{a: {{with: '1'}}}}, {fields}}}"), Code::Unknown),
    ] {
        let began = std::time::Instant::now();
        let checked = check(&text);
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(checked.problems.len() <= 100 && checked.problems.iter().any(|problem| problem.code == code));
    }
}

/// What expressions take for something else names no node.
#[test]
fn words_of_expressions_are_no_names() {
    for word in ["'true'", "'null'", "in"] {
        let checked = check(&format!("nodes: {{{word}: {{with: '1'}}}}"));
        assert!(!checked.is_valid(), "{word}");
    }
}

/// FL-18: a node that cannot be read, an edge to nowhere and a circle hide no problem elsewhere.
#[test]
fn a_problem_in_one_node_hides_no_other() {
    use Code::{Cycle, Expression, NotUpstream, Syntax, Unknown, UnknownName, UnknownNode, UnknownTool};
    let wrong = "nodes:\n  n1: {exec: 'api://shop/nope', next: zz}\n  c1: {with: 1, next: c2}\n  c2: {with: 1, next: c1}\n  u: {with: '${nothere}'}\n";
    for (unreadable, code) in [
        ("x: {wait: 5parsecs}", Syntax),
        ("x: {name: q}", Syntax),
        ("x: {when: 'a ==', then: n1}", Expression),
        ("x: {guard: {check: nope, of: '1'}}", Unknown),
        ("x: {each: 5, nodes: {y: {wait: 5parsecs}}}", Syntax),
    ] {
        let found = check(&format!("{wrong}  {unreadable}\n"));
        let codes: Vec<_> = found.problems.iter().map(|problem| problem.code).collect();
        for code in [UnknownTool, UnknownNode, Cycle, UnknownName, code] {
            assert!(codes.contains(&code), "{unreadable}: {}", all(&found));
        }
        assert!(found.flow.is_none(), "nothing with a node that cannot be read is run");
    }
    // An edge that leads nowhere may have been meant for any node, so that only those are told that it cannot help.
    let found = check(
        "nodes: {a: {with: '${b}'}, b: {with: 1, next: c}, c: {with: 1}, d: {with: '${e}'}, e: {with: 1, next: zz}}",
    );
    let found: Vec<_> = found.problems.iter().map(|problem| (problem.code, problem.path.as_str())).collect();
    assert_eq!(found, [(NotUpstream, "nodes.a.with"), (UnknownNode, "nodes.e.next")]);
    let found = check(
        "concurrency: {limit: 0, key: '${nope}'}\nnodes: {a: {exec: 'api://shop/any', retry: {attempts: 101, delay: -1}}}",
    );
    assert_eq!(codes(&found.problems).len(), 4, "{}", all(&found));
}

/// What a trigger gives are inputs of the flow, and all that its runs need.
#[test]
fn a_trigger_gives_what_its_runs_need() {
    let found = |inputs: &str, given: &str| {
        let text = format!(
            "inputs: {{{inputs}}}\ntriggers: [{{type: schedule, cron: '0 8 * * *'{given}}}]\nnodes: {{b: {{with: '${{a}}'}}}}"
        );
        check(&text).problems.iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    assert_eq!(found("a: int = 1", ", inputs: {zz: 1}"), [Code::UnknownName]);
    assert_eq!(found("a: int = 1", ", inputs: {zz: '${trigger.at}'}"), [Code::UnknownName]);
    assert_eq!(found("a: int", ""), [Code::MissingArgument]);
    assert_eq!(found("a: int", ", inputs: {}"), [Code::MissingArgument]);
    for (inputs, given) in [("a: int = 1", ""), ("a: int", ", inputs: {a: 1}"), ("a: string?", "")] {
        assert_eq!(found(inputs, given), [], "{inputs} {given}");
    }
}

/// A word of ours that is misspelled is told, and any code may be named.
#[test]
fn a_code_in_small_letters_is_likely_a_word_that_is_misspelled() {
    for (on, count) in [("retriable", 1), ("[sometimes, TIMEOUT]", 1), ("any", 0), ("NO_ORDER", 0)] {
        let found = check(&format!("nodes: {{a: {{exec: 'api://shop/any', retry: {{on: {on}}}}}}}"));
        assert_eq!(found.problems.len(), count, "{on}: {}", all(&found));
        assert!(found.is_valid());
    }
}

/// FL-8: an end that may be passed by goes on.
#[test]
fn an_end_with_a_condition_goes_on() {
    for end in ["throw: {code: NEG, message: no}", "return: 1"] {
        let found = |only: &str| {
            let text =
                format!("inputs: {{n: int}}\nnodes: {{a: {{{only}{end}, next: b}}, b: {{with: '${{n}}'}}}}");
            codes(&check(&text).problems).into_iter().map(|(code, ..)| code).collect::<Vec<_>>()
        };
        assert_eq!(found("only: n < 0, "), [], "{end}");
        assert_eq!(found(""), [Code::Unreachable], "{end}");
    }
}

/// FL-18: a wait is for one thing; the other would be forgotten.
#[test]
fn a_wait_is_for_a_time_or_for_a_signal() {
    for (wait, count) in [("signal: x", 1), ("key: '1'", 1), ("", 0)] {
        let found = check(&format!("nodes: {{w: {{wait: {{until: now(), {wait}}}}}}}"));
        assert_eq!(found.problems.len(), count, "{wait}: {}", all(&found));
    }
}

/// FL-18: a default is of its input's type, or every start without the input would be refused.
#[test]
fn a_default_is_of_its_type() {
    let found = |input: &str| {
        let text = format!("inputs: {{a: {input}}}\nnodes: {{b: {{with: '${{a}}'}}}}");
        check(&text).problems.iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    for wrong in [
        "{type: integer, default: x}",
        "{type: integer, maximum: 5, default: 50}",
        "\"int = 'x'\"",
        "date = 'no'",
    ] {
        assert_eq!(found(wrong), [Code::TypeMismatch], "{wrong}");
    }
    for right in
        ["{type: integer, default: 5}", "int = 1 + 1", "date = date()", "string = 'x'", "int? = null"]
    {
        assert_eq!(found(right), [], "{right}");
    }
}

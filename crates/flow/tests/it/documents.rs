//! Documents: YAML and JSON, the origin's dialect, every kind of node, hostile texts.

use super::{codes, flow, problems};
use flow::Code;
use serde_json::json;

/// The example of the contract.
pub(crate) const ORDER_INTAKE: &str = r#"
name: Order intake
inputs:
  orderId: string                                  # short
  top: {type: integer, maximum: 50, default: 10}
returns: {id: string, lines: int}
concurrency: {limit: 5, key: "${orderId}", overflow: queue}
nodes:
  order:  {exec: "api://shop/order?timeout=5000", retry: 3, fail: lost, next: big}
  lost:   {throw: {code: NO_ORDER, message: "${order.error.message}"}}
  big:    {when: order.total > 1000, then: ok, else: ship}
  ok:     {approval: {title: "Ship ${orderId}?", timeout: 2d}, next: ship}
  ship:   {each: order.lines => line, limit: 4, nodes: {send: {exec: "mq://wms/ship", args: {message: "${line}"}}}}
output: {id: "${orderId}", lines: "${size(ship)}"}
"#;

/// FL-5: the same document as JSON is the same flow.
#[test]
fn treats_yaml_and_json_alike() {
    let json = json!({
        "name": "Order intake",
        "inputs": {"orderId": "string", "top": {"type": "integer", "maximum": 50, "default": 10}},
        "returns": {"id": "string", "lines": "int"},
        "concurrency": {"limit": 5, "key": "${orderId}", "overflow": "queue"},
        "nodes": {
            "order": {"exec": "api://shop/order?timeout=5000", "retry": 3, "fail": "lost", "next": "big"},
            "lost": {"throw": {"code": "NO_ORDER", "message": "${order.error.message}"}},
            "big": {"when": "order.total > 1000", "then": "ok", "else": "ship"},
            "ok": {"approval": {"title": "Ship ${orderId}?", "timeout": "2d"}, "next": "ship"},
            "ship": {"each": "order.lines => line", "limit": 4,
                "nodes": {"send": {"exec": "mq://wms/ship", "args": {"message": "${line}"}}}}
        },
        "output": {"id": "${orderId}", "lines": "${size(ship)}"}
    });
    for text in [json.to_string(), serde_json::to_string_pretty(&json).unwrap().replace("  ", "\t")] {
        assert!(flow::is_same(ORDER_INTAKE, &text), "{:?}", flow::diff(ORDER_INTAKE, &text));
        flow(&text);
    }
    let read = flow(ORDER_INTAKE);
    assert_eq!(read.name.as_deref(), Some("Order intake"));
    assert_eq!(
        read.inputs.iter().map(|input| (&*input.name, input.is_optional)).collect::<Vec<_>>(),
        [("orderId", false), ("top", true)]
    );
    assert_eq!(read.concurrency.unwrap().limit, 5);
}

/// FL-6: the origin's spelling of a flow is read, and means the same as ours.
#[test]
fn reads_the_dialect_of_the_origin() {
    let origin = "
flow:
  id: greet
  desp: Says hello
  args:
    in: {name: string, tags: 'string[]?', lines: 'Line[]', prices: 'map<decimal>'}
    out: {text: string}
    defs:
      Line: {sku: string, count: int}
  vars: |
    greeting = 'Hello'   # a word
    count = 0
  node:
    hello:
      exec: api://texts/join
      args: left = greeting, name
      sets: count = count + 1
      next: bye, end
    bye:
      with: |
        text = hello.text + '!'
        ...hello
    end: {with: hello.text}
";
    let ours = flow(origin);
    assert_eq!(ours.id.as_deref(), Some("greet"));
    assert_eq!(ours.description.as_deref(), Some("Says hello"));
    assert_eq!(ours.types["Line"]["properties"]["count"], json!({"type": "integer"}));
    let schemas: Vec<_> = ours.inputs.iter().map(|input| input.schema.clone()).collect();
    assert_eq!(
        schemas,
        [
            json!({"type": "string"}),
            json!({"type": ["array", "null"], "items": {"type": "string"}}),
            json!({"type": "array", "items": {"$ref": "#/$defs/Line"}}),
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
        ]
    );
}

/// FL-18: all problems at once, each at its line and column.
#[test]
fn reports_every_problem_at_its_place() {
    let text = "
inputs: {a: strng}
nodes:
  one: {exec: 'api//x', nxt: two, next: three}
  two: {when: 'a >', then: one, timeout: soon}
  2x: {with: {v: 'Hi ${a +}'}}
  odd: {}
  long:
    with: |
      x = 1,
      y = (2
extra: 1
";
    let found = problems(text);
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    let wanted = [
        (Code::UnknownName, 2, 13),
        (Code::Syntax, 4, 15),
        (Code::Unknown, 4, 25),
        (Code::UnknownNode, 4, 41),
        (Code::Expression, 5, 19),
        (Code::Syntax, 5, 42),
        (Code::Syntax, 6, 3),
        (Code::Expression, 6, 27),
        (Code::Syntax, 7, 3),
        (Code::Expression, 11, 13),
        (Code::Unknown, 12, 1),
    ];
    assert_eq!(codes(&found), wanted, "{}", all.join("\n"));
}

#[test]
fn finds_duplicates_circles_and_unknown_nodes() {
    let found = problems("nodes:\n  a: {with: 1, next: b}\n  b: {with: 2, next: a}\n");
    assert_eq!(codes(&found), [(Code::Cycle, 2, 3)]);
    assert!(
        found[0].message.contains("a → b → a") || found[0].message.contains("b → a → b"),
        "{}",
        found[0].message
    );
    let found = problems("nodes:\n  a: {with: 1, next: bb}\n  b: {with: 2}\n  a: {with: 3}\n");
    assert_eq!(codes(&found), [(Code::UnknownNode, 2, 22), (Code::Duplicate, 4, 3)]);
    assert_eq!(found[1].path, "nodes.a");
    assert!(found[0].message.ends_with("did you mean 'b'?"), "{}", found[0].message);
}

#[test]
fn every_kind_of_node_is_read() {
    flow("
vars: {n: 0}
nodes:
  tool: {exec: 'api://a/b', args: {x: 1}, bind: false, delivery: at_most_once, retry: {attempts: 2, delay: 1s, factor: 1.5, max_delay: 5s, on: [TIMEOUT]}, next: map}
  map: {sets: {n: '${n + 1}'}, with: {v: '${n}'}, next: cond}
  cond: {when: n > 0, then: [sw], else: w1}
  sw: {case: [{when: n == 1, then: w1}, {when: n == 2, then: 'w2, w3'}], else: e}
  w1: {wait: 5000}
  w2: {wait: 10s}
  w3: {wait: {until: \"'2030-01-01T00:00:00Z'\"}, join: any, next: w4}
  w4: {wait: {signal: paid, key: '${n}'}}
  e: {each: '[1, 2] => x, i', on_error: collect, nodes: {y: {with: '${x + i}'}}, next: l}
  l: {vars: {i: 0}, when: i < 3, max: 10, nodes: {z: {sets: 'i = i + 1'}}, next: b}
  b: {nodes: {p: {with: 1}, q: {with: 2}}, join: any, next: s}
  s: {flow: 'child?version=2', next: ag}
  ag: {agent: helper, args: {prompt: hi}, next: h}
  h: {handoff: 'agent://b', context: [n], reason: because, next: ap}
  ap: {approval: {title: T, fields: {amount: int}, by: [ann], timeout: 1h, on_timeout: approve}, then: g, else: r, notify: {exec: 'api://mail/send', args: {to: ann}}}
  g: {guard: {check: pii, of: '${ap.comment}', action: redact}, next: g2}
  g2: {guard: {check: schema, of: '${n}', schema: {type: integer}}, next: g3}
  g3: {guard: {check: custom, of: '${n}', when: n > 1, action: warn}, next: g4}
  g4: {guard: {check: moderation, of: '${n}', by: 'agent://judge'}, next: t}
  r: {return: {done: true}}
  t: {throw: {code: NO, message: no}}
");
}

/// An agent in place names whose model it uses, and what it may call: both are looked up, and are references.
#[test]
fn an_agent_in_place_refers_to_its_model_and_its_tools() {
    let text = "nodes: {a: {agent: {model: m, instructions: Be kind, tools: ['api://a/b', 'mcp://Time/*']}}}";
    let read = flow::read(text);
    let found = flow::references(&read.flow.unwrap_or_else(|| panic!("{:?}", read.problems)));
    let named: Vec<_> = found.iter().map(|found| (found.node.as_str(), found.uri.to_string())).collect();
    assert_eq!(named, [("nodes.a", "agent://m".to_owned()), ("nodes.a", "api://a/b".to_owned())]);
    let found = problems("nodes: {a: {agent: {instructions: Be kind}}}");
    assert_eq!(codes(&found), [(Code::Syntax, 1, 20)]);
    assert!(found[0].message.contains("'model' is missing"), "{}", found[0].message);
}

/// FL-17, and the fault "YAML bomb": refused, process unharmed.
#[test]
fn hostile_texts_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![previous; 10].join(", "));
    }
    let deep_alias: String = (1..100).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
        format!("{text}a{level}: &a{level} [*a{}]\n", level - 1)
    });
    for (text, code) in [
        (bomb, Code::LimitExceeded),
        (deep_alias, Code::LimitExceeded),
        ("x".repeat(flow::MAX_BYTES + 1), Code::LimitExceeded),
        ("[".repeat(100_000), Code::Syntax),
        ("{a: ".repeat(100_000), Code::Syntax),
        ("- ".repeat(100_000), Code::Syntax),
        ("a: &a [*a]".to_owned(), Code::Syntax),
        ("{[a]: b}".to_owned(), Code::Syntax),
        (String::new(), Code::Syntax),
        ("# nothing".to_owned(), Code::Syntax),
        ("just text".to_owned(), Code::Syntax),
        ("a: 1\n---\nb: 2".to_owned(), Code::Syntax),
        ("nodes: {a: {with: 1}}\n\u{0}".to_owned(), Code::Syntax),
    ] {
        let reading = flow::read(&text);
        assert!(reading.flow.is_none(), "{}", &text[..text.len().min(40)]);
        assert_eq!(
            reading.problems.first().map(|problem| problem.code),
            Some(code),
            "{:?}",
            reading.problems
        );
    }
    let many: String =
        (0..501).fold("nodes:\n".to_owned(), |text, node| format!("{text}  n{node}: {{with: 1}}\n"));
    assert_eq!(codes(&problems(&many)), [(Code::LimitExceeded, 502, 9)]);
    let deep = (0..9).fold("{x: {with: 1}}".to_owned(), |text, _| format!("{{x: {{nodes: {text}}}}}"));
    assert_eq!(problems(&format!("nodes: {deep}"))[0].code, Code::LimitExceeded);
}

/// FL-18: a document that is wrong in as many ways as fit is answered in time, and not with all of them.
#[test]
fn many_problems_take_little_time() {
    struct None;
    impl flow::Tools for None {
        fn find(&self, uri: &tool::Uri) -> flow::Lookup {
            flow::Lookup::Missing(format!("there is no tool '{uri}'"))
        }
    }
    let list =
        |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(", ");
    let nodes = list(500, &|n| format!("n{n}: {{sets: {{v: '${{nope{n} + x}}'}}}}"));
    let later = |n: usize| list((500 - n).min(60), &|to| format!("n{}", n + to));
    let dense =
        list(499, &|n| format!("n{n}: {{sets: {{v: 1}}, next: [{}]}}", later(n + 1).replace("n500", "n499")));
    for text in [
        format!("nodes: {{{}}}", list(40_000, &|n| format!("n{n}: 1"))),
        format!("nodes: {{a: {{with: 1}}}}\nvars: {{{}}}", list(40_000, &|n| format!("v{n}: 1"))),
        format!("nodes: {{a: {{with: 1}}}}\ninputs: {{{}}}", list(30_000, &|n| format!("i{n}: T{n}"))),
        format!("nodes: {{a: {{with: 1, next: [{}]}}}}", list(50_000, &|n| format!("x{n}"))),
        format!("vars: {{v: 1}}\nnodes: {{{nodes}}}"),
        format!("vars: {{v: 1}}\nnodes: {{{dense}, n499: {{sets: {{v: 1}}}}}}"),
        format!("nodes: {{a: {{with: '{}'}}}}", "[".repeat(100_000)),
        format!("nodes: {{a: {{with: [{}]}}}}", list(25_000, &|n| format!("'${{x{n}}}'"))),
    ] {
        assert!(text.len() <= flow::MAX_BYTES, "{}", text.len());
        let begun = std::time::Instant::now();
        let checked = flow::validate(&text, &None);
        assert!((1..=400).contains(&checked.problems.len()), "{}", &text[..40]);
        assert!(begun.elapsed().as_secs() < 20, "{:?} for {}", begun.elapsed(), &text[..40]);
    }
}

mod random {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e15..1e15f64).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[ -~\\t\\n]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,10}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// FL-5: what JSON says is what is read, whatever it says.
        #[test]
        fn json_is_read_as_json(value in values(), is_pretty in any::<bool>()) {
            let document = json!({"types": {"T": {"const": value}}, "nodes": {"a": {"with": 1}}});
            let text = if is_pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
            let reading = flow::read(&text);
            prop_assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
            prop_assert_eq!(&reading.flow.unwrap().types["T"]["const"], &value);
        }

        #[test]
        fn random_texts_never_panic(text in "\\PC{0,200}") {
            let _ = flow::read(&text);
        }

        #[test]
        fn random_pieces_never_panic(
            parts in prop::collection::vec(prop::sample::select(vec![
                "nodes", ":", " ", "\n", "\n  ", "{", "}", "[", "]", ",", "a", "next", "exec", "'", "\"", "${", "}", "|", ">", "&a", "*a",
                "each", "=>", "when", "with", "sets", "=", "1", "#", "- ", "?", "flow", "args", "in", "inputs", "string", "<", "triggers",
            ]), 0..40)
        ) {
            let _ = flow::read(&parts.concat());
        }
    }
}

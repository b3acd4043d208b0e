//! The reference of flow documents is generated from the tables that readers go by.

use flow::words::{COMMON, FIELDS, KINDS, PARTS, TRIGGER_COMMON, TRIGGERS, TYPES, UNITS, Word};
use flow::{Code, limits};
use std::fmt::Write as _;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/flows.md");

const HEAD: &str = "# Flow documents

<!-- Generated from the tables of the reader; `UPDATE=1 cargo nextest run -p flow reference` rewrites it. -->

A flow is a graph of tools, written as YAML or JSON. `mcp-all-in-one flow validate FILE` checks one; complete ones are in
`examples/flows/`.

```yaml
name: Order intake
inputs:
  orderId: string                                  # short: type[?] [= expression]
  top: {type: integer, maximum: 50, default: 10}   # or JSON Schema; `secret: true` is sealed
nodes:
  order: {exec: \"api://shop/order?timeout=5000\", retry: 3, fail: lost, next: big}
  lost:  {throw: {code: NO_ORDER, message: \"${order.error.message}\"}}
  big:   {when: order.total > 1000, then: ok, else: ship}
  ok:    {approval: {title: \"Ship ${orderId}?\", timeout: 2d}, next: ship}
  ship:  {each: order.lines => line, limit: 4, nodes: {send: {exec: \"mq://wms/ship\", args: {message: \"${line}\"}}}}
output: {id: \"${orderId}\", lines: \"${size(ship)}\"}
```

- **Start**: nodes that no edge of their block names, all at once.
- **Edges** are taken or dead: success takes `next`, failure `fail`, a branch the chosen one. A node runs when all edges to it are settled
  and one is taken; if all are dead it is skipped, and its own edges die.
- **Failure** without `fail` fails the block, and its other nodes are cancelled; at the top the flow's `fail` takes it, else the run fails.
- **Names** in expressions: inputs, vars, nodes (null until they end), locals of `each` and loops, and `run`, `trigger`, `tenantId`, `buCode`.
- **Arguments** that are left out are bound by name, where type and name fit (those that may be left out: surely fit), and stay what they
  were when the flow was published.
- **Lengths of time** are milliseconds or texts";

#[test]
fn the_reference_is_fresh() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PATH, &page).unwrap();
    }
    let present = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(present == page, "the reference is stale; UPDATE=1 rewrites it");
}

#[test]
fn every_code_has_its_word() {
    for (code, _) in Code::ALL {
        assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
    }
}

fn page() -> String {
    let units: Vec<_> = UNITS.iter().map(|(unit, _)| format!("`{unit}`")).collect();
    let mut page = format!("{HEAD} like `1h30m`; the units are {}.\n", units.join(", "));
    section(&mut page, "Fields of a document", FIELDS);
    nodes(&mut page);
    page.push_str("\n## Fields with fields of their own\n");
    for part in PARTS {
        let short = if part.short.is_empty() { String::new() } else { format!(" Or {}.", part.short) };
        write!(page, "\n### `{}`\n\nAn object.{short}\n", part.name).unwrap();
        table(&mut page, part.fields);
    }
    triggers(&mut page);
    types(&mut page);
    expressions(&mut page);
    checks(&mut page);
    page
}

fn nodes(page: &mut String) {
    page.push_str("\n## Kinds of nodes\n\nThe first of these fields that a node has makes its kind.\n");
    page.push_str("\n| field | kind | does | is worth |\n|---|---|---|---|\n");
    for kind in KINDS {
        writeln!(page, "| `{}` | {} | {} | {} |", kind.field, kind.name, kind.about, kind.value).unwrap();
    }
    section(page, "Fields of every node", COMMON);
    page.push_str("\n## Fields of one kind\n\n| kind | field | says |\n|---|---|---|\n");
    for kind in KINDS {
        for (name, about) in kind.own {
            writeln!(page, "| {} | `{name}` | {} |", kind.name, escaped(about)).unwrap();
        }
    }
}

fn triggers(page: &mut String) {
    section(page, "Triggers", TRIGGER_COMMON);
    page.push_str("\n| type | starts a run | what is one event | field | says |\n|---|---|---|---|---|\n");
    for kind in TRIGGERS {
        for (at, (name, about)) in kind.own.iter().enumerate() {
            let (kind, starts, event) = if at == 0 {
                (format!("`{}`", kind.name), kind.about, kind.event)
            } else {
                (String::new(), "", "")
            };
            writeln!(page, "| {kind} | {starts} | {event} | `{name}` | {} |", escaped(about)).unwrap();
        }
    }
}

fn types(page: &mut String) {
    page.push_str(
        "\n## Types\n\n`T?` may be null or left out, `T[]` is a list, `map<T>` an object of such values; a name of `types` is one, \
         and any JSON Schema. Formats are checked; a `time` and a `datetime` may be without a zone, a whole number has 64 bits.\n\n| word | JSON Schema |\n|---|---|\n",
    );
    for (word, kind) in TYPES {
        writeln!(page, "| `{word}` | {kind} |").unwrap();
    }
}

fn expressions(page: &mut String) {
    page.push_str(
        "\n## Expressions\n\n[CEL](https://cel.dev) over JSON. Bare in `when`, `only`, `each` and `until`; `${…}` in other texts: alone it keeps \
         its type, in a text it is printed, `$${` is literal. Beyond CEL: numbers of all kinds mix, `a || b` is b where a is null or \
         absent, `a?.b` is null where there is no b, `x => e` stands for `x, e`, and `` `text ${e}` `` is a text. `has(a.b)` says whether \
         it is there, `default(a.b, d)` gives d where it is not. The origin's names in capitals are the same functions.\n\n\
         | call | gives |\n|---|---|\n",
    );
    for function in expression::FUNCTIONS {
        writeln!(page, "| `{}` | {} |", escaped(function.usage), escaped(function.about)).unwrap();
    }
}

fn checks(page: &mut String) {
    page.push_str("\n## Checks\n\nAll at once, with line and column; publishing needs no error.\n\n| code | means |\n|---|---|\n");
    for (code, about) in Code::ALL {
        writeln!(page, "| `{}` | {about} |", code.as_str()).unwrap();
    }
    page.push_str("\n## Limits\n\n| of | at the most |\n|---|---|\n");
    for (what, most) in limits::ALL {
        writeln!(page, "| {what} | {most} |").unwrap();
    }
}

fn section(page: &mut String, title: &str, words: &[Word]) {
    write!(page, "\n## {title}\n").unwrap();
    table(page, words);
}

fn table(page: &mut String, words: &[Word]) {
    page.push_str("\n| field | says |\n|---|---|\n");
    for (name, about) in words {
        writeln!(page, "| `{name}` | {} |", escaped(about)).unwrap();
    }
}

/// A bar would end the cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

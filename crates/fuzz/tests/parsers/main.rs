//! Every parser with a public door, fed with what nobody would write.

use fuzz::{Target, files};
use serde_json::{Value, json};
use std::path::Path;
use tool::Uri;

fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

#[test]
fn fuzz_tool_uris() {
    let seeds = [
        "api://weather/forecast?method=POST&timeout=500",
        "mcp://git-hub/search_code?async=true",
        "db://shop/query?retry=2&cache=60",
        "table://customers/query_data?tenantId=acme",
        "flow://nightly-report?version=3",
        "agent://support/ask",
        "oss://bucket/get?key=a%2Fb%20c",
        "tool://Wetter-%C3%BCbersicht/call",
    ];
    Target::new("tool URI", seeds).run(|input| {
        let Ok(uri) = text(input).parse::<Uri>() else { return false };
        let again: Uri = uri.to_string().parse().expect("what we print we read");
        assert_eq!(again.to_string(), uri.to_string());
        true
    });
}

#[test]
fn fuzz_json_rpc_messages() {
    let seeds = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,2.5,null]},"_meta":{"progressToken":"x"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"late"}}"#,
        r#"{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"Gr\u00fc\u00dfe \ud83e\udd80"}],"isError":false}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method","data":{"x":1}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    ];
    Target::new("JSON-RPC envelope", seeds).run(|input| {
        let Ok(message) = mcp::Message::parse(input) else { return false };
        let is_one = message.kind().is_ok();
        let _ = message.params::<Value>();
        is_one
    });
}

#[test]
fn fuzz_go_templates() {
    let mut seeds = files("docs/guides", &["response-templates.md"]);
    seeds.extend(
        [
            "{{ range $i, $item := .items }}{{ if $i }}, {{ end }}{{ .name | upper }}{{ else }}none{{ end }}",
            "{{ with .user }}{{ printf \"%-10s|%5.2f|%q\" .name .score .name }}{{ end }}",
            "{{ define \"t\" }}<{{ . }}>{{ end }}{{ template \"t\" .name }}{{- /* no */ -}}{{ len .items }}",
            "{{ $x := 1 }}{{ range .items }}{{ $x = add $x 1 }}{{ if gt $x 3 }}{{ break }}{{ end }}{{ end }}{{ $x }}",
            "{{ index .items 0 \"name\" }} {{ slice .name 1 2 }} {{ .missing | default \"-\" }} {{ toJson .user }}",
            "{{ if and (eq .n 1) (or .a (not .b)) }}yes{{ else if lt .n 5 }}no{{ end }}{{ html .name }}",
        ]
        .map(Vec::from),
    );
    let data = json!({ "name": "Ada", "n": 1, "user": { "name": "Bob", "score": 1.5 },
        "items": [{ "name": "a" }, { "name": "b" }, { "name": "" }] });
    let options = gotemplate::Options::default();
    Target::new("Go template", seeds).run(|input| {
        let Ok(template) = gotemplate::Template::compile("fuzz", &text(input), &options) else {
            return false;
        };
        let rendered = template.render(&data);
        let again = gotemplate::Template::compile("fuzz", &template.to_string(), &options);
        let again = again.expect("what it prints compiles").render(&data);
        if let (Ok(one), Ok(two)) = (&rendered, &again) {
            assert_eq!(one, two, "what it prints is the same template");
        }
        rendered.is_ok()
    });
}

#[test]
fn fuzz_jmespath() {
    let seeds = [
        "items[?price > `10` && contains(name, 'a')].{n: name, p: price} | [0]",
        "sort_by(items, &price)[*].name",
        "max_by(items, &price).name || 'none'",
        "items[].tags[] | length(@)",
        "items[-1:0:-1].[name, to_string(price)]",
        "join(', ', keys(@)) == `\"x\"`",
        "map(&not_null(a, b), items[*])",
        "@.\"quoted name\".*.{x: @}[]",
    ];
    let data: document::Node = document::Node::from(&json!({ "items": [
        { "name": "a", "price": 1, "tags": ["x", "y"] }, { "name": "bb", "price": 20.5, "tags": [] } ], "x": { "y": null } }));
    let mut target = Target::new("JMESPath", seeds);
    // What a query may hold at a time.
    target.bytes = 160 << 20;
    target.run(|input| {
        let Ok(query) = document::Query::compile(&text(input)) else { return false };
        query.run(&data, &mut document::Budget::new(100_000, &|| false)).is_ok()
    });
}

#[test]
fn fuzz_cel() {
    let seeds = [
        "items.filter(x, x.price > 10 && x.name.contains('a')).map(x, x.name)",
        "has(user.name) ? user.name + '!' : `none ${user}`",
        "size(items) >= 2u || user?.age == null",
        "items.exists(i => i.name.matches('^[a-z]+$'))",
        "duration('1h30m') + timestamp('2026-01-01T00:00:00Z') < now()",
        "{'a': [1, 2.5e3, -0x1f, b'\\xff', r'\\n'], \"b\": true}['a'][0]",
        "type(1) == int && 7 % 3 == 1 && 'x' in ['x', 'y']",
        "string(double('1.5')) + '\\u00fc\\n'",
    ];
    let scope = json!({ "items": [{ "name": "ab", "price": 11 }, { "name": "c", "price": 2 }], "user": { "name": "Ada" } });
    let scope = scope.as_object().expect("it is one").clone();
    let setting = expression::Setting::default();
    Target::new("CEL", seeds).run(|input| {
        let text = text(input);
        // The same text between `${` and `}` is the way of templates.
        let _ = expression::Template::parse(&text);
        let Ok(expression) = expression::Expression::parse(&text) else { return false };
        expression.evaluate(&scope, &setting).is_ok()
    });
}

#[test]
fn fuzz_flow_documents() {
    let seeds = files("examples/flows", &[".yaml", ".yml", ".json"]);
    Target::new("flow YAML", seeds).run(|input| {
        let parsed = flow::read(&text(input));
        let is_good = parsed.flow.is_some();
        if let Some(flow) = parsed.into_any() {
            let _ = flow::references(&flow);
            let _ = flow::picture(&flow);
        }
        is_good
    });
}

#[test]
fn fuzz_mcp_json_in_every_dialect() {
    let seeds = [
        r#"{"mcpServers":{"time":{"command":"uvx","args":["mcp-server-time"],"env":{"TZ":"${TZ:-UTC}"}}}}"#,
        r#"{"servers":{"gh":{"type":"http","url":"https://a.example/mcp","headers":{"Authorization":"Bearer ${input:t}"}}},"inputs":[{"id":"t","type":"promptString","password":true}]}"#,
        "{ // notes\n \"context_servers\": {\"a\": {\"command\": {\"path\": \"x\", \"args\": [\"y\",], \"env\": null}}}, }",
        r#"{"mcp":{"a":{"type":"local","command":["npx","-y","b"],"enabled":false,"environment":{"K":"v"}}}}"#,
        "[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n[mcp_servers.time.env]\nA = \"b\"\n",
        "mcpServers:\n  - name: time\n    command: uvx\n    args: [\"mcp-server-time\"]\nextensions:\n  x:\n    cmd: y\n    type: stdio\n",
        r#"{"mcpServers":{"a":{"serverUrl":"http://localhost:1/sse","disabled":true,"timeout":5,"alwaysAllow":["x"]}},"projects":{"/p":{"mcpServers":{}}}}"#,
    ];
    Target::new("mcp.json", seeds).run(|input| {
        let text = text(input);
        let mut taken = false;
        for name in ["mcp.json", "config.toml", "config.yaml"] {
            let Ok(config) = local::mcp_config::McpConfig::parse(Path::new(name), &text) else { continue };
            let _ = config.services();
            for name in config.names() {
                let _ = config.understood(name);
            }
            taken = true;
        }
        taken
    });
}

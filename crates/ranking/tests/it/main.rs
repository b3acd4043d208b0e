//! Finding tools, as those see it who have a list of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use ranking::{Description, Index, Toolbox};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{Arguments, CallableTool, Tool, Uri};

fn callable(service: &str, name: &str, description: &str, properties: Value) -> CallableTool {
    let mut schema = json!({ "type": "object" });
    schema["properties"] = properties;
    CallableTool {
        name: format!("{service}__{name}"),
        uri: Uri::of("mcp", service, name),
        tool: Arc::new(Tool::new(name, description, &schema).unwrap()),
        run_kind: None,
    }
}

fn office() -> Toolbox {
    Toolbox::of(vec![
        callable("mail", "send_message", "Sends a message to somebody.", json!({ "to": {}, "subject": {} })),
        callable("mail", "listInbox", "Shows what has arrived.", json!({ "unread": {} })),
        callable("files", "remove_file", "Removes a document for good.", json!({ "path": {} })),
        callable(
            "files",
            "read_file",
            "Reads a document.",
            json!({ "path": {}, "encoding": { "enum": ["utf8", "latin1"] } }),
        ),
        callable(
            "clock",
            "convertTime",
            "From one zone to another.",
            json!({ "zone": { "description": "a city such as Tokyo" } }),
        ),
        callable("orders", "query", "按客户查询订单。", json!({ "customer": { "description": "客户编号" } })),
    ])
}

fn find(toolbox: &Toolbox, arguments: Value) -> Value {
    let Value::Object(arguments) = arguments else { panic!("{arguments} is no object") };
    serde_json::from_str(toolbox.find(&Arguments::from(arguments)).unwrap().get()).unwrap()
}

fn first(toolbox: &Toolbox, query: &str) -> String {
    let answer = find(toolbox, json!({ "query": query }));
    answer["tools"][0]["name"].as_str().unwrap_or_else(|| panic!("{query}: {answer}")).to_owned()
}

/// TS-5
#[test]
fn finds_by_words_of_names_descriptions_and_parameters() {
    let office = office();
    for (query, expected) in [
        ("sending messages", "mail__send_message"),
        ("what is in my inbox", "mail__listInbox"),
        ("delete a file", "files__remove_file"),
        ("latin1", "files__read_file"),
        ("converting time", "clock__convertTime"),
        ("Tokyo", "clock__convertTime"),
        ("subject", "mail__send_message"),
        ("发送消息", "mail__send_message"),
        ("删除文件", "files__remove_file"),
        ("时区换算", "clock__convertTime"),
        ("客户的订单", "orders__query"),
        ("FILES__READ_FILE", "files__read_file"),
    ] {
        assert_eq!(first(&office, query), expected, "{query}");
    }
}

/// TS-5: a verb that people say whatever they want chooses among tools for the same thing, and finds nothing by itself.
#[test]
fn a_verb_counts_in_names() {
    let tool = |name: &str, about: &str| callable("billing", name, about, json!({ "id": {} }));
    let billing = Toolbox::of(vec![
        tool("create_invoice", "Makes an invoice."),
        tool("delete_invoice", "Removes an invoice, so that nobody can get it any more."),
        tool("get_invoice", "One invoice by its number."),
        tool("get_customer", "One customer."),
        tool("getReport", "What was billed."),
    ]);
    for (query, expected) in [
        ("get invoice", "billing__get_invoice"),
        ("get an invoice please", "billing__get_invoice"),
        ("invoice get", "billing__get_invoice"),
        ("delete invoice", "billing__delete_invoice"),
        ("get customer", "billing__get_customer"),
        ("get the report", "billing__getReport"),
    ] {
        assert_eq!(first(&billing, query), expected, "{query}");
    }
    assert_eq!(find(&billing, json!({ "query": "get weather" }))["total"], 0);
}

/// TS-3
#[test]
fn tells_the_rest_in_brief_when_definitions_are_long() {
    let long = "word ".repeat(1_500);
    let tools: Vec<_> =
        (0..4).map(|at| callable("s", &format!("t{at}"), &format!("First. {long}"), json!({}))).collect();
    let answer = find(&Toolbox::of(tools), json!({ "query": "word" }));
    let has_schema: Vec<_> =
        answer["tools"].as_array().unwrap().iter().map(|tool| tool.get("inputSchema").is_some()).collect();
    assert_eq!(has_schema, [true, true, false, false]);
    assert_eq!(answer["tools"][2]["description"], "First.");
    assert!(answer["hint"].as_str().unwrap().contains("names"), "{}", answer["hint"]);
    assert!(answer.to_string().chars().count() < 17_000);
}

#[test]
fn says_what_there_is_where_nothing_is_found() {
    let office = office();
    for arguments in
        [json!({ "query": "quantum" }), json!({ "service": "nobody" }), json!({ "names": ["nope"] })]
    {
        let answer = find(&office, arguments.clone());
        assert_eq!((&answer["tools"], &answer["total"]), (&json!([]), &json!(0)), "{arguments}");
        assert_eq!(answer["services"][1], json!({ "service": "files", "tools": 2, "description": null }));
        assert!(answer["hint"].as_str().unwrap().starts_with("nothing was found"), "{answer}");
    }
    assert_eq!(find(&office, json!({}))["total"], 6);
    let [find_tools, _] = office.definitions();
    let told: Value = serde_json::from_str(&find_tools).unwrap();
    assert!(told["description"].as_str().unwrap().ends_with("clock, files, mail, orders"), "{told}");
    assert_eq!(told["annotations"]["readOnlyHint"], true);
}

proptest! {
    /// Whatever is written in a definition or a query, nothing panics and scores are numbers.
    #[test]
    fn takes_any_text(texts in prop::collection::vec(".{0,200}", 0..8), query in ".{0,300}") {
        let index = Index::of(texts.iter().map(|text| Description::new(text.as_str(), text.clone())));
        for hit in index.matches(&query) {
            prop_assert!(hit.place < texts.len() && hit.score.is_finite() && hit.score > 0.0);
        }
    }
}

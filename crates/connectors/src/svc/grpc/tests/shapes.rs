//! What clients see of methods: names, words, schemas.

use super::super::protos::compile;
use super::super::tools::{Catalog, Manner, Selection};
use super::{files, loyalty};
use crate::svc::fallback::Fallbacks;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tool::{Pattern, Tool};

fn catalog(include: &[&str], exclude: &[&str]) -> Catalog {
    let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern((*text).to_owned())).collect();
    let selection = Selection::Matching { include: patterns(include), exclude: patterns(exclude) };
    Catalog::new(&loyalty(), &selection, &Manner::default()).unwrap()
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.tools.iter().map(Tool::name).collect()
}

fn tool(name: &str) -> Tool {
    catalog(&[], &[]).tools.into_iter().find(|tool| tool.name() == name).unwrap()
}

fn field(tool: &Tool, key: &str) -> Value {
    serde_json::from_str(tool.field(key).unwrap().get()).unwrap()
}

/// Requirement SV-5: every unary and server-streaming method is a tool, named service_method; others say why not.
#[test]
fn names_tools_after_services_and_methods() {
    let all = catalog(&[], &[]);
    let expected = [
        "customers_create",
        "customers_echo",
        "customers_fail",
        "customers_get",
        "customers_list",
        "customers_metadata",
        "customers_upper",
        "customers_watch",
    ];
    assert_eq!(names(&all), expected);
    assert_eq!(all.skipped[0].operation, "loyalty.v1.Customers/Upload");
    assert!(all.skipped[0].reason.contains("stream of messages"));
    assert_eq!(names(&catalog(&["*/Get", "customers_list"], &[])), ["customers_get", "customers_list"]);
    assert_eq!(names(&catalog(&["loyalty.v1.Customers"], &["*/[A-Z]*", "*/C*", "customers_w*"])).len(), 6);
    assert!(names(&catalog(&["other.*"], &[])).is_empty());
}

#[test]
fn tells_models_what_authors_wrote() {
    let list = tool("customers_list");
    assert_eq!(list.description(), Some("Lists all customers. (gRPC loyalty.v1.Customers/List)"));
    assert_eq!(field(&list, "annotations")["readOnlyHint"], true);
    let schema = field(&list, "inputSchema");
    assert_eq!(
        schema["properties"]["pageSize"],
        json!({
            "type": ["integer", "string"], "minimum": i32::MIN, "maximum": i32::MAX,
            // Also as "1e2" and "1.0", which the JSON of Protobuf allows.
            "pattern": "^-?[0-9]{1,10}(\\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$",
            "description": "At most so many; all unless given.",
        })
    );
    assert_eq!(field(&tool("customers_create"), "annotations")["idempotentHint"], false);
    assert_eq!(field(&tool("customers_echo"), "annotations")["idempotentHint"], true);
}

#[test]
fn writes_schemas_of_every_kind() {
    let echo = tool("customers_echo");
    let (input, output) = (field(&echo, "inputSchema"), field(&echo, "outputSchema"));
    let (input, output) = (&input["properties"], &output["properties"]);
    assert_eq!(input["anInt64"]["type"], json!(["string", "integer"]));
    assert_eq!(output["anInt64"]["type"], "string");
    assert_eq!(
        (&input["anInt32"]["type"], &output["anInt32"]["type"]),
        (&json!(["integer", "string"]), &json!("integer"))
    );
    let arguments = tool::schema::Schema::compile(&field(&echo, "inputSchema"), "parameter").unwrap();
    for (given, is_taken) in [
        (json!({ "anInt32": "-12", "aDouble": "1.5e3", "aFloat": "NaN", "aUint32": "1" }), true),
        (json!({ "anInt32": "twelve" }), false),
        (json!({ "aUint32": "-1" }), false),
        (json!({ "aDouble": "inf" }), false),
        (json!({ "detail": {} }), true),
    ] {
        assert_eq!(arguments.accepts(&given), is_taken, "{given}");
    }
    assert_eq!(input["someBytes"]["contentEncoding"], "base64");
    assert_eq!(input["at"]["format"], "date-time");
    assert_eq!(input["tier"]["anyOf"][0]["enum"], json!(["TIER_UNKNOWN", "TIER_SILVER", "TIER_GOLD"]));
    assert_eq!(input["counts"]["additionalProperties"]["type"], json!(["string", "integer"]));
    assert_eq!(input["wrappedBool"]["type"], json!(["boolean", "null"]));
    assert_eq!(input["anything"], json!({}));
    assert_eq!(
        input["text"]["description"],
        "The name of the payer. Only one of 'text', 'number', 'nested' can be set."
    );
    // A message within itself is any object.
    assert_eq!(
        input["child"],
        json!({ "type": "object", "description": "A loyalty.v1.Everything message in JSON" })
    );
    assert_eq!(input["children"]["items"]["type"], "object");
    let upper = tool("customers_upper");
    assert_eq!(field(&upper, "inputSchema")["properties"]["value"]["type"], json!(["string", "null"]));
    let watch = field(&tool("customers_watch"), "outputSchema");
    assert_eq!(watch["required"], json!(["messages", "complete"]));
    assert!(
        watch["properties"]["messages"]["items"]["properties"]["customer"]["properties"]["tier"].is_object()
    );
    for tool in catalog(&[], &[]).tools {
        for key in ["inputSchema", "outputSchema"] {
            let schema = field(&tool, key);
            assert_eq!(schema["type"], "object", "{} {key}", tool.name());
            tool::schema::Schema::compile(&schema, "parameter").unwrap();
        }
    }
}

#[test]
fn keeps_schemas_of_large_messages_small() {
    // Each message holds all others: written out, that would be more than there is memory for.
    let fields: String = (0..30).map(|number| format!("M{number} f{number} = {};", number + 1)).collect();
    let messages: String = (0..30).map(|number| format!("message M{number} {{ {fields} }}")).collect();
    let text = format!("syntax = \"proto3\"; {messages} service S {{ rpc A(M0) returns (M1); }}");
    let schema = compile(&files([("a.proto", &text)])).unwrap();
    let selection = Selection::Matching { include: Vec::new(), exclude: Vec::new() };
    let catalog = Catalog::new(&schema, &selection, &Manner::default()).unwrap();
    let bytes = catalog.tools[0].input_schema().get().len();
    assert!((10_000..200_000).contains(&bytes), "{bytes}");
}

/// SV-5: a thousand methods are made into tools in much less than the two seconds that listing them may take; here, where
/// nothing is optimized and nobody is alone, within ten times that.
#[test]
fn makes_a_thousand_tools_at_once() {
    let methods: String =
        (0..1_000).map(|number| format!("rpc Method{number}(Request) returns (Request);")).collect();
    let fields: String = (0..20).map(|number| format!("string field_{number} = {};", number + 1)).collect();
    let text = format!(
        "syntax = \"proto3\"; package big.v1; message Request {{ {fields} }} service Big {{ {methods} }}"
    );
    let begun = Instant::now();
    let schema = compile(&files([("big.proto", &text)])).unwrap();
    let compiled = begun.elapsed();
    let selection = Selection::Matching { include: Vec::new(), exclude: Vec::new() };
    let catalog = Catalog::new(&schema, &selection, &Manner::default()).unwrap();
    assert_eq!((catalog.tools.len(), catalog.tools[999].name()), (1_000, "big_method999"));
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "compiled in {compiled:?}, all in {:?}",
        begun.elapsed()
    );
}

/// Fault F7: what is small in descriptors and large in schemas stays small.
#[test]
fn many_methods_with_large_enums_have_small_schemas() {
    let values: String = (0..20_000).map(|number| format!("VALUE_{number} = {number};")).collect();
    let fields: String = (1..=50).map(|number| format!("E f{number} = {number};")).collect();
    let methods: String = (0..1_000).map(|number| format!("rpc M{number}(A) returns (A);")).collect();
    let text = format!(
        "syntax = \"proto3\"; enum E {{ {values} }} message A {{ {fields} }} service S {{ {methods} }}"
    );
    let schema = compile(&files([("a.proto", &text)])).unwrap();
    let selection = Selection::Matching { include: Vec::new(), exclude: Vec::new() };
    let begun = Instant::now();
    let catalog = Catalog::new(&schema, &selection, &Manner::default()).unwrap();
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
    let bytes: usize = catalog
        .tools
        .iter()
        .map(|tool| tool.input_schema().get().len() + tool.field("outputSchema").unwrap().get().len())
        .sum();
    assert!(bytes < 24 * 1024 * 1024, "{bytes}");
    let first = &field(&catalog.tools[0], "inputSchema")["properties"]["f1"]["anyOf"][0];
    assert!(first.get("enum").is_none() && first["description"].as_str().unwrap().contains("20000 values"));
}

/// Requirement SV-4: a tool promises nothing of its answers that its fallback would not keep.
#[test]
fn promises_no_more_than_the_fallback_keeps() {
    let fits = json!({ "id": "1", "displayName": "nobody", "tier": "TIER_UNKNOWN" });
    let fallbacks = Fallbacks {
        service: Some(fits),
        tools: [("customers_list".to_owned(), json!("nobody is there"))].into(),
    };
    let manner = Manner { fallbacks: std::sync::Arc::new(fallbacks), ..Manner::default() };
    let selection = Selection::Matching { include: Vec::new(), exclude: Vec::new() };
    let catalog = Catalog::new(&loyalty(), &selection, &manner).unwrap();
    let promise = |name: &str| -> Option<Value> {
        let tool = catalog.tools.iter().find(|tool| tool.name() == name).unwrap();
        tool.field("outputSchema").map(|schema| serde_json::from_str(schema.get()).unwrap())
    };
    assert!(promise("customers_create").unwrap()["properties"].is_object(), "it is a customer");
    assert_eq!(
        promise("customers_watch"),
        Some(json!({ "type": "object" })),
        "it is an object, and no stream"
    );
    assert_eq!(promise("customers_list"), None, "it is no object");
}

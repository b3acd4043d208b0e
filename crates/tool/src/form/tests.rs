//! Definitions as servers write them, and what is listed of them.

use super::*;

fn formed(fields: &'static [Field], definition: &str) -> Option<String> {
    match Form::Record(fields).apply(definition) {
        Formed::AsItIs => Some(definition.to_owned()),
        Formed::Changed(changed) => Some(changed),
        Formed::Unusable => None,
    }
}

/// MC-2
#[test]
fn leaves_well_formed_definitions_byte_for_byte() {
    for (fields, definition) in [
        (
            TOOL,
            r#"{ "x-new":null,"name":"a","inputSchema":{"required":["n"], "type":"object","properties":{"n":{"maximum":1e400},"any":true},"x":null},
              "outputSchema":{"type":"array","items":null},"annotations":{"readOnlyHint":true,"future":1},"execution":{"taskSupport":"optional"},
              "icons":[{"src":"data:,","sizes":["48x48"],"theme":"dark","y":1.50}],"_meta":{"k":null},"title":"t\ud83d"}"#,
        ),
        (TOOL, r##"{"inputSchema":{"type":"obj\u0065ct","$ref":"#/$defs/a"}}"##),
        (PROMPT, r#"{"name":"p","arguments":[{"name":"a","required":false, "z":1}],"description":""}"#),
        (
            RESOURCE,
            r#"{"uri":"x:y","name":"n","size":1e3,"annotations":{"audience":["user"],"priority":0.50,"lastModified":"2025-01-12T15:00:58.1+01:00"}}"#,
        ),
        (
            TEMPLATE,
            r#"{"uriTemplate":"x:{y}","name":"n","mimeType":"text/plain","size":"not one of its fields"}"#,
        ),
    ] {
        assert_eq!(formed(fields, definition).as_deref(), Some(definition));
    }
}

/// MC-2: what one server writes wrongly takes nothing from the others.
#[test]
fn leaves_out_optional_fields_that_are_not_in_their_form() {
    for (field, rest) in [
        (r#""title":null"#, ""),
        (r#""title":5"#, ""),
        (r#""outputSchema":null"#, ""),
        (r#""outputSchema":"x""#, ""),
        (r#""outputSchema":true"#, ""),
        (r#""outputSchema":{"type":null,"properties":[],"required":"a"}"#, r#","outputSchema":{}"#),
        (r#""annotations":null"#, ""),
        (
            r#""annotations":{"title":null,"readOnlyHint":"yes","openWorldHint":false}"#,
            r#","annotations":{"readOnlyHint":false,"openWorldHint":false}"#,
        ),
        (
            r#""annotations":{"readOnlyHint":null,"destructiveHint":"no","idempotentHint":1}"#,
            r#","annotations":{"destructiveHint":true,"idempotentHint":false}"#,
        ),
        (
            r#""annotations":["readOnlyHint"]"#,
            r#","annotations":{"readOnlyHint":false,"destructiveHint":true}"#,
        ),
        (r#""_meta":"x""#, ""),
        (r#""icons":{}"#, ""),
        (
            r#""icons":[{"x":1},"y",{"src":"a","sizes":"48x48","theme":"blue","mimeType":null}]"#,
            r#","icons":[{"src":"a"}]"#,
        ),
        (r#""execution":"x""#, ""),
        (r#""execution":{"taskSupport":"sometimes"}"#, r#","execution":{}"#),
    ] {
        let definition = format!(r#"{{"inputSchema":{{"type":"object"}},{field}}}"#);
        let expected = format!(r#"{{"inputSchema":{{"type":"object"}}{rest}}}"#);
        assert_eq!(formed(TOOL, &definition), Some(expected), "{field}");
    }
}

/// MC-2
#[test]
fn makes_schemas_of_arguments_those_of_objects() {
    for (schema, expected) in [
        ("{}", r#"{"type":"object"}"#),
        (r#"{"type":null,"anyOf":[{"x":1.0}]}"#, r#"{"anyOf":[{"x":1.0}],"type":"object"}"#),
        (r#"{"type":["object","null"],"a":1}"#, r#"{"type":"object","a":1}"#),
        (r#"{"type":"object","properties":null,"required":null}"#, r#"{"type":"object"}"#),
        (r#"{"type":"object","properties":[],"required":["a",5]}"#, r#"{"type":"object","required":["a"]}"#),
        (
            r#"{"type":"object","properties":{"a":null,"b":{"z":1e2},"c":"string","d":false}}"#,
            r#"{"type":"object","properties":{"a":{},"b":{"z":1e2},"c":{},"d":false}}"#,
        ),
    ] {
        let definition = format!(r#"{{"inputSchema":{schema}}}"#);
        assert_eq!(formed(TOOL, &definition), Some(format!(r#"{{"inputSchema":{expected}}}"#)), "{schema}");
    }
    for schema in ["[]", "null", r#"{"type":"array"}"#, r#"{"type":["string"]}"#, r#"{"type":5}"#] {
        assert_eq!(formed(TOOL, &format!(r#"{{"inputSchema":{schema}}}"#)), None, "{schema}");
    }
}

/// MC-2
#[test]
fn puts_prompts_and_resources_into_their_form() {
    for (fields, definition, expected) in [
        (PROMPT, r#"{"name":"p","arguments":"notalist","description":7}"#, r#"{"name":"p"}"#),
        (
            PROMPT,
            r#"{"name":"p","arguments":[{"name":5},{"name":"a","required":null,"description":null}]}"#,
            r#"{"name":"p","arguments":[{"name":"a"}]}"#,
        ),
        (RESOURCE, r#"{"uri":"x:y","name":5,"size":"big"}"#, r#"{"uri":"x:y","name":"x:y"}"#),
        (
            RESOURCE,
            r#"{"name":"n","uri":"x:y","size":1.5,"mimeType":null,"annotations":{"audience":["all","user"],"priority":3,"lastModified":"2025-01-12T15:00:58"}}"#,
            r#"{"name":"n","uri":"x:y","annotations":{"audience":["user"]}}"#,
        ),
        (TEMPLATE, r#"{"uriTemplate":"x:{y}"}"#, r#"{"uriTemplate":"x:{y}","name":"x:{y}"}"#),
    ] {
        assert_eq!(formed(fields, definition).as_deref(), Some(expected));
    }
    assert_eq!(formed(PROMPT, r#"{"name":5}"#), None);
}

#[test]
fn what_nobody_can_read_stays() {
    let keys = r#"{"inputSchema":{"type":"object","properties":{"\ud83d":null}}}"#;
    assert_eq!(formed(TOOL, keys).as_deref(), Some(keys));
    let deep =
        format!(r#"{{"inputSchema":{{"type":"object","x":{}1{}}}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(formed(TOOL, &deep), Some(deep.clone()));
}

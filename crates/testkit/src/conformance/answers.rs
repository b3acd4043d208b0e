//! Rules about what tools say of their answers.

use super::calls::{PLENTY, run};
use super::{Subject, Verdict, context, ensure, result_of};
use serde_json::Value;
use tool::Tool;
use tool::schema::Schema;

/// Every tool has an `outputSchema`, of an object as MCP wants it, but for those that the subject names; and the good
/// call keeps its own.
pub(super) async fn tools_say_what_they_answer(subject: &Subject) -> Verdict {
    let Some(exceptions) = subject.undescribed.get() else { return Ok(()) };
    let connector = subject.open()?;
    let tools = connector.tools(&context(PLENTY)).await.map_err(|error| format!("{error:?}"))?;
    for tool in &tools {
        let name = tool.name();
        let exception = exceptions.iter().find(|(excepted, _)| match excepted.strip_prefix('*') {
            Some(end) => name.ends_with(end),
            None => *excepted == name,
        });
        match (output_schema(tool)?, exception) {
            (Some(schema), None) => ensure(schema["type"] == "object", || {
                format!("the outputSchema of '{name}' must be of type object")
            })?,
            (None, Some(_)) => {}
            (None, None) => return Err(format!("give '{name}' an outputSchema, or say why it has none")),
            (Some(_), Some((_, why))) => {
                return Err(format!("'{name}' has an outputSchema, so strike the exception: {why}"));
            }
        }
    }
    let Some(good) = tools.iter().find(|tool| tool.name() == subject.good.tool) else { return Ok(()) };
    let Some(schema) = output_schema(good)? else { return Ok(()) };
    let schema = Schema::compile(&schema, "field").map_err(|error| format!("{error}"))?;
    let outcome = run(&*connector, &context(PLENTY), &subject.good).await;
    let result = result_of(outcome.map_err(|error| format!("{error:?}"))?)?;
    let result: Value = serde_json::from_str(&result).map_err(|error| error.to_string())?;
    let structured = &result["structuredContent"];
    ensure(schema.accepts(structured), || {
        format!("the answer of '{}' does not keep its outputSchema: {structured}", subject.good.tool)
    })
}

fn output_schema(tool: &Tool) -> Result<Option<Value>, String> {
    let read = |schema: &serde_json::value::RawValue| serde_json::from_str(schema.get());
    let schema = tool.field("outputSchema").map(read).transpose();
    schema.map_err(|error| format!("the outputSchema of '{}' is no JSON: {error}", tool.name()))
}

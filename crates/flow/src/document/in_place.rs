//! Agents that are written into a flow: whose model they use, what it is told, what it may call, and how it answers.

use super::call;
use super::model::Target;
use super::words::part;
use crate::cursor::Cursor;
use crate::problem::{Code, Problems};
use serde_json::{Value, json};
use tool::schema::Schema;
use tool::{Pattern, Uri};

/// As many as an agent that is a service has.
const MAX_TOOLS: usize = 128;

/// What an agent in place has of its own. All else is of the service whose model it borrows.
#[derive(Debug)]
pub(crate) struct InPlace {
    instructions: String,
    /// Addresses, and patterns of them.
    tools: Vec<String>,
    output: Option<Value>,
}

impl InPlace {
    /// The tools that are named one by one.
    pub(crate) fn uris(&self) -> impl Iterator<Item = Uri> + '_ {
        self.tools.iter().filter(|tool| !tool.contains('*')).filter_map(|tool| tool.parse().ok())
    }

    /// As it is written down with a call, and given to whoever makes it.
    pub(crate) fn definition(&self, agent: &Uri) -> Value {
        let Self { instructions, tools, output } = self;
        json!({ "agent": agent.to_string(), "instructions": instructions, "tools": tools, "output": output })
    }
}

/// Reads an agent, and the address of the one whose model it uses.
pub(super) fn read(field: &Cursor<'_>, problems: &mut Problems) -> Option<(Option<Box<InPlace>>, Target)> {
    if !field.expect_fields(&part("agent"), problems) {
        return None;
    }
    let Some(model) = field.field("model") else {
        let message =
            "'model' is missing: the id of an agent, whose provider, key, limits and rules are used";
        problems.add(field.error(Code::Syntax, message));
        return None;
    };
    let target = lender(&model, problems)?;
    let instructions = field.field("instructions").and_then(|field| written_out(&field, problems));
    let tools = field.field("tools").map(|field| tools(&field, problems)).unwrap_or_default();
    let output = field.field("output").and_then(|field| schema(&field, problems));
    let in_place = InPlace { instructions: instructions.unwrap_or_default(), tools, output };
    Some((Some(Box::new(in_place)), target))
}

/// A model is one of a service: that has the key, and is checked, recorded and referred to.
fn lender(model: &Cursor<'_>, problems: &mut Problems) -> Option<Target> {
    let text = model.text(problems)?;
    let address = if text.contains("://") { text.to_owned() } else { format!("agent://{text}") };
    let target = call::uri(&address, model, problems);
    let is_agent = |uri: &Uri| uri.scheme() == "agent" && uri.tool().is_none();
    if target.0.as_ref().is_ok_and(|uri| !is_agent(uri)) {
        let reason =
            format!("'{text}' is no agent; name one whose model is to be used, e.g. agent://support");
        problems.add(model.error(Code::Syntax, reason.clone()));
        return Some(Target(Err(reason)));
    }
    Some(target)
}

/// Nobody's data become instructions.
fn written_out(field: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = field.text(problems)?;
    if text.contains("${") || text.contains("{{") {
        let message =
            "instructions are written out, without '${}' and '{{}}': give values in 'args', as 'context'";
        problems.add(field.error(Code::Syntax, message));
    }
    Some(text.to_owned())
}

fn tools(field: &Cursor<'_>, problems: &mut Problems) -> Vec<String> {
    if !field.is_list() {
        problems.add(field.mismatch("a list of URIs"));
    }
    let found: Vec<_> = field.items().filter_map(|item| tool(&item, problems)).collect();
    if found.len() > MAX_TOOLS {
        let message = format!("an agent has at most {MAX_TOOLS} tools and patterns of tools");
        problems.add(field.error(Code::LimitExceeded, message));
    }
    found
}

fn tool(item: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = item.text(problems)?;
    if !text.contains('*') {
        return call::listed_uri(text, item, problems).map(|uri| uri.to_string());
    }
    let why = match text.contains("://") {
        true => Pattern(text.to_owned()).never_matches(),
        false => Some("it is no address like mcp://Time/*".to_owned()),
    };
    let Some(why) = why else { return Some(text.to_owned()) };
    problems.add(item.error(Code::Syntax, format!("the pattern '{text}' can never fit a tool: {why}")));
    None
}

/// A JSON Schema.
pub(super) fn schema(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Value> {
    let schema = cursor.tree.to_value();
    match Schema::compile(&schema, "value") {
        Ok(_) => Some(schema),
        Err(error) => {
            problems.add(cursor.error(Code::Syntax, error.message()));
            None
        }
    }
}

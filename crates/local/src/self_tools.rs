//! `--self-tools`: tools with which an agent shows, checks and changes the configuration in chat.

use crate::Failure;
use crate::mcp_config::file::Saved;
use crate::mcp_config::{self, McpConfig, Set};
use async_trait::async_trait;
use gateway::{BuiltIn, ServiceDefinition};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Notify;
use tool::definition::no_arguments;
use tool::{Call, Connector, Context, Error, Outcome, Output, Result, Tool};

/// The service's name, which stands before the names of its tools.
const SERVICE: &str = "mcp_config";
/// The type in the addresses of its tools.
const SCHEME: &str = "self";

/// The service with the four tools. `changed` is told when the file has been changed.
pub fn service(path: &Path, changed: Arc<Notify>) -> ServiceDefinition {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    ServiceDefinition {
        scheme: SCHEME.into(),
        id: SERVICE.into(),
        name: "The configuration of mcp-all-in-one".into(),
        settings: Value::Null,
        is_enabled: true,
        is_trusted: true,
        variables: Vec::new(),
        problem: None,
        built_in: Some(BuiltIn::for_admins(Arc::new(SelfTools { path: path.to_owned(), changed }))),
        version: hasher.finish().cast_signed(),
        made_at_ms: None,
    }
}

struct SelfTools {
    path: PathBuf,
    changed: Arc<Notify>,
}

#[async_trait]
impl Connector for SelfTools {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let given = given();
        Ok(vec![
            Tool::new("schema", "The JSON Schema of an mcp.json.", &no_arguments())?,
            Tool::new(
                "set",
                "Replaces the mcp.json as a whole, after a check; the old one is backed up and the services are reloaded. \
                 Start from what 'show' answers: secrets left as '***' stay what they are.",
                &given,
            )?,
            Tool::new(
                "show",
                "The mcp.json with all MCP servers, secrets masked as '***'.",
                &no_arguments(),
            )?,
            Tool::new(
                "validate",
                "Says everything that is wrong with an mcp.json, without using it; without 'config', with the present one.",
                &optional(given.clone()),
            )?,
        ])
    }

    async fn call(&self, _: &Context, call: Call) -> Result<Outcome> {
        let path = self.path.clone();
        let given = given_text(&call)?;
        let tool = call.tool.clone();
        let work = tokio::task::spawn_blocking(move || run(&path, &tool, given));
        let output =
            work.await.map_err(|error| Error::internal("the file was not read").caused_by(error))??;
        if call.tool == "set" && !output.is_error() {
            self.changed.notify_one();
        }
        Ok(Outcome::Done(output))
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }
}

fn run(path: &Path, tool: &str, given: Option<String>) -> Result<Output> {
    let outcome = match (tool, given) {
        ("schema", _) => Ok(pretty(&mcp_config::schema(connectors::ALL))),
        ("show", _) => McpConfig::read(path).map(|config| pretty(&config.masked())),
        ("validate", None) => McpConfig::read(path).map(|config| found(&config)),
        ("validate", Some(text)) => McpConfig::parse(path, &text).map(|config| found(&config)),
        ("set", Some(text)) => mcp_config::set(path, &text).map(|set| said(&set)),
        ("set", None) => {
            return Err(Error::invalid_input("Missing required parameter 'config'").of_parameter("config"));
        }
        _ => return Err(Error::not_found(format!("the service has no tool '{tool}'"))),
    };
    Ok(outcome.unwrap_or_else(|failure| Output::text(&failure_text(&failure)).failed()))
}

fn found(config: &McpConfig) -> Output {
    let findings = config.findings();
    let warnings = findings.warnings.iter().map(|warning| format!("warning: {warning}"));
    let lines: Vec<String> = findings.problems.iter().cloned().chain(warnings).collect();
    match (findings.problems.is_empty(), lines.is_empty()) {
        (true, true) => Output::text("Nothing is wrong."),
        (true, false) => Output::text(&lines.join("\n")),
        (false, _) => Output::text(&lines.join("\n")).failed(),
    }
}

fn said(set: &Set) -> Output {
    let (saved, services, warnings) = match set {
        Set::Refused(problems) => {
            return Output::text(&format!("Nothing was changed:\n{}", problems.join("\n"))).failed();
        }
        Set::Done { saved, services, warnings } => (saved, services, warnings),
    };
    let mut text = match saved {
        Saved::Same => "The file says so already.".to_owned(),
        Saved::Made => format!("The file is new and in use; it has {services} services."),
        Saved::Replaced(backup) => {
            format!(
                "The file is changed and in use; it has {services} services. The old one is {}.",
                backup.display()
            )
        }
    };
    warnings.iter().for_each(|warning| text.push_str(&format!("\nwarning: {warning}")));
    Output::text(&text)
}

/// The configuration, as an object or as text. It may hold secrets, so that the audit leaves it out.
fn given() -> Value {
    json!({
        "type": "object",
        "properties": { "config": {
            "type": ["object", "string"], "writeOnly": true,
            "description": "The whole mcp.json, e.g. {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}; \
                text may have comments."
        } },
        "required": ["config"],
        "additionalProperties": false
    })
}

fn optional(mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.shift_remove("required");
    }
    schema
}

fn given_text(call: &Call) -> Result<Option<String>> {
    Ok(call.arguments.as_map()?.get("config").map(|config| match config {
        Value::String(text) => text.clone(),
        other => pretty_text(other),
    }))
}

fn pretty(value: &Value) -> Output {
    Output::text(&pretty_text(value))
}

fn pretty_text(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn failure_text(failure: &Failure) -> String {
    let cause = std::error::Error::source(failure).map(|cause| format!(": {cause}"));
    format!("{failure}{}", cause.unwrap_or_default())
}

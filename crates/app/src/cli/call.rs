//! `call`: one tool, one result.

use super::remote::Remote;
use crate::Failure;
use clap::Args;
use serde_json::{Value, json};
use std::io::Read;
use std::process::ExitCode;
use tool::Uri;

/// The most bytes of arguments.
const MAX_ARGUMENTS: u64 = 16 * 1024 * 1024;

/// Call a tool and print its result; exits with 1 when the tool failed.
#[derive(Args)]
pub(super) struct Call {
    /// What to call, e.g. api://crm-service/customer_list
    #[arg(value_name = "URI")]
    uri: Uri,
    /// The arguments: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "{}")]
    args: String,
    #[command(flatten)]
    remote: Remote,
}

impl Call {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let arguments = read_arguments(&self.args)?;
        let body = json!({ "uri": self.uri, "arguments": arguments });
        let result = self.remote.post("/call", &body).await?;
        super::print(&text_of(&result));
        let is_error = result["isError"].as_bool().unwrap_or(false);
        Ok(if is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn read_arguments(given: &str) -> Result<Value, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("'{given}' cannot be read")).because(error);
    let mut text = String::new();
    match given.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(unreadable)?;
            file.take(MAX_ARGUMENTS).read_to_string(&mut text).map_err(unreadable)?;
        }
        None if given == "-" => {
            std::io::stdin().take(MAX_ARGUMENTS).read_to_string(&mut text).map_err(unreadable)?;
        }
        None => text.push_str(given),
    }
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new("the arguments are no JSON").because(error).advice("write --args '{\"name\":\"value\"}'")
    })?;
    if value.is_object() { Ok(value) } else { Err(Failure::new("the arguments must be a JSON object")) }
}

/// Text as it is; every other block as its JSON.
fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().map(|block| match block["text"].as_str() {
        Some(text) if block["type"] == "text" => text.to_owned(),
        _ => block.to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

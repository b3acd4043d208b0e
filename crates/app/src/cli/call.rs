//! `call`: one tool, one result.

use super::remote::Remote;
use super::{input, pins_path};
use crate::Failure;
use clap::Args;
use local::home;
use local::mcp_config::FILE_NAME;
use local::{Local, Setup};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tool::{Arguments, Caller, Context, Door, Outcome, Request, Target, TenantId, Uri};

/// How long services may take to start.
pub(super) const START_WAIT: Duration = Duration::from_secs(60);
const CALL_TIME: Duration = Duration::from_secs(3600);

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
    /// Call a service of this mcp.json, without a server [default: for mcp:// without --server and --token, mcp.json in
    /// ~/.mcp-all-in-one]
    #[arg(long, env = "MCP_ALL_IN_ONE_MCP_CONFIG", value_name = "PATH", conflicts_with = "server")]
    mcp_config: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// The body of `POST /call`.
#[derive(Serialize)]
struct CallByUri<'a> {
    uri: &'a Uri,
    arguments: &'a RawValue,
}

impl Call {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let arguments = read_arguments(&self.args)?;
        // Without a server, services of one's own are those of the file at home.
        let is_own = self.uri.scheme() == connectors::MCP_SCHEME && !self.remote.is_meant();
        let result = match &self.mcp_config {
            Some(path) => call_locally(path, self.uri, arguments).await?,
            None if is_own => call_locally(&home()?.join(FILE_NAME), self.uri, arguments).await?,
            None => {
                let call = CallByUri { uri: &self.uri, arguments: &arguments.to_raw() };
                self.remote.post("/call", &call).await?
            }
        };
        super::print(&text_of(&result));
        let is_error = result["isError"].as_bool().unwrap_or(false);
        Ok(if is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Opens the service of the file that is meant, calls it, and ends it.
async fn call_locally(path: &Path, uri: Uri, arguments: Arguments) -> Result<Value, Failure> {
    let setup = Setup { only: Some(uri.service().to_owned()), ..Setup::new(START_WAIT, pins_path()?) };
    let local = Local::open(path, setup)?;
    local.loaded().await;
    if let Err(error) = local.gateway.check_options(&uri) {
        local.close().await;
        return Err(Failure::new(error.to_string()));
    }
    let cx = Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, CALL_TIME);
    let outcome = local.gateway.call(&cx, Request::new(Target::Uri(uri), arguments)).await;
    local.close().await;
    match outcome {
        Ok(Outcome::Done(output)) => serde_json::from_str(&output.to_result())
            .map_err(|error| Failure::new("the tool's answer is no JSON").because(error)),
        Ok(Outcome::NeedsInput(_) | Outcome::Started(_)) => Err(Failure::new(
            "the tool asks for more input, or goes on working after its answer; the command line can do neither",
        )),
        Err(error) => Err(Failure::new(error.in_words())),
    }
}

/// The arguments as they are written; numbers keep their digits.
fn read_arguments(given: &str) -> Result<Arguments, Failure> {
    let text = input::read(given, MAX_ARGUMENTS)?;
    let raw: Box<RawValue> = serde_json::from_str(&text).map_err(|error| {
        Failure::new("the arguments are no JSON").because(error).advice("write --args '{\"name\":\"value\"}'")
    })?;
    if !raw.get().starts_with('{') {
        return Err(Failure::new("the arguments must be a JSON object"));
    }
    let arguments = Arguments::from_raw(raw).map_err(|error| Failure::new(error.in_words()))?;
    arguments.as_map().map_err(|error| Failure::new(error.in_words()))?;
    Ok(arguments)
}

/// Text as it is; every other block as its JSON.
pub(super) fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().map(|block| match block["text"].as_str() {
        Some(text) if block["type"] == "text" => text.to_owned(),
        _ => block.to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

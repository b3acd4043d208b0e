//! `flow run FILE`: a flow without a server, with the services of an mcp.json.

use super::approve::title_of;
use crate::Failure;
use crate::cli::call::START_WAIT;
use crate::cli::{ask, pins_path};
use flow::engine::{Decision, Ending, Fact, Record};
use local::mcp_config::FILE_NAME;
use local::{Local, Setup, home};
use runtime::flows::{Alone, Callable, Watcher};
use serde_json::Value;
use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool::schema::Schema;
use tool::{Caller, Context, Door, TenantId};

/// How often is asked again what was not filled in as asked.
const ATTEMPTS: usize = 3;
const CALL_TIME: Duration = Duration::from_secs(3600);
/// More than any flow may have, so that the check says so.
const MAX_BYTES: u64 = 2 * flow::MAX_BYTES as u64;

pub(super) async fn run_file(
    file: &str,
    inputs: Value,
    config: Option<PathBuf>,
    stop: CancellationToken,
) -> Result<ExitCode, Failure> {
    let text = read(file)?;
    let config = config.map_or_else(|| Ok::<_, Failure>(home()?.join(FILE_NAME)), Ok)?;
    let local = Local::open(&config, Setup::new(START_WAIT, pins_path()?))?;
    local.loaded().await;
    let ended = run(&local, file, &text, inputs, stop).await;
    local.close().await;
    match ended? {
        Ending::Succeeded { output } => {
            crate::cli::print(&serde_json::to_string_pretty(&output).unwrap_or_default());
            Ok(ExitCode::SUCCESS)
        }
        Ending::Failed { error } => {
            let at = error.node.map(|node| format!(" (at node '{node}')")).unwrap_or_default();
            Err(Failure::new(format!("{}: {}{at}", error.code, error.message)))
        }
        Ending::Cancelled => Err(Failure::new("the run was cancelled")),
    }
}

async fn run(
    local: &Local,
    file: &str,
    text: &str,
    inputs: Value,
    stop: CancellationToken,
) -> Result<Ending, Failure> {
    let cx = Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, CALL_TIME);
    let validation = flow::validate(text, &Callable::new(local.gateway.clone(), cx.clone()));
    let errors: Vec<_> = validation.problems.iter().filter(|problem| problem.is_error()).collect();
    for problem in &errors {
        crate::cli::note(&format!("{file}:{}:{}: {}", problem.line, problem.column, problem.message));
    }
    let Some(flow) = validation.flow.filter(|_| errors.is_empty()) else {
        return Err(Failure::new(format!("{file} cannot be run; it has {} errors", errors.len())));
    };
    let cancel = cx.cancel.clone();
    let alone = Alone {
        flow: Arc::new(flow),
        bound: validation.bound,
        inputs: if let Value::Object(inputs) = inputs { inputs } else { serde_json::Map::new() },
        gateway: local.gateway.clone(),
        cx,
        code_of: server::code_of,
    };
    let run = alone.run(&Terminal);
    tokio::pin!(run);
    let ended = tokio::select! {
        ended = &mut run => ended,
        () = stop.cancelled() => {
            cancel.cancel();
            run.await
        }
    };
    ended.map_err(|error| Failure::new(error.in_words()))
}

fn read(file: &str) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("'{file}' cannot be read")).because(error);
    let reader: Box<dyn std::io::Read> = match file {
        "-" => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(file).map_err(unreadable)?),
    };
    let mut text = String::new();
    reader.take(MAX_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// The person at the terminal, if there is one.
struct Terminal;

impl Watcher for Terminal {
    fn see(&self, record: &Record) {
        if !std::io::stderr().is_terminal() || record.path.is_empty() {
            return;
        }
        let line = match &record.fact {
            Fact::Called { target, .. } => {
                format!("· {}  {}", record.path, target.as_str().unwrap_or("agent"))
            }
            Fact::Succeeded { .. } => format!("✓ {}", record.path),
            Fact::Failed { error, .. } => format!("✗ {}  {}: {}", record.path, error.code, error.message),
            Fact::Waiting(_) => format!("… {}", record.path),
            _ => return,
        };
        crate::cli::note(&line);
    }

    fn decide(&self, path: &str, title: &Value, fields: Option<&Value>) -> Option<Decision> {
        if !ask::is_possible() {
            return None;
        }
        let is_approved = ask::confirm(&format!("{path}: {}", title_of(title))).ok()?;
        let data = match fields.filter(|_| is_approved) {
            Some(fields) => filled_in(fields, answer)?,
            None => Value::Null,
        };
        Some(Decision { is_approved, by: "local".into(), comment: None, data })
    }
}

/// What somebody fills in, as a server would take it; nothing where they give up.
fn filled_in(fields: &Value, mut answer: impl FnMut(&str) -> Option<Value>) -> Option<Value> {
    let schema = Schema::compile(fields, "field").ok()?;
    for _ in 0..ATTEMPTS {
        let data = match fields["properties"].as_object() {
            Some(asked) => asked.keys().filter_map(|name| Some((name.clone(), answer(name)?))).collect(),
            None => answer("what is asked for, as JSON").unwrap_or_default(),
        };
        let problems = schema.check(&data);
        if problems.is_empty() {
            return Some(data);
        }
        problems.iter().for_each(|problem| crate::cli::note(&problem.message));
    }
    None
}

/// JSON, or else a text; an empty line leaves it out.
fn answer(name: &str) -> Option<Value> {
    crate::cli::prompt(&format!("{name}: "));
    let line = ask::read_line().ok().filter(|line| !line.is_empty())?;
    Some(serde_json::from_str(&line).unwrap_or(Value::String(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_filled_in_fits_or_is_asked_again() {
        let fields = json!({
            "type": "object", "properties": { "carrier": { "type": "string" }, "parcels": { "type": "integer" } },
            "required": ["carrier"], "additionalProperties": false
        });
        let mut answers = vec![json!(2), json!("dhl"), json!("many"), json!("dhl")];
        let filled = filled_in(&fields, |_| answers.pop());
        assert_eq!(filled, Some(json!({ "carrier": "dhl", "parcels": 2 })));
        assert_eq!(filled_in(&fields, |_| None), None, "who gives nothing has not approved");
        assert_eq!(filled_in(&json!({ "type": "integer" }), |_| Some(json!(7))), Some(json!(7)));
    }
}

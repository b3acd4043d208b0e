//! What a person sees of a run: a line for each node that begins to wait or ends.

use crate::cli::one_line;
use serde_json::Value;

/// The line for a step, as REST tells it.
pub(super) fn line(step: &Value) -> String {
    let word = |key: &str| step[key].as_str().unwrap_or_default();
    let uri = step["uri"].as_str().map(|uri| format!("  {uri}")).unwrap_or_default();
    let attempt = step["attempt"].as_u64().filter(|attempt| *attempt > 1);
    let attempt = attempt.map(|attempt| format!("  attempt {attempt}")).unwrap_or_default();
    let error = match &step["error"] {
        Value::Null => String::new(),
        error => format!("  {}", reason(error)),
    };
    let line = format!("{} {:9} {}{uri}{attempt}{error}", sign(word("state")), word("state"), word("path"));
    one_line(&line)
}

/// Why something failed, on one line.
pub(super) fn reason(error: &Value) -> String {
    let word = |key: &str| error[key].as_str().unwrap_or_default();
    let at = error["node"].as_str().map(|node| format!(" (at node '{node}')")).unwrap_or_default();
    one_line(&format!("{}: {}{at}", word("code"), word("message")))
}

fn sign(state: &str) -> char {
    match state {
        "succeeded" => '✓',
        "failed" => '✗',
        "waiting" => '…',
        "skipped" | "cancelled" => '-',
        _ => '·',
    }
}

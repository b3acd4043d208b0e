//! Guards: they look at a value and block, redact or warn.

use super::frame::Spot;
use super::record::Failure;
use super::{Machine, pii};
use crate::document::{Check, Guard, GuardAction, Node};
use crate::settle::Exit;
use serde_json::{Value, json};
use tool::schema::Schema;

impl Machine {
    pub(super) fn begin_guard(&mut self, spot: Spot, node: &Node, guard: &Guard) -> Result<(), Failure> {
        let value = self.evaluate(spot, &guard.of)?;
        match &guard.check {
            Check::Pii => {
                let findings = pii::find(&value);
                let redacted = if findings.is_empty() { None } else { Some(pii::redact(&value)) };
                self.judge(spot, guard, &findings, value, redacted)
            }
            Check::Schema(schema) => {
                let schema = Schema::compile(schema, "value")
                    .map_err(|error| Failure::new("GUARD", error.message()))?;
                let problems = schema.check(&value);
                let findings = problems
                    .into_iter()
                    .map(|problem| json!({"path": problem.path, "message": problem.message}));
                let findings: Vec<_> = findings.collect();
                self.judge(spot, guard, &findings, value, None)
            }
            Check::Custom(when) => {
                let findings = match self.is_true(spot, when)? {
                    true => Vec::new(),
                    false => vec![json!({"path": "", "message": "the condition of the guard is false"})],
                };
                self.judge(spot, guard, &findings, value, None)
            }
            Check::Asked { call, .. } => self.begin_call(spot, node, call),
        }
    }

    /// What an agent says: `{passed, findings?, value?}`, as data or as a text. An answer that does not say is no pass.
    pub(super) fn take_verdict(&mut self, spot: Spot, guard: &Guard, answer: Value) -> Result<(), Failure> {
        let Check::Asked { name, .. } = &guard.check else { return Ok(()) };
        let mut answer = verdict(answer);
        let Some(has_passed) = answer.get("passed").and_then(Value::as_bool) else {
            return Err(Failure::new(
                "GUARD",
                format!("the answer about {name} does not say whether it passed"),
            ));
        };
        let mut findings = match answer.get_mut("findings").map(Value::take) {
            Some(Value::Array(findings)) => findings,
            _ => Vec::new(),
        };
        if has_passed {
            findings.clear();
        } else if findings.is_empty() {
            findings.push(json!({"path": "", "message": format!("{name} was found")}));
        }
        let value = self.evaluate(spot, &guard.of)?;
        let redacted = answer.get_mut("value").map(Value::take);
        self.judge(spot, guard, &findings, value, redacted)
    }

    fn judge(
        &mut self,
        spot: Spot,
        guard: &Guard,
        findings: &[Value],
        value: Value,
        redacted: Option<Value>,
    ) -> Result<(), Failure> {
        let has_passed = findings.is_empty();
        let value = match (guard.action, redacted) {
            _ if has_passed => value,
            (GuardAction::Warn, _) => value,
            (GuardAction::Redact, Some(redacted)) => redacted,
            (GuardAction::Block, _) | (GuardAction::Redact, None) => {
                let first = findings
                    .first()
                    .and_then(|finding| finding["message"].as_str())
                    .unwrap_or("it did not pass");
                return Err(Failure::new(
                    "GUARD",
                    format!("{} finding(s), the first: {first}", findings.len()),
                ));
            }
        };
        self.finish(spot, json!({"passed": has_passed, "findings": findings, "value": value}), Exit::Next)
    }
}

/// The data of a verdict. Models like to put JSON into a fence; what is anything else beside it is not read.
fn verdict(answer: Value) -> Value {
    let Value::String(text) = &answer else { return answer };
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.map(|inner| inner.strip_prefix("json").unwrap_or(inner));
    serde_json::from_str(inner.unwrap_or(text).trim()).unwrap_or(answer)
}

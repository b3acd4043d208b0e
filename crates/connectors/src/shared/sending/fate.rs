//! What became of a message, told for each recipient.

use super::once::raw;
use serde_json::{Value, json};
use tool::{Error, ErrorKind, Output, Result};

/// What became of a message at one recipient.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fate {
    pub(crate) status: Status,
    /// What the other end said, in its own words for programs.
    pub(crate) code: Option<Value>,
    pub(crate) message: Option<String>,
    pub(crate) id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// The other end has it, and answers for it.
    Taken,
    /// The other end will not take it.
    Refused,
    /// The other end does not take it now, or was not asked any more.
    Deferred,
    /// Nobody knows whether the other end has it.
    Unknown,
}

impl Fate {
    pub(crate) fn new(status: Status, code: Option<Value>, message: impl Into<String>) -> Self {
        Self { status, code, message: Some(message.into()), id: None }
    }

    pub(crate) fn unknown() -> Self {
        let message = "it was handed over, and no answer came: it may have been sent";
        Self::new(Status::Unknown, None, message)
    }
}

/// The result of a call in the making.
pub(crate) struct Report {
    /// What a service calls what was taken: `sent`, `accepted`.
    taken: &'static str,
    recipients: Vec<(String, Fate)>,
}

impl Report {
    /// What became of each piece, with the people it was for. A call that failed before anybody was told anything is that
    /// failure.
    pub(crate) fn of(
        taken: &'static str,
        pieces: impl Iterator<Item = (Vec<String>, Result<Vec<Fate>>)>,
    ) -> Result<Self> {
        let pieces: Vec<_> = pieces.collect();
        let is_hopeless = pieces.iter().all(|(_, ended)| ended.is_err());
        let mut recipients = Vec::new();
        for (people, ended) in pieces {
            let fates = match ended {
                Err(error) if is_hopeless => return Err(error),
                // Others went out: this one did not, unless nobody knows.
                Err(error) => {
                    let is_lost = error.kind() == ErrorKind::Unavailable && !error.is_retryable();
                    let status = if is_lost { Status::Unknown } else { Status::Deferred };
                    let code = error.service_code().map(Value::from);
                    vec![Fate::new(status, code, error.message()); people.len()]
                }
                Ok(fates) => fates,
            };
            recipients.extend(people.into_iter().zip(fates));
        }
        Ok(Self { taken, recipients })
    }

    /// A fate for each of those who were named, by their places among the recipients.
    pub(crate) fn for_each(self, places: impl Iterator<Item = usize>) -> Self {
        let recipients = places.filter_map(|place| self.recipients.get(place).cloned()).collect();
        Self { recipients, ..self }
    }

    pub(crate) fn result(&self) -> Value {
        let all = || self.recipients.iter().map(|(_, fate)| fate.status);
        let status = match () {
            () if all().all(|status| status == Status::Taken) => self.taken,
            () if all().any(|status| status == Status::Taken) => "partial",
            () => "failed",
        };
        let recipients: Vec<_> = self.recipients.iter().map(|(to, fate)| self.told(to, fate)).collect();
        let mut result = json!({ "status": status, "recipients": recipients });
        if let Some(id) = self.recipients.iter().find_map(|(_, fate)| fate.id.as_ref()) {
            result["messageId"] = id.as_str().into();
        }
        result
    }

    fn told(&self, to: &str, fate: &Fate) -> Value {
        let status = match fate.status {
            Status::Taken => self.taken,
            Status::Refused => "refused",
            Status::Deferred => "deferred",
            Status::Unknown => "unknown",
        };
        let mut told = json!({ "to": to, "status": status });
        let more = [
            ("code", fate.code.clone()),
            ("message", fate.message.clone().map(Value::from)),
            ("messageId", fate.id.clone().map(Value::from)),
        ];
        for (name, value) in more {
            if let Some(value) = value {
                told[name] = value;
            }
        }
        told
    }

    /// The answer to a call; one that reached nobody is an error, whose words say neither to whom nor what.
    pub(crate) fn output(result: &Value, remark: Option<&str>) -> Result<Output> {
        let data = raw(result)?;
        let output = match remark {
            Some(remark) => Output::json_with_remark(data, remark),
            None => Output::json(data),
        };
        if result["status"] != "failed" {
            return Ok(output);
        }
        let first = &result["recipients"][0];
        let (status, code) = (first["status"].as_str().unwrap_or("failed"), &first["code"]);
        let code = code.as_str().map_or_else(|| code.to_string(), str::to_owned);
        Ok(output.failed_because(Error::upstream(format!("nobody was reached: {status}, code {code}"))))
    }
}

/// Whether nobody can have got anything, so that the same may be asked for again.
pub(crate) fn is_surely_nothing(result: &Value) -> bool {
    let recipients = result["recipients"].as_array().map(Vec::as_slice).unwrap_or_default();
    recipients.iter().all(|told| matches!(told["status"].as_str(), Some("refused" | "deferred")))
}

/// What the result of a call is like, for its definition.
pub(crate) fn result_schema(taken: &str, code: &Value) -> Value {
    let recipient = json!({ "type": "object", "required": ["to", "status"], "properties": {
        "to": { "type": "string" },
        "status": { "type": "string", "enum": [taken, "refused", "deferred", "unknown"] },
        "code": code,
        "message": { "type": "string" },
        "messageId": { "type": "string" },
    } });
    json!({ "type": "object", "required": ["status", "recipients"], "properties": {
        "status": { "type": "string", "enum": [taken, "partial", "failed"] },
        "messageId": { "type": "string", "description": "Of the first message." },
        "recipients": { "type": "array", "items": recipient },
        "duplicate": { "type": "boolean", "description": "It was sent before; this is what came of that." },
    } })
}

//! What a tool asks before it can answer.

use crate::Question;
use serde_json::value::RawValue;

/// The questions of a tool; the same call is repeated with the answers.
#[derive(Debug)]
pub struct InputRequest {
    /// What is asked, each under the name that its answer has.
    pub questions: Vec<(String, Question)>,
    /// What the service wants back with the answers, as it wrote it.
    pub state: Option<Box<RawValue>>,
    /// The whole as the service wrote it, for callers of the same protocol.
    pub original: Option<Box<RawValue>>,
}

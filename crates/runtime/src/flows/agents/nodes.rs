//! Agents as nodes of flows: of what one answers, the flow gets what it was asked for.

use flow::engine::Answer;
use serde_json::Value;

/// What a flow makes of an answer.
pub(in super::super) fn answer(answer: Answer) -> Answer {
    match answer {
        Answer::Value(told) => Answer::Value(value(told)),
        child @ Answer::Child(_) => child,
    }
}

/// The answer as data where the agent has a schema for it, else its text; all that is told where it has not ended.
pub(in super::super) fn value(told: Value) -> Value {
    let Value::Object(mut told) = told else { return told };
    let mut part = |name: &str| told.remove(name).filter(|part| !part.is_null());
    match part("output").or_else(|| part("answer")) {
        Some(value) => value,
        None => Value::Object(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_flow_gets_the_output_or_the_answer() {
        for (told, expected) in [
            (json!({ "answer": "{\"n\":1}", "output": { "n": 1 } }), json!({ "n": 1 })),
            (json!({ "answer": "twelve", "output": null }), json!("twelve")),
            (json!({ "answer": null, "output": null, "run": "r" }), json!({ "run": "r" })),
        ] {
            assert_eq!(value(told), expected);
        }
    }
}

//! Agents as nodes of flows: what one is asked as, and of what it answers, what the flow gets.

use super::super::calls::{invalid_uri, no_uri};
use flow::engine::{Answer, Failure};
use serde_json::Value;
use tool::{InPlace, Uri};

/// Where a call of a flow leads and, where that is an agent in place, what it is for this call.
pub(in super::super) fn target(target: &Value) -> Result<(Uri, Option<InPlace>), Failure> {
    let (uri, in_place) = match target {
        Value::String(uri) => (uri.as_str(), None),
        definition => {
            let uri = definition["agent"].as_str().ok_or_else(no_uri)?;
            (uri, Some(serde_json::from_value(definition.clone()).map_err(|_| no_uri())?))
        }
    };
    Ok((uri.parse::<Uri>().map_err(|error| invalid_uri(&error))?, in_place))
}

/// What a flow makes of an answer.
pub(in super::super) fn answer(answer: Answer) -> Answer {
    match answer {
        Answer::Value(told) => Answer::Value(value(told)),
        told @ (Answer::Child(_) | Answer::Later) => told,
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

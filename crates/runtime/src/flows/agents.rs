//! Agents as nodes of flows: of what one answers, the flow gets what it was asked for.

use flow::engine::Answer;
use serde_json::Value;
use tool::Uri;

/// The address is an agent's.
pub(super) fn is_one(uri: &Uri) -> bool {
    uri.scheme() == "agent"
}

/// The answer as data where the agent has a schema for it, else its text.
pub(super) fn answer(answer: Answer) -> Answer {
    let Answer::Value(Value::Object(mut told)) = answer else { return answer };
    let output = told.remove("output").filter(|output| !output.is_null());
    match output.or_else(|| told.remove("answer")) {
        Some(value) => Answer::Value(value),
        None => Answer::Value(Value::Object(told)),
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
        ] {
            let Answer::Value(value) = answer(Answer::Value(told)) else { panic!("a value stays one") };
            assert_eq!(value, expected);
        }
    }
}

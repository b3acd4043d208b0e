//! What becomes of a request at a service, in the words of the client's version.

use super::Answered;
use crate::call_error::CallError;
use crate::error::Code;
use mcp::error::{Failure, failure_of_call};
use mcp::modern::{self, Cache};
use mcp::{Era, RpcError, Version};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tool::content::without_blocks;
use tool::{Content, ErrorKind, Fields, InputRequest, Outcome, Output, Question, Reason, RunId, Structured};

pub(super) const SERVER_INFO: &str =
    concat!("{\"name\":\"mcp-all-in-one\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}");

/// Where a result that is an error holds what programs decide by: the same object as REST's `error`.
const FAILURE: &str = "mcp-all-in-one/error";

/// How a client hears of work that goes on after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoesOn {
    /// By the id of a run, which a tool is asked about.
    Run,
    /// As a task of the extension, which the client has declared.
    Task,
    /// As the task that the client has asked for with its call.
    AskedTask,
}

/// The result of a call, which says itself whether the tool has failed.
pub(super) fn of_call(outcome: tool::Result<Outcome>, version: Version, goes_on: GoesOn) -> Answered<String> {
    let result = match outcome {
        Ok(Outcome::Done(output)) => of_output(output, version),
        Ok(Outcome::Started(run)) => match goes_on {
            GoesOn::Run => started(&run).into_result(structured_for(version)),
            GoesOn::Task => super::tasks::created(&run),
            GoesOn::AskedTask => super::tasks::created_as_asked(&run),
        },
        Ok(Outcome::NeedsInput(request)) if version.era() == Era::Modern => questions(&request),
        Ok(Outcome::NeedsInput(request)) => unanswerable(&request, version),
        Err(error) => match failure_of_call(&error, version) {
            Failure::Error(error) => return Err(error),
            Failure::Result(text) => match error.reason().and_then(Reason::code) {
                Some(reason) => {
                    noting(failed_because(&text, &error, reason), &CallError::of(&error), version)
                }
                None => failed(&text, &error, version),
            },
        },
    };
    Ok(for_era(version.era(), result, Cache::No))
}

/// What a tool gave.
pub(super) fn of_output(output: Output, version: Version) -> String {
    let failure = output.failure().map(CallError::of);
    let output = output.without_blocks(unknown_blocks(version));
    let result = output.into_result(structured_for(version));
    match failure {
        Some(failure) => noting(result, &failure, version),
        None => result,
    }
}

/// Why a tool gave nothing.
pub(super) fn failed(text: &str, error: &tool::Error, version: Version) -> String {
    noting(Output::text(text).failed().to_result(), &CallError::of(error), version)
}

/// The result of a call that failed, with what programs decide by. A `_meta` of the service's own stays as it is.
fn noting(mut result: String, failure: &CallError, version: Version) -> String {
    let has_meta = serde_json::from_str::<Fields<'_>>(&result).is_ok_and(|it| it.get("_meta").is_some());
    let (Ok(failure), false, Some(end)) = (serde_json::to_string(failure), has_meta, result.rfind('}'))
    else {
        return result;
    };
    let server = match version.era() {
        Era::Legacy => String::new(),
        Era::Modern => format!("\"{}\":{SERVER_INFO},", modern::SERVER_INFO),
    };
    result.insert_str(end, &format!(",\"_meta\":{{{server}\"{FAILURE}\":{failure}}}"));
    result
}

/// The same with what programs go by, where there is a word for it.
fn failed_because(text: &str, error: &tool::Error, reason: &str) -> String {
    let told = json!({
        "code": Code::from(error.kind()), "reason": reason, "service": error.service(), "message": error.message(),
    });
    let text = Content::text(text);
    format!("{{\"content\":[{}],\"structuredContent\":{{\"error\":{told}}},\"isError\":true}}", text.get())
}

/// What goes on, and how to ask about it.
fn started(run: &RunId) -> Output {
    let remark = "it goes on; ask for its result with the tool flow_run and this run_id";
    match to_raw_value(&json!({ "run_id": run })) {
        Ok(raw) => Output::json_with_remark(raw, remark),
        Err(_) => Output::text(&format!("started as {run}")),
    }
}

/// Until 2025-11-25 structured content was an object, and strict clients refuse anything else.
fn structured_for(version: Version) -> Structured {
    match version.era() {
        Era::Legacy => Structured::Objects,
        Era::Modern => Structured::Anything,
    }
}

/// What a service gave of its documents and prompts.
pub(super) fn of_get(result: &RawValue, version: Version, cache: Cache) -> String {
    let known = without_blocks(result.get(), unknown_blocks(version));
    for_era(version.era(), known.unwrap_or_else(|| result.get().to_owned()), cache)
}

/// Content blocks that came with later versions.
fn unknown_blocks(version: Version) -> &'static [&'static str] {
    match version {
        Version::V2024_11_05 => &["resource_link", "audio"],
        Version::V2025_03_26 => &["resource_link"],
        Version::V2025_06_18 | Version::V2025_11_25 | Version::V2026_07_28 => &[],
    }
}

/// The result as clients of this era expect it.
pub(super) fn for_era(era: Era, result: String, cache: Cache) -> String {
    match era {
        Era::Legacy => result,
        Era::Modern => modern::complete(&result, SERVER_INFO, cache),
    }
}

/// How a document or prompt that could not be had is told; its service's own words go first.
pub(super) fn refusal_of_get(error: &tool::Error, version: Version) -> RpcError {
    /// What versions with a handshake say of a resource that is not there.
    const NO_RESOURCE: i32 = -32002;
    let uri = error.resource();
    if error.kind() == ErrorKind::NotFound {
        let code = if uri.is_some() && version.era() == Era::Legacy { NO_RESOURCE } else { -32602 };
        return RpcError {
            data: uri.map(|uri| json!({ "uri": uri }).into()),
            ..RpcError::new(code, error.message())
        };
    }
    match failure_of_call(error, version) {
        Failure::Error(mut refused) => {
            if refused.code == NO_RESOURCE && version.era() == Era::Modern {
                refused.code = -32602;
            }
            refused
        }
        Failure::Result(text) => RpcError::new(-32603, text),
    }
}

/// What a tool asks, as a result: in the words of its service, where it is an MCP server.
fn questions(request: &InputRequest) -> String {
    if let Some(original) = &request.original {
        return original.get().to_owned();
    }
    let question = |(name, question): &(String, Question)| {
        let params = question.params.as_deref().map_or("{}", RawValue::get);
        let method = mcp::client::method_of(question.ability);
        format!("{}:{{\"method\":\"{method}\",\"params\":{params}}}", Value::from(name.as_str()))
    };
    let questions: Vec<_> = request.questions.iter().map(question).collect();
    let state = request
        .state
        .as_deref()
        .map_or_else(String::new, |state| format!(",\"requestState\":{}", state.get()));
    format!("{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}}{state}}}", questions.join(","))
}

/// The same for a client whose version has no such results, and which cannot be asked.
fn unanswerable(request: &InputRequest, version: Version) -> String {
    let mut wanted: Vec<_> =
        request.questions.iter().map(|(_, question)| question.ability.as_str()).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let (wanted, version) = (wanted.join(", "), version.as_str());
    let text = format!(
        "the tool asks its client for something ({wanted}) in the middle of the call, which this client of MCP {version} \
         has not declared among its capabilities; it must declare it in 'initialize' ('elicitation' from {} on), or \
         with each request from {} on",
        Version::V2025_06_18.as_str(),
        Version::V2026_07_28.as_str()
    );
    Output::text(&text).failed().to_result()
}

/// The result of a request that cannot go on before its client has answered.
pub(super) fn input_required(method: &str, params: Option<&RawValue>, name: &str, state: &str) -> String {
    let params = params.map_or("{}", RawValue::get);
    let result = format!(
        "{{\"resultType\":\"input_required\",\"inputRequests\":{{\"{name}\":{{\"method\":\"{method}\",\"params\":{params}}}}},\"requestState\":\"{state}\"}}"
    );
    modern::complete(&result, SERVER_INFO, Cache::No)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::Ability;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn request() -> InputRequest {
        let question = |ability, params: Option<&str>| Question { ability, params: params.map(raw) };
        let questions = vec![
            (r#"who "exactly"?"#.to_owned(), question(Ability::Elicitation, Some(r#"{"message":"Who?"}"#))),
            ("text".to_owned(), question(Ability::Sampling, Some(r#"{"maxTokens":1e2}"#))),
            ("where".to_owned(), question(Ability::Roots, None)),
        ];
        InputRequest { questions, state: Some(raw(r#"{"step":1e2}"#)), original: None }
    }

    #[test]
    fn questions_without_a_service_s_own_words_are_written_in_ours() {
        let text = of_call(Ok(Outcome::NeedsInput(request())), Version::V2026_07_28, GoesOn::Run).unwrap();
        let result: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({
            "who \"exactly\"?": { "method": "elicitation/create", "params": { "message": "Who?" } },
            "text": { "method": "sampling/createMessage", "params": { "maxTokens": 1e2 } },
            "where": { "method": "roots/list", "params": {} },
        });
        assert_eq!((&result["resultType"], &result["inputRequests"]), (&json!("input_required"), &expected));
        // The state belongs to whoever asked, and comes back as it was written.
        assert!(text.contains(r#""requestState":{"step":1e2}"#), "{text}");
    }

    #[test]
    fn a_service_s_own_words_are_not_touched() {
        let own = r#"{"resultType":"input_required","inputRequests":{},"x":1e2}"#;
        let asked = InputRequest { original: Some(raw(own)), ..request() };
        assert_eq!(questions(&asked), own);
    }

    /// SV-1, DB-5: clients of MCP decide by the same facts as those of REST, in either era.
    #[test]
    fn a_failure_carries_what_programs_decide_by() {
        let error = || {
            tool::Error::upstream("the service answered RESOURCE_EXHAUSTED")
                .with_grpc_status("RESOURCE_EXHAUSTED")
                .with_retry_after(std::time::Duration::from_millis(1500))
                .of_service("loyalty")
        };
        let expected = json!({
            "code": "UPSTREAM_ERROR", "service": "loyalty", "service_code": "RESOURCE_EXHAUSTED",
            "grpc_status": "RESOURCE_EXHAUSTED", "retry_after_ms": 1500,
        });
        for (version, has_server) in [(Version::V2025_06_18, false), (Version::V2026_07_28, true)] {
            let known = Output::json(raw(r#"{"sent":0}"#)).failed_because(error());
            for outcome in [Err(error()), Ok(Outcome::Done(known))] {
                let text = of_call(outcome, version, GoesOn::Run).unwrap();
                let result: Value = serde_json::from_str(&text).unwrap();
                assert_eq!((&result["isError"], &result["_meta"][FAILURE]), (&json!(true), &expected));
                assert_eq!(result["_meta"][modern::SERVER_INFO]["name"] == "mcp-all-in-one", has_server);
            }
            let own = r#"{"content":[],"isError":true,"_meta":{"theirs":1}}"#;
            let relayed = Output::relayed(raw(own)).unwrap().failed_because(error());
            assert!(of_output(relayed, version).contains(r#""_meta":{"theirs":1}"#));
        }
    }

    /// AG-20: a run of an agent that failed elsewhere is told with its reason, in every era.
    #[test]
    fn a_failure_that_has_a_word_for_programs_is_told_with_it() {
        let error =
            || tool::Error::unavailable("the process has ended").because(Reason::Interrupted).of_service("a");
        for version in [Version::V2025_06_18, Version::V2026_07_28] {
            let text = of_call(Err(error()), version, GoesOn::Run).unwrap();
            let result: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(result["isError"], true, "{text}");
            let told = &result["structuredContent"]["error"];
            assert_eq!(told["code"], "UNAVAILABLE", "{text}");
            assert_eq!((&told["reason"], &told["service"]), (&json!("INTERRUPTED"), &json!("a")), "{text}");
        }
    }

    #[test]
    fn an_older_client_is_told_what_it_cannot_answer() {
        let text = of_call(Ok(Outcome::NeedsInput(request())), Version::V2025_06_18, GoesOn::Run).unwrap();
        let result: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(result["isError"], true);
        let said = result["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("(elicitation, roots, sampling)") && said.contains("2025-06-18"), "{said}");
    }
}

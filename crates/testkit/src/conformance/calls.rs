//! Rules about tools and calls.

use super::{Sample, Subject, Verdict, bind_and_call, call, context, ensure, result_of};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tool::schema::Schema;
use tool::{Connector, Context, Error, ErrorKind, Events, Outcome};

/// Enough for anything that is meant to succeed.
pub(super) const PLENTY: Duration = Duration::from_secs(20);
/// How soon a call must end once it has to.
const SOON: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 32;

pub(super) async fn tools_are_sorted_legal_and_unique(subject: &Subject) -> Verdict {
    let tools = subject.open()?.tools(&context(PLENTY)).await.map_err(|error| format!("{error:?}"))?;
    ensure(!tools.is_empty(), || "the subject's settings must give at least one tool".to_owned())?;
    for pair in tools.windows(2) {
        let (first, second) = (pair[0].name(), pair[1].name());
        ensure(first < second, || format!("sort tools by name, each once: '{first}' before '{second}'"))?;
    }
    for tool in &tools {
        let name = tool.name();
        let is_legal = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        ensure(is_legal, || format!("'{name}' must be 1 to 64 letters, digits, '_', '.' or '-'"))?;
        ensure(tool.description().is_some_and(|text| !text.is_empty()), || format!("describe '{name}'"))?;
        let schema: Value = serde_json::from_str(tool.input_schema().get())
            .map_err(|error| format!("the schema of '{name}' is no JSON: {error}"))?;
        ensure(schema["type"] == "object", || format!("the schema of '{name}' must be of type object"))?;
        Schema::compile(&schema, "parameter").map_err(|error| format!("'{name}': {error}"))?;
    }
    Ok(())
}

/// The console and REST name them for every service of the type.
pub(super) async fn fixed_tools_are_offered(subject: &Subject) -> Verdict {
    let fixed = subject.tested.kind.fixed_tools;
    ensure(fixed.is_sorted(), || "sort FIXED_TOOLS".to_owned())?;
    let tools = subject.open()?.tools(&context(PLENTY)).await.map_err(|error| format!("{error:?}"))?;
    let missing: Vec<_> =
        fixed.iter().filter(|name| !tools.iter().any(|tool| tool.name() == **name)).collect();
    ensure(missing.is_empty(), || format!("FIXED_TOOLS names {missing:?}, and no such tool is offered"))
}

pub(super) async fn good_call_succeeds(subject: &Subject) -> Verdict {
    let connector = subject.open()?;
    run(&*connector, &context(PLENTY), &subject.good).await.map_err(|error| format!("{error:?}"))?;
    connector.health(&context(PLENTY)).await.map_err(|error| format!("health disagrees: {error:?}"))
}

pub(super) async fn unknown_tool_is_not_found(subject: &Subject) -> Verdict {
    let sample = Sample::new("no_such_tool", subject.good.arguments.clone());
    let error = failure(subject, &sample).await?;
    ensure(error.kind() == ErrorKind::NotFound, || format!("must be NotFound: {error:?}"))?;
    ensure(error.to_string().contains("no_such_tool"), || format!("must name the tool: {error:?}"))
}

pub(super) async fn bad_argument_is_refused_by_name(subject: &Subject) -> Verdict {
    let error = failure(subject, &subject.bad).await?;
    ensure(error.kind() == ErrorKind::InvalidInput, || format!("must be InvalidInput: {error:?}"))?;
    let name = subject.bad_argument;
    ensure(error.to_string().contains(name), || format!("must name '{name}': {error:?}"))
}

pub(super) async fn cancel_ends_a_call_within_a_second(subject: &Subject) -> Verdict {
    let Some(slow) = subject.slow.get() else { return Ok(()) };
    let connector = subject.open()?;
    let cx = context(PLENTY);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cx.cancel.cancel();
        Instant::now()
    };
    let (result, cancelled_at) = tokio::join!(run(&*connector, &cx, slow), cancel);
    let took = cancelled_at.elapsed();
    ensure(took < SOON, || format!("it went on for {took:?} after cx.cancel; select on it where you wait"))?;
    expect_kind(&result, ErrorKind::Cancelled)
}

pub(super) async fn deadline_ends_a_call(subject: &Subject) -> Verdict {
    let Some(slow) = subject.slow.get() else { return Ok(()) };
    let connector = subject.open()?;
    let time = Duration::from_millis(200);
    let begin = Instant::now();
    let result = run(&*connector, &context(time), slow).await;
    let late = begin.elapsed().saturating_sub(time);
    ensure(late < SOON, || format!("it ended {late:?} after cx.deadline; wait no longer than that"))?;
    expect_kind(&result, ErrorKind::Timeout)
}

pub(super) async fn dead_remote_is_unavailable(subject: &Subject) -> Verdict {
    let Some(connector) = subject.open_dead()? else { return Ok(()) };
    let called = run(&*connector, &context(PLENTY), &subject.good).await;
    let probed = connector.health(&context(PLENTY)).await;
    for (what, failure) in [("call", failure_of(&called)), ("health", probed.as_ref().err())] {
        let error = failure.ok_or_else(|| format!("{what} succeeds although nobody listens"))?;
        ensure(error.kind() == ErrorKind::Unavailable, || format!("{what} must be Unavailable: {error:?}"))?;
        ensure(error.is_retryable(), || format!("{what} must be .retryable(): {error:?}"))?;
    }
    Ok(())
}

pub(super) async fn parallel_calls_do_not_mix(subject: &Subject) -> Verdict {
    let Some(echo) = subject.echo.get() else { return Ok(()) };
    let connector = subject.open()?;
    let mut calls = JoinSet::new();
    for number in 0..AT_ONCE {
        let connector = connector.clone();
        let text = format!("marker-{number}-end");
        let arguments = Map::from_iter([(echo.argument.to_owned(), Value::from(text.as_str()))]);
        let call = call(echo.tool, arguments);
        calls.spawn(async move {
            let outcome = bind_and_call(&*connector, &context(PLENTY), call)
                .await
                .map_err(|error| format!("{error:?}"))?;
            let result = result_of(outcome)?;
            let is_own =
                result.contains(&text) && result.matches("marker-").count() == result.matches(&text).count();
            ensure(is_own, || format!("the call with '{text}' got the answer {result}"))
        });
    }
    while let Some(verdict) = calls.join_next().await {
        verdict.map_err(|error| format!("a call panicked: {error}"))??;
    }
    Ok(())
}

pub(super) async fn dropped_receiver_changes_nothing(subject: &Subject) -> Verdict {
    let connector = subject.open()?;
    let mut cx = context(PLENTY);
    let (events, rx) = Events::channel(1);
    cx.events = events;
    drop(rx);
    run(&*connector, &cx, &subject.good).await.map(drop).map_err(|error| format!("{error:?}"))
}

pub(super) async fn run(connector: &dyn Connector, cx: &Context, sample: &Sample) -> tool::Result<Outcome> {
    bind_and_call(connector, cx, sample.call()).await
}

async fn failure(subject: &Subject, sample: &Sample) -> Result<Error, String> {
    let connector = subject.open()?;
    match run(&*connector, &context(PLENTY), sample).await {
        Ok(outcome) => Err(format!("the call must fail, not answer {outcome:?}")),
        Err(error) => Ok(error),
    }
}

fn expect_kind(result: &tool::Result<Outcome>, kind: ErrorKind) -> Verdict {
    match failure_of(result) {
        None => Err(format!("the call must end with {kind:?}, not answer {result:?}")),
        Some(error) => ensure(error.kind() == kind, || format!("must be {kind:?}: {error:?}")),
    }
}

/// Why a call failed, whether or not it has something to show for it, as the run of an agent has.
fn failure_of(result: &tool::Result<Outcome>) -> Option<&Error> {
    match result {
        Err(error) => Some(error),
        Ok(Outcome::Done(output)) => output.failure(),
        Ok(Outcome::NeedsInput(_) | Outcome::Started(_)) => None,
    }
}

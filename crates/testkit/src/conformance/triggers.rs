//! Rules about connectors that hand over messages by themselves.

use super::{Verdict, bind_and_call, call, context, ensure};
use crate::recorder::{Listening, Recorder};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Connector, ErrorKind, Start, Subscription, Verdict as Said};

const PLENTY: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

/// A source that keeps messages until they are settled, empty and with nobody else at it. The tool of its name publishes
/// `{"message": …}` there and answers with a `messageId`.
pub struct Source {
    /// The connector.
    pub connector: Arc<dyn Connector>,
    /// The name of the tool.
    pub tool: &'static str,
}

/// Checks every rule about triggers and reports all that are broken.
///
/// # Panics
/// When a rule is broken.
pub async fn check(source: &Source) {
    let verdicts = [
        ("the source is listed, and another is not found", unknown_source_is_not_found(source).await),
        ("what is published is delivered, with its id", delivers_what_is_published(source).await),
        ("what is to come again does, with a greater attempt", brings_again_what_failed(source).await),
        ("what failed too often is given up, and the rest goes on", gives_up_in_the_end(source).await),
        ("at most max_in_flight are with the sink", never_holds_more_than_allowed(source).await),
        ("stopping leaves what is under way to others", leaves_to_others_what_it_had(source).await),
        ("two of a group share, and each message comes once", shares_among_a_group(source).await),
        ("in order means one after the other", keeps_the_order(source).await),
    ];
    let broken: Vec<_> = verdicts
        .into_iter()
        .filter_map(|(rule, verdict)| Some(format!("- {rule}: {}", verdict.err()?)))
        .collect();
    assert!(broken.is_empty(), "the triggers break {} rules:\n{}", broken.len(), broken.join("\n"));
}

impl Source {
    fn wanted(&self) -> Subscription {
        Subscription { from: Start::Earliest, ..Subscription::new(self.tool, "conformance") }
    }

    fn listen(&self, wanted: Subscription, sink: &Arc<Recorder>) -> Listening {
        Listening::start(&self.connector, context(PLENTY), wanted, sink.clone())
    }

    async fn publish(&self, number: usize) -> Result<String, String> {
        let arguments = json!({ "message": { "n": number } }).as_object().cloned().unwrap_or_default();
        let outcome = bind_and_call(&*self.connector, &context(PLENTY), call(self.tool, arguments)).await;
        let result = super::result_of(outcome.map_err(|error| format!("publishing failed: {error:?}"))?)?;
        let result: Value = serde_json::from_str(&result).map_err(|error| error.to_string())?;
        let id = result["structuredContent"]["messageId"].as_str();
        id.map(str::to_owned).ok_or_else(|| format!("no messageId in {result}"))
    }

    async fn publish_many(&self, count: usize) -> Result<Vec<String>, String> {
        let mut ids = Vec::new();
        for number in 0..count {
            ids.push(self.publish(number).await?);
        }
        Ok(ids)
    }
}

async fn stop(listening: Listening) -> Verdict {
    listening.stop().await.map_err(|error| format!("listening failed: {error:?}"))
}

async fn unknown_source_is_not_found(source: &Source) -> Verdict {
    let triggers = source.connector.triggers().ok_or("there are no triggers")?;
    let listed = triggers.sources();
    ensure(listed.iter().any(|name| name == source.tool), || format!("not among the sources: {listed:?}"))?;
    let wanted = Subscription { source: "no_such_source".to_owned(), ..source.wanted() };
    match triggers.listen(&context(PLENTY), wanted, Recorder::taking()).await {
        Ok(()) => Err("listening to it must fail".to_owned()),
        Err(error) => ensure(
            error.kind() == ErrorKind::NotFound && error.to_string().contains("no_such_source"),
            || format!("must be NotFound and name it: {error:?}"),
        ),
    }
}

async fn delivers_what_is_published(source: &Source) -> Verdict {
    let sink = Recorder::taking();
    let before = source.publish(1).await?;
    let listening = source.listen(source.wanted(), &sink);
    sink.wait_for(1).await;
    let after = source.publish(2).await?;
    sink.wait_for(2).await;
    let begin = Instant::now();
    stop(listening).await?;
    ensure(begin.elapsed() < Duration::from_secs(5), || format!("it stopped after {:?}", begin.elapsed()))?;
    ensure(sink.ids() == [before, after], || format!("other ids came: {:?}", sink.ids()))?;
    let got = sink.got();
    let first: Value = serde_json::from_str(got[0].message.get()).map_err(|error| error.to_string())?;
    ensure(first == json!({ "n": 1 }), || format!("another message came: {first}"))?;
    ensure(got.iter().all(|delivery| delivery.attempt == 1), || "the first attempt must be 1".to_owned())?;
    let again = Recorder::taking();
    let listening = source.listen(source.wanted(), &again);
    let last = source.publish(3).await?;
    again.wait_for(1).await;
    stop(listening).await?;
    ensure(again.ids() == [last], || "what was taken must not come again".to_owned())
}

async fn brings_again_what_failed(source: &Source) -> Verdict {
    let sink = Recorder::judging(|delivery| {
        Some(if delivery.attempt < 3 { Said::Again(SHORT) } else { Said::Taken })
    });
    let id = source.publish(1).await?;
    let begin = Instant::now();
    let listening = source.listen(source.wanted(), &sink);
    sink.wait_for(3).await;
    let took = begin.elapsed();
    stop(listening).await?;
    ensure(took >= SHORT * 2, || format!("it came again too early, after {took:?}"))?;
    let attempts: Vec<_> = sink.got().into_iter().map(|delivery| (delivery.id, delivery.attempt)).collect();
    let expected: Vec<_> = (1..=3).map(|attempt| (id.clone(), attempt)).collect();
    ensure(attempts == expected, || format!("other attempts came: {attempts:?}"))
}

async fn gives_up_in_the_end(source: &Source) -> Verdict {
    let sink = Recorder::judging(|delivery| match delivery.message.get().contains("\"n\":0") {
        true => Some(Said::Again(Duration::from_millis(10))),
        false => Some(Said::Taken),
    });
    let ids = source.publish_many(2).await?;
    let listening = source.listen(Subscription { max_attempts: 2, ordered: true, ..source.wanted() }, &sink);
    sink.wait_for(3).await;
    stop(listening).await?;
    let expected = [ids[0].clone(), ids[0].clone(), ids[1].clone()];
    ensure(sink.ids() == expected, || format!("two attempts, then the next: {:?}", sink.ids()))?;
    let after = Recorder::taking();
    let listening = source.listen(source.wanted(), &after);
    let last = source.publish(9).await?;
    after.wait_for(1).await;
    stop(listening).await?;
    ensure(after.ids() == [last], || format!("what was given up came again: {:?}", after.ids()))
}

async fn never_holds_more_than_allowed(source: &Source) -> Verdict {
    let sink = Recorder::judging(|_| None);
    source.publish_many(6).await?;
    let listening = source.listen(Subscription { max_in_flight: 3, ..source.wanted() }, &sink);
    sink.wait_for(3).await;
    tokio::time::sleep(SHORT * 3).await;
    let held = sink.got().len();
    stop(listening).await?;
    ensure(held == 3, || format!("{held} were with the sink, not 3"))
}

/// Those of the rule before.
async fn leaves_to_others_what_it_had(source: &Source) -> Verdict {
    let sink = Recorder::taking();
    let listening = source.listen(source.wanted(), &sink);
    sink.wait_for(6).await;
    stop(listening).await?;
    let ids: BTreeSet<_> = sink.ids().into_iter().collect();
    ensure(ids.len() == 6, || format!("{} of 6 messages are left", ids.len()))
}

async fn shares_among_a_group(source: &Source) -> Verdict {
    let sink = Recorder::taking();
    let listening = [(); 2].map(|()| source.listen(source.wanted(), &sink));
    let ids = source.publish_many(40).await?;
    sink.wait_for(40).await;
    for listening in listening {
        stop(listening).await?;
    }
    let (got, expected): (BTreeSet<_>, BTreeSet<_>) =
        (sink.ids().into_iter().collect(), ids.into_iter().collect());
    ensure(got == expected && sink.got().len() == 40, || {
        format!("40 messages became {} deliveries of {} messages", sink.got().len(), got.len())
    })
}

async fn keeps_the_order(source: &Source) -> Verdict {
    let sink = Recorder::judging(|delivery| {
        let fails = delivery.attempt == 1 && delivery.message.get().contains("\"n\":2");
        Some(if fails { Said::Again(Duration::from_millis(50)) } else { Said::Taken })
    });
    let mut ids = source.publish_many(5).await?;
    ids.insert(2, ids[2].clone());
    let listening = source.listen(Subscription { ordered: true, ..source.wanted() }, &sink);
    sink.wait_for(6).await;
    stop(listening).await?;
    ensure(sink.ids() == ids, || format!("the order was {:?}", sink.ids()))
}

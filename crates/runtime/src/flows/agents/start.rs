//! Starts: work of an agent becomes a run that is accepted.

use super::super::Flows;
use super::super::drive::Known;
use super::super::given::{Given, Origin, Starter};
use super::super::records::to_row;
use super::super::service::parent_of;
use super::super::start::{DEDUPE, MAX_DEPTH, json};
use super::journal::to_record;
use super::{KnownWork, Work};
use chrono::{DateTime, Utc};
use flow::engine::{Clock as _, Fact, Record};
use serde_json::Map;
use std::sync::Arc;
use store::runs::{Inserted, NewRecord, NewRun, Overflow, Refusal, Slots};
use tokio::sync::OwnedSemaphorePermit;
use tool::journal::Note;
use tool::{Around, Context, Error, NewWork, Result, RunId, RunKind};

impl Flows {
    /// Accepts the work; whoever waits for it has it begun here and now, if there is room.
    pub(in super::super) async fn accept_work(
        self: &Arc<Self>,
        cx: &Context,
        work: NewWork,
    ) -> Result<RunId> {
        let arguments = serde_json::Value::Object(work.arguments.clone());
        flow::engine::check_value(&arguments)
            .map_err(|failure| Error::invalid_input(format!("the arguments: {}", failure.message)))?;
        let (talk, conversation) = self.talk(cx, &work).await?;
        let given = Given {
            inputs: work.arguments.clone(),
            work: Some(Work::of(cx, &work, talk.clone())),
            inherited_secrets: secrets_around(cx),
            ..Given::default()
        };
        let slots = talk.map(|talk| one_at_a_time(talk.id));
        let around = around(cx, &work);
        let room = self.room(&work, around.as_ref());
        let new = NewRun { slots, conversation, ..self.new_work(cx, &work, &given, around).await? };
        let (queue, runs) = (self.options.queue_limit, self.store.runs());
        let inserted = match room {
            Room::Free(_) => {
                runs.insert_and_claim(&cx.tenant, &new, queue, self.options.runs_per_tenant).await?
            }
            Room::Beside => runs.insert_and_claim(&cx.tenant, &new, queue, u32::MAX).await?,
            Room::Later => runs.insert(&cx.tenant, &new, queue).await?,
        };
        let claimed = match inserted {
            Inserted::Refused(refusal) => return Err(refused(refusal)),
            Inserted::Created(run) | Inserted::Known(run) => return Ok(run.id),
            Inserted::Claimed(claimed) => claimed,
        };
        let run = claimed.run.id.clone();
        match room {
            Room::Free(permit) => {
                let known = KnownWork { given, cx: Some(cx.clone()) };
                drop(self.take_up(claimed, Some(Known::Agent(Box::new(known))), Some(permit)));
            }
            // It outlives the call that asks for it.
            Room::Beside | Room::Later => drop(self.take_up(claimed, None, None)),
        }
        Ok(run)
    }

    /// Whether the work is begun here and now.
    fn room(&self, work: &NewWork, around: Option<&Around>) -> Room {
        if self.stopping.is_cancelled() {
            return Room::Later;
        }
        if around.is_some() {
            return Room::Beside;
        }
        let permits = self.permits(RunKind::Agent).clone();
        let permit = work.is_waited_for.then(|| permits.try_acquire_owned().ok()).flatten();
        permit.map_or(Room::Later, Room::Free)
    }

    async fn new_work(
        &self,
        cx: &Context,
        work: &NewWork,
        given: &Given,
        around: Option<Around>,
    ) -> Result<NewRun> {
        let origin = Origin { around, ..self.origin_of(cx).await? };
        if origin.depth > MAX_DEPTH {
            let message =
                format!("runs stand more than {MAX_DEPTH} deep in one another; see that none runs itself");
            return Err(Error::unsupported(message));
        }
        let now = self.clock.now();
        let key = cx.idempotency_key();
        let own = |key: &str| format!("{}/{}/{key}", cx.caller.identity.kind(), cx.caller.identity.id());
        Ok(NewRun {
            id: Some(work.run.clone()),
            flow: RunKind::Agent.uri(&work.agent).to_string(),
            agent: Some(work.agent.clone()),
            version: None,
            source: None,
            inputs: json(given)?,
            // Whatever people and services say to an agent is sealed.
            is_secret: true,
            origin: json(&origin)?,
            caller: json(&Starter::asking(&cx.caller))?,
            parent: parent_of(cx),
            slots: None,
            dedupe: key.map(|key| (own(key), DEDUPE)),
            conversation: None,
            records: records_of(now, &work.notes),
        })
    }
}

/// What has happened already, from the beginning on.
fn records_of(now: DateTime<Utc>, notes: &[Note]) -> Vec<NewRecord> {
    let begun = Record {
        at: now,
        path: String::new(),
        attempt: 1,
        fact: Fact::Begun { inputs: Map::new(), vars: Map::new() },
    };
    let begun = (!notes.is_empty()).then_some(begun);
    let records = begun.into_iter().chain(notes.iter().map(|note| to_record(now, note.clone())));
    records.map(|record| to_row(&record)).collect()
}

/// Where a run finds room.
enum Room {
    /// Here, among those of agents.
    Free(OwnedSemaphorePermit),
    /// Here, beside them all: an agent around it has room already, and waits for it. Behind others that wait so, it would
    /// never have its turn.
    Beside,
    /// Wherever there is some.
    Later,
}

/// Who is around the work. It may have begun before it was to be kept, and stands inside of itself no more than any other.
fn around(cx: &Context, work: &NewWork) -> Option<Around> {
    cx.around.as_deref()?.before(&RunKind::Agent.uri(&work.agent).to_string())
}

/// What is secret in the run of a flow that asks stays so in the agent's.
fn secrets_around(cx: &Context) -> Vec<String> {
    cx.nested.as_ref().map_or_else(Vec::new, |nested| nested.step.secrets.expose().to_vec())
}

fn one_at_a_time(conversation: String) -> Slots {
    Slots { key: conversation, limit: 1, overflow: Overflow::Refuse }
}

fn refused(refusal: Refusal) -> Error {
    Error::rate_limited(match refusal {
        Refusal::QueueFull => "too many runs of this tenant wait to begin; try again when some have ended",
        Refusal::NoSlot => "another run uses this conversation; try again when it has ended",
    })
}

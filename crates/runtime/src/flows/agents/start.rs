//! Starts: work of an agent becomes a run that is accepted.

use super::super::Flows;
use super::super::drive::Known;
use super::super::given::{Given, Starter};
use super::super::records::to_row;
use super::super::service::parent_of;
use super::super::start::{DEDUPE, MAX_DEPTH, json};
use super::journal::to_record;
use super::{KnownWork, Work};
use flow::engine::Clock as _;
use std::sync::Arc;
use store::runs::{ClaimedRun, Inserted, NewRun, Overflow, Refusal, Slots};
use tool::{Context, Error, NewWork, Result, RunId, RunKind};

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
        let talk = self.talk(cx, &work).await?;
        let given = Given {
            inputs: work.arguments.clone(),
            work: Some(Work::of(cx, &work, talk.clone())),
            inherited_secrets: secrets_around(cx),
            ..Given::default()
        };
        let slots = talk.map(|talk| one_at_a_time(talk.id));
        let new = NewRun { slots, ..self.new_work(cx, &work, &given).await? };
        let permit = match work.is_waited_for && !self.stopping.is_cancelled() {
            true => self.permits.clone().try_acquire_owned().ok(),
            false => None,
        };
        let (queue, at_once) = (self.options.queue_limit, self.options.runs_per_tenant);
        let runs = self.store.runs();
        let inserted = match permit {
            Some(_) => runs.insert_and_claim(&cx.tenant, &new, queue, at_once).await?,
            None => runs.insert(&cx.tenant, &new, queue).await?,
        };
        Ok(match (inserted, permit) {
            (Inserted::Refused(refusal), _) => return Err(refused(refusal)),
            (Inserted::Claimed(claimed), Some(permit)) => {
                let run = claimed.run.id.clone();
                let known = KnownWork { given, cx: Some(cx.clone()) };
                drop(self.take_up(claimed, Some(Known::Agent(Box::new(known))), permit));
                run
            }
            (Inserted::Created(run) | Inserted::Known(run), _)
            | (Inserted::Claimed(ClaimedRun { run, .. }), None) => run.id,
        })
    }

    async fn new_work(&self, cx: &Context, work: &NewWork, given: &Given) -> Result<NewRun> {
        let mut origin = self.origin_of(cx).await?;
        // It may have begun before it was to be kept, and stands inside of itself no more than any other.
        let address = RunKind::Agent.uri(&work.agent).to_string();
        origin.around = cx.around.as_deref().and_then(|around| around.before(&address));
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
            flow: address,
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
            records: work.notes.iter().map(|note| to_row(&to_record(now, note.clone()))).collect(),
        })
    }
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

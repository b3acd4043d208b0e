//! What a run is to all who work on it: agents that hand over, and agents inside one another.

use super::super::Agent;
use super::super::guardrails::{Guardrails, Masks, Stage};
use super::super::limits::LimitSettings;
use super::super::settings::RunAs;
use super::notes::{Memory, Notes};
use super::progress::Pace;
use super::spent::Spent;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool::journal::{Journaled, Said};
use tool::{Around, Context, Error, Reason, Result, RunId, RunKind, Shared, Uri, new_id};

/// What model calls are called in a journal; with them goes what stands for what the model is not to see.
pub(super) const MODEL: &str = "model";

/// One run, from the first agent to the last.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    /// Of the agent that was asked first.
    pub(super) limits: LimitSettings,
    pub(super) masks: Mutex<Masks>,
    /// What frames of data are known by; nobody outside can guess it.
    pub(super) mark: String,
    /// How much progress was told, and when.
    pub(super) pace: Mutex<Pace>,
    /// Where it is written down.
    pub(super) notes: Notes,
    /// The conversation that it is a part of.
    pub(super) conversation: Option<String>,
    /// What was said there before.
    pub(super) history: Vec<Said>,
    /// How many turns before that are left out.
    pub(super) left_out: usize,
    /// The caller's own model answers although nobody waits here.
    pub(super) can_sample: bool,
    spent: Mutex<Spent>,
}

/// What nobody outside can guess.
pub(in super::super) fn new_mark() -> String {
    let random: String = new_id();
    random.rsplit('-').next().unwrap_or_default().to_owned()
}

impl Run {
    fn new(agent: &Agent, cx: &Context) -> Self {
        let id = RunId::generate();
        let notes = match agent.can_wait(cx) {
            true => Notes::InMemory(Memory::new(cx, &id, &agent.id)),
            false => Notes::Nowhere,
        };
        Self {
            id,
            limits: agent.limits.clone(),
            masks: Mutex::default(),
            mark: new_mark(),
            pace: Mutex::default(),
            notes,
            conversation: None,
            history: Vec::new(),
            left_out: 0,
            can_sample: false,
            spent: Mutex::default(),
        }
    }

    /// A run as its journal says.
    fn kept(agent: &Agent, cx: &Context, journaled: &Journaled) -> Self {
        let mut masks = Masks::default();
        if let Some(called) = journaled.journal.last_called(MODEL) {
            masks.restore(&called);
        }
        let run = Self {
            id: journaled.journal.run().clone(),
            masks: Mutex::new(masks),
            mark: journaled.mark.clone(),
            notes: Notes::Kept(journaled.journal.clone()),
            conversation: journaled.conversation.clone(),
            history: journaled.history.clone(),
            left_out: journaled.left_out,
            can_sample: journaled.can_sample,
            ..Self::new(agent, cx)
        };
        // Whatever a turn has read is in what it has answered, and in what came of that.
        if run.history.iter().any(|said| said.is_untrusted) {
            run.read_untrusted();
        }
        run
    }

    /// A result was read that is not trusted.
    pub(super) fn read_untrusted(&self) {
        self.spent().has_untrusted = true;
        if let Notes::Kept(journal) = &self.notes {
            journal.read_untrusted();
        }
    }

    /// What was used so far. The lock is never held while anything is awaited.
    pub(super) fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An agent at work, as those see it whom it calls.
#[derive(Debug)]
pub(super) struct AtWork {
    pub(super) run: Arc<Run>,
    /// The agents and flows inside one another, this one last.
    pub(super) around: Arc<Around>,
    /// The guardrails of every agent that it works for, and its own.
    pub(super) guards: Vec<Arc<Guardrails>>,
    /// What the agent before this one has said.
    pub(super) handover: Option<Handover>,
    /// Where in the run it stands, before the names of its steps.
    pub(super) path: String,
    /// Somebody inside the run has it called.
    pub(super) is_inside: bool,
    /// It works with the rights of whoever the run is for, and not with those that an agent around it lends.
    pub(super) has_callers_rights: bool,
}

/// What one agent says to the next.
#[derive(Debug, Clone)]
pub(super) struct Handover {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) reason: String,
    pub(super) message: Option<String>,
    /// What was said before, line by line.
    pub(super) transcript: Option<Vec<(Stage, String)>>,
}

impl AtWork {
    /// The work that a call begins or goes on with, and the context that it has for that.
    ///
    /// # Errors
    /// When the agent is at work already, or too many are.
    pub(super) fn begin(agent: &Agent, cx: &Context) -> Result<(Arc<Self>, Context)> {
        let outer = cx.shared.as_ref().filter(|_| cx.nested.is_some()).and_then(Shared::get::<Self>);
        let Some(outer) = outer else {
            return Self::outermost(agent, cx);
        };
        if let Some(most) = outer.run.limits.cost_usd.filter(|_| agent.price.is_none()) {
            let message = format!(
                "the run may cost {most} USD, and nobody knows what the agent '{}' costs; give it a 'price', or take \
                 'limits.cost_usd' out",
                agent.id
            );
            return Err(Error::upstream(message).because(Reason::CostLimit));
        }
        let is_handed_over = outer.handover.as_ref().is_some_and(|handover| handover.to == agent.id);
        let around = match is_handed_over {
            true => outer.around.clone(),
            false => Arc::new(entered(&outer.around, agent)?),
        };
        let work = Self {
            run: outer.run.clone(),
            around: around.clone(),
            guards: with(&outer.guards, &agent.guardrails),
            handover: outer.handover.clone().filter(|_| is_handed_over),
            path: outer.path.clone(),
            is_inside: true,
            has_callers_rights: outer.has_callers_rights,
        };
        Ok((Arc::new(work), Context { around: Some(around), ..cx.clone() }))
    }

    /// The work of the agent that was asked first, from the beginning or as far as its journal goes.
    fn outermost(agent: &Agent, cx: &Context) -> Result<(Arc<Self>, Context)> {
        // Behind a flow whoever was asked first says how deep it goes.
        let nobody = || Arc::new(Around::at_most(agent.limits.depth));
        let around = Arc::new(entered(&cx.around.clone().unwrap_or_else(nobody), agent)?);
        let journaled = cx.shared.as_ref().and_then(Shared::get::<Journaled>);
        let (run, instance) = match journaled {
            Some(journaled) => (Run::kept(agent, cx, &journaled), journaled.instance.clone()),
            None => (Run::new(agent, cx), cx.instance.clone()),
        };
        let work = Self {
            run: Arc::new(run),
            around: around.clone(),
            guards: vec![agent.guardrails.clone()],
            handover: None,
            path: String::new(),
            is_inside: false,
            has_callers_rights: true,
        };
        let cx = cx.for_at_most(Duration::from_millis(agent.limits.time_ms));
        // The journal is this work's alone.
        Ok((Arc::new(work), Context { shared: None, instance, around: Some(around), ..cx }))
    }

    /// The same work, for the agent that it is handed over to.
    pub(super) fn handed_over(&self, handover: Handover, at: &str) -> Arc<Self> {
        let around = Arc::new(self.around.handed_to(&address_of(&handover.to).to_string()));
        Arc::new(Self { around, handover: Some(handover), ..self.behind(at) })
    }

    /// The same work for calls inside, which are no handoff.
    pub(super) fn inside(&self, at: &str, run_as: RunAs) -> Shared {
        let has_callers_rights = self.has_callers_rights && run_as == RunAs::Caller;
        Shared::new(Arc::new(Self { has_callers_rights, ..self.behind(at) }))
    }

    /// The same work for whoever comes behind a step.
    fn behind(&self, at: &str) -> Self {
        Self {
            run: self.run.clone(),
            around: self.around.clone(),
            guards: self.guards.clone(),
            handover: None,
            path: format!("{at}/"),
            is_inside: true,
            has_callers_rights: self.has_callers_rights,
        }
    }
}

/// An agent's address, as others know it.
pub(super) fn address_of(agent: &str) -> Uri {
    RunKind::Agent.uri(agent)
}

/// Those around an agent that begins, and itself.
fn entered(around: &Around, agent: &Agent) -> Result<Around> {
    let address = address_of(&agent.id).to_string();
    if around.has(&address) {
        let chain = around.told();
        let message =
            format!("the agent '{}' is at work already ({chain}); it cannot be asked inside", agent.id);
        return Err(Error::unsupported(message));
    }
    around.with(&address).map_err(|error| error.of_service(&agent.id))
}

/// All of these, each once.
fn with(guards: &[Arc<Guardrails>], more: &Arc<Guardrails>) -> Vec<Arc<Guardrails>> {
    let mut guards = guards.to_vec();
    if !guards.iter().any(|known| Arc::ptr_eq(known, more)) {
        guards.push(more.clone());
    }
    guards
}

//! What a run is to all who work on it: agents that hand over, and agents inside one another.

use super::super::Agent;
use super::super::guardrails::{Guardrails, Masks};
use super::super::limits::LimitSettings;
use super::spent::Spent;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool::{Context, Error, Result, RunId, Shared, new_id};

/// One run, from the first agent to the last.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: RunId,
    /// Of the agent that was asked first.
    pub(super) limits: LimitSettings,
    pub(super) masks: Mutex<Masks>,
    /// What frames of data are known by; nobody outside can guess it.
    pub(super) mark: String,
    /// How many events were told.
    pub(super) events: AtomicU64,
    spent: Mutex<Spent>,
}

impl Run {
    fn new(limits: &LimitSettings) -> Self {
        let random: String = new_id();
        let mark = random.rsplit('-').next().unwrap_or_default().to_owned();
        Self {
            id: RunId::generate(),
            limits: limits.clone(),
            masks: Mutex::default(),
            mark,
            events: AtomicU64::new(0),
            spent: Mutex::default(),
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
    /// The agents inside one another, the innermost last.
    pub(super) agents: Vec<String>,
    /// Where in the run this work stands: of each call around it, and of each handoff, the turn and which call of the
    /// turn. Nobody else has the same, and a run that is repeated has it again.
    pub(super) place: String,
    /// The guardrails of every agent that this one answers for.
    pub(super) guards: Vec<Arc<Guardrails>>,
    /// What the agent before this one has said.
    pub(super) handover: Option<Handover>,
}

/// What one agent says to the next.
#[derive(Debug, Clone)]
pub(super) struct Handover {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) reason: String,
    pub(super) message: Option<String>,
    /// What was said before, as a text.
    pub(super) transcript: Option<String>,
}

impl AtWork {
    /// The work that a call begins or goes on with, and the context that it has for that.
    ///
    /// # Errors
    /// When the agent is at work already, or too many are.
    pub(super) fn begin(agent: &Agent, cx: &Context) -> Result<(Arc<Self>, Context)> {
        let around = cx.shared.as_ref().filter(|_| cx.nested.is_some()).and_then(Shared::get::<Self>);
        let Some(around) = around else {
            let work = Self {
                run: Arc::new(Run::new(&agent.limits)),
                agents: vec![agent.id.clone()],
                place: String::new(),
                guards: vec![agent.guardrails.clone()],
                handover: None,
            };
            let time = Duration::from_millis(agent.limits.time_ms);
            return Ok((Arc::new(work), cx.for_at_most(time)));
        };
        if around.handover.as_ref().is_some_and(|handover| handover.to == agent.id) {
            let mut guards = around.guards.clone();
            guards.push(agent.guardrails.clone());
            let (run, agents, handover) =
                (around.run.clone(), around.agents.clone(), around.handover.clone());
            let place = around.place.clone();
            return Ok((Arc::new(Self { run, agents, place, guards, handover }), cx.clone()));
        }
        if around.agents.contains(&agent.id) {
            let chain = around.agents.join(" → ");
            let message =
                format!("the agent '{}' is at work already ({chain}); it cannot be asked inside", agent.id);
            return Err(Error::unsupported(message));
        }
        let mut agents = around.agents.clone();
        agents.push(agent.id.clone());
        if agents.len() > around.run.limits.depth {
            let depth = around.run.limits.depth;
            return Err(Error::unsupported(format!("agents are more than {depth} deep inside one another")));
        }
        let (run, place, guards) = (around.run.clone(), around.place.clone(), vec![agent.guardrails.clone()]);
        Ok((Arc::new(Self { run, agents, place, guards, handover: None }), cx.clone()))
    }

    /// The same work, for the agent that it is handed over to by the call at that place.
    pub(super) fn handed_over(&self, handover: Handover, place: String) -> Arc<Self> {
        let mut agents = self.agents.clone();
        if let Some(last) = agents.last_mut() {
            last.clone_from(&handover.to);
        }
        let (run, guards) = (self.run.clone(), self.guards.clone());
        Arc::new(Self { run, agents, place, guards, handover: Some(handover) })
    }

    /// The same work for the call at that place, which is no handoff.
    pub(super) fn inside(&self, place: String) -> Shared {
        let (run, agents, guards) = (self.run.clone(), self.agents.clone(), self.guards.clone());
        Shared::new(Arc::new(Self { run, agents, place, guards, handover: None }))
    }
}

//! Who may do what to flows and runs. All their doors ask here, and by this table:
//!
//! | door | asks |
//! |---|---|
//! | `POST /flows/{id}/runs`, `POST /agents/{id}/runs`, either as a tool | [`may_run`], by the gateway for what is published |
//! | `POST /runs/{id}/retry`, `replay` | [`steer`] and [`may_repeat`], to repeat it as another version [`may_run_version`] |
//! | `POST /runs/{id}/cancel`, `pause`, `resume`, `signals/{name}` | [`steer`] |
//! | `POST /runs/bulk` | the right to manage; of the runs that [`find`] shows, for each [`may_touch_run`], to retry it [`may_repeat`] |
//! | `POST /approvals/{id}` | to be asked, and [`may_touch_run`] |
//! | `POST /flows/{id}/triggers/{name}/fire`, `rotate-secret` | [`may_trigger`] |
//! | `POST /flows/{id}/triggers/{name}/enable`, `disable` | the right to manage, and [`may_touch`] |
//! | `POST /flows/{id}/publish`, `rollback`, `enable`, `disable`, `PATCH`, `PUT /flows/{id}/draft`, `DELETE`, runs of the draft | [`may_change`] |
//! | `POST /flows` | the right to manage, and [`may_touch`] |
//! | `GET /flows`, `GET /flows/{id}` | [`sees_flow`], and [`sees_text`] for more than what a tool shows |
//! | `GET /flows/{id}/versions`, `diff`, `references`, `triggers` | [`may_see_text`] |
//! | `GET /runs…` | [`find`], or a list of what that shows |
//! | `GET /approvals` | for each [`may_touch_run`], and to be asked or to see the run ([`sees`]); to be asked where one only calls |

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use gateway::policy::{is_listed, permits_named, permits_version};
use runtime::flows::{Starter, address_of, tool_of, tool_of_agent};
use store::flows::Flow;
use store::runs::{Listed, Run, RunFilter, Subject};
use tool::{RunId, RunKind, Scope};

/// Whoever has a flow run, by whichever way, must be allowed to call it.
pub(in crate::manage) fn may_run(signed_in: &SignedIn, flow: &str) -> tool::Result<()> {
    permits_named(&signed_in.caller, flow, &RunKind::Flow.uri(flow).to_string())
}

/// The same for one version of it, which is an option of the call.
pub(in crate::manage) fn may_run_version(signed_in: &SignedIn, flow: &str, number: i64) -> tool::Result<()> {
    let version = u32::try_from(number).map_err(|_| tool::Error::missing("there is no such version"))?;
    permits_version(&signed_in.caller, &RunKind::Flow.uri(flow), version)
}

/// The same for what has run already: a flow or an agent.
pub(in crate::manage) fn may_repeat(signed_in: &SignedIn, run: &Run) -> tool::Result<()> {
    permits_named(&signed_in.caller, &tool_of(run), &address_of(run))
}

/// A list of what may be called holds for all that is done to a flow, also by those who call nothing.
pub(in crate::manage) fn may_touch(signed_in: &SignedIn, flow: &str) -> tool::Result<()> {
    if signed_in.caller.allow.is_empty() { Ok(()) } else { may_run(signed_in, flow) }
}

/// The same for what is done to a run.
pub(in crate::manage) fn may_touch_run(signed_in: &SignedIn, run: &Run) -> tool::Result<()> {
    if signed_in.caller.allow.is_empty() { Ok(()) } else { may_repeat(signed_in, run) }
}

/// Whoever fires a trigger, or knows its secret, has the flow run.
pub(in crate::manage) fn may_trigger(signed_in: &SignedIn, flow: &str) -> Result<()> {
    signed_in.may_manage()?;
    Ok(may_run(signed_in, flow)?)
}

/// Whoever changes what others run may call it.
pub(in crate::manage) fn may_change(signed_in: &SignedIn, flow: &Flow) -> Result<()> {
    signed_in.may_manage()?;
    Ok(may_touch(signed_in, &flow.id)?)
}

/// What is not on the list of somebody who has one is not there for them.
pub(in crate::manage) fn sees_flow(signed_in: &SignedIn, flow: &str) -> bool {
    is_listed(&signed_in.caller, flow, &RunKind::Flow.uri(flow).to_string())
}

/// Those who only call see of a flow what a tool shows; its text is for those who look after it.
pub(in crate::manage) fn sees_text(signed_in: &SignedIn) -> bool {
    signed_in.only_own().is_none()
}

/// The same of one flow, or a refusal.
pub(in crate::manage) fn may_see_text(signed_in: &SignedIn, flow: &str) -> Result<()> {
    signed_in.may_read()?;
    if sees_text(signed_in) {
        return if sees_flow(signed_in, flow) { Ok(()) } else { Err(Problem::not_found("flow")) };
    }
    let name = &signed_in.caller.name;
    Err(Problem::forbidden(format!(
        "{name} may call flows, and not read their text; use a key with role viewer"
    )))
}

/// The run, if it is there for this caller.
pub(in crate::manage) async fn find(state: &Shared, signed_in: &SignedIn, id: &RunId) -> Result<Run> {
    signed_in.may_read()?;
    let run = state.store.runs().get(&signed_in.tenant, id).await?;
    if sees(signed_in, &run) { Ok(run) } else { Err(Problem::not_found("run")) }
}

/// What was said to an agent is for whoever said it, and for managers; what is not on somebody's list for whoever started it.
pub(in crate::manage) fn sees(signed_in: &SignedIn, run: &Run) -> bool {
    let is_on_list = is_listed(&signed_in.caller, &tool_of(run), &address_of(run));
    is_on_list && may_know_of(signed_in, run) || is_own(signed_in, run)
}

/// The same, whatever is on a list.
fn may_know_of(signed_in: &SignedIn, run: &Run) -> bool {
    let is_private = run.agent().is_some() && !signed_in.caller.may(Scope::Manage);
    !is_private && signed_in.only_own().is_none() || is_own(signed_in, run)
}

/// The runs that somebody may see in lists: the same that [`find`] shows one by one.
pub(in crate::manage) async fn seen_by(state: &Shared, signed_in: &SignedIn) -> Result<RunFilter> {
    let own = Starter::prefix(&signed_in.caller.identity);
    let listed = match signed_in.caller.allow.is_empty() {
        true => None,
        false => {
            let mut all = state.store.runs().subjects(&signed_in.tenant).await?;
            all.retain(|Subject { flow, agent }| match agent {
                Some(agent) => is_listed(&signed_in.caller, &tool_of_agent(agent), flow),
                None => sees_flow(signed_in, flow),
            });
            let flows = all.into_iter().map(|subject| subject.flow).collect();
            Some(Listed { flows, caller_prefix: own.clone() })
        }
    };
    Ok(RunFilter {
        agents_caller_prefix: (!signed_in.caller.may(Scope::Manage)).then(|| own.clone()),
        caller_prefix: signed_in.only_own().map(|_| own),
        listed,
        ..RunFilter::default()
    })
}

/// The run, if this caller may do something about it: whoever started it may, and managers who may call its flow.
pub(in crate::manage) async fn steer(state: &Shared, signed_in: &SignedIn, id: &RunId) -> Result<Run> {
    signed_in.may_read()?;
    let run = state.store.runs().get(&signed_in.tenant, id).await?;
    if !may_know_of(signed_in, &run) {
        return Err(Problem::not_found("run"));
    }
    let is_own = signed_in.caller.may(Scope::Call) && is_own(signed_in, &run);
    if !is_own {
        signed_in.may_manage()?;
        may_touch_run(signed_in, &run)?;
    }
    Ok(run)
}

fn is_own(signed_in: &SignedIn, run: &Run) -> bool {
    Starter::read(&run.caller).identity() == signed_in.caller.identity
}

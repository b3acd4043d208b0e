//! Whoever asked an agent may do in its run what they may do now: a key that is gone has its run end.

use super::super::Flows;
use super::super::given::Starter;
use store::runs::Run;
use store::{ErrorKind, Status};
use tool::{Caller, Error, Identity, Result};

/// Who makes the calls of a run that is taken up; or that nobody may any more.
pub(super) async fn now(flows: &Flows, run: &Run) -> Result<Result<Caller>> {
    let kept = Starter::read(&run.caller).acting();
    let name = kept.name.clone();
    let gone = || Err(Error::denied(format!("{name}, on whose behalf the run works, may not call anything any more")));
    let found = match &kept.identity {
        Identity::Key(id) => {
            let key = flows.answered(flows.store.keys().get(&run.tenant, id)).await;
            key.map(|key| {
                let is_over = key.expires_at.is_some_and(|end| end <= flows.clock.now_ms());
                let caller = Caller { role: key.role, scopes: key.scopes, allow: key.allow, limits: key.limits, ..kept };
                (key.status == Status::Active && !is_over).then_some(caller)
            })
        }
        Identity::User(id) => {
            let user = flows.answered(flows.store.users().get(&run.tenant, id)).await;
            user.map(|user| (user.status == Status::Active).then_some(Caller { role: user.role, ..kept }))
        }
        _ => return Ok(Ok(kept)),
    };
    match found {
        Ok(found) => Ok(found.map_or_else(gone, Ok)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(gone()),
        Err(error) => Err(error.into()),
    }
}

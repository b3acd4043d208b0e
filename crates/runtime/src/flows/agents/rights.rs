//! Whoever asked an agent may do in its run what they may do now: a key that is gone has its run end.

use super::super::Flows;
use super::super::given::Starter;
use store::runs::Run;
use store::{ErrorKind, Status};
use tool::{Caller, Error, Identity, InstanceId, Result, Role, Scope, TenantId};

/// Who makes the calls of a run that is taken up; or that nobody may any more.
pub(super) async fn now(flows: &Flows, run: &Run) -> Result<Result<Caller>> {
    let kept = Starter::read(&run.caller).acting();
    let mut found = find(flows, &run.tenant, &kept).await?;
    let home = TenantId::default_tenant();
    if found.is_none() && run.tenant != home {
        // Admins of the platform work in every tenant.
        found = find(flows, &home, &kept).await?.filter(|caller| caller.role == Role::Admin);
    }
    let gone = || {
        let message = format!("{}, on whose behalf the run works, may not call anything any more", kept.name);
        Err(Error::denied(message))
    };
    Ok(found.map_or_else(gone, Ok))
}

/// An instance holds no more than its owner does now, and nothing once it is closed.
async fn of_instance(
    flows: &Flows,
    tenant: &TenantId,
    kept: &Caller,
    id: &InstanceId,
) -> Result<Option<Caller>> {
    let instance = match flows.answered(flows.store.instances().get(tenant, id)).await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if instance.status != Status::Active {
        return Ok(None);
    }
    let owners = [instance.owner.parse().map(Identity::Key), instance.owner.parse().map(Identity::User)];
    for identity in owners.into_iter().flatten() {
        let owner = Caller { identity, ..kept.clone() };
        if let Some(owner) = Box::pin(find(flows, tenant, &owner)).await? {
            let caller = Caller { allow: owner.allow.clone(), limits: owner.limits, ..kept.clone() };
            return Ok(owner.may(Scope::Call).then_some(caller));
        }
    }
    // Where no key and no user was ever named as the owner, nobody can have lost anything.
    let has_owner = !instance.owner.is_empty() && instance.owner != Identity::Local.id();
    Ok((!has_owner).then(|| kept.clone()))
}

/// The caller with the rights of this moment, if the tenant has such a key or user and it may be used.
async fn find(flows: &Flows, tenant: &TenantId, kept: &Caller) -> Result<Option<Caller>> {
    let found = match &kept.identity {
        Identity::Key(id) => {
            let key = flows.answered(flows.store.keys().get(tenant, id)).await;
            key.map(|key| {
                let is_over = key.expires_at.is_some_and(|end| end <= flows.clock.now_ms());
                let (role, scopes, allow, limits) = (key.role, key.scopes, key.allow, key.limits);
                let caller = Caller { role, scopes, allow, limits, ..kept.clone() };
                (key.status == Status::Active && !is_over).then_some(caller)
            })
        }
        Identity::User(id) => {
            let user = flows.answered(flows.store.users().get(tenant, id)).await;
            let caller = |role| Caller { role, ..kept.clone() };
            user.map(|user| (user.status == Status::Active).then(|| caller(user.role)))
        }
        Identity::Instance(id) => return of_instance(flows, tenant, kept, id).await,
        Identity::Local | Identity::System => return Ok(Some(kept.clone())),
    };
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => Ok(found?),
    }
}

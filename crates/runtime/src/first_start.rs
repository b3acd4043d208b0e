//! The first start: a tenant and a key, so that there is someone to sign in as.

use store::{ErrorKind, KeyChanges, NewKey, NewTenant, Status, Store};
use tool::{Limits, Role, Secret, TenantId};

/// Makes the tenant `default` and an admin key where they are missing. With `given`, that text
/// is an admin key without restrictions from now on, whatever it was before. Returns a key that was made, to be shown once.
///
/// # Errors
/// When the store fails.
pub async fn prepare(store: &Store, given: Option<&Secret>) -> store::Result<Option<Secret>> {
    let tenant = TenantId::default_tenant();
    let new = NewTenant {
        id: tenant.clone(),
        name: "Default".into(),
        limits: Limits::default(),
        allow_private_network: None,
        table_quota_bytes: None,
    };
    unless_there(store.tenants().create(new).await)?;
    if let Some(given) = given {
        unless_there(store.keys().insert(&tenant, admin_key("MCP_ALL_IN_ONE_ADMIN_TOKEN"), given).await)?;
        restore(store, given).await?;
        return Ok(None);
    }
    let has_admin = store.keys().all_active().await?.iter().any(|key| key.role == Role::Admin);
    if has_admin {
        return Ok(None);
    }
    let (_, secret) = store.keys().create(&tenant, admin_key("admin")).await?;
    Ok(Some(secret))
}

/// Gives the key of this text everything back that was taken from it, and says so.
async fn restore(store: &Store, given: &Secret) -> store::Result<()> {
    let key = store.keys().find(given).await?;
    let is_whole = key.role == Role::Admin
        && key.status == Status::Active
        && key.scopes.is_empty()
        && key.allow.is_empty()
        && key.limits == Limits::default()
        && key.bu_code.is_none()
        && key.expires_at.is_none();
    if is_whole {
        return Ok(());
    }
    let changes = KeyChanges {
        name: None,
        role: Some(Role::Admin),
        scopes: Some(Vec::new()),
        allow: Some(Vec::new()),
        limits: Some(Limits::default()),
        bu_code: Some(None),
        status: Some(Status::Active),
        expires_at: Some(None),
    };
    let restored = store.keys().update(&key.tenant, &key.id, changes, None).await?;
    tracing::warn!(
        key = restored.id.as_str(),
        "the key '{}' is restored to an active admin key without restrictions, because MCP_ALL_IN_ONE_ADMIN_TOKEN names it",
        restored.name
    );
    Ok(())
}

fn admin_key(name: &str) -> NewKey {
    NewKey::new(name, Role::Admin)
}

fn unless_there<T>(result: store::Result<T>) -> store::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
        other => other.map(|_| ()),
    }
}

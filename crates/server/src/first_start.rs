//! The first start: a tenant and a key, so that there is someone to sign in as.

use store::{ErrorKind, NewKey, NewTenant, Store};
use tool::{Limits, Role, Secret, TenantId};

/// Makes the tenant `default` and an admin key where they are missing. With `given`, that text
/// is an admin key from now on. Returns a key that was made, to be shown once.
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
        return Ok(None);
    }
    let has_admin = store.keys().all_active().await?.iter().any(|key| key.role == Role::Admin);
    if has_admin {
        return Ok(None);
    }
    let (_, secret) = store.keys().create(&tenant, admin_key("admin")).await?;
    Ok(Some(secret))
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

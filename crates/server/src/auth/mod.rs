//! Sign-in: who a request comes from, answered from memory.

mod access;
mod attempts;
mod grant;
mod hashing;
mod now;
mod owners;
pub(crate) mod session;
mod token;
mod until_ended;

pub(crate) use access::{Access, AccessWatch, Credential, Ended};
pub(crate) use attempts::Attempts;
pub(crate) use grant::Grant;
pub(crate) use hashing::Hashing;
pub(crate) use session::BrowserSession;
pub(crate) use token::{BrowserToken, Purpose};

use crate::Shared;
use crate::error::{Problem, Result};
use crate::json::Query;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use axum::extract::FromRequestParts;
use chrono::Utc;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use owners::Owners;
use runtime::Snapshot;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use store::{Instance, KeyHash, Status, Store, User};
use token::Tokens;
use tokio::sync::watch;
use tool::{
    Caller, CallerHeaders, Identity, InstanceId, KeyId, Limits, Role, Scope, Secret, TenantId, UserId,
};

/// Everyone who may come in, swapped as a whole when anything about that changes.
pub(crate) struct Auth {
    tokens: Tokens,
    /// Cookies ignore ports: two servers on one machine must not overwrite each other's.
    cookie_name: String,
    accounts: ArcSwap<Accounts>,
    /// Ticks when they were swapped, for whoever stays.
    changes: watch::Sender<u64>,
    /// Ticks when a browser signed out here.
    sign_outs: watch::Sender<u64>,
}

#[derive(Default)]
struct Accounts {
    keys: HashMap<KeyHash, KeyEntry>,
    key_hashes: HashMap<KeyId, KeyHash>,
    users: HashMap<UserId, User>,
    instances: HashMap<KeyHash, (SignedIn, InstanceId)>,
    instance_hashes: HashMap<InstanceId, KeyHash>,
    /// Instances whose owners may not call any more.
    closed: HashSet<InstanceId>,
    /// Those who could come in before, by id, and cannot now.
    gone: HashSet<String>,
}

struct KeyEntry {
    tenant: TenantId,
    caller: Arc<Caller>,
    expires_at_ms: Option<i64>,
}

impl Auth {
    /// Loads everyone.
    pub(crate) async fn load(store: &Store, key: &Secret) -> store::Result<Self> {
        let KeyHash([a, b, c, d, ..]) = KeyHash::of(&format!("cookie name {}", key.expose()));
        let cookie_name = format!("aio_{:08x}", u32::from_be_bytes([a, b, c, d]));
        let auth = Self {
            tokens: Tokens::new(key),
            cookie_name,
            accounts: ArcSwap::default(),
            changes: watch::Sender::new(0),
            sign_outs: watch::Sender::new(0),
        };
        auth.reload(store).await?;
        Ok(auth)
    }
}

#[async_trait]
impl Snapshot for Auth {
    /// Keys and users of disabled tenants are not among everyone.
    async fn reload(&self, store: &Store) -> store::Result<()> {
        // Instances come first: whoever makes one is there before it.
        let instances = store.instances().all_active().await?;
        let keys = store.keys().all_active().await?;
        let users = store.users().all_active().await?;
        let (instances, closed) = Owners::of(&keys, &users).doors(instances, &self.accounts.load().closed);
        let key_hashes = keys.iter().map(|key| (key.id.clone(), key.hash)).collect();
        let keys = keys.into_iter().map(|key| {
            let caller = Caller {
                identity: Identity::Key(key.id),
                name: key.name,
                role: key.role,
                scopes: key.scopes,
                allow: key.allow,
                limits: key.limits,
                bu_code: key.bu_code,
            };
            let entry =
                KeyEntry { tenant: key.tenant, caller: Arc::new(caller), expires_at_ms: key.expires_at };
            (key.hash, entry)
        });
        let users = users.into_iter().map(|user| (user.id.clone(), user));
        let (keys, users) = (keys.collect(), users.collect());
        let instance_hashes = instances.iter().map(|(hash, (_, id))| (id.clone(), *hash)).collect();
        let gone = HashSet::new();
        let now = Accounts { keys, key_hashes, users, instances, instance_hashes, closed, gone };
        self.accounts.store(Arc::new(now.after(&self.accounts.load())));
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }
}

impl Auth {
    /// The MCP instance with this key, and who comes through its door.
    pub(crate) fn instance(&self, key: &str) -> Result<(SignedIn, InstanceId)> {
        let accounts = self.accounts.load();
        let found = accounts.instances.get(&KeyHash::of(key)).filter(|(owner, _)| !owner.has_ended());
        found.cloned().ok_or_else(|| Problem::not_found("MCP instance"))
    }

    /// A token for a person who has just signed in, and when it ends.
    pub(crate) fn issue(&self, user: &User) -> Result<(String, i64)> {
        self.tokens.issue(user)
    }

    /// Who holds this key or token.
    pub(crate) fn identify(&self, credential: &str) -> Result<SignedIn> {
        let accounts = self.accounts.load();
        if let Some(entry) = accounts.keys.get(&KeyHash::of(credential)) {
            let expired = || Problem::unauthenticated("the key has expired; ask for a new one");
            return entry.signed_in().ok_or_else(expired);
        }
        let unknown = || Problem::unauthenticated("the key or token is not valid here");
        let claims = self.tokens.verify(credential).ok_or_else(unknown)?;
        let user = accounts.users.get(claims.sub.as_str()).filter(|user| claims.is_for(user));
        user.and_then(SignedIn::as_user).ok_or_else(unknown)
    }

    /// The name of the cookie that browsers stay signed in by.
    pub(crate) fn cookie_name(&self) -> &str {
        &self.cookie_name
    }

    /// A token for the browser of somebody who has signed in with a key or as a user.
    pub(crate) fn issue_browser(&self, purpose: Purpose, who: &SignedIn) -> Result<BrowserToken> {
        let identity = &who.caller.identity;
        let user = self.accounts.load().users.get(identity.id()).map(|user| user.tokens_valid_after);
        self.tokens.issue_browser(purpose, identity, user.unwrap_or_default())
    }

    /// Whose browser holds this token. It ends with the key or the user that it was issued for.
    pub(crate) fn browser(&self, purpose: Purpose, token: &str) -> Option<BrowserSession> {
        let claims = self.tokens.verify_browser(purpose, token)?;
        let accounts = self.accounts.load();
        let signed_in = match claims.kind.as_str() {
            "key" => {
                let hash = accounts.key_hashes.get(claims.sub.as_str())?;
                accounts.keys.get(hash).and_then(KeyEntry::signed_in)
            }
            _ => {
                let user = accounts.users.get(claims.sub.as_str());
                user.filter(|user| user.tokens_valid_after == claims.epoch).and_then(SignedIn::as_user)
            }
        }?;
        Some(BrowserSession { signed_in, ends_at_ms: claims.exp * 1000, id: claims.jti })
    }
}

impl KeyEntry {
    /// Whoever holds the key, until it expires.
    fn signed_in(&self) -> Option<SignedIn> {
        let (tenant, caller) = (self.tenant.clone(), self.caller.clone());
        let signed_in = SignedIn { tenant, caller, expires_at_ms: self.expires_at_ms };
        (!signed_in.has_ended()).then_some(signed_in)
    }
}

/// A request's caller, and the tenant it acts on: its own, or the one that an admin names in the query.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) tenant: TenantId,
    pub(crate) caller: Arc<Caller>,
    /// When the key ends, or that of an instance's owner; a person's token is renewed by signing in again.
    pub(crate) expires_at_ms: Option<i64>,
}

impl SignedIn {
    /// The person, if they may come in.
    pub(crate) fn as_user(user: &User) -> Option<Self> {
        let caller = Caller {
            identity: Identity::User(user.id.clone()),
            name: user.username.clone(),
            role: user.role,
            scopes: Vec::new(),
            allow: Vec::new(),
            limits: Limits::default(),
            bu_code: user.bu_code.clone(),
        };
        let signed_in = Self { tenant: user.tenant.clone(), caller: Arc::new(caller), expires_at_ms: None };
        (user.status == Status::Active).then_some(signed_in)
    }

    fn has_ended(&self) -> bool {
        self.expires_at_ms.is_some_and(|end| end <= Utc::now().timestamp_millis())
    }

    /// What it may give to others, and no more.
    pub(crate) fn holds(&self) -> Grant {
        let Caller { role, scopes, allow, limits, bu_code, .. } = &*self.caller;
        let (scopes, allow, bu_code) = (scopes.clone(), allow.clone(), bu_code.clone());
        Grant { role: *role, scopes, allow, limits: *limits, bu_code, expires_at_ms: self.expires_at_ms }
    }

    /// May look at what is configured.
    pub(crate) fn may_read(&self) -> Result<()> {
        self.must(Scope::Read, "read this")
    }

    /// May call tools.
    pub(crate) fn may_call(&self) -> Result<()> {
        self.must(Scope::Call, "call tools")
    }

    /// May change what is configured.
    pub(crate) fn may_manage(&self) -> Result<()> {
        self.must(Scope::Manage, "see or change this")
    }

    /// May make Tools: those who only call manage their own. A key with an allow-list may not, as
    /// a Tool of its own could lead around the list.
    pub(crate) fn may_make_tools(&self) -> Result<()> {
        let caller = &self.caller;
        let is_in_scope = caller.scopes.is_empty() || caller.scopes.contains(&Scope::Manage);
        if caller.role != Role::Caller || !is_in_scope {
            self.may_manage()?;
        }
        self.must_have_no_allow_list()
    }

    /// May make and change services and their tools. A key with an allow-list may not: what its list names could
    /// become something else.
    pub(crate) fn may_make_services(&self) -> Result<()> {
        self.may_manage()?;
        self.must_have_no_allow_list()
    }

    fn must_have_no_allow_list(&self) -> Result<()> {
        if self.caller.allow.is_empty() {
            return Ok(());
        }
        Err(Problem::forbidden(format!(
            "{} has an allow-list, and what it creates could get around that list; use a key without one",
            self.caller.name
        )))
    }

    /// May make MCP instances and say what they offer: whoever has an instance's key has no limits. An instance works
    /// for the unit of whoever made it.
    pub(crate) fn may_make_instances(&self) -> Result<()> {
        self.may_make_tools()?;
        let instance = Grant { bu_code: self.caller.bu_code.clone(), ..Grant::of_instance() };
        self.holds().must_cover_all(&instance, "the key of an MCP instance")
    }

    /// May change an instance, which works for the unit of its owner: who is bound to one changes their own alone.
    pub(crate) fn may_change_instance(&self, instance: &Instance) -> Result<()> {
        self.may_make_instances()?;
        match &self.caller.bu_code {
            Some(unit) if instance.owner != self.caller.identity.id() => Err(Problem::forbidden(format!(
                "this MCP instance is somebody else's and may work for another unit than '{unit}', your own; ask its owner"
            ))),
            _ => Ok(()),
        }
    }

    /// The id of those who only call, and see only what is their own. Viewers look at everything
    /// and change nothing; managers manage everything.
    pub(crate) fn only_own(&self) -> Option<String> {
        (self.caller.role == Role::Caller).then(|| self.caller.identity.id().to_owned())
    }

    /// May manage the platform.
    pub(crate) fn may_administer(&self) -> Result<()> {
        self.may_manage()?;
        self.may_grant(Role::Admin)
    }

    /// May give this role to someone: nobody gives more than they have.
    pub(crate) fn may_grant(&self, role: Role) -> Result<()> {
        if self.caller.role >= role {
            return Ok(());
        }
        Err(Problem::forbidden(format!("that needs the role {}; you are {}", role.as_str(), self.role())))
    }

    /// The tenant that a body names, or the caller's own.
    pub(crate) fn tenant_or(&self, named: Option<TenantId>) -> Result<TenantId> {
        match named {
            Some(named) if named != self.tenant && self.caller.role < Role::Admin => {
                Err(Problem::not_found("tenant"))
            }
            Some(named) => Ok(named),
            None => Ok(self.tenant.clone()),
        }
    }

    fn must(&self, scope: Scope, what: &str) -> Result<()> {
        if self.caller.may(scope) {
            return Ok(());
        }
        let name = &self.caller.name;
        if self.caller.role >= scope.role() {
            let missing = scope.as_str();
            let detail = format!("{name} may not {what}: its scopes do not have '{missing}'");
            return Err(Problem::forbidden(detail));
        }
        Err(Problem::forbidden(format!("{name} may not {what} (role {})", self.role())))
    }

    fn role(&self) -> &'static str {
        self.caller.role.as_str()
    }
}

#[derive(serde::Deserialize)]
struct TenantQuery {
    #[serde(alias = "tenant")]
    tenant_id: Option<String>,
}

impl FromRequestParts<Shared> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self> {
        let mut signed_in = match parts.extensions.get::<BrowserSession>() {
            Some(session) if !Self::is_tried(&parts.headers) => session.signed_in.clone(),
            _ => state.auth.identify(credential(parts)?)?,
        };
        let Query(TenantQuery { tenant_id }) = Query::from_request_parts(parts, state).await?;
        if let Some(id) = tenant_id {
            let id = id.parse().map_err(|_| Problem::not_found("tenant"))?;
            signed_in.tenant = signed_in.tenant_or(Some(id))?;
            // One that is disabled is not loaded, and there all the same.
            if state.gateway.catalog().tenant(&signed_in.tenant).is_none() {
                state.store.tenants().get(&signed_in.tenant).await?;
            }
        }
        Ok(signed_in)
    }
}

impl SignedIn {
    /// Somebody on this machine who shows no key, where none is asked for: may call, and nothing else.
    pub(crate) fn stranger() -> Self {
        let caller = Caller {
            name: "anybody on this machine".into(),
            role: Role::Caller,
            scopes: vec![Scope::Call],
            ..Caller::local()
        };
        Self { tenant: TenantId::default_tenant(), caller: Arc::new(caller), expires_at_ms: None }
    }

    /// The request shows something to sign in with.
    pub(crate) fn is_tried(headers: &HeaderMap) -> bool {
        headers.contains_key(AUTHORIZATION) || headers.contains_key(&API_KEY)
    }
}

/// What a call may hand on from its request: everything but what signed the caller in here, which
/// no service may collect. Those who want to hand on `Authorization` sign in with `X-API-Key`.
pub(crate) fn caller_headers(headers: Arc<HeaderMap>) -> CallerHeaders {
    let signed_in_by = if headers.contains_key(&API_KEY) { API_KEY } else { AUTHORIZATION };
    CallerHeaders::new(headers, signed_in_by)
}

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// `Authorization: Bearer …` or `X-API-Key: …`.
pub(crate) fn credential(parts: &Parts) -> Result<&str> {
    let header = |name: &HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(key) = header(&API_KEY) {
        return Ok(key);
    }
    let missing = || Problem::unauthenticated("send 'Authorization: Bearer <key>' or 'X-API-Key: <key>'");
    let bearer = header(&AUTHORIZATION).ok_or_else(missing)?;
    let (scheme, token) = bearer.split_once(' ').ok_or_else(missing)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(missing()) }
}

//! Whose door it is: the tenant's, for those who sign in, one of its services', or an instance's, for those who hold
//! its key.

use super::http::headers::check_stranger;
use crate::Shared;
use crate::auth::{Access, Credential, SignedIn, credential};
use crate::error::{Code, Problem, Result};
use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use std::sync::Arc;
use tool::{InstanceId, SearchMode, Secret, TenantId};

/// Who comes to a door. The key of an instance stands in the path, and is the sign-in.
pub(crate) struct DoorAccess {
    pub(crate) signed_in: SignedIn,
    /// For as long as they stay.
    pub(crate) access: Access,
    /// The instance whose tools are all that is offered.
    pub(crate) instance: Option<InstanceId>,
    /// The service whose tools are all that is offered.
    pub(crate) service: Option<Arc<str>>,
    /// How tools are to be told of, where the URL says so.
    pub(crate) tool_search: Option<SearchMode>,
}

impl FromRequestParts<Shared> for DoorAccess {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self> {
        let wanted = wanted_tools(parts)?;
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| Problem::not_found("MCP instance"))?;
        let param = |wanted: &str| params.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        if let Some(key) = param("api_key") {
            let (signed_in, instance) = state.auth.instance(key)?;
            let access = Access::by(&state.auth, Credential::Instance(Secret::new(key)), &signed_in.tenant);
            let (instance, service) = (Some(instance), None);
            return Ok(Self { signed_in, access, instance, service, tool_search: wanted });
        }
        let named: Option<Arc<str>> = param("service").map(Into::into);
        // A service's own door tells what the service does, unless asked otherwise.
        let tool_search = wanted.or(named.as_ref().map(|_| SearchMode::Off));
        let (signed_in, access) = sign_in(parts, state).await?;
        let is_default = signed_in.tenant == TenantId::default_tenant();
        let service = match named {
            Some(service) => {
                let catalog = state.gateway.catalog().tenant(&signed_in.tenant).unwrap_or_default();
                let missing = |error: tool::Error| Problem::new(Code::NotFound, error.message());
                catalog.with_own_door(&service).map_err(missing)?;
                Some(service)
            }
            None => state.options.only_service.clone().filter(|_| is_default),
        };
        Ok(Self { signed_in, access, instance: None, service, tool_search })
    }
}

/// `?tools=search` or `?tools=all`, whatever the door would do otherwise.
fn wanted_tools(parts: &Parts) -> Result<Option<SearchMode>> {
    let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let wanted = pairs.filter(|(key, _)| key == "tools").map(|(_, value)| value).last();
    match wanted.as_deref() {
        None => Ok(None),
        Some("search") => Ok(Some(SearchMode::On)),
        Some("all") => Ok(Some(SearchMode::Off)),
        Some(_) => Err(Problem::bad_request("'tools' in the URL is 'search' or 'all'")),
    }
}

/// Whoever shows a key is signed in by it; whoever shows none is let in where none is asked for.
async fn sign_in(parts: &mut Parts, state: &Shared) -> Result<(SignedIn, Access)> {
    if state.options.asks_no_key && !SignedIn::is_tried(&parts.headers) {
        check_stranger(parts)?;
        return Ok((SignedIn::stranger(), Access::endless()));
    }
    let signed_in = SignedIn::from_request_parts(parts, state).await?;
    let key = Credential::Key(Secret::new(credential(parts)?));
    let access = Access::by(&state.auth, key, &signed_in.tenant);
    Ok((signed_in, access))
}

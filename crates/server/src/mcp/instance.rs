//! Whose door it is: the tenant's, for those who sign in, or an instance's, for those who hold its key.

use crate::Shared;
use crate::auth::SignedIn;
use crate::manage::error::{Problem, Result};
use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use tool::InstanceId;

/// Who comes to a door. The key of an instance stands in the path, and is the sign-in.
pub(crate) struct Visitor {
    pub(crate) signed_in: SignedIn,
    /// The instance whose tools are all that is offered.
    pub(crate) instance: Option<InstanceId>,
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| Problem::not_found("MCP instance"))?;
        let key = params.iter().find(|(name, _)| *name == "api_key").map(|(_, key)| key.to_owned());
        match key {
            Some(key) => {
                let (signed_in, instance) = state.auth.instance(&key)?;
                Ok(Self { signed_in, instance: Some(instance) })
            }
            None => {
                let signed_in = SignedIn::from_request_parts(parts, state).await?;
                Ok(Self { signed_in, instance: None })
            }
        }
    }
}

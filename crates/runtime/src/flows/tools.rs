//! What is known about tools while a draft is run: its parameters are bound as publishing would.

use super::Flows;
use flow::{Bound, Lookup, Tools, Validation, validate};
use gateway::Gateway;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tool::{CallTools as _, Caller, Context, Door, ErrorKind, Role, Target, TenantId, Uri};

struct OfTenant {
    gateway: Arc<Gateway>,
    cx: Context,
}

impl Tools for OfTenant {
    fn find(&self, uri: &Uri) -> Lookup {
        match self.gateway.tool(&self.cx, &Target::Uri(uri.clone())) {
            Ok(found) => {
                let schema: Value = serde_json::from_str(found.tool.input_schema().get()).unwrap_or_default();
                Lookup::Found { input: Arc::new(schema) }
            }
            Err(error) if error.kind() == ErrorKind::Unavailable => Lookup::Unchecked(error.in_words()),
            Err(error) => Lookup::Missing(error.in_words()),
        }
    }
}

/// What is wrong with a text, and what of it is bound by name, for whoever `cx` is.
#[must_use]
pub fn checked(gateway: Arc<Gateway>, cx: Context, text: &str) -> Validation {
    validate(text, &OfTenant { gateway, cx })
}

impl Flows {
    /// The parameters of a text that are bound by name.
    pub(super) fn bound_of(&self, tenant: &TenantId, text: &str) -> Vec<Bound> {
        let Some(gateway) = self.gateway() else { return Vec::new() };
        let caller = Caller { role: Role::Manager, ..Caller::system() };
        let cx = Context::new(tenant.clone(), Arc::new(caller), Door::System, Duration::ZERO);
        checked(gateway, cx, text).bound
    }
}

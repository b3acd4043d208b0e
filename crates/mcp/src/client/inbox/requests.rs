//! What a server asks of its client, and which of the programs that call us is to answer.

use super::super::server_requests::{self, ServerRequest};
use super::programs::Asking;
use super::{Inbox, too_deep};
use crate::{RpcError, envelope};
use serde_json::value::RawValue;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool::depth::is_too_deep;
use tool::{Ability, Client as _, Context, Question, TenantId};

/// How long the client may take to answer what belongs to none of its calls; people take their time.
const PATIENCE: Duration = Duration::from_secs(300);

impl Inbox {
    /// The response to a request of the server; what only the program that calls can answer is answered later.
    pub(super) fn requested(
        &self,
        method: &str,
        id: &RawValue,
        params: Option<&RawValue>,
        about: Option<u64>,
    ) -> Option<String> {
        let refuse = |refusal: &RpcError| Some(envelope::error(Some(id), refusal));
        if params.is_some_and(|params| is_too_deep(params.get())) {
            return refuse(&RpcError::invalid_params(too_deep("what is asked")));
        }
        let Some(ability) = server_requests::ability(method, params) else {
            return match method {
                "ping" => Some(envelope::result(id, "{}")),
                _ => refuse(&RpcError::unknown_method(method)),
            };
        };
        if ability == Ability::Roots {
            self.has_asked_for_roots.store(true, Ordering::Relaxed);
        }
        let calling = self.calling(ability, about);
        let mut cx = match calling.or_else(|refusal| self.outside_calls(ability).ok_or(refusal)) {
            Ok(cx) => cx,
            Err(refusal) => return refuse(&refusal),
        };
        cx.cancel = cx.cancel.child_token();
        {
            let pending = &mut self.pending().server_requests;
            pending.retain(|_, cancel| !cancel.is_cancelled());
            pending.insert(id.get().to_owned(), cx.cancel.clone());
        }
        let question = Question { ability, params: params.map(ToOwned::to_owned) };
        match self.server_requests.try_send(ServerRequest { id: id.to_owned(), question, cx }) {
            Ok(()) => None,
            Err(_) => refuse(&server_requests::too_many()),
        }
    }

    /// The call that a request of the server belongs to, if its program can be asked. Where the transport does not
    /// tell, it is clear only while all calls under way come from one program (decision 67).
    fn calling(&self, ability: Ability, about: Option<u64>) -> Result<Context, RpcError> {
        let pending = self.pending();
        let call = match about {
            Some(id) => pending.requests.get(&id).ok_or_else(server_requests::ended)?,
            None => match pending.asking() {
                Asking::One(call) => call,
                Asking::Several => return Err(server_requests::unclear(ability)),
                Asking::Nobody => return Err(server_requests::nobody(ability)),
            },
        };
        let can = call.cx.client.as_ref().is_some_and(|client| client.can(ability));
        if can { Ok(call.cx.clone()) } else { Err(server_requests::cannot(ability)) }
    }

    /// Where there is one client and no other, it is asked also when none of its calls is under way.
    fn outside_calls(&self, ability: Ability) -> Option<Context> {
        let client = self.only_client.clone().filter(|client| client.can(ability))?;
        // Such a process has no other tenant.
        let cx = Context::system(TenantId::default_tenant(), PATIENCE);
        Some(Context { client: Some(client), ..cx })
    }
}

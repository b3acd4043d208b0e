//! What a server asks of its client, and which of the programs that call us is to answer.

use super::super::server_requests::{self, ServerRequest};
use super::{Inbox, PendingRequest, too_deep};
use crate::{RpcError, envelope};
use serde_json::value::RawValue;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool::depth::is_too_deep;
use tool::{Ability, Client, Context, Question, TenantId};

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
        let Some(ability) = server_requests::ability(method) else {
            return match method {
                "ping" => Some(envelope::result(id, "{}")),
                _ => refuse(&RpcError::unknown_method(method)),
            };
        };
        if ability == Ability::Roots {
            self.has_asked_for_roots.store(true, Ordering::Relaxed);
        }
        let calling = self.calling(ability, about).or_else(|| self.outside_calls(ability));
        let Some(mut cx) = calling else {
            return refuse(&server_requests::cannot(ability));
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

    /// The call that a request of the server belongs to. Where the transport does not tell, it is
    /// clear only if all calls under way come from one caller: nobody is asked on another's behalf.
    fn calling(&self, ability: Ability, about: Option<u64>) -> Option<Context> {
        let pending = self.pending();
        let can =
            |caller: &&PendingRequest| caller.cx.client.as_ref().is_some_and(|client| client.can(ability));
        if let Some(about) = about.and_then(|id| pending.requests.get(&id)) {
            return Some(about).filter(can).map(|caller| caller.cx.clone());
        }
        let callers = || pending.requests.iter().filter(|(_, caller)| caller.cx.client.is_some());
        // Older calls are likelier to wait for an answer already.
        let (_, latest) = callers().max_by_key(|(id, _)| **id)?;
        let is_same =
            |(_, other): (_, &PendingRequest)| other.cx.caller.identity == latest.cx.caller.identity;
        callers().all(is_same).then_some(latest).filter(can).map(|caller| caller.cx.clone())
    }

    /// Where there is one client and no other, it is asked also when none of its calls is under way.
    fn outside_calls(&self, ability: Ability) -> Option<Context> {
        let client = self.only_client.clone().filter(|client| client.can(ability))?;
        // Such a process has no other tenant.
        let cx = Context::system(TenantId::default_tenant(), PATIENCE);
        Some(Context { client: Some(client), ..cx })
    }
}

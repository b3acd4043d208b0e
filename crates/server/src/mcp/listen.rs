//! `subscriptions/listen`: a request whose response comes last, when we stop; until then, notifications.

use super::notifications::Listener;
use super::outcome::SERVER_INFO;
use super::request::Filter;
use super::{Answered, Door};
use crate::auth::Access;
use gateway::Watch;
use mcp::modern::{self, Cache, SUBSCRIPTION_ID};
use mcp::{Id, RpcError};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use tool::Context;

/// Resources of one subscription.
const MAX_RESOURCES: usize = 1000;

/// A subscription of a client without a handshake.
pub(super) struct Listening {
    id: Id,
    listener: Listener,
    cancel: CancellationToken,
    /// The resources stay watched as long as somebody listens.
    _watches: Vec<Watch>,
}

impl Listening {
    /// Subscribes to what the filter names; resources that do not exist are left out of what is acknowledged.
    pub(super) async fn begin(
        door: &Door,
        cx: Context,
        access: &Access,
        id: &RawValue,
        mut filter: Filter,
    ) -> Answered<Self> {
        if filter.resource_subscriptions.len() > MAX_RESOURCES {
            let message = format!("Invalid params: at most {MAX_RESOURCES} resources can be watched");
            return Err(RpcError::invalid_params(message));
        }
        let (mut watches, mut watched) = (Vec::new(), Vec::new());
        let is_asking = !filter.resource_subscriptions.is_empty();
        let _permit = is_asking.then(|| door.admit(&cx)).transpose()?;
        for uri in std::mem::take(&mut filter.resource_subscriptions) {
            if let Ok(watch) = door.gateway.watch(&cx, &uri).await {
                watches.push(watch);
                watched.push(uri);
            }
        }
        filter.resource_subscriptions = watched;
        let cancel = cx.cancel.clone();
        let listener = Listener::new(door.gateway.clone(), cx, filter, door.closing.clone(), access);
        let listener = listener.answering(id);
        Ok(Self { id: id.to_owned(), listener, cancel, _watches: watches })
    }

    /// The next notification; `None` when the door closes, the client cancels, or it may not be here any more.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.cancel.run_until_cancelled(self.listener.next(|_| false, || None)).await.flatten()
    }

    /// The result of the request.
    pub(super) fn result(&self) -> String {
        let result = format!("{{\"_meta\":{{\"{SUBSCRIPTION_ID}\":{}}}}}", self.id.get());
        modern::complete(&result, SERVER_INFO, Cache::No)
    }
}

//! Requests of a server to its client, which we hand on to the program that calls us.

use super::transport::Transport;
use crate::{RpcError, envelope};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tool::{Ability, Context, Error, ErrorKind, Question};

/// Requests of one server that are under way at the same time; more are refused.
const MAX_UNDER_WAY: usize = 64;

/// A request of a server, and whose call it belongs to.
pub(super) struct ServerRequest {
    pub(super) id: Box<RawValue>,
    pub(super) question: Question,
    /// Of the call, with the program that made it; its cancel ends the request.
    pub(super) cx: Context,
}

/// What a server asks for with a request of this method.
#[must_use]
pub fn ability(method: &str, params: Option<&RawValue>) -> Option<Ability> {
    match method {
        "sampling/createMessage" => Some(Ability::Sampling),
        "elicitation/create" => Some(mode_of(params)),
        "roots/list" => Some(Ability::Roots),
        _ => None,
    }
}

/// A form, unless it says that it is a page.
fn mode_of(params: Option<&RawValue>) -> Ability {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default)]
        mode: Option<Cow<'a, str>>,
    }
    let params = params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
    match params.and_then(|params| params.mode).as_deref() {
        Some("url") => Ability::UrlElicitation,
        _ => Ability::Elicitation,
    }
}

/// The method with which a program is asked.
#[must_use]
pub fn method(ability: Ability) -> &'static str {
    match ability {
        Ability::Sampling => "sampling/createMessage",
        Ability::Elicitation | Ability::UrlElicitation => "elicitation/create",
        Ability::Roots => "roots/list",
    }
}

/// Asks the programs that call us, and sends their responses to the server.
pub(super) async fn answer_all(mut requests: mpsc::Receiver<ServerRequest>, transport: Arc<Transport>) {
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            request = requests.recv() => {
                let Some(request) = request else { return };
                if under_way.len() >= MAX_UNDER_WAY {
                    transport.post(envelope::error(Some(&request.id), &too_many()));
                } else {
                    under_way.spawn(respond(request));
                }
            }
            Some(response) = under_way.join_next() => {
                if let Ok(Some(text)) = response {
                    transport.post(text);
                }
            }
        }
    }
}

/// The response to a request; nothing when it was cancelled.
async fn respond(request: ServerRequest) -> Option<String> {
    let ServerRequest { id, question, cx } = request;
    let client = cx.client.clone()?;
    let answered = tokio::select! {
        biased;
        answered = client.ask(&cx, question) => answered,
        () = cx.cancel.cancelled() => return None,
    };
    Some(match answered {
        Ok(result) => envelope::result(&id, result.get()),
        Err(error) => envelope::error(Some(&id), &refusal(&error)),
    })
}

fn refusal(error: &Error) -> RpcError {
    match error.original() {
        Some(original) => RpcError::from_raw(original),
        None if error.kind() == ErrorKind::Unsupported => RpcError::new(-32601, error.message()),
        None => RpcError::new(-32603, error.message()),
    }
}

/// The refusal of more requests than can wait.
pub(super) fn too_many() -> RpcError {
    RpcError::new(-32603, "too many questions at once")
}

/// The refusal of what may be any of several programs' affair.
pub(super) fn unclear(ability: Ability) -> RpcError {
    let what = ability.as_str();
    RpcError::new(
        -32603,
        format!(
            "several clients are calling, or have just called, and '{what}' does not say for which of them it is; \
             nobody is asked on behalf of another: try again while one client calls"
        ),
    )
}

/// The refusal of what belongs to a call that nobody waits for any more.
pub(super) fn ended() -> RpcError {
    RpcError::new(-32603, "the call that this belongs to has ended")
}

/// The refusal of what belongs to no call.
pub(super) fn nobody(ability: Ability) -> RpcError {
    let what = ability.as_str();
    RpcError::new(-32601, format!("no call is under way whose client could be asked for '{what}'"))
}

/// The refusal of what the caller's program cannot do.
pub(super) fn cannot(ability: Ability) -> RpcError {
    let what = ability.as_str();
    RpcError::new(-32601, format!("the client that calls does not support '{what}'"))
}

//! `/conversations`: what callers and agents have said to each other.

use super::time;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Page, Paging, Path, Query};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::conversations::{Conversation, ConversationFilter, Turn};
use tool::Scope;
use utoipa::ToSchema;

/// As much of what was said as one answer shows; the oldest turns are left out.
const SHOWN_BYTES: usize = 4 * 1024 * 1024;

#[derive(Serialize, ToSchema)]
#[schema(as = Conversation)]
pub(super) struct ConversationView {
    id: String,
    agent: String,
    /// Whose it is.
    caller: String,
    /// How often something was asked and answered.
    turns: i64,
    created_at: String,
    updated_at: String,
    /// When it is gone unless something is said.
    expires_at: String,
}

/// A conversation with what was said.
#[derive(Serialize, ToSchema)]
#[schema(as = WholeConversation)]
pub(super) struct WholeView {
    #[serde(flatten)]
    conversation: ConversationView,
    /// What was said, in order.
    items: Vec<TurnView>,
    /// How many turns before that are not shown, as that would be too much.
    left_out: usize,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ConversationTurn)]
struct TurnView {
    run: String,
    at: String,
    prompt: String,
    answer: String,
}

impl From<Conversation> for ConversationView {
    fn from(of: Conversation) -> Self {
        Self {
            id: of.id,
            agent: of.agent,
            caller: of.caller_name,
            turns: of.turns,
            created_at: time::show(of.created_at),
            updated_at: time::show(of.updated_at),
            expires_at: time::show(of.expires_at),
        }
    }
}

impl From<Turn> for TurnView {
    fn from(turn: Turn) -> Self {
        let Turn { run, at, prompt, answer, .. } = turn;
        Self { run: run.into(), at: time::show(at), prompt, answer }
    }
}

#[derive(Deserialize)]
pub(super) struct ConversationQuery {
    agent: Option<String>,
}

/// Whose conversations the caller sees: managers see all, everybody else their own.
fn whose(signed_in: &SignedIn) -> Option<String> {
    let identity = &signed_in.caller.identity;
    let is_manager = signed_in.caller.may(Scope::Manage);
    (!is_manager).then(|| format!("{}/{}", identity.kind(), identity.id()))
}

/// The conversation, if it is there for this caller.
async fn find(state: &Shared, signed_in: &SignedIn, id: &str) -> Result<Conversation> {
    signed_in.may_read()?;
    let found = state.store.conversations().get(&signed_in.tenant, id).await?;
    match whose(signed_in) {
        Some(own) if own != found.caller => Err(Problem::not_found("conversation")),
        _ => Ok(found),
    }
}

/// Lists conversations, those that were used last first: one's own, for managers all.
#[utoipa::path(get, path = "/conversations", tag = "agents",
    params(("agent" = Option<String>, Query), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<ConversationView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<ConversationQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<ConversationView>>> {
    signed_in.may_read()?;
    let filter = ConversationFilter { agent: query.agent, caller: whose(&signed_in) };
    let found = state.store.conversations().list(&signed_in.tenant, &filter, page).await?;
    Ok(Answer(Page::of(found, ConversationView::from)))
}

/// One conversation with what was said in it.
#[utoipa::path(get, path = "/conversations/{id}", tag = "agents", params(("id" = String, Path)),
    responses((status = 200, body = WholeView), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Answer<WholeView>> {
    let found = find(&state, &signed_in, &id).await?;
    let (turns, left_out) =
        state.store.conversations().turns(&signed_in.tenant, &found.id, SHOWN_BYTES).await?;
    let items = turns.into_iter().map(TurnView::from).collect();
    Ok(Answer(WholeView { conversation: found.into(), items, left_out }))
}

/// Deletes a conversation with everything that was said in it.
#[utoipa::path(delete, path = "/conversations/{id}", tag = "agents", params(("id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub(super) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    let found = find(&state, &signed_in, &id).await?;
    if !signed_in.caller.may(Scope::Manage) && !signed_in.caller.may(Scope::Call) {
        return Err(Problem::forbidden("a conversation is deleted by those who call agents, or manage them"));
    }
    state.store.conversations().delete(&signed_in.tenant, &found.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

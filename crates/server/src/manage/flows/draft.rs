//! `/flows/{id}/draft` and `/flows/validate`: the text that is worked on, and what is wrong with one.

use super::FlowView;
use super::check::{FlowProblem, check};
use super::source::{Source, SourceSchema};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Json, Path};
use crate::manage::runs::rights::may_change;
use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tool::whole::whole_or_null;
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FlowDraft)]
pub(crate) struct Draft {
    #[schema(value_type = SourceSchema)]
    source: Source,
    /// Refuses the draft if it has another revision by now.
    #[serde(default, deserialize_with = "whole_or_null")]
    revision: Option<i64>,
}

/// Puts another text in the place of the draft. It may be wrong, `errors` says what is.
#[utoipa::path(put, path = "/flows/{id}/draft", tag = "flows", request_body = Draft, params(("id" = String, Path)),
    responses((status = 200, body = FlowView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn put(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Json(body): Json<Draft>,
) -> Result<Answer<FlowView>> {
    signed_in.may_manage()?;
    may_change(&signed_in, &state.store.flows().get(&signed_in.tenant, &id).await?)?;
    save(&state, &signed_in, &id, body.source, body.revision).await.map(Answer)
}

/// Whoever changes a draft does it here.
pub(super) async fn save(
    state: &Shared,
    signed_in: &SignedIn,
    id: &str,
    source: Source,
    revision: Option<i64>,
) -> Result<FlowView> {
    let checked = check(state, signed_in, Some(id), source.text).await?.within_limits()?;
    let flow = state.store.flows().save_draft(&signed_in.tenant, id, &checked.draft(id), revision).await?;
    Ok(FlowView::checked(flow, &checked))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FlowValidate)]
pub(crate) struct Validate {
    #[schema(value_type = SourceSchema)]
    source: Source,
    /// What the flow is called, so that it may call itself; the document's own `id` unless given.
    id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowValidation {
    /// It can be published.
    valid: bool,
    /// Errors and warnings, in the order of the text.
    errors: Vec<FlowProblem>,
    /// The parameters that are bound by name.
    bound: Vec<BoundParameter>,
    /// What a canvas draws; nothing where the text cannot be read as a flow.
    graph: Option<FlowGraph>,
}

/// The flow as a picture.
#[derive(Serialize, ToSchema)]
pub(crate) struct FlowGraph {
    nodes: Vec<FlowNode>,
    edges: Vec<FlowEdge>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowNode {
    /// Its id; of one inside another, behind that one's id and a dot.
    id: String,
    /// `tool`, `flow`, `agent`, `handoff`, `mapping`, `condition`, `switch`, `wait`, `each`, `loop`, `block`, `approval`, `guard` or `end`.
    #[schema(value_type = String, example = "tool")]
    kind: &'static str,
    /// What it calls, where it calls something by its address.
    uri: Option<String>,
    /// Where it stands in the text, from 1.
    line: usize,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowEdge {
    from: String,
    to: String,
    /// Which exit takes it: `next`, `then`, `case`, `else` or `fail`.
    #[schema(value_type = String, example = "next")]
    kind: &'static str,
}

impl From<flow::Picture> for FlowGraph {
    fn from(picture: flow::Picture) -> Self {
        let node = |flow::PictureNode { id, kind, uri, line }| FlowNode { id, kind, uri, line };
        let edge = |flow::PictureEdge { from, to, kind }| FlowEdge { from, to, kind };
        Self {
            nodes: picture.nodes.into_iter().map(node).collect(),
            edges: picture.edges.into_iter().map(edge).collect(),
        }
    }
}

/// A parameter that takes its value from a name because the author left it out.
#[derive(Serialize, ToSchema)]
pub(crate) struct BoundParameter {
    /// The node's path in the document, e.g. `nodes.ship.nodes.send`.
    node: String,
    /// Of the tool.
    parameter: String,
    /// Of an input, a var, a node, a local, `tenantId` or `buCode`.
    name: String,
}

impl From<flow::Bound> for BoundParameter {
    fn from(flow::Bound { node, parameter, name }: flow::Bound) -> Self {
        Self { node, parameter, name }
    }
}

/// Checks a flow against what the caller may call, without saving it.
#[utoipa::path(post, path = "/flows/validate", tag = "flows", request_body = Validate,
    responses((status = 200, body = FlowValidation), (status = 422)))]
pub(crate) async fn validate(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Validate>,
) -> Result<Answer<FlowValidation>> {
    signed_in.may_read()?;
    let checked = check(&state, &signed_in, body.id.as_deref(), body.source.text).await?;
    Ok(Answer(FlowValidation {
        valid: checked.validation.is_valid(),
        errors: checked.problems(),
        graph: checked.validation.flow.as_ref().map(|flow| flow::picture(flow).into()),
        bound: checked.validation.bound.into_iter().map(Into::into).collect(),
    }))
}

//! `/flows`: graphs of tools, worked on as drafts and published as versions that never change.

mod check;
pub(super) mod draft;
pub(super) mod publish;
pub(super) mod references;
mod source;
pub(super) mod triggers;
pub(super) mod versions;

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use crate::manage::runs::rights::{may_change, may_run, may_touch, sees_flow, sees_text};
use crate::manage::services::ForceQuery;
use crate::manage::services::check_id;
use crate::manage::time;
use axum::Json as Answer;
use axum::extract::State;
use check::{Checked, FlowProblem, check};
use http::StatusCode;
use runtime::flows::{POLLING_TOOL, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use source::{Source, SourceSchema};
use store::flows::{Flow, FlowFilter};
use store::{PageRequest, within};
use tool::whole::whole_or_null;
use utoipa::ToSchema;

/// As many as are looked at for those who see some of them.
const MOST: u32 = 1000;

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowView {
    id: String,
    /// As the draft says.
    name: String,
    /// Whether new runs may begin.
    enabled: bool,
    /// The id of the key or user that made it.
    owner: String,
    /// Grows with every change of the draft.
    revision: i64,
    /// The version that new runs take; null until one is published.
    current: Option<i64>,
    created_at: String,
    updated_at: String,
    /// The draft; left out of lists, and for those who only call.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// What it does, for those who only call.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// What it takes, for those who only call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    input_schema: Option<Value>,
    /// What is wrong with the draft, told when it is made or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<FlowProblem>>,
}

impl FlowView {
    /// As it stands in lists.
    fn brief(flow: Flow) -> Self {
        Self {
            id: flow.id,
            name: flow.name,
            enabled: flow.is_enabled,
            owner: flow.owner,
            revision: flow.revision,
            current: flow.current,
            created_at: time::show(flow.created_at),
            updated_at: time::show(flow.updated_at),
            source: None,
            description: None,
            input_schema: None,
            errors: None,
        }
    }

    pub(crate) fn whole(mut flow: Flow) -> Self {
        let source = Some(std::mem::take(&mut flow.draft));
        Self { source, ..Self::brief(flow) }
    }

    /// What a tool shows: all that those who only call see.
    fn callable(flow: Flow, version: &Version) -> Self {
        Self {
            description: version.flow.description.clone(),
            input_schema: Some(version.flow.input_schema()),
            ..Self::brief(flow)
        }
    }

    /// With what was found in a draft that is new.
    fn checked(flow: Flow, checked: &Checked) -> Self {
        Self { errors: Some(checked.problems()), ..Self::whole(flow) }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FlowCreate)]
pub(crate) struct Create {
    /// The flow's name in URIs; the document's own `id` unless given.
    #[schema(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$")]
    id: Option<String>,
    #[schema(value_type = SourceSchema)]
    source: Source,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FlowUpdate)]
pub(crate) struct Update {
    /// Another draft.
    #[schema(value_type = Option<SourceSchema>)]
    source: Option<Source>,
    /// Refuses the draft if it has another revision by now.
    #[serde(default, deserialize_with = "whole_or_null")]
    revision: Option<i64>,
    /// Whether new runs may begin.
    enabled: Option<bool>,
}

#[derive(Deserialize)]
pub(crate) struct ListQuery {
    enabled: Option<bool>,
    q: Option<String>,
}

/// Lists the tenant's flows; those who only call see what they may call.
#[utoipa::path(get, path = "/flows", tag = "flows",
    params(("enabled" = Option<bool>, Query), ("q" = Option<String>, Query),
        ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<FlowView>)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<ListQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<FlowView>>> {
    signed_in.may_read()?;
    let filter = FlowFilter { is_enabled: query.enabled, text: query.q };
    if sees_all(&signed_in) {
        let found = state.store.flows().list(&signed_in.tenant, &filter, page).await?;
        return Ok(Answer(Page::of(found, FlowView::brief)));
    }
    Ok(Answer(Page::cut(listed(&state, &signed_in, &filter).await?, page, FlowView::brief)))
}

/// Nothing has to be left out.
fn sees_all(signed_in: &SignedIn) -> bool {
    sees_text(signed_in) && signed_in.caller.allow.is_empty()
}

/// How many flows somebody is told of.
pub(in crate::manage) async fn count(state: &Shared, signed_in: &SignedIn) -> Result<i64> {
    let (filter, one) = (FlowFilter::default(), PageRequest { page: 1, limit: 1 });
    if sees_all(signed_in) {
        let found = state.store.flows().list(&signed_in.tenant, &filter, one);
        return Ok(within(state.options.store_timeout, found).await?.total);
    }
    Ok(i64::try_from(listed(state, signed_in, &filter).await?.len()).unwrap_or(i64::MAX))
}

/// The flows that those are told of who see only some: of those who only call what they may run.
async fn listed(state: &Shared, signed_in: &SignedIn, filter: &FlowFilter) -> Result<Vec<Flow>> {
    let all = PageRequest { page: 1, limit: MOST };
    let found = state.store.flows().list(&signed_in.tenant, filter, all);
    let mut found = within(state.options.store_timeout, found).await?.items;
    found.retain(|flow| match sees_text(signed_in) {
        true => sees_flow(signed_in, &flow.id),
        false => flow.current.is_some() && may_run(signed_in, &flow.id).is_ok(),
    });
    Ok(found)
}

/// Makes a flow that is nothing but a draft, which may be wrong: `errors` says what is.
#[utoipa::path(post, path = "/flows", tag = "flows", request_body = Create,
    responses((status = 201, body = FlowView), (status = 409), (status = 422)))]
pub(crate) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Answer<FlowView>)> {
    signed_in.may_manage()?;
    if let Some(id) = &body.id {
        check_flow_id(id)?;
    }
    let checked = check(&state, &signed_in, body.id.as_deref(), body.source.text).await?.within_limits()?;
    let Some(id) = body.id.or_else(|| checked.own_id()) else {
        let message = "'id' is missing, and the document has none either";
        return Err(Problem::invalid(vec![tool::Problem::new("id", "Required", message)]));
    };
    check_flow_id(&id)?;
    may_touch(&signed_in, &id)?;
    let owner = signed_in.caller.identity.id();
    let flow = state.store.flows().create(&signed_in.tenant, &id, &checked.draft(&id), owner).await?;
    Ok((StatusCode::CREATED, Answer(FlowView::checked(flow, &checked))))
}

/// Refuses an id that no flow can have.
fn check_flow_id(id: &str) -> Result<()> {
    check_id("id", id)?;
    // `/flows/validate` is no flow.
    if id == "validate" {
        return Err(Problem::invalid_field("id", "'validate' is part of an address here and can be no id"));
    }
    // A published flow is a tool of that name.
    if id == POLLING_TOOL {
        let message = format!("'{id}' is a tool of this program; choose another id");
        return Err(Problem::invalid_field("id", message));
    }
    Ok(())
}

/// One flow, with its draft.
#[utoipa::path(get, path = "/flows/{id}", tag = "flows", params(("id" = String, Path)),
    responses((status = 200, body = FlowView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Answer<FlowView>> {
    signed_in.may_read()?;
    let flow = state.store.flows().get(&signed_in.tenant, &id).await?;
    if sees_text(&signed_in) && sees_flow(&signed_in, &id) {
        return Ok(Answer(FlowView::whole(flow)));
    }
    if sees_text(&signed_in) || flow.current.is_none() || may_run(&signed_in, &id).is_err() {
        return Err(Problem::not_found("flow"));
    }
    let version = state.flows.current(&signed_in.tenant, &id).await?;
    Ok(Answer(FlowView::callable(flow, &version)))
}

/// Changes the draft, or whether new runs may begin.
#[utoipa::path(patch, path = "/flows/{id}", tag = "flows", request_body = Update, params(("id" = String, Path)),
    responses((status = 200, body = FlowView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Json(body): Json<Update>,
) -> Result<Answer<FlowView>> {
    signed_in.may_manage()?;
    let flow = state.store.flows().get(&signed_in.tenant, &id).await?;
    may_change(&signed_in, &flow)?;
    let mut view = FlowView::whole(flow);
    if let Some(source) = body.source {
        view = draft::save(&state, &signed_in, &id, source, body.revision).await?;
    }
    if let Some(is_enabled) = body.enabled {
        let errors = view.errors.take();
        let flow = state.store.flows().set_enabled(&signed_in.tenant, &id, is_enabled).await?;
        state.reload.catch_up().await;
        view = FlowView { errors, ..FlowView::whole(flow) };
    }
    Ok(Answer(view))
}

/// Deletes a flow with its versions and triggers; with `force` also one that others refer to. Runs must have ended.
#[utoipa::path(delete, path = "/flows/{id}", tag = "flows",
    params(("id" = String, Path), ("force" = Option<bool>, Query)),
    responses((status = 204), (status = 404), (status = 409)))]
pub(crate) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Query(query): Query<ForceQuery>,
) -> Result<StatusCode> {
    signed_in.may_manage()?;
    may_change(&signed_in, &state.store.flows().get(&signed_in.tenant, &id).await?)?;
    if !query.force {
        references::check_unreferenced(&state, &signed_in, &id).await?;
    }
    state.store.flows().delete(&signed_in.tenant, &id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

//! `/tables`: JSON documents, each with an owner, that Tools read and change.

pub(super) mod children;
pub(super) mod data;
pub(super) mod files;

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use crate::manage::keys::given;
use crate::manage::time;
use crate::manage::users::check_name;
use axum::Json as Answer;
use axum::extract::State;
use document::Node;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use store::{MAX_DOCUMENT_BYTES, NewTable, Table, TableChanges, TableFilter};
use tool::{Role, TableId};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct TableView {
    id: String,
    name: String,
    description: Option<String>,
    /// The id of the key or user that made it.
    owner: String,
    /// How many bytes the document has as JSON, roughly.
    size_bytes: i64,
    created_at: String,
    updated_at: String,
    /// Grows with every change of the document.
    version: i64,
}

impl From<&Table> for TableView {
    fn from(table: &Table) -> Self {
        Self {
            id: table.id.to_string(),
            name: table.name.clone(),
            description: table.description.clone(),
            owner: table.owner.clone(),
            size_bytes: table.size_bytes,
            created_at: time::show(table.created_at),
            updated_at: time::show(table.updated_at),
            version: table.version,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TableCreate)]
pub(crate) struct Create {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: String,
    description: Option<String>,
    /// The document, any JSON up to 64 MB; an empty object unless given.
    #[schema(value_type = Value, required = false)]
    data: Option<Box<RawValue>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TableUpdate)]
pub(crate) struct Update {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    description: Option<Option<String>>,
}

#[derive(Deserialize)]
pub(crate) struct ListQuery {
    q: Option<String>,
}

/// Lists the tenant's tables; those who only call see their own.
#[utoipa::path(get, path = "/tables", tag = "tables",
    params(("q" = Option<String>, Query), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<TableView>)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<ListQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<TableView>>> {
    signed_in.may_read()?;
    let filter = TableFilter { owner: signed_in.only_own(), text: query.q };
    let found = state.store.tables().list(&signed_in.tenant, &filter, page).await?;
    Ok(Answer(Page::of(found, |table| (&table).into())))
}

/// Makes a table.
#[utoipa::path(post, path = "/tables", tag = "tables", request_body = Create,
    responses((status = 201, body = TableView), (status = 422)))]
pub(crate) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Answer<TableView>)> {
    signed_in.may_make_tools()?;
    let document = match body.data {
        Some(data) => parse("data", data).await?,
        None => empty_object(),
    };
    make(&state, &signed_in, &body.name, body.description, document).await
}

/// Makes a table of what was read from a body.
pub(crate) async fn make(
    state: &Shared,
    signed_in: &SignedIn,
    name: &str,
    description: Option<String>,
    document: Node,
) -> Result<(StatusCode, Answer<TableView>)> {
    check_name("name", name)?;
    let owner = signed_in.caller.identity.id().to_owned();
    let new = NewTable { name: name.to_owned(), description, owner, document };
    let table = state.documents.create(&signed_in.tenant, new).await?;
    Ok((StatusCode::CREATED, Answer((&table).into())))
}

/// One table, without its document.
#[utoipa::path(get, path = "/tables/{id}", tag = "tables", params(("id" = String, Path)),
    responses((status = 200, body = TableView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
) -> Result<Answer<TableView>> {
    signed_in.may_read()?;
    Ok(Answer((&find(&state, &signed_in, &id).await?).into()))
}

/// Changes name and description.
#[utoipa::path(patch, path = "/tables/{id}", tag = "tables", params(("id" = String, Path)), request_body = Update,
    responses((status = 200, body = TableView), (status = 404)))]
pub(crate) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Json(body): Json<Update>,
) -> Result<Answer<TableView>> {
    signed_in.may_make_tools()?;
    find(&state, &signed_in, &id).await?;
    if let Some(name) = &body.name {
        check_name("name", name)?;
    }
    let changes = TableChanges { name: body.name, description: body.description };
    let table = state.store.tables().update(&signed_in.tenant, &id, changes).await?;
    Ok(Answer((&table).into()))
}

/// Deletes a table with every version. Tools that lead to it stay, and say that it is gone.
#[utoipa::path(delete, path = "/tables/{id}", tag = "tables", params(("id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub(crate) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
) -> Result<StatusCode> {
    signed_in.may_make_tools()?;
    find(&state, &signed_in, &id).await?;
    state.documents.delete(&signed_in.tenant, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The table, if it is there for this caller.
pub(crate) async fn find(state: &Shared, signed_in: &SignedIn, id: &TableId) -> Result<Table> {
    let table = state.store.tables().get(&signed_in.tenant, id).await?;
    check_owner(signed_in, &table.owner)?;
    Ok(table)
}

/// What belongs to another is not there for those who only call.
pub(crate) fn check_owner(signed_in: &SignedIn, owner: &str) -> Result<()> {
    if signed_in.caller.role == Role::Caller && owner != signed_in.caller.identity.id() {
        return Err(Problem::not_found("table"));
    }
    Ok(())
}

/// Reads JSON of any size without holding up others.
pub(crate) async fn parse(field: &'static str, json: Box<RawValue>) -> Result<Node> {
    if json.get().len() > MAX_DOCUMENT_BYTES {
        let message = format!("'{field}' is larger than a table may be, {MAX_DOCUMENT_BYTES} bytes");
        return Err(Problem::invalid_field(field, message));
    }
    let parsing = tokio::task::spawn_blocking(move || Node::parse(json.get()));
    let parsed = parsing.await.map_err(|_| Problem::bad_request("the body could not be read"))?;
    parsed.map_err(|error| {
        Problem::invalid_field(
            field,
            format!("'{field}' cannot be read: {}", tool::json_words::syntax(&error)),
        )
    })
}

fn empty_object() -> Node {
    Node::from(&Value::Object(serde_json::Map::new()))
}

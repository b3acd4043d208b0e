//! `/tables/{id}/data`: the document, whole or in part, now or as it was.

use super::{TableView, check_owner, find, parse};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use crate::manage::time;
use axum::Json as Answer;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use document::{Change, Error as DocumentError, Node, Pointer};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::Loaded;
use tool::TableId;
use tool::whole::whole;
use utoipa::ToSchema;

#[derive(Deserialize)]
pub(crate) struct DataQuery {
    /// Where in the document; all of it unless given.
    #[serde(default)]
    pub(crate) json_path: String,
    /// To read: which version. To write: only if the table still has this version.
    pub(crate) version: Option<i64>,
}

impl DataQuery {
    pub(crate) fn pointer(&self) -> Result<Pointer> {
        self.json_path.parse().map_err(|error: DocumentError| refused(&error))
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    /// Any JSON.
    #[schema(value_type = serde_json::Value)]
    data: Box<RawValue>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what is written as text")]
pub(crate) struct DataView {
    /// What is at `json_path`.
    #[schema(value_type = serde_json::Value)]
    data: serde_json::Value,
    version: i64,
}

/// The document, or what is at `json_path` in it.
#[utoipa::path(get, path = "/tables/{id}/data", tag = "tables",
    params(("id" = String, Path), ("json_path" = Option<String>, Query, description = "A JSON Pointer, RFC 6901"),
        ("version" = Option<i64>, Query, description = "As it was in this version")),
    responses((status = 200, body = DataView), (status = 404), (status = 422)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Query(query): Query<DataQuery>,
) -> Result<Response> {
    signed_in.may_read()?;
    let (node, version) = look(&state, &signed_in, &id, &query).await?;
    let write = move || format!("{{\"data\":{},\"version\":{version}}}", node.to_json());
    let text = tokio::task::spawn_blocking(write).await;
    let text = text.map_err(|_| Problem::new(Code::Internal, "the document could not be written"))?;
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}

/// What is at a place, and in which version.
pub(crate) async fn look(
    state: &Shared,
    signed_in: &SignedIn,
    id: &TableId,
    query: &DataQuery,
) -> Result<(Node, i64)> {
    let pointer = query.pointer()?;
    let loaded = state.documents.read(&signed_in.tenant, id).await?;
    check_owner(signed_in, &loaded.table.owner)?;
    let (document, version) = match query.version {
        Some(version) if version != loaded.table.version => {
            (state.store.tables().document_at(&signed_in.tenant, id, version).await?, version)
        }
        _ => (loaded.document, loaded.table.version),
    };
    Ok((pointer.resolve(&document).map_err(|error| refused(&error))?.clone(), version))
}

/// Adds to the document: an item to the end of a list, new fields to an object, or a value under a
/// new name.
#[utoipa::path(post, path = "/tables/{id}/data", tag = "tables", request_body = Data,
    params(("id" = String, Path), ("json_path" = Option<String>, Query), ("version" = Option<i64>, Query)),
    responses((status = 201, body = TableView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn add(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Query(query): Query<DataQuery>,
    Json(body): Json<Data>,
) -> Result<(StatusCode, Answer<TableView>)> {
    let value = parse("data", body.data).await?;
    let edit = |document: &Node, at: &Pointer| addition(document, at, value);
    let changed = change(&state, &signed_in, &id, &query, edit).await?;
    Ok((StatusCode::CREATED, changed))
}

/// Puts a value in place of what is at `json_path`, or under a new name of an object.
#[utoipa::path(put, path = "/tables/{id}/data", tag = "tables", request_body = Data,
    params(("id" = String, Path), ("json_path" = Option<String>, Query), ("version" = Option<i64>, Query)),
    responses((status = 200, body = TableView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn put(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Query(query): Query<DataQuery>,
    Json(body): Json<Data>,
) -> Result<Answer<TableView>> {
    let value = parse("data", body.data).await?;
    change(&state, &signed_in, &id, &query, |_, at| Ok(replacement(at, value))).await
}

/// Removes what is at `json_path`.
#[utoipa::path(delete, path = "/tables/{id}/data", tag = "tables",
    params(("id" = String, Path), ("json_path" = String, Query), ("version" = Option<i64>, Query)),
    responses((status = 200, body = TableView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn remove(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Query(query): Query<DataQuery>,
    body: Bytes,
) -> Result<Answer<TableView>> {
    if !matches!(body.trim_ascii(), b"" | b"{}" | b"null") {
        let message = "this request has no body: it removes all that is at json_path; name each part that is to go by its own json_path";
        return Err(Problem::invalid_field("body", message));
    }
    let edit = |document: &Node, at: &Pointer| {
        let Some((parent, key)) = at.split_last() else {
            let message = "give the json_path of what is to go; the whole document goes with its table";
            return Err(Problem::invalid_field("json_path", message));
        };
        at.resolve(document).map_err(|error| refused(&error))?;
        Ok(Change::Remove { at: parent, keys: vec![key.to_owned()] })
    };
    change(&state, &signed_in, &id, &query, edit).await
}

/// Makes a change to a table that is there for this caller.
pub(crate) async fn change(
    state: &Shared,
    signed_in: &SignedIn,
    id: &TableId,
    query: &DataQuery,
    edit: impl FnOnce(&Node, &Pointer) -> Result<Change> + Send,
) -> Result<Answer<TableView>> {
    signed_in.may_make_tools()?;
    let pointer = query.pointer()?;
    let decide = |loaded: &Loaded| {
        check_owner(signed_in, &loaded.table.owner)?;
        let current = loaded.table.version;
        if query.version.is_some_and(|expected| expected != current) {
            let detail =
                format!("someone else has changed the table meanwhile; it has version {current} now");
            return Err(Problem::new(Code::Conflict, detail));
        }
        let change = edit(&loaded.document, &pointer)?;
        // Tried out, so that what does not fit is refused in its own words.
        change.apply(&mut loaded.document.clone()).map_err(|error| refused(&error))?;
        Ok(change)
    };
    let by = signed_in.caller.identity.id();
    let changed = state.documents.change(&signed_in.tenant, id, by, decide).await?;
    Ok(Answer((&*changed.table).into()))
}

fn addition(document: &Node, at: &Pointer, value: Node) -> Result<Change> {
    match (at.resolve(document), value) {
        (Ok(Node::Array(_)), value) => Ok(Change::Append { at: at.clone(), values: vec![value] }),
        (Ok(Node::Object(object)), Node::Object(new)) => {
            if let Some((name, _)) = new.iter().find(|(name, _)| object.contains(name)) {
                let detail = format!("there is a field '{name}' at '{at}' already; use PUT to replace it");
                return Err(Problem::new(Code::Conflict, detail));
            }
            let entries = new.iter().map(|(name, node)| (name.to_string(), node.clone())).collect();
            Ok(Change::Put { at: at.clone(), entries })
        }
        (Ok(_), _) => {
            let detail = format!("there is something at '{at}' already; use PUT to replace it");
            Err(Problem::new(Code::Conflict, detail))
        }
        (Err(error), value) => match at.split_last() {
            Some((parent, _)) if matches!(parent.resolve(document), Ok(Node::Object(_))) => {
                Ok(replacement(at, value))
            }
            _ => Err(refused(&error)),
        },
    }
}

pub(crate) fn replacement(at: &Pointer, value: Node) -> Change {
    match at.split_last() {
        None => Change::Set { value },
        Some((parent, key)) => Change::Put { at: parent, entries: vec![(key.to_owned(), value)] },
    }
}

pub(crate) fn refused(error: &DocumentError) -> Problem {
    match error {
        DocumentError::BadPointer(message) => Problem::invalid_field("json_path", message),
        DocumentError::Missing(message) => Problem::new(Code::NotFound, message),
        DocumentError::Conflict(message) => Problem::new(Code::Conflict, message),
    }
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TableVersionView {
    version: i64,
    /// The id of the key or user that made it.
    changed_by: String,
    at: String,
}

/// The versions that can be read and restored, newest first.
#[utoipa::path(get, path = "/tables/{id}/versions", tag = "tables",
    params(("id" = String, Path), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<TableVersionView>), (status = 404)))]
pub(crate) async fn versions(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Paging(page): Paging,
) -> Result<Answer<Page<TableVersionView>>> {
    signed_in.may_read()?;
    find(&state, &signed_in, &id).await?;
    let found = state.store.tables().versions(&signed_in.tenant, &id, page).await?;
    let view = |version: store::TableVersion| TableVersionView {
        version: version.version,
        changed_by: version.changed_by,
        at: time::show(version.at),
    };
    Ok(Answer(Page::of(found, view)))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restore {
    /// A version of the list.
    #[serde(deserialize_with = "whole")]
    version: i64,
}

/// Makes the document what it was, as a new version.
#[utoipa::path(post, path = "/tables/{id}/restore", tag = "tables", request_body = Restore,
    params(("id" = String, Path)),
    responses((status = 200, body = TableView), (status = 404)))]
pub(crate) async fn restore(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Json(body): Json<Restore>,
) -> Result<Answer<TableView>> {
    signed_in.may_make_tools()?;
    find(&state, &signed_in, &id).await?;
    let value = state.store.tables().document_at(&signed_in.tenant, &id, body.version).await?;
    let whole = DataQuery { json_path: String::new(), version: None };
    change(&state, &signed_in, &id, &whole, |_, _| Ok(Change::Set { value })).await
}

//! `/tables/import` and `/tables/{id}/export`: documents as files, in JSON, JSON Lines and CSV.

use super::data::{DataQuery, change, look, replacement};
use super::{TableView, make};
use crate::Shared;
use crate::auth::SignedIn;
use crate::body::RawBody;
use crate::error::{Problem, Result};
use crate::json::{Path, Query};
use crate::manage::csv;
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use document::Node;
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use std::sync::Arc;
use tool::{TableId, json_words};

/// How a document is written in a file.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Jsonl,
    Csv,
}

#[derive(Deserialize)]
pub(crate) struct ImportQuery {
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    format: Format,
}

#[derive(Deserialize)]
pub(crate) struct FormatQuery {
    #[serde(default)]
    format: Format,
}

/// Makes a table of a file. Lines of JSON and rows of CSV become a list.
#[utoipa::path(post, path = "/tables/import", tag = "tables",
    request_body(content = String, content_type = "application/octet-stream"),
    params(("name" = String, Query), ("description" = Option<String>, Query),
        ("format" = inline(Option<words::TableFormat>), Query)),
    responses((status = 201, body = TableView), (status = 422)))]
pub(crate) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<ImportQuery>,
    body: Result<RawBody>,
) -> Result<(StatusCode, Answer<TableView>)> {
    signed_in.may_make_tools()?;
    let name = query.name.unwrap_or_default();
    let document = read(query.format, body).await?;
    make(&state, &signed_in, &name, query.description, document).await
}

/// Puts a file in place of what is at `json_path`.
#[utoipa::path(post, path = "/tables/{id}/import", tag = "tables",
    request_body(content = String, content_type = "application/octet-stream"),
    params(("id" = String, Path), ("json_path" = Option<String>, Query), ("version" = Option<i64>, Query),
        ("format" = inline(Option<words::TableFormat>), Query)),
    responses((status = 200, body = TableView), (status = 404), (status = 422)))]
pub(crate) async fn replace(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Query(FormatQuery { format }): Query<FormatQuery>,
    Query(query): Query<DataQuery>,
    body: Result<RawBody>,
) -> Result<Answer<TableView>> {
    signed_in.may_make_tools()?;
    let document = read(format, body).await?;
    change(&state, &signed_in, &id, &query, |_, at| Ok(replacement(at, document))).await
}

/// The document, or what is at `json_path` in it, as a file.
#[utoipa::path(get, path = "/tables/{id}/export", tag = "tables",
    params(("id" = String, Path), ("json_path" = Option<String>, Query), ("version" = Option<i64>, Query),
        ("format" = inline(Option<words::TableFormat>), Query)),
    responses((status = 200, content((serde_json::Value = "application/json"), (String = "application/x-ndjson"), (String = "text/csv")))))]
pub(crate) async fn export(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Query(FormatQuery { format }): Query<FormatQuery>,
    Query(query): Query<DataQuery>,
) -> Result<Response> {
    signed_in.may_read()?;
    let (node, _) = look(&state, &signed_in, &id, &query).await?;
    let (content_type, extension) = match format {
        Format::Json => ("application/json", "json"),
        Format::Jsonl => ("application/x-ndjson", "jsonl"),
        Format::Csv => ("text/csv; charset=utf-8", "csv"),
    };
    let writing = tokio::task::spawn_blocking(move || write(format, &node));
    let text = writing.await.map_err(|_| Problem::bad_request("the document could not be written"))??;
    let attachment = format!("attachment; filename=\"{id}.{extension}\"");
    Ok(([(CONTENT_TYPE, content_type.to_owned()), (CONTENT_DISPOSITION, attachment)], text).into_response())
}

async fn read(format: Format, body: Result<RawBody>) -> Result<Node> {
    let RawBody(body) = body?;
    let reading = tokio::task::spawn_blocking(move || {
        let text = std::str::from_utf8(&body).map_err(|_| Problem::bad_request("the file is no UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match format {
            Format::Json => Node::parse(text).map_err(|error| {
                Problem::bad_request(format!("the file is no JSON: {}", json_words::syntax(&error)))
            }),
            Format::Jsonl => read_lines(text),
            Format::Csv => read_csv(text),
        }
    });
    reading.await.map_err(|_| Problem::bad_request("the file could not be read"))?
}

fn read_lines(text: &str) -> Result<Node> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(at, line): (usize, &str)| {
        Node::parse(line).map_err(|error| {
            Problem::bad_request(format!("line {} is no JSON: {}", at + 1, json_words::syntax(&error)))
        })
    };
    Ok(Node::Array(lines.map(read).collect::<Result<_>>()?))
}

/// The first row names the fields. A number or a truth value is one only if it is written as JSON
/// writes it, so that `007` stays what it is.
fn read_csv(text: &str) -> Result<Node> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let names: Vec<Arc<str>> =
        reader.headers().map_err(|error| wrong(&error))?.iter().map(|name| csv::bare(name).into()).collect();
    check_names(&names)?;
    let row = |record: std::result::Result<::csv::StringRecord, ::csv::Error>| {
        let record = record.map_err(|error| wrong(&error))?;
        Ok(Node::Object(names.iter().cloned().zip(record.iter().map(value)).collect()))
    };
    Ok(Node::Array(reader.records().map(row).collect::<Result<_>>()?))
}

/// What is wrong with a file of rows, in words for whoever wrote it.
fn wrong(error: &::csv::Error) -> Problem {
    let message = match error.kind() {
        ::csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, ::csv::Position::line);
            format!(
                "line {line} has {len} fields, and the first line names {expected_len}; give each line as many"
            )
        }
        _ => "the file cannot be read as CSV; check its quotes".to_owned(),
    };
    Problem::bad_request(message)
}

/// Two columns of one name would be one field, and one of them lost.
fn check_names(names: &[Arc<str>]) -> Result<()> {
    let mut known = std::collections::HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = known.insert(name, at) {
            let message = format!(
                "columns {} and {} are both named '{name}'; give each column a name of its own",
                first + 1,
                at + 1
            );
            return Err(Problem::bad_request(message));
        }
    }
    Ok(())
}

fn value(field: &str) -> Node {
    let field = csv::bare(field);
    match Node::parse(field) {
        Ok(node @ (Node::Number(_) | Node::Bool(_))) if node.to_json() == field => node,
        _ => field.into(),
    }
}

fn write(format: Format, node: &Node) -> Result<String> {
    let list = || {
        node.as_array().ok_or_else(|| {
            let message = format!("only a list has lines, and there is: {}", node.type_name());
            Problem::invalid_field("json_path", message)
        })
    };
    Ok(match format {
        Format::Json => node.to_json(),
        Format::Jsonl => list()?.iter().map(|item| item.to_json() + "\n").collect(),
        Format::Csv => write_csv(list()?),
    })
}

/// The columns are the fields of all rows, in the order they first occur.
fn write_csv(rows: &document::Array) -> String {
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (name, _) in rows.iter().filter_map(Node::as_object).flat_map(document::Object::iter) {
        if known.insert(name.clone()) {
            names.push(name.clone());
        }
    }
    if names.is_empty() {
        names.push("value".into());
    }
    let mut text = csv::line(names.iter().map(|name| name.to_string()));
    for row in rows {
        text.push_str(&match row {
            Node::Object(object) => csv::line(names.iter().map(|name| field(object.get(name)))),
            other => csv::line(std::iter::once(field(Some(other)))),
        });
    }
    text
}

fn field(node: Option<&Node>) -> String {
    match node {
        None | Some(Node::Null) => String::new(),
        Some(Node::Text(text)) => text.to_string(),
        Some(other) => other.to_json(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_csv_without_guessing_too_much() {
        let text = "id,name,zip,ok,note\n1,\"Ada, Countess\",007,true,\n2.5,Bob,1e3,no,-0\n";
        let expected = r#"[{"id":1,"name":"Ada, Countess","zip":"007","ok":true,"note":""},{"id":2.5,"name":"Bob","zip":"1e3","ok":"no","note":"-0"}]"#;
        assert_eq!(read_csv(text).map(|node| node.to_json()).ok().as_deref(), Some(expected));
        assert!(read_csv("a,b\n1\n").is_err(), "a row lacks a field");
    }

    #[test]
    fn writes_what_it_reads() {
        let rows = Node::from(&serde_json::json!([{ "a": 1, "b": "x" }, { "b": [1], "c": null }]));
        let Some(array) = rows.as_array() else { panic!() };
        assert_eq!(write_csv(array), "a,b,c\r\n1,x,\r\n,[1],\r\n");
        let lines = write(Format::Jsonl, &rows).ok();
        assert_eq!(lines.as_deref(), Some("{\"a\":1,\"b\":\"x\"}\n{\"b\":[1],\"c\":null}\n"));
        assert_eq!(read_lines(&lines.unwrap()).ok(), Some(rows));
    }
}

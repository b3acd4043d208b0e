//! OpenAPI documents, 2.0 to 3.1, read as services: each operation a tool, or a reason why not.
//!
//! A document is somebody else's: whatever is wrong in it costs that operation, never the rest, and nothing it
//! says makes us fetch, expand or store without bound.

mod body;
mod budget;
mod dialects;
mod document;
mod fetch;
mod forms;
mod merge;
mod names;
mod notes;
mod operations;
mod parameters;
mod paths;
mod patterns;
mod schemas;
mod security;
mod servers;
mod styles;
#[cfg(test)]
mod tests;
mod values;
pub(crate) mod yaml;
mod yaml_error;

// All that this folder uses of the connector.
use crate::shared::headers::{PassedHeaders, check_header_name};
use crate::shared::http_tools::{Position, Reserved, Style, ToolSettings, Type, ValueSchema, tools};
use crate::shared::sign_in::Auth;

use document::Document;
use notes::Notes;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tool::{Env, Error, Import, ImportRequest, ImportSource, Imported, Pattern, Problem, Result};

/// OpenAPI documents become services of type `api`.
pub(super) const IMPORT: Import = Import { read: |request, env| Box::pin(read(request, env)) };

/// What a request says about operations and servers.
#[derive(Debug, Default)]
struct ImportOptions {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    server_variables: BTreeMap<String, String>,
}

async fn read(mut request: ImportRequest, env: Env) -> Result<Imported> {
    let mut address = None;
    if let ImportSource::Url(url) = &request.source {
        let fetched = fetch::fetch(url, request.config.get("allow_private_network"), &env).await?;
        request.source = ImportSource::Text(fetched.text);
        address = Some(fetched.address);
    }
    // Big documents take a while, which is not for the threads that serve calls.
    let ImportRequest { source, include, exclude, server_variables, config } = request;
    let converting = tokio::task::spawn_blocking(move || {
        let document = Document::parse(source, address)?;
        convert(&document, &ImportOptions { include, exclude, server_variables }, config)
    });
    converting.await.map_err(|error| Error::internal("reading the document failed").caused_by(error))?
}

/// The whole service; pure, and bounded by the size of the document.
fn convert(document: &Document, options: &ImportOptions, given: Map<String, Value>) -> Result<Imported> {
    let mut notes = Notes::default();
    let operations = operations::list(document, options, &mut notes)?;
    let sign_in = security::choose(document, &operations, &mut notes);
    let mut config = Map::new();
    let mut address_notes = Notes::default();
    let base_url = servers::base_url(document, options, &mut address_notes)?;
    let is_given = given.contains_key("base_url");
    if let Some(base_url) = base_url.filter(|_| !is_given) {
        config.insert("base_url".into(), base_url.into());
    }
    let mut credentials = sign_in.put_into(&mut config);
    overlay(&mut config, given);
    credentials.retain(|credential| !is_set(&config, &credential.setting));
    let tools = operations::to_tools(document, &operations, &sign_in, &mut notes)?;
    let info = document.info();
    let text =
        |key: &str| info.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let name = names::shorten(text("title").unwrap_or("API"), names::MAX_TITLE);
    Ok(Imported {
        id: names::service_id(&name),
        description: text("description").map(|text| names::shorten(text, names::MAX_DESCRIPTION)),
        name,
        config,
        described: Map::new(),
        tools,
        credentials,
        // Whoever gave the address need not hear what the document says about it.
        address_warnings: if is_given { Vec::new() } else { address_notes.warnings() },
        warnings: notes.warnings(),
        skipped: notes.skipped,
    })
}

/// Lays the user's settings over the document's. Another sign-in replaces the document's as a whole.
fn overlay(config: &mut Map<String, Value>, given: Map<String, Value>) {
    let replaces = |key: &str| given.get(key).is_some_and(|new| config.get(key) != Some(new));
    if replaces("auth") || replaces("auth_type") {
        config.shift_remove("auth_type");
        config.shift_remove("auth_config");
    }
    for (key, value) in given {
        match (config.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
            (_, value) => {
                config.insert(key, value);
            }
        }
    }
}

/// Whether the setting needs no further word: it is there, or its sign-in is not used any more.
fn is_set(config: &Map<String, Value>, setting: &str) -> bool {
    let mut parts = setting.split('.');
    let Some(section) = parts.next().and_then(|name| config.get(name)) else { return true };
    parts.try_fold(section, |value, name| value.get(name)).is_some_and(|value| !value.is_null())
}

/// A document, or a wish about it, that cannot be followed.
fn refuse(path: &str, code: &'static str, message: impl Into<String>) -> Error {
    let message = message.into();
    Error::invalid_input(message.clone()).with_problems(vec![Problem::new(path, code, message)])
}

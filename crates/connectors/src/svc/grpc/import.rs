//! Services made from descriptions of their methods: asked for by reflection, or given.

use super::bounds::refused;
use super::open::{client, described};
use super::schema::Schema;
use super::stream::Limits;
use super::tools::{Catalog, Manner, Selection, idempotency, is_wanted, rpc_of};
use crate::svc::open::check_common;
use crate::svc::settings::{SchemaSettings, Settings};
use prost_reflect::{Kind, MethodDescriptor};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tool::connector::invalid_settings;
use tool::{
    Context, Env, Error, Import, ImportRequest, ImportSource, Imported, ImportedTool, Pattern, Problem,
    Result, Tool,
};

/// Descriptions of gRPC methods become services of type `svc`.
pub(in crate::svc) const IMPORT: Import = Import { read: |request, env| Box::pin(read(request, env)) };

/// Of asking the service and of reading what it says.
const TIME: Duration = Duration::from_secs(30);
const MAX_DESCRIPTION: usize = 1_000;
/// Of one method so many messages are compared at the most.
const MAX_MESSAGES: usize = 200;
const DEFAULT_NAME: &str = "gRPC service";

async fn read(request: ImportRequest, env: Env) -> Result<Imported> {
    let ImportRequest { source, include, exclude, mut config, .. } = request;
    config.insert("protocol".into(), "grpc".into());
    let wanted = wanted(source)?;
    let cx = Context::system(env.tenant.clone(), TIME);
    let schema = match apart(&cx, &env, move || described(&wanted)).await? {
        Some(schema) => schema,
        None => ask(&cx, &config, &env).await?,
    };
    apart(&cx, &env, move || convert(&schema, include, exclude, config)).await
}

/// Many methods take a while, which is not for the threads that serve calls.
async fn apart<T: Send + 'static>(
    cx: &Context,
    env: &Env,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let late = "the description could not be read in time; give only the files that are needed";
    cx.within(env.compute.run(cx, work)).await.map_err(|ended| ended.error(late))??
}

/// What a request says about where the description is.
fn wanted(source: ImportSource) -> Result<SchemaSettings> {
    let form =
        "write {\"reflection\": true}, {\"protos\": {\"a.proto\": \"…\"}} or {\"descriptor_set\": \"…\"}";
    let document = match source {
        ImportSource::Document(document) => document,
        ImportSource::Text(text) if text.trim_start().starts_with('{') => serde_json::from_str(&text)
            .map_err(|_| refuse("document", "Unreadable", format!("the document is no JSON; {form}")))?,
        ImportSource::Text(text) => json!({ "protos": { "service.proto": text } }),
        ImportSource::Url(_) => {
            let message =
                format!("descriptions of gRPC services are not fetched; give a document instead: {form}");
            return Err(refuse("url", "Unsupported", message));
        }
    };
    SchemaSettings::deserialize(document).map_err(|error| {
        refuse(
            "document",
            "Invalid",
            format!("the document does not fit: {}; {form}", tool::plain(&error.to_string())),
        )
    })
}

/// Asks the service that the settings lead to.
async fn ask(cx: &Context, config: &Map<String, Value>, env: &Env) -> Result<Schema> {
    let mut problems = Vec::new();
    let settings: Settings = serde_json::from_value(config.clone().into()).map_err(|error| {
        let message = format!("the settings do not lead to a service: {}", tool::plain(&error.to_string()));
        refuse("config", "Invalid", message)
    })?;
    let limits = Limits { messages: 1, bytes: 0 };
    let client = client(check_common(settings, env, &mut problems), limits, env, &mut problems);
    if !problems.is_empty() {
        for problem in &mut problems {
            problem.path = format!("config.{}", problem.path);
        }
        return Err(invalid_settings("svc", problems));
    }
    client.reflect(cx, Ok).await
}

fn convert(
    schema: &Schema,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    config: Map<String, Value>,
) -> Result<Imported> {
    let selection = Selection::Matching { include, exclude };
    let catalog = Catalog::new(schema, &selection, &Manner::default())?;
    if catalog.tools.is_empty() && catalog.skipped.is_empty() {
        return Err(refused(
            "NoMethods",
            "the description has no methods that are wanted; check include and exclude",
        ));
    }
    let tools = catalog.tools.iter().map(|tool| imported(tool, &catalog, schema)).collect::<Result<_>>()?;
    let own = Map::from_iter([("schema".to_owned(), json!({ "descriptor_set": schema.to_base64() }))]);
    let mut config = config;
    config.extend(own.clone());
    let name = name_of(schema, &selection);
    Ok(Imported {
        id: id_of(&name),
        description: description_of(schema, &selection),
        name,
        config,
        described: own,
        tools,
        credentials: Vec::new(),
        skipped: catalog.skipped,
        warnings: Vec::new(),
        address_warnings: Vec::new(),
    })
}

fn imported(tool: &Tool, catalog: &Catalog, schema: &Schema) -> Result<ImportedTool> {
    let method = catalog.methods.get(tool.name()).ok_or_else(|| Error::internal("a tool has no method"))?;
    let definition = json!({ "id": tool.name(), "description": tool.description().unwrap_or_default(), "rpc": method.rpc });
    let Value::Object(definition) = definition else {
        return Err(Error::internal("a definition is no object"));
    };
    let output_schema = tool.field("outputSchema").map(RawValue::to_owned);
    let steered_by = schema.method(&method.rpc).map(|method| steered_by(&method)).unwrap_or_default();
    let input_schema = RawValue::to_owned(tool.input_schema());
    Ok(ImportedTool { definition, input_schema, output_schema, steered_by })
}

/// What no schema tells of a method: whether it may be repeated, whether it streams, and the numbers and types of its fields.
fn steered_by(method: &MethodDescriptor) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("idempotency_level".to_owned(), idempotency(method).as_str_name().into());
    all.insert("server_streaming".to_owned(), method.is_server_streaming().into());
    let mut messages = vec![method.input(), method.output()];
    while let Some(message) = messages.pop().filter(|_| all.len() < MAX_MESSAGES) {
        let name = format!("messages.{}", message.full_name());
        if all.contains_key(&name) {
            continue;
        }
        let fields = message.fields().map(|field| {
            let kind = match field.kind() {
                Kind::Message(inner) => {
                    messages.push(inner.clone());
                    inner.full_name().to_owned()
                }
                Kind::Enum(inner) => inner.full_name().to_owned(),
                plain => format!("{plain:?}").to_ascii_lowercase(),
            };
            format!("{} {kind} = {}", field.name(), field.number())
        });
        let fields: Vec<_> = fields.collect();
        all.insert(name, fields.join("; ").into());
    }
    all
}

/// The services whose methods are wanted.
fn services<'a>(schema: &'a Schema, selection: &'a Selection) -> Vec<prost_reflect::ServiceDescriptor> {
    let Selection::Matching { include, exclude } = selection else { return Vec::new() };
    let mut services: Vec<prost_reflect::ServiceDescriptor> = Vec::new();
    for method in schema.methods() {
        let service = method.parent_service();
        if is_wanted(&rpc_of(&method), "", include, exclude) && services.last() != Some(service) {
            services.push(service.clone());
        }
    }
    services
}

/// The name of the service, or of the package where there are several.
fn name_of(schema: &Schema, selection: &Selection) -> String {
    let services = services(schema, selection);
    let is_version = |part: &&str| {
        part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    match services.as_slice() {
        [] => DEFAULT_NAME.to_owned(),
        [only] => only.name().to_owned(),
        [first, ..] => {
            let part = first.package_name().rsplit('.').find(|part| !is_version(part) && !part.is_empty());
            part.unwrap_or(DEFAULT_NAME).to_owned()
        }
    }
}

fn description_of(schema: &Schema, selection: &Selection) -> Option<String> {
    let services = services(schema, selection);
    let [only] = services.as_slice() else { return None };
    let said = schema.comments.get(only.parent_file().name(), only.path())?;
    Some(said.chars().take(MAX_DESCRIPTION).collect())
}

fn id_of(name: &str) -> String {
    let id: String = super::names::snake(name).replace('_', "-").chars().take(32).collect();
    let id = id.trim_end_matches('-');
    if id.is_empty() { "grpc".to_owned() } else { id.to_owned() }
}

fn refuse(path: &str, code: &'static str, message: String) -> Error {
    Error::invalid_input(message.clone()).with_problems(vec![Problem::new(path, code, message)])
}

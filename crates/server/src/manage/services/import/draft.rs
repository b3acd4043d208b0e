//! A service on its way from a document to the store: compared with the one there is, previewed, saved.

use super::{Body, ImportNotes, ImportPreview, ImportResult, PreviewedTool};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::manage::secrets::{AddressChange, Visibility, masked, shown};
use crate::manage::services::changes::{Changes, between, kept_config, removed, updated};
use crate::manage::services::references::{names_of, references_to_tools};
use crate::manage::services::settings::{check, tools_of};
use crate::manage::services::{Create, Update, add, change, check_service_id, masked_tool, schema_of};
use crate::manage::users::check_name;
use axum::Json as Answer;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::{Service, ServiceTool};
use tool::{Imported, ImportedTool};

/// What tools take and answer, and what else steers their calls, by their ids.
type Schemas = BTreeMap<String, Described>;

struct Described {
    input: Box<RawValue>,
    output: Option<Box<RawValue>>,
    steered_by: Map<String, Value>,
}

/// A service on its way from the document to the store.
pub(super) struct Draft {
    scheme: String,
    id: String,
    name: String,
    description: Option<String>,
    config: Map<String, Value>,
    tools: Vec<ServiceTool>,
    schemas: Schemas,
    /// Those of the service there is.
    old_schemas: Schemas,
    credentials: Vec<tool::Credential>,
    skipped: Vec<tool::Skipped>,
    warnings: Vec<String>,
    /// The service there is, which keeps its settings but for those the request gave.
    old: Option<Service>,
    is_new_config: bool,
}

impl Draft {
    pub(super) fn new(
        scheme: String,
        id: String,
        imported: Imported,
        body: &Body,
        given: Map<String, Value>,
        old: Option<(Service, Vec<ImportedTool>)>,
        schema: &Value,
    ) -> Result<Self> {
        let (definitions, schemas) = parted(imported.tools);
        let (old, before) = old.unzip();
        let (before, old_schemas) = parted(before.unwrap_or_default());
        // A service that is there has its address.
        let address_warnings = if old.is_none() { imported.address_warnings } else { Vec::new() };
        let (mut tools, before) = (tools_of(definitions)?, tools_of(before)?);
        let mut draft = Self {
            scheme,
            id,
            name: body.name.clone().unwrap_or(imported.name),
            description: body.description.clone().or(imported.description),
            config: imported.config,
            tools: Vec::new(),
            schemas,
            old_schemas,
            credentials: imported.credentials,
            skipped: imported.skipped,
            warnings: [address_warnings, imported.warnings].concat(),
            is_new_config: !given.is_empty() || !imported.described.is_empty(),
            old,
        };
        if let Some(old) = &draft.old {
            // Secrets are kept, or stay behind, where every change of a service decides it.
            tools = updated(tools, &shown(&old.tools, schema), &before, body.keep_missing);
            let config = masked(&old.config, schema, Visibility::Manager);
            let config = kept_config(&config, given, imported.described);
            let of_document = std::mem::replace(&mut draft.config, config);
            draft.credentials.clear();
            draft.name = body.name.clone().unwrap_or_else(|| old.name.clone());
            draft.description = body.description.clone().or_else(|| old.description.clone());
            let (said, kept) = (of_document.get("base_url"), draft.config.get("base_url"));
            if let (Some(said), Some(kept)) = (said, kept)
                && said != kept
            {
                draft.warnings.push(format!(
                    "the document says {said}, the service stays at {kept}; base_url moves it"
                ));
            }
        }
        draft.tools = tools;
        Ok(draft)
    }

    /// What would refer to tools that go, if anything does; said in a warning as well, for those who do it anyway.
    pub(super) async fn missed(&mut self, state: &Shared, signed_in: &SignedIn) -> Result<Option<String>> {
        let Some(old) = &self.old else { return Ok(None) };
        let gone = removed(&old.tools, &self.tools);
        let references = references_to_tools(state, signed_in, &self.scheme, &self.id, &gone).await?;
        if references.is_empty() {
            return Ok(None);
        }
        let (count, names) = (references.len(), names_of(&references));
        let what = format!("{count} things refer to tools that the document does not have: {names}");
        let detail = format!("{what}; keep the tools with keep_missing, or import with ?force=true");
        self.warnings.push(what);
        Ok(Some(detail))
    }

    pub(super) async fn preview(
        mut self,
        state: &Shared,
        signed_in: &SignedIn,
        mut problems: Vec<tool::Problem>,
    ) -> Result<ImportPreview> {
        let schema = schema_of(state, &self.scheme);
        let config = Value::Object(self.config.clone());
        let (whole, tools, moving) = self.with_secrets(&schema);
        let checked = [
            check_service_id(&self.id),
            check_name("name", &self.name),
            check(state, signed_in, &self.scheme, &whole, &tools)
                .await
                .map_err(|problem| moving.explain(problem)),
        ];
        for problem in checked.into_iter().filter_map(Result::err) {
            if problem.errors().is_empty() {
                return Err(problem);
            }
            problems.extend_from_slice(problem.errors());
        }
        let changes = self.changes(&schema);
        let with_input_schema = |tool: ServiceTool| {
            let input_schema = self.schemas.remove(&tool.id).map(|described| described.input);
            PreviewedTool { definition: masked_tool(tool, &schema, Visibility::Manager), input_schema }
        };
        Ok(ImportPreview {
            tools: self.tools.into_iter().map(with_input_schema).collect(),
            config: masked(&config, &schema, Visibility::Manager),
            scheme: self.scheme,
            id: self.id,
            name: self.name,
            description: self.description,
            notes: ImportNotes { skipped: self.skipped, warnings: self.warnings, changes },
            credentials: self.credentials,
            problems,
        })
    }

    /// Settings and tools as they would be stored.
    fn with_secrets(&self, schema: &Value) -> (Value, Vec<ServiceTool>, AddressChange) {
        let (config, tools) = (self.config.clone(), self.tools.clone());
        let Some(old) = &self.old else { return (config.into(), tools, AddressChange::default()) };
        let (config, tools, moving) = AddressChange::service(Some(config), Some(tools), old, schema);
        (config.unwrap_or_default(), tools.unwrap_or_default(), moving)
    }

    /// The differences to the service there is, secrets masked; what tools take and answer counts where both are known.
    fn changes(&self, schema: &Value) -> Option<Changes> {
        let views = |tools: &[ServiceTool], schemas: &Schemas, others: &Schemas| -> Vec<Value> {
            let view = |tool: &ServiceTool| {
                let mut view = masked_tool(tool.clone(), schema, Visibility::Manager);
                let known = schemas.get(&tool.id).filter(|_| others.contains_key(&tool.id));
                if let Some(Described { input, output, steered_by }) = known {
                    view["input_schema"] = readable(input);
                    view["output_schema"] = output.as_deref().map(readable).unwrap_or_default();
                    for (name, value) in steered_by {
                        view[name] = value.clone();
                    }
                }
                view
            };
            tools.iter().map(view).collect()
        };
        let (new, old) = (&self.schemas, &self.old_schemas);
        self.old
            .as_ref()
            .map(|service| between(&views(&service.tools, old, new), &views(&self.tools, new, old)))
    }

    /// Goes the same way as a service that is written by hand.
    pub(super) async fn save(self, state: &Shared, signed_in: &SignedIn) -> Result<Response> {
        let changes = self.changes(&schema_of(state, &self.scheme));
        let tools = self.tools.into_iter().map(with_id).collect();
        let notes = ImportNotes { skipped: self.skipped, warnings: self.warnings, changes };
        let Some(old) = self.old else {
            let create = Create {
                scheme: self.scheme,
                id: self.id,
                name: Some(self.name),
                description: self.description,
                config: self.config,
                tools,
                enabled: None,
            };
            let service = add(state, signed_in, create).await?;
            return Ok((StatusCode::CREATED, Answer(ImportResult { service, notes })).into_response());
        };
        let update = Update {
            name: Some(self.name),
            description: Some(self.description),
            config: self.is_new_config.then_some(self.config),
            tools: Some(tools),
            // What others refer to was looked for already.
            is_forced: true,
            ..Update::default()
        };
        let service = change(state, signed_in, old, update).await?;
        Ok(Answer(ImportResult { service, notes }).into_response())
    }
}

/// Definitions, and what the tools take and answer.
fn parted(tools: Vec<ImportedTool>) -> (Vec<Map<String, Value>>, Schemas) {
    let (mut definitions, mut schemas) = (Vec::new(), Schemas::new());
    for ImportedTool { definition, input_schema: input, output_schema: output, steered_by } in tools {
        if let Some(id) = definition.get("id").and_then(Value::as_str) {
            schemas.insert(id.to_owned(), Described { input, output, steered_by });
        }
        definitions.push(definition);
    }
    (definitions, schemas)
}

fn readable(schema: &RawValue) -> Value {
    serde_json::from_str(schema.get()).unwrap_or_default()
}

fn with_id(tool: ServiceTool) -> Map<String, Value> {
    let mut definition = tool.definition.as_object().cloned().unwrap_or_default();
    definition.shift_insert(0, "id".into(), tool.id.into());
    definition
}

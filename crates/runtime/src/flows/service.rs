//! The type `flow`: each published flow is a service of one tool, at `flow://<id>`.

use super::Flows;
use super::given::{Given, Origin};
use super::start::{NewStart, Worker};
use super::versions::Version;
use async_trait::async_trait;
use gateway::{BuiltIn, ServiceDefinition};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Weak};
use store::runs::Parent;
use tool::secret::SecretValues;
use tool::{
    Call, Connector, Context, Error, Extras, Outcome, Result, RunId, RunKind, Step, TenantId, Tool, Uri, runs,
};

/// What a start brings along beside its arguments.
const EXTRA: &str = "mcp-all-in-one/flow";

/// What sub-flows see as `tenantId` and `buCode`, where that is not their own tenant and nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inherited {
    #[serde(rename = "tenantId", default, skip_serializing_if = "Option::is_none")]
    tenant_id: Option<String>,
    #[serde(rename = "buCode", default, skip_serializing_if = "Option::is_none")]
    bu_code: Option<String>,
    /// What they may not show either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<String>,
}

impl Inherited {
    pub(super) fn of(given: &Given, secrets: &SecretValues) -> Self {
        Self {
            tenant_id: given.tenant_id.clone(),
            bu_code: given.bu_code.clone(),
            secrets: secrets.expose().to_vec(),
        }
    }

    /// Arguments that are given win. Those that the flow does not declare as inputs are for this alone.
    pub(super) fn overridden(
        mut self,
        arguments: &mut Map<String, Value>,
        is_declared: impl Fn(&str) -> bool,
    ) -> Self {
        for (name, seen) in [("tenantId", &mut self.tenant_id), ("buCode", &mut self.bu_code)] {
            if let Some(Value::String(text)) = arguments.get(name) {
                *seen = Some(text.clone());
                if !is_declared(name) {
                    arguments.remove(name);
                }
            }
        }
        self
    }

    pub(super) fn write(&self, extras: &mut Extras) {
        if let Ok(value) = to_raw_value(&json!({ "inherited": self })) {
            extras.set(EXTRA, value);
        }
    }
}

/// What a door, or a run, asks of a start beside its arguments.
#[derive(Debug, Default, Deserialize, Serialize)]
struct StartOptions {
    #[serde(default)]
    inherited: Inherited,
    /// Not to be waited for.
    #[serde(default)]
    is_async: bool,
    #[serde(default)]
    dedupe_key: Option<String>,
}

/// What a door adds to a call that is to be answered at once, under this key if there is one.
#[must_use]
pub fn not_waiting(dedupe_key: Option<&str>) -> Extras {
    let mut extras = Extras::default();
    if let Ok(value) = to_raw_value(&json!({ "is_async": true, "dedupe_key": dedupe_key })) {
        extras.set(EXTRA, value);
    }
    extras
}

/// One published flow.
struct FlowService {
    flows: Weak<Flows>,
    id: String,
    version: Arc<Version>,
    tool: Tool,
}

impl Flows {
    /// The services of a tenant's published flows, and the tool that asks about their runs.
    pub(crate) async fn services(
        self: &Arc<Self>,
        tenant: &TenantId,
    ) -> store::Result<Vec<ServiceDefinition>> {
        let mut services = Vec::new();
        for (flow, version) in self.store.flows().published(tenant).await? {
            let number = flow.updated_at.wrapping_mul(1 << 20).wrapping_add(version.version);
            match self.service(tenant, &flow.id, &version) {
                Ok(service) => services.push(ServiceDefinition {
                    is_enabled: flow.is_enabled,
                    ..definition(runs::SCHEME, &flow.id, &flow.name, number, Arc::new(service))
                }),
                Err(error) => {
                    let id = &flow.id;
                    tracing::warn!(%tenant, id, %error, "flow {id} cannot be called: {error}");
                }
            }
        }
        if !services.is_empty() {
            services.push(super::polling::definition(self));
        }
        Ok(services)
    }

    fn service(
        self: &Arc<Self>,
        tenant: &TenantId,
        id: &str,
        version: &store::flows::FlowVersion,
    ) -> Result<FlowService> {
        let version = self.versions.of(tenant, id, version)?;
        let tool = tool_of(id, &version)?;
        Ok(FlowService { flows: Arc::downgrade(self), id: id.to_owned(), version, tool })
    }
}

/// A service of this program that everybody may use.
pub(super) fn definition(
    scheme: &str,
    id: &str,
    name: &str,
    version: i64,
    connector: Arc<dyn Connector>,
) -> ServiceDefinition {
    ServiceDefinition {
        scheme: scheme.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        settings: Value::Null,
        is_enabled: true,
        is_trusted: false,
        variables: Vec::new(),
        problem: None,
        built_in: Some(BuiltIn::for_everyone(connector)),
        version,
        // A flow is called `flow__id` where another service has its name.
        made_at_ms: Some(i64::MAX),
    }
}

/// The tool of a flow, typed by its `inputs` and `returns`.
fn tool_of(id: &str, version: &Version) -> Result<Tool> {
    let flow = &version.flow;
    let mut input = flow.input_schema();
    for secret in flow.inputs.iter().filter(|input| input.is_secret) {
        if let Some(field) = input["properties"].get_mut(&secret.name).and_then(Value::as_object_mut) {
            field.insert("writeOnly".to_owned(), true.into());
        }
    }
    let name = flow.name.clone().unwrap_or_default();
    let description = flow.description.clone().unwrap_or(name);
    // Clients of 2025-11-25 may call it as a task; those of other versions do not look there.
    let execution = json!({ "taskSupport": "optional" });
    let mut definition =
        json!({ "name": id, "description": description, "inputSchema": input, "execution": execution });
    if let Some(output) = flow.output_schema().and_then(or_started) {
        definition["outputSchema"] = output;
    }
    let raw =
        to_raw_value(&definition).map_err(|error| Error::internal("a flow has no tool").caused_by(error))?;
    Tool::from_raw(&raw)
}

/// What a call of a flow gives: what the flow returns or, where it takes longer, its run.
fn or_started(mut returns: Value) -> Option<Value> {
    let definitions = returns.as_object_mut()?.remove("$defs");
    // Clients take no other types.
    if returns.get("type").is_none_or(|kind| kind != "object") {
        return None;
    }
    let started = json!({
        "type": "object", "properties": { "run_id": { "type": "string" } }, "required": ["run_id"]
    });
    let mut schema = json!({ "type": "object", "anyOf": [returns, started] });
    if let Some(definitions) = definitions {
        schema["$defs"] = definitions;
    }
    Some(schema)
}

#[async_trait]
impl Connector for FlowService {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        Ok(vec![self.tool.clone()])
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let flows = self.flows.upgrade().ok_or_else(|| Error::unavailable("the program is stopping"))?;
        let asked = asked(&call);
        check_unit(cx, call.arguments.as_map()?)?;
        let version = match call.options.version {
            Some(number) => flows.version(&cx.tenant, &self.id, number.into()).await?,
            None => self.version.clone(),
        };
        let parent = parent_of(cx).filter(|_| call.options.is_async != Some(true));
        let inherited = if cx.nested.is_some() { asked.inherited } else { Inherited::default() };
        let given = Given {
            inputs: call.arguments.as_map()?.clone(),
            tenant_id: inherited.tenant_id,
            bu_code: inherited.bu_code.or_else(|| cx.caller.bu_code.clone()),
            inherited_secrets: inherited.secrets,
            ..Given::default()
        };
        let mut origin = flows.origin_of(cx).await?;
        let address = Uri::of_service(runs::SCHEME, &self.id).to_string();
        origin.around = cx.around.as_deref().map(|around| around.with(&address)).transpose()?;
        let key = asked.dedupe_key.as_deref().or_else(|| cx.idempotency_key());
        let mut start = NewStart::new(&self.id, version, given, origin, &cx.caller).once(key, &cx.caller);
        let is_waited_for = parent.is_none() && !asked.is_async && call.options.is_async != Some(true);
        start.parent = parent;
        if !is_waited_for {
            return Ok(Outcome::Started(flows.accept(&cx.tenant, start, Worker::Anybody).await?.run.id));
        }
        start.events = cx.events.clone();
        let started = flows.accept(&cx.tenant, start, Worker::Us).await?;
        flows.follow(cx, started).await
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }

    fn is_prefixed(&self) -> bool {
        false
    }

    fn run_kind(&self) -> Option<RunKind> {
        Some(RunKind::Flow)
    }
}

fn asked(call: &Call) -> StartOptions {
    call.extras
        .get(EXTRA)
        .map(RawValue::get)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Sub-flows may be told of another tenant and unit; whoever comes through a door, or is a model that an agent asks, is
/// of its own.
///
/// # Errors
/// `Denied` where a caller names others.
pub fn check_unit(cx: &Context, arguments: &Map<String, Value>) -> Result<()> {
    let unit = cx.caller.bu_code.as_deref();
    let own = [("tenantId", Some(cx.tenant.as_str()), "tenant"), ("buCode", unit, "unit")];
    let is_of_run = journaled_step(cx).is_some();
    for (name, own, what) in own.into_iter().filter(|_| !is_of_run) {
        let named = arguments.get(name).and_then(Value::as_str);
        if let Some(named) = named.filter(|named| Some(*named) != own) {
            return Err(Error::denied(format!("'{name}' is '{named}', and the caller is of another {what}")));
        }
    }
    Ok(())
}

/// The node of a run that makes the call, and waits for what comes of it.
pub(super) fn parent_of(cx: &Context) -> Option<Parent> {
    let step = journaled_step(cx)?;
    Some(Parent { run: step.run.clone()?, path: step.path.as_deref()?.to_owned() })
}

/// The step of a run that makes the call.
fn journaled_step(cx: &Context) -> Option<&Step> {
    cx.nested.as_deref().map(|nested| &nested.step).filter(|step| step.is_journaled)
}

impl Flows {
    /// What starts a run that is called so.
    pub(super) async fn origin_of(&self, cx: &Context) -> Result<Origin> {
        let around: Option<RunId> = journaled_step(cx).and_then(|step| step.run.clone());
        let Some(around) = around else { return Ok(Origin::door(cx.door, &cx.request_id).in_trace_of(cx)) };
        let depth = Origin::read(&self.store.runs().get(&cx.tenant, &around).await?.origin).depth + 1;
        let request_id = Some(cx.request_id.to_string());
        Ok(Origin { kind: runs::SCHEME.to_owned(), request_id, depth, ..Origin::default() }.in_trace_of(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tool::{Caller, Door, ErrorKind};

    #[test]
    fn only_a_run_names_another_tenant_or_unit() {
        let caller = Arc::new(Caller { bu_code: Some("sales".to_owned()), ..Caller::local() });
        let door = Context::new(TenantId::default_tenant(), caller, Door::Mcp, Duration::from_secs(1));
        let of_agent = door.nested(Step::default());
        let of_run = door.nested(Step { is_journaled: true, ..Step::default() });
        for (name, other) in [("tenantId", "acme"), ("buCode", "board")] {
            let arguments = Map::from_iter([(name.to_owned(), Value::from(other))]);
            for cx in [&door, &of_agent] {
                assert_eq!(check_unit(cx, &arguments).unwrap_err().kind(), ErrorKind::Denied, "{name}");
            }
            check_unit(&of_run, &arguments).unwrap();
        }
    }
}

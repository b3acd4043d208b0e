//! What the model is offered before each model call: what the agent has, as far as its caller may call it.

use super::super::Agent;
use super::super::binding::{Binding, BoundTo, Handoff};
use super::super::model::Offer;
use super::super::names::{handoff_name, model_name};
use super::super::settings::{RunAs, with_rights_to};
use super::work::AtWork;
use ranking::Toolbox;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};
use tool::{CallTools, CallableTool, Context, Error, Result, RunKind, Step, Target, Uri};

/// The most tools that patterns may stand for; all of them are looked up before each model call.
const MAX_TOOLS: usize = 1_000;

/// A tool that the model may call now.
pub(super) struct Bound<'a> {
    pub(super) name: String,
    pub(super) callable: CallableTool,
    pub(super) target: Target,
    pub(super) binding: &'a Binding,
    pub(super) parameters: Arc<RawValue>,
}

/// Everything that the model may ask for now.
pub(super) struct Offered<'a> {
    pub(super) tools: Vec<Bound<'a>>,
    pub(super) handoffs: Vec<(String, &'a Handoff)>,
    /// What the tools are found by, where they are too many to be told.
    pub(super) toolbox: OnceLock<Toolbox>,
    /// Some would be agents around this one.
    is_circle: bool,
}

impl Offered<'_> {
    /// A call of that name is a handoff.
    pub(super) fn is_handoff(&self, name: &str) -> bool {
        self.handoffs.iter().any(|(known, _)| known == name)
    }

    /// The model may call something by that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.is_searched() && ranking::is_reserved(name) || self.tools.iter().any(|bound| bound.name == name)
    }

    /// The same as the model is told of it.
    pub(super) fn offers(&self) -> Vec<Offer> {
        let told = |bound: &Bound<'_>| Offer {
            name: bound.name.clone(),
            description: bound.description().to_owned(),
            parameters: bound.parameters.clone(),
        };
        let tools = match self.is_searched() {
            true => self.searching(),
            false => self.tools.iter().map(told).collect(),
        };
        let parameters: Arc<RawValue> = to_raw_value(&json!({
            "type": "object",
            "properties": {
                "reason": { "type": "string", "description": "Why the other agent should go on." },
                "message": { "type": "string", "description": "What it should know or do." }
            },
            "required": ["reason"],
            "additionalProperties": false
        }))
        .unwrap_or_default()
        .into();
        let handoffs = self.handoffs.iter().map(|(name, handoff)| Offer {
            name: name.clone(),
            description: format!(
                "Hands the conversation over to another agent. Use it for: {}",
                handoff.when
            ),
            parameters: parameters.clone(),
        });
        tools.into_iter().chain(handoffs).collect()
    }
}

impl Bound<'_> {
    /// What the model is told of the tool.
    pub(super) fn description(&self) -> &str {
        let own = self.binding.description.as_deref();
        own.or_else(|| self.callable.tool.description()).unwrap_or_default()
    }
}

/// The context in which tools of this agent are looked up and called: with the rights that count.
pub(super) fn acting(agent: &Agent, cx: &Context, step: Step) -> Context {
    let nested = cx.nested(step);
    match agent.run_as {
        // At an instance's door its bindings are all there is.
        RunAs::Caller => Context { instance: cx.instance.clone(), ..nested },
        RunAs::Agent => with_rights_to(nested, agent.bindings.iter().map(Binding::pattern).collect()),
    }
}

/// What the model may ask for now.
///
/// # Errors
/// `Denied` when the agent has tools and none of them is left to this caller.
pub(super) fn offered<'a>(
    agent: &'a Agent,
    cx: &Context,
    work: &AtWork,
    tools: Option<&dyn CallTools>,
) -> Result<Offered<'a>> {
    let mut found =
        Offered { tools: Vec::new(), handoffs: Vec::new(), toolbox: OnceLock::new(), is_circle: false };
    let Some(tools) = tools else {
        return match agent.bindings.is_empty() && agent.handoffs.is_empty() {
            true => Ok(found),
            false => Err(Error::unavailable("the agent's tools are to be had from a server only")),
        };
    };
    let left_out = add_tools(&mut found, agent, cx, work, tools) + add_handoffs(&mut found, agent, cx, tools);
    if !agent.bindings.is_empty() && found.tools.is_empty() {
        let message = match found.is_circle {
            true => format!(
                "the tools of agent '{}' are agents that are at work already ({}); they cannot be asked inside",
                agent.id,
                work.around.told()
            ),
            false => format!("none of the tools of agent '{}' is open to {}", agent.id, cx.caller.name),
        };
        return Err(Error::denied(message));
    }
    if left_out > 0 {
        let warning = format!("{left_out} of the agent's tools and handoffs are not there for this caller");
        work.run.spent().warn(warning);
    }
    Ok(found)
}

/// Adds the tools that can be called; says how many bindings lead nowhere.
fn add_tools<'a>(
    found: &mut Offered<'a>,
    agent: &'a Agent,
    cx: &Context,
    work: &AtWork,
    tools: &dyn CallTools,
) -> usize {
    let lookup = Lookup::new(acting(agent, cx, Step::default()), tools);
    // What has a binding of its own is meant by that, wherever a pattern stands.
    let of_their_own: HashSet<_> = agent.bindings.iter().filter_map(Binding::address).collect();
    let (mut left_out, mut known, mut names) = (0, HashSet::new(), HashSet::new());
    // A name that settings give is not taken by a pattern before.
    let (patterns, single): (Vec<_>, Vec<_>) =
        agent.bindings.iter().partition(|binding| binding.is_pattern());
    for binding in single.into_iter().chain(patterns) {
        let mut callables = lookup.callables(binding).peekable();
        left_out += usize::from(callables.peek().is_none());
        for (callable, target) in callables {
            let address = callable.uri.with_options(Default::default()).to_string();
            let is_at_work = callable.run_kind == Some(RunKind::Agent) && work.around.has(&address);
            let is_meant_elsewhere =
                binding.is_pattern() && (of_their_own.contains(&address) || !known.insert(address));
            found.is_circle |= is_at_work;
            if is_at_work || is_meant_elsewhere {
                continue;
            }
            let name = binding.name.clone().unwrap_or_else(|| model_name(&callable.name));
            if !names.insert(name.clone()) {
                let uri = &callable.uri;
                let warning =
                    format!("two tools would be called '{name}', and {uri} is left out; name it in 'as'");
                work.run.spent().warn(warning);
                continue;
            }
            if found.tools.len() >= MAX_TOOLS {
                let warning = format!("the agent has more than {MAX_TOOLS} tools; the others are left out");
                work.run.spent().warn(warning);
                return left_out;
            }
            let parameters = without_presets(&callable, binding);
            found.tools.push(Bound { name, callable, target, binding, parameters });
        }
    }
    left_out
}

/// Adds the agents that the caller may be handed over to; says how many are left out.
fn add_handoffs<'a>(found: &mut Offered<'a>, agent: &'a Agent, cx: &Context, tools: &dyn CallTools) -> usize {
    let of_caller = Context { instance: cx.instance.clone(), ..cx.nested(Step::default()) };
    let lookup = Lookup::new(of_caller, tools);
    for handoff in &agent.handoffs {
        if lookup.find(&handoff.to).is_some() {
            found.handoffs.push((handoff_name(&handoff.to), handoff));
        }
    }
    agent.handoffs.len() - found.handoffs.len()
}

/// What addresses lead to in a context. Everything is listed at most once, as there may be thousands.
pub(super) struct Lookup<'t> {
    cx: Context,
    tools: &'t dyn CallTools,
    listed: OnceCell<Vec<CallableTool>>,
}

impl<'t> Lookup<'t> {
    pub(super) fn new(cx: Context, tools: &'t dyn CallTools) -> Self {
        Self { cx, tools, listed: OnceCell::new() }
    }

    fn listed(&self) -> &[CallableTool] {
        self.listed.get_or_init(|| self.tools.tools(&self.cx))
    }

    /// What an address leads to, and how it is called. An instance knows only the names of its bindings.
    pub(super) fn find(&self, uri: &Uri) -> Option<(CallableTool, Target)> {
        if self.cx.instance.is_none() {
            let target = Target::Uri(uri.clone());
            return self.tools.tool(&self.cx, &target).ok().map(|callable| (callable, target));
        }
        let plain = uri.with_options(Default::default());
        self.listed().iter().find(|tool| tool.uri == plain).cloned().map(by_name)
    }

    /// The tools that a binding stands for, as far as they can be called.
    fn callables<'l>(
        &'l self,
        binding: &'l Binding,
    ) -> Box<dyn Iterator<Item = (CallableTool, Target)> + 'l> {
        match &binding.target {
            BoundTo::One(uri) => {
                let found = self.find(uri);
                Box::new(found.map(|(callable, target)| (with_options(callable, uri), target)).into_iter())
            }
            BoundTo::Many(pattern) => {
                let mut known = BTreeSet::new();
                let fitting = self.listed().iter().filter(move |tool| {
                    let address = tool.uri.to_string();
                    pattern.matches(&address) && known.insert(address)
                });
                Box::new(fitting.filter_map(move |tool| match self.cx.instance {
                    Some(_) => Some(by_name(tool.clone())),
                    None => self.find(&tool.uri),
                }))
            }
        }
    }
}

fn by_name(callable: CallableTool) -> (CallableTool, Target) {
    let target = Target::Name(callable.name.clone());
    (callable, target)
}

fn with_options(callable: CallableTool, uri: &Uri) -> CallableTool {
    CallableTool { uri: callable.uri.with_options(uri.options().clone()), ..callable }
}

/// The schema of the arguments that the model chooses.
fn without_presets(callable: &CallableTool, binding: &Binding) -> Arc<RawValue> {
    let schema = callable.tool.input_schema();
    if binding.preset.is_empty() {
        return schema.to_owned().into();
    }
    let mut parsed: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    let is_preset = |name: &str| binding.preset.iter().any(|(preset, _)| preset == name);
    if let Some(properties) = parsed.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !is_preset(name));
    }
    if let Some(required) = parsed.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(is_preset));
    }
    to_raw_value(&parsed).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::super::super::binding::{ToolSettings, check_tools};
    use super::*;
    use async_trait::async_trait;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tool::objects::{Part, Reading};
    use tool::{Arguments, Caller, Door, Finding, InstanceId, Link, Outcome, Request, TenantId, Tool};

    /// So many tools, and how often somebody wanted them all.
    struct Many(usize, AtomicUsize);

    #[async_trait]
    impl CallTools for Many {
        async fn call(&self, _: &Context, _: Request) -> Result<Outcome> {
            Err(Error::internal("nothing is called here"))
        }

        async fn refuse(&self, _: &Context, _: &str, _: Error) {}

        async fn find(&self, _: &Context, _: Arguments, _: &Finding<'_>) -> Result<Outcome> {
            Err(Error::internal("nothing is found here"))
        }

        fn tools(&self, _: &Context) -> Vec<CallableTool> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let tool = |n: usize| CallableTool {
                name: format!("crm__t{n}"),
                uri: format!("api://crm/t{n}").parse().unwrap(),
                tool: Arc::new(Tool::new(format!("t{n}"), "Does it.", &json!({ "type": "object" })).unwrap()),
                run_kind: None,
            };
            (0..self.0).map(tool).collect()
        }

        fn tool(&self, _: &Context, _: &Target) -> Result<CallableTool> {
            Err(Error::not_found("an instance knows names alone"))
        }

        fn uses(&self, _: &Context, _: &Uri) -> Result<Vec<tool::Pattern>> {
            Ok(Vec::new())
        }

        async fn read_object(&self, _: &Context, _: &Link, _: Part) -> Result<Reading> {
            Err(Error::not_found("there is nothing"))
        }
    }

    #[test]
    fn everything_is_listed_once_at_an_instance_s_door() {
        let tools = Many(300, AtomicUsize::new(0));
        let caller = Arc::new(Caller::local());
        let mut cx = Context::new(TenantId::default_tenant(), caller, Door::Mcp, Duration::from_secs(1));
        cx.instance = Some(InstanceId::generate());
        let lookup = Lookup::new(cx, &tools);
        let settings: Vec<ToolSettings> =
            serde_json::from_value(json!(["api://crm/*", "api://crm/t7", "api://crm/t8"])).unwrap();
        let bindings = check_tools(&settings, &mut Vec::new());
        let found: Vec<_> = bindings.iter().flat_map(|binding| lookup.callables(binding)).collect();
        assert_eq!(found.len(), 302);
        assert!(matches!(&found[301].1, Target::Name(name) if name == "crm__t8"), "{:?}", found[301]);
        assert_eq!(tools.1.load(Ordering::Relaxed), 1);
    }
}

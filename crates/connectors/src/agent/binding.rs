//! What an agent may call, and whom it may hand over to, as the settings say.

use super::approval::Approval;
use super::names::{MAX_NAME, model_name};
use super::settings::check_template;
use gotemplate::{Missing, Template};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool::{Pattern, Problem, RunKind, Uri};

/// How deep a preset may be.
const MAX_DEPTH: usize = 32;

/// A tool that the model may call: its address alone, or with more.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum ToolSettings {
    Address(String),
    Full(Box<ToolObject>),
}

/// A tool that the model may call.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolObject {
    /// The tool's address, or a pattern of addresses with `*`.
    uri: String,
    /// What the model calls it; not for patterns.
    #[serde(default, rename = "as")]
    name: Option<String>,
    /// What the model is told of it, instead of what the tool says itself; not for patterns.
    #[serde(default)]
    description: Option<String>,
    /// Arguments that are set, and that the model neither sees nor changes. Texts are templates, e.g.
    /// `{{ .context.customer }}`; a value that is missing refuses the call.
    #[serde(default)]
    #[schemars(schema_with = "any_fields")]
    preset: Map<String, Value>,
    /// Whether calls of this tool need approval, instead of what the agent says.
    #[serde(default)]
    approval: Option<Approval>,
    /// What the tool answers was written by people whom this agent may believe.
    #[serde(default)]
    trusted: bool,
}

fn any_fields(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "object", "additionalProperties": {} })
}

impl JsonSchema for ToolSettings {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AgentTool".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ToolObject::json_schema(generator);
        schema.insert("type".to_owned(), json!(["string", "object"]));
        schema
    }
}

/// Where an agent may hand over to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HandoffSettings {
    /// The other agent, e.g. `agent://billing`.
    to: String,
    /// When to hand over, for the model.
    when: String,
    /// What the other agent gets to know: `full` (all that was said), `prompt` (what was asked) or `none`.
    #[serde(default)]
    history: History,
}

/// What the next agent gets to know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum History {
    #[default]
    Full,
    Prompt,
    None,
}

/// A tool, or several, that the model may call.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) target: BoundTo,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) preset: Vec<(String, Preset)>,
    pub(super) approval: Option<Approval>,
    pub(super) is_trusted: bool,
}

impl Binding {
    /// It stands for all tools whose address fits.
    pub(super) fn is_pattern(&self) -> bool {
        matches!(self.target, BoundTo::Many(_))
    }

    /// The address of the one tool that it stands for, as catalogs have it.
    pub(super) fn address(&self) -> Option<String> {
        let BoundTo::One(uri) = &self.target else { return None };
        Some(uri.with_options(Default::default()).to_string())
    }

    /// What it stands for, as it was written.
    pub(super) fn pattern(&self) -> Pattern {
        match &self.target {
            BoundTo::One(uri) => Pattern(uri.to_string()),
            BoundTo::Many(pattern) => pattern.clone(),
        }
    }
}

/// One tool, or all whose address fits.
#[derive(Debug)]
pub(super) enum BoundTo {
    One(Uri),
    Many(Pattern),
}

/// The value of an argument that the model does not choose.
#[derive(Debug)]
pub(super) enum Preset {
    Fixed(Value),
    Text(Template),
    List(Vec<Preset>),
    Fields(Vec<(String, Preset)>),
}

impl Preset {
    /// The value for this data, or which part of the data is missing.
    pub(super) fn render(&self, data: &Value) -> Result<Value, String> {
        match self {
            Self::Fixed(value) => Ok(value.clone()),
            Self::Text(template) => template.render(data).map(Value::from).map_err(|error| error.to_string()),
            Self::List(items) => items.iter().map(|item| item.render(data)).collect(),
            Self::Fields(fields) => {
                let render = |(name, field): &(String, Self)| Ok((name.clone(), field.render(data)?));
                fields.iter().map(render).collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
        }
    }
}

/// Where an agent may hand over to.
#[derive(Debug)]
pub(super) struct Handoff {
    pub(super) to: Uri,
    pub(super) when: String,
    pub(super) history: History,
}

pub(super) fn check_tools(tools: &[ToolSettings], problems: &mut Vec<Problem>) -> Vec<Binding> {
    let check = |(at, tool): (usize, &ToolSettings)| match tool {
        ToolSettings::Address(address) => {
            let object = ToolObject {
                uri: address.clone(),
                name: None,
                description: None,
                preset: Map::new(),
                approval: None,
                trusted: false,
            };
            check_tool(&object, &format!("tools[{at}]"), "", problems)
        }
        ToolSettings::Full(tool) => check_tool(tool, &format!("tools[{at}]"), ".uri", problems),
    };
    tools.iter().enumerate().filter_map(check).collect()
}

fn check_tool(tool: &ToolObject, path: &str, uri: &str, problems: &mut Vec<Problem>) -> Option<Binding> {
    let target = check_target(&tool.uri, &format!("{path}{uri}"), problems)?;
    if let BoundTo::Many(_) = target {
        for (field, is_given) in [("as", tool.name.is_some()), ("description", tool.description.is_some())] {
            if is_given {
                let message = format!("a pattern may stand for several tools; leave '{field}' out");
                problems.push(Problem::new(format!("{path}.{field}"), "NotAllowed", message));
            }
        }
    }
    if let Some(name) = tool.name.as_deref().filter(|name| model_name(name) != **name) {
        let message =
            format!("'{name}' is no name for models; use 1 to {MAX_NAME} letters, digits, '_' and '-'");
        problems.push(Problem::new(format!("{path}.as"), "InvalidName", message));
    }
    let preset = tool.preset.iter().filter_map(|(name, value)| {
        let preset = check_preset(value, &format!("{path}.preset.{name}"), 0, problems)?;
        Some((name.clone(), preset))
    });
    Some(Binding {
        preset: preset.collect(),
        target,
        name: tool.name.clone(),
        description: tool.description.clone(),
        approval: tool.approval,
        is_trusted: tool.trusted,
    })
}

fn check_target(address: &str, path: &str, problems: &mut Vec<Problem>) -> Option<BoundTo> {
    if address.contains('*') {
        let pattern = Pattern(address.to_owned());
        let is_address = address.contains("://");
        return match pattern.never_matches().filter(|_| is_address) {
            None if is_address => Some(BoundTo::Many(pattern)),
            why => {
                let why = why.unwrap_or_else(|| "it is no address like mcp://Time/*".to_owned());
                let message = format!("the pattern '{address}' can never fit a tool: {why}");
                problems.push(Problem::new(path, "InvalidPattern", message));
                None
            }
        };
    }
    match address.parse::<Uri>() {
        Ok(uri) => Some(BoundTo::One(uri)),
        Err(error) => {
            problems.push(Problem::new(path, "InvalidUri", error.to_string()));
            None
        }
    }
}

fn check_preset(value: &Value, path: &str, depth: usize, problems: &mut Vec<Problem>) -> Option<Preset> {
    if depth > MAX_DEPTH {
        problems.push(Problem::new(
            path,
            "TooDeep",
            format!("a preset is no deeper than {MAX_DEPTH} levels"),
        ));
        return None;
    }
    Some(match value {
        Value::String(text) if text.contains("{{") => {
            Preset::Text(check_template(path, text, Missing::Strict, problems)?)
        }
        Value::Array(items) => {
            let each = items.iter().enumerate();
            let each =
                each.map(|(at, item)| check_preset(item, &format!("{path}[{at}]"), depth + 1, problems));
            Preset::List(each.collect::<Option<_>>()?)
        }
        Value::Object(fields) => {
            let each = fields.iter().map(|(name, field)| {
                Some((name.clone(), check_preset(field, &format!("{path}.{name}"), depth + 1, problems)?))
            });
            Preset::Fields(each.collect::<Option<_>>()?)
        }
        fixed => Preset::Fixed(fixed.clone()),
    })
}

pub(super) fn check_handoffs(
    handoffs: &[HandoffSettings],
    own: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Vec<Handoff> {
    let mut checked: Vec<Handoff> = Vec::new();
    for (at, handoff) in handoffs.iter().enumerate() {
        let mut refuse = |message: String| {
            problems.push(Problem::new(format!("handoffs[{at}].to"), "InvalidHandoff", message));
        };
        match handoff.to.parse::<Uri>() {
            Ok(to) if to.scheme() == RunKind::Agent.scheme() && to.tool().is_none() => {
                if own == Some(to.service()) {
                    refuse("an agent cannot hand over to itself".to_owned());
                } else if checked.iter().any(|known| known.to == to) {
                    refuse(format!("{to} is listed twice"));
                }
                checked.push(Handoff { to, when: handoff.when.clone(), history: handoff.history });
            }
            Ok(_) => refuse("only agents can be handed over to: write e.g. agent://billing".to_owned()),
            Err(error) => refuse(error.to_string()),
        }
    }
    checked
}

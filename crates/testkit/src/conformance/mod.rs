//! The conformance suite: what every connector must do, whatever it talks to.
//!
//! A connector's tests describe it as a [`Subject`] and call [`check`]. Each rule is a function
//! whose name is the rule; what it answers says what to fix.

mod answers;
mod calls;
mod logs;
mod schema;
mod settings;
pub mod triggers;

use serde_json::{Map, Value};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tool::{Binder, Call, Caller, Connector, Context, Door, Env, Kind, Outcome, Settings, TenantId, Uri};

/// Why a connector breaks a rule, and what to change.
pub type Verdict = Result<(), String>;

/// A connector, and what the suite needs to try it out.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The type of the settings, e.g. `Tested::with::<Settings>()`.
    pub tested: Tested,
    /// The connector's README.md: its `json` blocks are settings that must open.
    pub readme: &'static str,
    /// Settings that work, against a server that is up.
    pub settings: Value,
    /// The same settings with an address where nobody listens.
    pub dead_settings: Capability<Value>,
    /// What the connector is opened with.
    pub env: Env,
    /// Secrets that stand in the settings, as they are.
    pub secrets: Vec<String>,
    /// A call that succeeds.
    pub good: Sample,
    /// A call whose arguments do not fit.
    pub bad: Sample,
    /// The argument of `bad` that an error must name.
    pub bad_argument: &'static str,
    /// A call that takes at least five seconds.
    pub slow: Capability<Sample>,
    /// A tool whose answer holds the text it was given as this argument.
    pub echo: Capability<Echo>,
    /// Tools say what they answer, in an `outputSchema`; these (`*` stands for any beginning) do not, each for its reason.
    pub undescribed: Capability<&'static [(&'static str, &'static str)]>,
}

/// Something that not every connector can have; the rules about it hold for those that do.
#[derive(Debug, Clone)]
pub enum Capability<T> {
    /// It is there.
    Has(T),
    /// It cannot be, for this reason.
    Absent(&'static str),
}

impl<T> Capability<T> {
    fn get(&self) -> Option<&T> {
        match self {
            Self::Has(it) => Some(it),
            Self::Absent(_) => None,
        }
    }
}

/// A tool and arguments to call it with.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The tool's name.
    pub tool: &'static str,
    /// An object.
    pub arguments: Value,
}

/// A tool that says back what it is told.
#[derive(Debug, Clone)]
pub struct Echo {
    /// The tool's name.
    pub tool: &'static str,
    /// The argument that takes the text.
    pub argument: &'static str,
}

impl Sample {
    /// A call of `tool`.
    #[must_use]
    pub fn new(tool: &'static str, arguments: Value) -> Self {
        Self { tool, arguments }
    }

    fn call(&self) -> Call {
        call(self.tool, self.arguments.as_object().cloned().unwrap_or_default())
    }
}

impl Subject {
    fn open(&self) -> Result<Arc<dyn Connector>, String> {
        self.tested
            .kind
            .open(self.settings.clone(), &self.env)
            .map_err(|error| format!("the subject's good settings must open: {error:?}"))
    }

    /// The connector of a dead remote, where one can be dead.
    fn open_dead(&self) -> Result<Option<Arc<dyn Connector>>, String> {
        let opened = self.dead_settings.get().map(|dead| self.tested.kind.open(dead.clone(), &self.env));
        opened.transpose().map_err(|error| {
            format!("open must not look whether the remote is there; connect on first use: {error:?}")
        })
    }
}

/// The connector under test, known by its settings.
#[derive(Debug, Clone, Copy)]
pub struct Tested {
    kind: Kind,
    debug: fn(Value) -> String,
}

impl Tested {
    /// The connector with the settings `S`.
    #[must_use]
    pub fn with<S: Settings + Debug>() -> Self {
        Self { kind: Kind::of::<S>(), debug: debug::<S> }
    }
}

/// Checks every rule and reports all that are broken.
///
/// # Panics
/// When a rule is broken.
pub async fn check(subject: &Subject) {
    let verdicts = [
        ("the settings schema is valid and closed", settings::schema_is_valid_and_closed(subject)),
        ("every setting is described", settings::every_setting_is_described(subject)),
        ("every setting has words", settings::every_setting_has_words(subject)),
        ("secrets are write-only in the schema", settings::secrets_are_write_only(subject)),
        ("secrets have an address", settings::secrets_have_an_address(subject)),
        ("the examples in the README open", settings::readme_examples_open(subject)),
        ("an unknown setting is refused by name", settings::unknown_setting_is_refused_by_name(subject)),
        ("open succeeds on a dead address", subject.open_dead().map(drop)),
        (
            "tools are sorted, legal and unique, with valid schemas",
            calls::tools_are_sorted_legal_and_unique(subject).await,
        ),
        ("the fixed tools are offered", calls::fixed_tools_are_offered(subject).await),
        ("tools say what they answer, and keep it", answers::tools_say_what_they_answer(subject).await),
        ("a good call succeeds and health agrees", calls::good_call_succeeds(subject).await),
        ("an unknown tool is not found", calls::unknown_tool_is_not_found(subject).await),
        ("a bad argument is refused by name", calls::bad_argument_is_refused_by_name(subject).await),
        ("cancel ends a call within a second", calls::cancel_ends_a_call_within_a_second(subject).await),
        ("the deadline ends a call with a time-out", calls::deadline_ends_a_call(subject).await),
        ("a dead remote is unavailable and health agrees", calls::dead_remote_is_unavailable(subject).await),
        ("32 calls at once each get their own answer", calls::parallel_calls_do_not_mix(subject).await),
        ("a dropped event receiver changes nothing", calls::dropped_receiver_changes_nothing(subject).await),
        ("no secret reaches debug, errors, events or logs", logs::secrets_stay_secret(subject).await),
    ];
    let broken: Vec<_> = verdicts
        .into_iter()
        .filter_map(|(rule, verdict)| Some(format!("- {rule}: {}", verdict.err()?)))
        .collect();
    assert!(
        broken.is_empty(),
        "connector '{}' breaks {} rules:\n{}",
        subject.tested.kind.scheme,
        broken.len(),
        broken.join("\n")
    );
}

/// A context of the process's owner with `time` to spend.
#[must_use]
pub fn context(time: Duration) -> Context {
    Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, time)
}

/// A call of `tool` without URI options.
#[must_use]
pub fn call(tool: &str, arguments: Map<String, Value>) -> Call {
    Call::new(tool, arguments.into())
}

/// Calls as the gateway does: with arguments that fit the tool's schema, and within the URI's `timeout`.
///
/// # Errors
/// Those of binding and those of the connector.
pub async fn bind_and_call(connector: &dyn Connector, cx: &Context, call: Call) -> tool::Result<Outcome> {
    let cx = &call.options.call_timeout().map_or_else(|| cx.clone(), |time| cx.for_at_most(time));
    let tools = match connector.tools(cx).await {
        Ok(tools) => tools,
        // As the gateway does: what the settings name can be called before the service has said anything.
        Err(error) => match connector.named_tools() {
            named if named.is_empty() => return Err(error),
            named => named,
        },
    };
    let Some(tool) = tools.into_iter().find(|tool| tool.name() == call.tool) else {
        return connector.call(cx, call).await;
    };
    let uri = Uri::of_tool("tested", "service", &call.tool);
    let arguments = Binder::new(Arc::new(tool), uri).bind(call.arguments)?;
    connector.call(cx, Call { arguments, ..call }).await
}

/// The MCP result of a call that is done.
///
/// # Errors
/// When it is not done.
pub fn result_of(outcome: Outcome) -> Result<String, String> {
    match outcome {
        Outcome::Done(output) => Ok(output.to_result()),
        other => Err(format!("the call must be done, not {other:?}")),
    }
}

fn debug<S: Settings + Debug>(settings: Value) -> String {
    match serde_json::from_value::<S>(settings) {
        Ok(settings) => format!("{settings:?}"),
        Err(error) => format!("{error:?}"),
    }
}

fn ensure(is_fine: bool, advice: impl FnOnce() -> String) -> Verdict {
    if is_fine { Ok(()) } else { Err(advice()) }
}

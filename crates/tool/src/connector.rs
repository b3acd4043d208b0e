//! What a type of service must be able to do, and how its settings become a working service.

use crate::json_words;
use crate::salvage::{check_rest, take_out};
use crate::settings_schema::SettingsSchema;
use crate::words::{Word, with_words};
use crate::{
    Ambient, Call, Context, Env, Error, Import, Inline, Library, Objects, Outcome, Pattern, Pinning, Problem,
    Result, RunKind, Tool, Triggers, Use,
};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::{broadcast, watch};

/// A service configured once and shared by its callers, e.g. `mail://alerts`.
#[async_trait]
pub trait Connector: Send + Sync + 'static {
    /// What the service offers now. The catalog caches the answer.
    async fn tools(&self, cx: &Context) -> Result<Vec<Tool>>;

    /// Runs one tool. Ends soon after `cx.cancel` fires or `cx.deadline` passes.
    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome>;

    /// The tools that its settings name by themselves: they can be called before the service has said what it offers.
    fn named_tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    /// Probes reachability, cheaply and without side effects.
    async fn health(&self, cx: &Context) -> Result<()>;

    /// What is known to be wrong with the service from the calls and look-ups there were, without asking anybody.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// What is worth a word to whoever looks after the service, though it works.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why there is no such tool, where more is known than that.
    fn absence(&self, tool: &str) -> Option<String> {
        let _ = tool;
        None
    }

    /// What every call meets while the service is left alone because it fails again and again.
    fn left_alone(&self) -> Option<Error> {
        None
    }

    /// Ticks when `tools` or the library would answer differently.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Documents and prompts, where the service has such.
    fn library(&self) -> Option<&dyn Library> {
        None
    }

    /// What can be listened to, where the service hands over messages by itself.
    fn triggers(&self) -> Option<&dyn Triggers> {
        None
    }

    /// Objects that links can lead to, where the service keeps such.
    fn objects(&self) -> Option<&dyn Objects> {
        None
    }

    /// Where log entries come out that belong to no call, where the service has such.
    fn logs(&self) -> Option<broadcast::Receiver<LogEntry>> {
        None
    }

    /// Clients see the service's name before the names of its tools and prompts.
    fn is_prefixed(&self) -> bool {
        true
    }

    /// What a call goes on as that is not over with its answer, where calls do.
    fn run_kind(&self) -> Option<RunKind> {
        None
    }

    /// The other tools that the service works with, as its settings say.
    fn uses(&self) -> Vec<Pattern> {
        Vec::new()
    }

    /// Whether tools that others define may change: unnoticed, reported, or held back until approved.
    fn pinning(&self) -> Pinning {
        Pinning::Off
    }
}

/// What a service writes into its log while nobody calls it.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// How grave it is, from `debug` to `emergency`.
    pub level: String,
    /// The entry, as the service wrote it.
    pub entry: Arc<RawValue>,
}

/// Marks a field of settings, in their schema, as one that says where a service is: `#[schemars(extend("x-address" = true))]`.
/// Stored secrets are meant for that place, so whoever changes the field gives them again.
pub const ADDRESS: &str = "x-address";

/// A connector's settings: parser, validator, console form and reference page in one struct.
pub trait Settings: DeserializeOwned + JsonSchema + 'static {
    /// The type in URIs and in REST, e.g. `api`.
    const SCHEME: &'static str;

    /// What people call such a service, e.g. `HTTP API`.
    const TITLE: &'static str;

    /// What forms call its fields: the connector's own table, and the one that all share.
    const WORDS: &'static [&'static [Word]] = &[];

    /// Users define the tools of such a service: they stand in the settings' field `tools`.
    const HAS_USER_TOOLS: bool = false;

    /// The tools that every such service has, or has unless its settings say otherwise; sorted.
    const FIXED_TOOLS: &'static [&'static str] = &[];

    /// Such services keep queues in this program's own database, which go with them.
    const HAS_QUEUES: bool = false;

    /// How a single tool of this type is made without a service, if it can be.
    const INLINE: Option<Inline> = None;

    /// Such services are there without being configured, if they are.
    const AMBIENT: Option<Ambient> = None;

    /// How such a service is made from a description of its API, if it can be.
    const IMPORT: Option<Import> = None;

    /// What callers give such services is nobody else's affair unless a tool's schema says otherwise: the audit shows
    /// arguments that no schema describes as `***`.
    const HAS_PRIVATE_ARGUMENTS: bool = false;

    /// Options in URIs of such services, beside those that all have. They narrow what a tool does, and never
    /// widen it: an allow-list that names the tool covers them.
    const URI_OPTIONS: &'static [&'static str] = &[];

    /// The setting, where one does something on this machine itself, e.g. starts a process, so that only
    /// those who manage the platform may save it.
    #[must_use]
    fn privileged(settings: &Value) -> Option<&'static str> {
        let _ = settings;
        None
    }

    /// What such settings lead to beside the service: tools that it calls for its callers.
    #[must_use]
    fn uses(settings: &Value) -> Vec<Use> {
        let _ = settings;
        Vec::new()
    }

    /// Validates and builds without I/O; connections open on first use.
    ///
    /// # Errors
    /// `InvalidConfig` with every problem found.
    fn open(self, env: &Env) -> Result<Arc<dyn Connector>>;
}

/// One row of the registry: a type of service as the rest of the program sees it.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The type in URIs and in REST.
    pub scheme: &'static str,
    /// What people call such a service.
    pub title: &'static str,
    words: &'static [&'static [Word]],
    /// Users define the tools of such a service.
    pub has_user_tools: bool,
    /// The tools that every such service has, or has unless its settings say otherwise.
    pub fixed_tools: &'static [&'static str],
    /// Such services keep queues in this program's own database, which go with them.
    pub has_queues: bool,
    /// How a single tool of this type is made without a service, if it can be.
    pub inline: Option<Inline>,
    /// Such services are there without being configured, and are not to be.
    pub ambient: Option<Ambient>,
    /// How such a service is made from a description of its API, if it can be.
    pub import: Option<Import>,
    /// The audit hides arguments that no schema describes.
    pub has_private_arguments: bool,
    /// Options in URIs of such services, beside those that all have.
    pub uri_options: &'static [&'static str],
    privileged: fn(&Value) -> Option<&'static str>,
    uses: fn(&Value) -> Vec<Use>,
    schema: fn() -> &'static SettingsSchema,
    open: fn(Value, &Env) -> Result<Arc<dyn Connector>>,
}

impl Kind {
    /// The row for a connector's settings.
    #[must_use]
    pub const fn of<S: Settings>() -> Self {
        Self {
            scheme: S::SCHEME,
            title: S::TITLE,
            words: S::WORDS,
            has_user_tools: S::HAS_USER_TOOLS,
            fixed_tools: S::FIXED_TOOLS,
            has_queues: S::HAS_QUEUES,
            inline: S::INLINE,
            ambient: S::AMBIENT,
            import: S::IMPORT,
            has_private_arguments: S::HAS_PRIVATE_ARGUMENTS,
            uri_options: S::URI_OPTIONS,
            privileged: S::privileged,
            uses: S::uses,
            schema: SettingsSchema::of::<S>,
            open: |settings, env| open_checked(S::SCHEME, settings, |parsed: S| parsed.open(env)),
        }
    }

    /// JSON Schema of the settings, with secrets marked `writeOnly`.
    #[must_use]
    pub fn settings_schema(&self) -> &'static Value {
        &(self.schema)().json
    }

    /// The same with what forms call each field: `title` and `x-ui`.
    #[must_use]
    pub fn form_schema(&self) -> Value {
        with_words(self.settings_schema(), self.words)
    }

    /// The setting that only those who manage the platform may save, if there is one among these.
    #[must_use]
    pub fn privileged(&self, settings: &Value) -> Option<&'static str> {
        (self.privileged)(settings)
    }

    /// The tools that such settings lead to.
    #[must_use]
    pub fn uses(&self, settings: &Value) -> Vec<Use> {
        (self.uses)(settings)
    }

    /// Turns settings into a service, without I/O.
    ///
    /// # Errors
    /// `InvalidConfig` with every problem found.
    pub fn open(&self, settings: Value, env: &Env) -> Result<Arc<dyn Connector>> {
        (self.open)(settings, env)
    }
}

/// Checks settings against their schema, parses and opens them, and reports the problems of all
/// three steps at once.
///
/// # Errors
/// `InvalidConfig` with every problem found.
pub fn open_checked<S: DeserializeOwned + JsonSchema + 'static>(
    scheme: &str,
    mut settings: Value,
    open: impl Fn(S) -> Result<Arc<dyn Connector>>,
) -> Result<Arc<dyn Connector>> {
    let schema = &SettingsSchema::of::<S>().compiled;
    let complaints = schema.complaints(&settings);
    if complaints.is_empty() {
        return open(parse(scheme, settings)?);
    }
    // What is unknown would keep the parser from the rest, which is to be checked as well.
    for unknown in complaints.iter().filter(|complaint| complaint.problem.code == "Unknown") {
        take_out(&mut settings, &unknown.pointer);
    }
    let problems_of = |parsed| open(parsed).err().map(|error| error.problems().to_vec()).unwrap_or_default();
    let finer = check_rest(schema, &settings, &complaints, problems_of);
    // Every problem at once; where both refuse the same place, the connector's words are better.
    let mut problems: Vec<_> = complaints.into_iter().map(|complaint| complaint.problem).collect();
    problems.retain(|problem| !finer.iter().any(|finer| finer.path == problem.path));
    problems.extend(finer);
    Err(invalid_settings(scheme, problems))
}

/// Parses what the schema has let through, so what fails here is finer than a schema can say.
fn parse<S: DeserializeOwned>(scheme: &str, settings: Value) -> Result<S> {
    serde_path_to_error::deserialize(settings).map_err(|error| {
        let field_error = json_words::field_error(&error.path().to_string(), &error.inner().to_string());
        invalid_settings(scheme, vec![Problem::new(field_error.path, field_error.code, field_error.message)])
    })
}

/// The error of `Settings::open`: all problems, the first one in the message.
#[must_use]
pub fn invalid_settings(scheme: &str, problems: Vec<Problem>) -> Error {
    let first = problems.first().map_or("unknown reason", |problem| problem.message.as_str());
    let more = match problems.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    Error::invalid_config(format!("the settings of the {scheme} service do not fit: {first}{more}"))
        .with_problems(problems)
}

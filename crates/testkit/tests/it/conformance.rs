//! The suite passes a connector that behaves and catches each one that does not.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::conformance::{Capability, Echo, Sample, Subject, Tested, check};
use tool::words::{Word, word};
use tool::{Call, Connector, Context, Env, Error, Event, Outcome, Output, Result, Secret, Tool};

/// What the fake connector does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Fault {
    None,
    OpenNeedsRemote,
    UnsortedTools,
    IllegalName,
    UnknownToolRuns,
    BadArgumentRuns,
    IgnoresCancel,
    IgnoresDeadline,
    DeadLooksFine,
    NotRetryable,
    HealthDisagrees,
    MixesAnswers,
    UndescribedAnswer,
    BreaksItsWord,
    SecretInError,
    SecretInLog,
    SecretInEvent,
}

/// A service in memory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What it does wrong.
    fault: Fault,
    /// Where it is: nowhere, so that nobody answers, or here.
    #[schemars(extend("x-address" = true))]
    is_dead: bool,
    /// The key.
    key: Secret,
}

struct Fake {
    settings: Settings,
    calls: AtomicUsize,
    last: Mutex<String>,
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "fake";
    const TITLE: &'static str = "Fake";
    const WORDS: &'static [&'static [Word]] = &[&[
        word("fault", "Fault", "错误", "它做错什么。"),
        word("is_dead", "Dead", "无响应", "没有人应答。"),
        word("key", "Key", "密钥", "密钥。"),
    ]];

    fn open(self, _: &Env) -> Result<Arc<dyn Connector>> {
        if self.is_dead && self.fault == Fault::OpenNeedsRemote {
            return Err(Error::unavailable("nobody is there"));
        }
        Ok(Arc::new(Fake { settings: self, calls: AtomicUsize::new(0), last: Mutex::default() }))
    }
}

impl Fake {
    fn has(&self, fault: Fault) -> bool {
        self.settings.fault == fault
    }

    fn reach(&self) -> Result<()> {
        if !self.settings.is_dead || self.has(Fault::DeadLooksFine) {
            return Ok(());
        }
        let error = Error::unavailable("nobody is there");
        Err(if self.has(Fault::NotRetryable) { error } else { error.retryable() })
    }

    async fn wait(&self, cx: &Context) -> Result<Outcome> {
        let never = std::future::pending::<()>;
        let cancel = async {
            if self.has(Fault::IgnoresCancel) { never().await } else { cx.cancel.cancelled().await }
        };
        let ignored = if self.has(Fault::IgnoresDeadline) { Duration::from_secs(2) } else { Duration::ZERO };
        let most = if self.has(Fault::IgnoresCancel) { Duration::from_secs(2) } else { Duration::MAX };
        tokio::select! {
            () = cancel => Err(Error::cancelled("taken back")),
            () = tokio::time::sleep((cx.remaining() + ignored).min(most)) => Err(Error::timeout("too late")),
        }
    }

    async fn echo(&self, text: &str) -> String {
        *self.last.lock().unwrap() = text.to_owned();
        tokio::time::sleep(Duration::from_millis(5)).await;
        if self.has(Fault::MixesAnswers) { self.last.lock().unwrap().clone() } else { text.to_owned() }
    }
}

#[async_trait]
impl Connector for Fake {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let mut names = ["echo", if self.has(Fault::IllegalName) { "slow one" } else { "slow" }];
        if self.has(Fault::UnsortedTools) {
            names.reverse();
        }
        let tool = |name: &&str| {
            let mut tool =
                json!({ "name": name, "description": "Does it.", "inputSchema": { "type": "object" } });
            if !self.has(Fault::UndescribedAnswer) {
                tool["outputSchema"] = json!({ "type": "object", "required": ["said"] });
            }
            Tool::from_raw(&serde_json::value::to_raw_value(&tool).unwrap())
        };
        names.iter().map(tool).collect()
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let key = self.settings.key.expose();
        if self.has(Fault::SecretInLog) {
            tracing::info!(key, "calling");
        }
        if self.has(Fault::SecretInEvent) {
            let entry = serde_json::value::to_raw_value(&json!({ "level": "info", "data": key })).unwrap();
            cx.events.emit(Event::Log { level: "info".into(), entry });
        }
        match call.tool.as_str() {
            "echo" => {}
            "slow" => {
                self.reach()?;
                return self.wait(cx).await;
            }
            _ if self.has(Fault::UnknownToolRuns) => {}
            name => return Err(Error::not_found(format!("no tool '{name}'"))),
        }
        let text = match call.arguments.as_map()?.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ if self.has(Fault::BadArgumentRuns) => String::new(),
            _ if self.has(Fault::SecretInError) => {
                return Err(Error::invalid_input(format!("text with {key}")));
            }
            _ => return Err(Error::invalid_input("Parameter 'text' must be a string")),
        };
        self.reach()?;
        let field = if self.has(Fault::BreaksItsWord) { "told" } else { "said" };
        let answer = json!({ field: self.echo(&text).await });
        Ok(Outcome::Done(Output::json(serde_json::value::to_raw_value(&answer).unwrap())))
    }

    async fn health(&self, _: &Context) -> Result<()> {
        if self.has(Fault::HealthDisagrees) { Ok(()) } else { self.reach() }
    }
}

fn subject(fault: &'static str) -> Subject {
    let settings = |is_dead: bool| json!({ "fault": fault, "is_dead": is_dead, "key": "s3cr3t-value" });
    Subject {
        tested: Tested::with::<Settings>(),
        readme: "```json\n{ \"fault\": \"none\", \"is_dead\": false, \"key\": \"x\" }\n```",
        settings: settings(false),
        dead_settings: Capability::Has(settings(true)),
        env: Env::default(),
        secrets: vec!["s3cr3t-value".into()],
        good: Sample::new("echo", json!({ "text": "hello" })),
        bad: Sample::new("echo", json!({ "text": 7 })),
        bad_argument: "text",
        slow: Capability::Has(Sample::new("slow", json!({}))),
        echo: Capability::Has(Echo { tool: "echo", argument: "text" }),
        undescribed: Capability::Has(&[]),
    }
}

async fn verdict(subject: Subject) -> Option<String> {
    let panic = tokio::spawn(async move { check(&subject).await }).await.err()?;
    let payload = panic.into_panic();
    Some(payload.downcast_ref::<String>().expect("assert! panics with a String").clone())
}

#[tokio::test]
async fn passes_a_connector_that_behaves() {
    assert_eq!(verdict(subject("none")).await, None);
}

/// Settings that nobody has named for people.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Wordless(Settings);

impl JsonSchema for Wordless {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Wordless".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Settings::json_schema(generator)
    }
}

impl tool::Settings for Wordless {
    const SCHEME: &'static str = "fake";
    const TITLE: &'static str = "Fake";

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        self.0.open(env)
    }
}

/// UI-15
#[tokio::test]
async fn catches_settings_without_words() {
    let subject = Subject { tested: Tested::with::<Wordless>(), ..subject("none") };
    let found = verdict(subject).await.expect("nothing has words");
    assert!(found.contains("add to the connector's words.rs: settings.fault"), "{found}");
}

#[tokio::test]
async fn asks_nothing_of_a_connector_that_it_cannot_have() {
    let mut slow = subject("ignores_cancel");
    slow.slow = Capability::Absent("its calls end at once");
    let mut echo = subject("mixes_answers");
    echo.echo = Capability::Absent("it repeats nothing");
    let mut dead = subject("open_needs_remote");
    dead.dead_settings = Capability::Absent("it has no remote");
    let mut silent = subject("undescribed_answer");
    silent.undescribed = Capability::Has(&[("echo", "for the test"), ("*low", "for the test")]);
    let mut unknown = subject("undescribed_answer");
    unknown.undescribed = Capability::Absent("nobody knows");
    for subject in [slow, echo, dead, silent, unknown] {
        assert_eq!(verdict(subject).await, None);
    }
}

#[tokio::test]
async fn an_exception_that_is_none_is_struck() {
    let excused = Subject { undescribed: Capability::Has(&[("echo", "it was so")]), ..subject("none") };
    let found = verdict(excused).await.expect("it has an outputSchema");
    assert!(found.contains("'echo' has an outputSchema, so strike the exception: it was so"), "{found}");
}

#[tokio::test]
async fn catches_each_fault_by_its_rule() {
    let mut verdicts = tokio::task::JoinSet::new();
    for (fault, rule) in [
        ("open_needs_remote", "open succeeds on a dead address"),
        ("unsorted_tools", "sort tools by name"),
        ("illegal_name", "'slow one' must be 1 to 64"),
        ("unknown_tool_runs", "an unknown tool is not found"),
        ("bad_argument_runs", "a bad argument is refused by name"),
        ("ignores_cancel", "cancel ends a call within a second"),
        ("ignores_deadline", "the deadline ends a call with a time-out"),
        ("dead_looks_fine", "call succeeds although nobody listens"),
        ("not_retryable", "call must be .retryable()"),
        ("health_disagrees", "health succeeds although nobody listens"),
        ("mixes_answers", "32 calls at once each get their own answer"),
        ("undescribed_answer", "give 'echo' an outputSchema"),
        ("breaks_its_word", "the answer of 'echo' does not keep its outputSchema"),
        ("secret_in_error", "an error shows a secret"),
        ("secret_in_log", "the log shows a secret"),
        ("secret_in_event", "an event shows a secret"),
    ] {
        verdicts.spawn(async move { (fault, rule, verdict(subject(fault)).await) });
    }
    while let Some(result) = verdicts.join_next().await {
        let (fault, rule, found) = result.unwrap();
        let found = found.unwrap_or_else(|| panic!("{fault} was not caught"));
        assert!(found.contains(rule), "{fault}: {found}");
        assert!(!found.contains("s3cr3t-value"), "{fault}: {found}");
    }
}

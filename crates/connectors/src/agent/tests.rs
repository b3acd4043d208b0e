//! What every connector must do, and what is wrong with settings; whole runs are tried in `tests/agent`.

use super::Settings;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::conformance::{self, Capability, Echo, Sample, Subject, Tested};
use testkit::http::dead_address;
use testkit::model::{Model, Reply};
use tool::{Env, Settings as _};

fn settings(base_url: &str) -> Value {
    json!({ "provider": "openai", "base_url": base_url, "api_key": "hunter2", "model": "m-1",
        "allow_private_network": true, "retry": { "initial_delay_ms": 1, "max_delay_ms": 2 } })
}

#[tokio::test]
async fn conforms_like_every_connector() {
    let model = Model::start(|_, asked| {
        let said = asked.body["messages"][1]["content"].as_str().unwrap_or_default().to_owned();
        match said.as_str() {
            "slow" => Reply::Late(Duration::from_secs(8), Box::new(Reply::says("late"))),
            _ => Reply::Says(said, Vec::new()),
        }
    })
    .await;
    let subject = Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings: settings(&model.url()),
        dead_settings: Capability::Has(settings(&format!("http://{}", dead_address().await))),
        env: Env::default(),
        secrets: vec!["hunter2".to_owned()],
        good: Sample::new("ask", json!({ "prompt": "hello" })),
        bad: Sample::new("ask", json!({ "prompt": 7 })),
        bad_argument: "prompt",
        slow: Capability::Has(Sample::new("ask", json!({ "prompt": "slow" }))),
        echo: Capability::Has(Echo { tool: "ask", argument: "prompt" }),
        undescribed: Capability::Absent("an agent answers as its settings say"),
    };
    conformance::check(&subject).await;
}

fn problems(more: Value) -> Vec<(String, &'static str)> {
    let mut settings = settings("https://llm.example.com");
    let Value::Object(more) = more else { panic!("{more} is no object") };
    more.into_iter().for_each(|(name, value)| settings[name] = value);
    let env = Env { service: Some("a".to_owned()), ..Env::default() };
    match crate::find("agent").unwrap().open(settings, &env) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems().iter().map(|problem| (problem.path.clone(), problem.code)).collect(),
    }
}

#[test]
fn every_wrong_setting_is_named() {
    let tool = |tool: Value| json!({ "tools": [tool] });
    for (wrong, path, code) in [
        (json!({ "instructions": "{{ .x " }), "instructions", "InvalidTemplate"),
        (tool(json!("no uri")), "tools[0]", "InvalidUri"),
        (tool(json!({ "uri": "api://[*" })), "tools[0].uri", "InvalidPattern"),
        (tool(json!({ "uri": "api://a/*", "as": "x" })), "tools[0].as", "NotAllowed"),
        (tool(json!({ "uri": "api://a/b", "as": "a b" })), "tools[0].as", "InvalidName"),
        (
            tool(json!({ "uri": "api://a/b", "preset": { "x": ["{{"] } })),
            "tools[0].preset.x[0]",
            "InvalidTemplate",
        ),
        (json!({ "handoffs": [{ "to": "api://x/y", "when": "x" }] }), "handoffs[0].to", "InvalidHandoff"),
        (json!({ "handoffs": [{ "to": "agent://a", "when": "x" }] }), "handoffs[0].to", "InvalidHandoff"),
        (json!({ "output_schema": { "type": "nothing" } }), "output_schema", "InvalidSchema"),
        (
            json!({ "guardrails": { "input": [{ "pattern": "(" }] } }),
            "guardrails.input[0].pattern",
            "InvalidPattern",
        ),
        (json!({ "guardrails": { "input": [{}] } }), "guardrails.input[0]", "InvalidRule"),
        (
            json!({ "guardrails": { "output": [{ "max_chars": 1, "action": "mask" }] } }),
            "guardrails.output[0].action",
            "NotAllowed",
        ),
        (json!({ "limits": { "cost_usd": 1.0 } }), "limits.cost_usd", "PriceMissing"),
        (json!({ "base_url": "ftp://x" }), "base_url", "InvalidUrl"),
        (json!({ "provider": "client" }), "base_url", "NotAllowed"),
        (json!({ "fallback": [{ "provider": "openai" }] }), "fallback[0].model", "Required"),
        (
            json!({ "fallback": [{ "provider": "client", "model": "m" }] }),
            "fallback[0].provider",
            "NotAllowed",
        ),
    ] {
        let found = problems(wrong.clone());
        assert!(found.contains(&(path.to_owned(), code)), "{wrong}: {found:?}");
    }
    let twice = json!({ "tools": [{ "uri": "api://a/b", "as": "x" }, { "uri": "api://a/c", "as": "x" }] });
    assert_eq!(problems(twice), [("tools[1].as".to_owned(), "DuplicateName")]);
    for refused in [
        json!({ "approval_by": "nobody" }),
        json!({ "approval_ttl_s": 0 }),
        json!({ "conversations": { "max_turns": 0 } }),
        json!({ "parallel": 17 }),
    ] {
        assert_eq!(problems(refused.clone()).len(), 1, "{refused}");
    }
    assert_eq!(problems(json!({})), []);
}

#[test]
fn says_what_it_uses_and_by_whose_right() {
    let settings = json!({
        "run_as": "agent",
        "tools": ["mcp://Time/*", { "uri": "api://a/b" }],
        "handoffs": [{ "to": "agent://c", "when": "x" }],
        "guardrails": { "output": [{ "max_chars": 1 }, { "tool": "api://judge/it" }] }
    });
    let uses = Settings::uses(&settings);
    let shown: Vec<_> =
        uses.iter().map(|used| (used.path.as_str(), used.what.0.as_str(), used.must_exist)).collect();
    assert_eq!(
        shown,
        [
            ("tools[0]", "mcp://Time/*", false),
            ("tools[1].uri", "api://a/b", false),
            ("handoffs[0].to", "agent://c", true),
            ("guardrails.output[1].tool", "api://judge/it", true),
        ]
    );
    assert_eq!(uses[0].right, tool::uses::Right::Saver);
    assert_eq!(uses[2].right, tool::uses::Right::Caller);
}

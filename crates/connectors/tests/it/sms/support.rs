//! A service with a gateway that checks signatures with the vendors' own SDKs.

use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance;
use tool::{Connector, Context, Env, Outcome};

pub(super) const VENDORS: [&str; 4] = ["aliyun", "tencent", "huawei", "twilio"];

pub(super) fn gateway() -> String {
    std::env::var("MCP_TEST_SMS_URL")
        .expect("MCP_TEST_SMS_URL is set: use `make test` or `scripts/servers run sms -- cargo nextest run`")
}

pub(super) fn settings(provider: &str) -> Value {
    json!({
        "provider": provider, "endpoint": gateway(), "api_key": "tester-key", "api_secret": "tester-secret", "sign_name": "示例&公司",
        "app_id": "1400000000", "sender": "+15005550006", "allow_private_network": true, "max_recipients": 3000,
        "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
        "tools": [{ "id": "verification_code", "template": "SMS_001", "params": ["code", "minutes"] }],
    })
}

pub(super) fn open(settings: &Value) -> Arc<dyn Connector> {
    open_in(settings, &Env::default())
}

pub(super) fn open_in(settings: &Value, env: &Env) -> Arc<dyn Connector> {
    connectors::find("sms").unwrap().open(settings.clone(), env).unwrap()
}

pub(super) fn cx() -> Context {
    conformance::context(Duration::from_secs(30))
}

/// The result of a call, whether it is an error, and the error that the audit gets to see.
pub(super) async fn call(
    connector: &Arc<dyn Connector>,
    tool: &str,
    arguments: Value,
) -> tool::Result<(Value, bool, String)> {
    let arguments = arguments.as_object().cloned().unwrap();
    let outcome = conformance::bind_and_call(&**connector, &cx(), conformance::call(tool, arguments)).await?;
    let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
    let failure = output.failure().map(ToString::to_string).unwrap_or_default();
    Ok((serde_json::from_str(&output.data().unwrap()).unwrap(), output.is_error(), failure))
}

/// What the gateway took for a number.
pub(super) async fn taken(vendor: &str, number: &str) -> Vec<Value> {
    let answer = reqwest::get(format!("{}/sent", gateway())).await.unwrap().bytes().await.unwrap();
    let all: Value = serde_json::from_slice(&answer).unwrap();
    let of =
        |message: &&Value| message["vendor"] == vendor && message["to"].as_str().unwrap().ends_with(number);
    all.as_array().unwrap().iter().filter(of).cloned().collect()
}

/// A number of China that nobody else writes to.
pub(super) fn somebody() -> String {
    let digits: String =
        tool::new_id::<String>().bytes().rev().map(|byte| char::from(b'1' + byte % 8)).take(9).collect();
    format!("13{digits}")
}

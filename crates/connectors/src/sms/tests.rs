//! What every connector must do, what the settings refuse, and messages in a file; vendors are tried in `tests/it/sms`.

use super::Settings;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{self, Capability, Sample, Subject, Tested};
use tool::{Connector, Env, ErrorKind, Kind, Outcome};

fn subject(settings: Value, dead_settings: Capability<Value>, env: Env, secrets: Vec<String>) -> Subject {
    Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings,
        dead_settings,
        env,
        secrets,
        good: Sample::new("code", json!({ "to": "13800138001", "params": { "code": "123456" } })),
        bad: Sample::new("code", json!({ "to": "nobody", "params": { "code": "123456" } })),
        bad_argument: "to",
        slow: Capability::Absent("a file of this machine is never slow, and a vendor is tried elsewhere"),
        echo: Capability::Absent("a message needs more than one argument"),
        undescribed: Capability::Has(&[]),
    }
}

fn in_folder(folder: &Path) -> Env {
    Env { data_dir: Some(folder.to_owned()), service: Some("crm".to_owned()), ..Env::default() }
}

fn tools() -> Value {
    json!([{ "id": "code", "template": "SMS_001", "params": ["code"] }])
}

#[tokio::test]
async fn conforms_like_every_connector_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let identity = testkit::certificates::Authority::new().identity("client");
    // Of no use to a file, but a secret.
    let settings =
        json!({ "tools": tools(), "tls": { "certificate": identity.certificate, "key": identity.key } });
    let dead = Capability::Absent("a file of this machine is never dead");
    conformance::check(&subject(settings, dead, in_folder(folder.path()), vec![identity.key])).await;
}

/// SM-3
#[tokio::test]
async fn conforms_like_every_connector_with_every_vendor() {
    let url = std::env::var("MCP_TEST_SMS_URL")
        .expect("MCP_TEST_SMS_URL is set: use `make test` or `scripts/servers run sms -- cargo nextest run`");
    for provider in ["aliyun", "tencent", "huawei", "twilio"] {
        let settings = |endpoint: &str| {
            json!({
                "provider": provider, "endpoint": endpoint, "api_key": "tester-key", "api_secret": "tester-secret",
                "sign_name": "示例", "app_id": "1400000000", "sender": "+15005550006", "allow_private_network": true,
                "tools": tools(), "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
            })
        };
        let dead = format!("http://{}", testkit::http::dead_address().await);
        let folder = tempfile::tempdir().unwrap();
        let secrets = vec!["tester-secret".to_owned()];
        let dead = Capability::Has(settings(&dead));
        conformance::check(&subject(settings(&url), dead, in_folder(folder.path()), secrets)).await;
    }
}

async fn send(connector: &Arc<dyn Connector>, tool: &str, arguments: Value) -> tool::Result<Value> {
    let call = conformance::call(tool, arguments.as_object().cloned().unwrap());
    let cx = conformance::context(Duration::from_secs(30));
    match conformance::bind_and_call(&**connector, &cx, call).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn writes_messages_into_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let service =
        Kind::of::<Settings>().open(json!({ "tools": tools() }), &in_folder(folder.path())).unwrap();
    let plain =
        send(&service, "send", json!({ "to": ["13800138000", "+14155550100"], "content": "欢迎注册" }))
            .await
            .unwrap();
    assert_eq!((&plain["status"], plain["recipients"].as_array().unwrap().len()), (&json!("accepted"), 2));
    let code = json!({ "to": "13800138000", "template": "SMS_001", "params": { "code": "123456" } });
    send(&service, "code", code).await.unwrap();
    let lines =
        std::fs::read_to_string(folder.path().join("tenants/default/sms/crm/messages.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> =
        lines.iter().map(|line| (line["to"].as_str().unwrap(), &line["content"], &line["params"])).collect();
    let (words, null, params) = (json!("欢迎注册"), Value::Null, json!({ "code": "123456" }));
    assert_eq!(
        found,
        [
            ("+8613800138000", &words, &null),
            ("+14155550100", &words, &null),
            ("+8613800138000", &null, &params)
        ]
    );
    assert_eq!(plain["messageId"], lines[0]["id"]);
}

/// SM-6: who is named twice is written to once, and has a status in both places.
#[tokio::test]
async fn tells_a_status_for_each_who_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let service = Kind::of::<Settings>().open(json!({}), &in_folder(folder.path())).unwrap();
    let to = ["13800138000", "13900139000", "+86 138-0013-8000", "13900139000"];
    let sent = send(&service, "send", json!({ "to": to, "content": "x" })).await.unwrap();
    let told = sent["recipients"].as_array().unwrap();
    assert_eq!(told.iter().map(|told| told["to"].as_str().unwrap()).collect::<Vec<_>>(), to);
    assert!(told[0]["messageId"] == told[2]["messageId"] && told[1]["messageId"] == told[3]["messageId"]);
    let lines =
        std::fs::read_to_string(folder.path().join("tenants/default/sms/crm/messages.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
}

#[tokio::test]
async fn refuses_arguments_that_say_nothing_or_two_things() {
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({ "max_recipients": 2, "tools": [{ "id": "code", "template": "T", "params": ["code"] }, { "id": "free", "content_template": { "template": "F", "param": "p" } }] });
    let service = Kind::of::<Settings>().open(settings, &in_folder(folder.path())).unwrap();
    for (tool, arguments) in [
        ("send", json!({ "to": "13800138000" })),
        ("send", json!({ "to": "13800138000", "content": "c", "template": "t" })),
        ("send", json!({ "to": [], "content": "c" })),
        ("send", json!({ "to": ["13800138000", "13800138001", "13800138002"], "content": "c" })),
        ("send", json!({ "to": "13800138000", "content": "a\u{0}b" })),
        ("code", json!({ "to": "13800138000" })),
        ("code", json!({ "to": "13800138000", "template": "other", "params": ["1"] })),
        ("code", json!({ "to": "13800138000", "content": "c" })),
        ("free", json!({ "to": "13800138000" })),
        ("free", json!({ "to": "13800138000", "params": ["c"] })),
    ] {
        let error = send(&service, tool, arguments.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{tool} {arguments}: {error}");
    }
}

#[test]
fn refuses_settings_that_cannot_work() {
    let folder = tempfile::tempdir().unwrap();
    let aliyun = |more: Value| {
        let mut settings =
            json!({ "provider": "aliyun", "api_key": "k", "api_secret": "s", "sign_name": "n" });
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        settings
    };
    for (settings, path) in [
        (json!({ "provider": "pigeon" }), "provider"),
        (json!({ "api_key": "k" }), "api_key"),
        (json!({ "provider": "aliyun", "api_key": "k", "api_secret": "s" }), "sign_name"),
        (json!({ "provider": "tencent", "api_key": "k", "api_secret": "s", "sign_name": "n" }), "app_id"),
        (json!({ "provider": "huawei", "api_key": "k", "api_secret": "s", "sender": "1" }), "endpoint"),
        (json!({ "provider": "twilio", "api_key": "k", "api_secret": "s" }), "sender"),
        (aliyun(json!({ "endpoint": "dysmsapi.aliyuncs.com" })), "endpoint"),
        (aliyun(json!({ "endpoint": "http://dysmsapi.aliyuncs.com" })), "endpoint"),
        (aliyun(json!({ "country_code": "+86" })), "country_code"),
        (aliyun(json!({ "tls": { "server_name": "a b" } })), "tls.server_name"),
        (json!({ "region": "cn-hangzhou" }), "region"),
        (aliyun(json!({ "region": "x@127.0.0.1/" })), "region"),
        (aliyun(json!({ "region": "../../" })), "region"),
        (
            json!({ "provider": "twilio", "api_key": "k", "api_secret": "s", "sender": "+1", "region": "us1" }),
            "region",
        ),
        (aliyun(json!({ "tools": [{ "id": "a b" }] })), "tools[0].id"),
        (aliyun(json!({ "tools": [{ "id": "a" }, { "id": "a" }] })), "tools[1].id"),
        (aliyun(json!({ "tools": [{ "id": "a", "params": ["x", "x"] }] })), "tools[0].params"),
        (
            aliyun(
                json!({ "tools": [{ "id": "a", "template": "t", "content_template": { "template": "t", "param": "p" } }] }),
            ),
            "tools[0].content_template",
        ),
    ] {
        let error = Kind::of::<Settings>().open(settings.clone(), &in_folder(folder.path())).err();
        let error = error.unwrap_or_else(|| panic!("{settings} must be refused"));
        let found: Vec<_> = error.problems().iter().map(|problem| problem.path.as_str()).collect();
        assert!(found.contains(&path), "{settings}: {found:?}");
    }
}

#[test]
fn the_region_of_aliyun_chooses_the_gateway_as_its_sdk_does() {
    for (region, host) in [
        (None, "dysmsapi"),
        (Some("cn-hangzhou"), "dysmsapi"),
        (Some("cn-beijing"), "dysmsapi-proxy.cn-beijing"),
        (Some("cn-hongkong"), "dysmsapi-xman.cn-hongkong"),
        (Some("ap-southeast-1"), "dysmsapi.ap-southeast-1"),
        (Some("us-east-1"), "dysmsapi.us-east-1"),
    ] {
        let gateway = super::vendors::aliyun::endpoint(region);
        assert_eq!(gateway, format!("https://{host}.aliyuncs.com"), "{region:?}");
    }
}

#[test]
fn names_the_switch_of_the_tenant_where_that_keeps_a_network_closed() {
    let settings = json!({ "provider": "aliyun", "api_key": "k", "api_secret": "s", "sign_name": "n",
                           "endpoint": "http://localhost:1", "allow_private_network": true });
    let env = Env { may_use_private_network: false, ..Env::default() };
    let error = Kind::of::<Settings>().open(settings, &env).err().unwrap();
    assert!(error.problems()[0].message.contains("on the tenant"), "{:?}", error.problems());
}

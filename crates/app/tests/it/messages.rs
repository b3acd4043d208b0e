//! Mail and short messages through the whole program: the scenarios that they were asked for with, over MCP.

use crate::setup::{BothDoors, audited};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, on_both_databases};

on_both_databases! {
    the_scenarios_of_mail_and_messages_run_over_mcp
    one_key_sends_once_on_every_replica
    the_audit_masks_numbers_and_hides_what_messages_say
    the_audit_hides_what_refused_calls_give
    a_source_is_hidden_as_its_own_call_is
}

async fn with_services(backend: Backend) -> TestApp {
    let app = TestApp::start(backend).await;
    let mail = |id: &str, more: Value| json!({ "type": "mail", "id": id, "config": more });
    let mut marketing = mail("marketing", json!({}));
    marketing["tools"] = json!([{ "id": "welcome" }]);
    let templates = json!({ "alert": { "subject": "[{{ .system }}]", "body": "<p>{{ .error }}</p>", "contentType": "html" } });
    let mut it = mail("it-service", json!({ "templates": templates }));
    it["tools"] = json!([{ "id": "notify", "to": ["ops@example.com"] }]);
    let sms = json!({ "type": "sms", "id": "crm-sms", "config": {}, "tools": [
        { "id": "welcome", "content_template": { "template": "SMS_002", "param": "content" } },
        { "id": "verification_code", "template": "SMS_001", "params": ["code"] },
    ] });
    for service in [marketing, it, sms] {
        app.service(service).await;
    }
    app
}

async fn result(doors: &BothDoors, name: &str, arguments: Value) -> Value {
    let answer = doors.mcp("tools/call", json!({ "name": name, "arguments": arguments })).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    answer["result"]["structuredContent"].clone()
}

/// ML-1, ML-2, ML-3, ML-4, ML-5, SM-1, SM-2: with the names and arguments of the scenarios.
async fn the_scenarios_of_mail_and_messages_run_over_mcp(backend: Backend) {
    let app = with_services(backend).await;
    let doors = BothDoors::open(&app).await;
    let welcome = json!({ "to": "user@example.com", "subject": "欢迎", "body": "欢迎注册" });
    let sent = result(&doors, "marketing__welcome", welcome.clone()).await;
    assert!(sent["status"] == "sent" && sent["messageId"].is_string(), "{sent}");
    let mut html = welcome.clone();
    html["body"] = json!("<h1>欢迎</h1>");
    html["contentType"] = json!("html");
    html["attachments"] = json!([{ "name": "report.pdf", "content": "JVBERi0=" }]);
    assert_eq!(result(&doors, "marketing__welcome", html).await["status"], "sent");
    let mut many = welcome;
    many["to"] = json!(["a@example.com", "b@example.com"]);
    let sent = result(&doors, "marketing__welcome", many).await;
    assert_eq!(sent["recipients"].as_array().unwrap().len(), 2, "{sent}");
    let alert = json!({ "template": "alert", "variables": { "system": "订单系统", "error": "超时" } });
    assert_eq!(result(&doors, "it-service__notify", alert).await["status"], "sent");
    let words = json!({ "to": "13800138000", "content": "欢迎注册" });
    let sent = result(&doors, "crm-sms__welcome", words).await;
    assert!(sent["status"] == "accepted" && sent["messageId"].is_string(), "{sent}");
    let code = json!({ "to": "13800138000", "template": "SMS_001", "params": { "code": "123456" } });
    assert_eq!(result(&doors, "crm-sms__verification_code", code).await["status"], "accepted");
}

/// ML-10
async fn one_key_sends_once_on_every_replica(backend: Backend) {
    let app = with_services(backend).await;
    let arguments = json!({ "to": "a@example.com", "subject": "s", "body": "b", "idempotencyKey": "k" });
    let first = app.call("mail://marketing/send", arguments.clone()).await.is(200);
    let replica = app.replica("other").await;
    let second = replica.call("mail://marketing/send", arguments).await.is(200);
    let (first, second) = (&first.body["structuredContent"], &second.body["structuredContent"]);
    assert_eq!((&second["duplicate"], &second["messageId"]), (&json!(true), &first["messageId"]));
}

/// SM-7
async fn the_audit_masks_numbers_and_hides_what_messages_say(backend: Backend) {
    let app = with_services(backend).await;
    let code = json!({ "to": ["13800138000", "+8613900139000"], "params": { "code": "654321" } });
    app.call("sms://crm-sms/verification_code", code).await.is(200);
    app.call("sms://crm-sms/welcome", json!({ "to": "13800138000", "content": "private words" }))
        .await
        .is(200);
    let wrong = json!({ "to": "1380013800x", "content": "private words" });
    app.call("sms://crm-sms/welcome", wrong).await;
    // What no reader of numbers takes for one.
    let lists = ["13800138000,13900139000", "13800138000; 13900139000", "Zhang 13800138000 (work)"];
    for to in lists {
        let refused =
            app.call("sms://crm-sms/welcome", json!({ "to": to, "content": "private words" })).await;
        for hidden in ["1380013", "1390013"] {
            assert!(!refused.text.contains(hidden), "{}", refused.text);
        }
    }
    let records = audited(&app, "service=crm-sms", 6).await;
    let text = serde_json::to_string(&records).unwrap();
    for hidden in ["1380013", "1390013", "654321", "private words"] {
        assert!(!text.contains(hidden), "{hidden} is in {text}");
    }
    assert!(text.contains("138****8000") && text.contains("+86139****9000"), "{text}");
}

/// SM-7: also of calls that are refused for a wrong name, of whatever.
async fn the_audit_hides_what_refused_calls_give(backend: Backend) {
    let app = with_services(backend).await;
    let given = json!({ "phone": "13800138000", "message": "private words", "code": 654_321, "all": [{ "x": "13900139000" }] });
    for uri in ["sms://crm-sms/wellcome", "sms://crm-smss/welcome", "sms://crm-sms/welcome"] {
        app.call(uri, given.clone()).await;
    }
    let doors = BothDoors::open(&app).await;
    for name in ["crm-sms__wellcome", "crm-sms__welcome"] {
        doors.mcp("tools/call", json!({ "name": name, "arguments": given })).await;
    }
    // What is meant for others is shown as ever.
    app.call("mail://marketing/sent", json!({ "note": "public words" })).await;
    let records = audited(&app, "status=refused", 6).await;
    let text = serde_json::to_string(&records).unwrap();
    for hidden in ["13800138000", "13900139000", "654321", "private words"] {
        assert!(!text.contains(hidden), "{hidden} is in {text}");
    }
    assert!(text.contains("phone") && text.contains("***") && text.contains("public words"), "{text}");
}

/// SM-7: a message that another tool has sent as its source is in the record of neither.
async fn a_source_is_hidden_as_its_own_call_is(backend: Backend) {
    let app = with_services(backend).await;
    app.service(json!({ "type": "oss", "id": "docs", "config": {} })).await;
    let words = json!({ "to": "13800138000", "content": "private words" });
    let source = json!({ "uri": "sms://crm-sms/welcome", "arguments": words });
    app.call("oss://docs/save", json!({ "key": "k", "source": source })).await.is(200);
    let file = json!([{ "name": "a.json", "source": source }]);
    let mail = json!({ "to": "a@example.com", "subject": "s", "body": "b", "attachments": file });
    app.call("mail://marketing/send", mail).await.is(200);
    let records = audited(&app, "", 4).await;
    let mut shown = serde_json::to_string(&records).unwrap();
    shown.push_str(&app.get("audit/export?format=jsonl").await.is(200).text);
    for record in &records {
        shown.push_str(&app.get(&format!("audit/{}", record["id"].as_str().unwrap())).await.is(200).text);
    }
    for hidden in ["13800138000", "private words"] {
        assert!(!shown.contains(hidden), "{hidden} is in {shown}");
    }
    assert!(shown.contains("sms://crm-sms/welcome") && shown.contains("138****8000"), "{shown}");
}

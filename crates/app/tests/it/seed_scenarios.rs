//! The scenarios of the origin for stores, queues, mail and short messages, through the client of pip `mcp`.

use crate::remotes::{needed, sms, store};
use crate::setup::{PATIENCE, servers};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::process::{run, sheltered};
use testkit::{Backend, TestApp, eventually};

/// Calls the tools that it is told to, one after another, and prints their structured results.
const CLIENT: &str = r#"
import asyncio, json, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(url, key, calls):
    http = httpx2.AsyncClient(headers={"Authorization": "Bearer " + key}, timeout=60)
    async with Client(streamable_http_client(url, http_client=http), mode="auto", read_timeout_seconds=60) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        results = []
        for tool, arguments in json.loads(calls):
            assert tool in listed, (tool, listed)
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result
            results.append(result.structured_content)
        print(json.dumps(results))

asyncio.run(main(*sys.argv[1:]))
"#;

/// What the calls of a real client give, each to the tool at its URI.
async fn call<const N: usize>(app: &TestApp, calls: [(&str, Value); N]) -> [Value; N] {
    let known = app.tool_names().await;
    let mut named = Vec::new();
    for (uri, arguments) in calls {
        let name = uri.replace("://", "_").replace(['/', '-'], "_");
        let is_named = |(other, _): &(String, Value)| *other == name;
        if !known.contains(&name) && !named.iter().any(is_named) {
            app.post("tools", json!({ "name": name, "type": "uri", "uri": uri })).await.is(201);
        }
        named.push((name, arguments));
    }
    let mut client = sheltered(servers().join("venv/bin/python"));
    let (url, key) = (app.url("/mcp"), app.key().unwrap().to_owned());
    client.args(["-c", CLIENT, &url, &key, &json!(named).to_string()]);
    let output = tokio::task::spawn_blocking(move || run(&mut client)).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    results.try_into().unwrap()
}

/// OS-1, OS-2, OS-3, OS-4, OS-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_keeps_objects() {
    let mut bucket = store(&needed("MCP_TEST_SEAWEEDFS_URL").replace("http://", ""), "tester-secret");
    bucket["config"]["prefix"] = json!(format!("{}/", tool::new_id::<String>()));
    for config in [bucket["config"].clone(), json!({})] {
        let app = TestApp::start(Backend::Sqlite).await;
        app.service(json!({ "type": "oss", "id": "sample-bucket", "config": config })).await;
        let save =
            json!({ "key": "files/doc.pdf", "content": "JVBERi0xLjcK", "contentType": "application/pdf" });
        let [saved, loaded, listed, link] = call(
            &app,
            [
                ("oss://sample-bucket/save", save),
                ("oss://sample-bucket/load", json!({ "key": "files/doc.pdf" })),
                ("oss://sample-bucket/list", json!({ "prefix": "files/", "maxKeys": 100 })),
                ("oss://sample-bucket/presign", json!({ "key": "files/doc.pdf", "expires": 3600 })),
            ],
        )
        .await;
        assert_eq!((&saved["size"], &saved["contentType"]), (&json!(9), &json!("application/pdf")));
        assert!(saved["url"].as_str().is_some_and(|url| url.starts_with("http")), "{saved}");
        assert_eq!(
            (&loaded["content"], &loaded["contentType"]),
            (&json!("JVBERi0xLjcK"), &saved["contentType"])
        );
        let object = &listed["objects"][0];
        assert_eq!((&object["key"], &object["size"]), (&json!("files/doc.pdf"), &json!(9)));
        assert!(object["lastModified"].is_string(), "{listed}");
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let read = http.get(link["url"].as_str().unwrap()).send().await.unwrap();
        assert_eq!((read.status().as_u16(), read.text().await.unwrap().as_str()), (200, "%PDF-1.7\n"));
        let [deleted, listed] = call(
            &app,
            [
                ("oss://sample-bucket/delete", json!({ "key": "files/doc.pdf" })),
                ("oss://sample-bucket/list", json!({ "prefix": "files/", "maxKeys": 100 })),
            ],
        )
        .await;
        assert_eq!((&deleted["deleted"], &listed["objects"]), (&json!(true), &json!([])));
    }
}

/// MQ-1, MQ-3: a message has an id, and starts the flow that listens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_publishes_and_a_flow_hears_it() {
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(
        json!({ "type": "mq", "id": "order-service", "config": {}, "tools": [{ "id": "order_created" }] }),
    )
    .await;
    let flow = "
triggers: [{type: message, name: created, from: 'mq://order-service/order_created'}]
inputs: {orderId: string, status: string}
nodes: {a: {with: {order: '${orderId}', status: '${status}'}}}
";
    app.post("flows", json!({ "id": "orders", "source": flow })).await.is(201);
    app.post("flows/orders/publish", json!({})).await.is(200);
    let message = json!({ "message": { "orderId": "O001", "status": "created" } });
    let [published] = call(&app, [("mq://order-service/order_created", message)]).await;
    assert!(published["messageId"].as_str().is_some_and(|id| !id.is_empty()), "{published}");
    let mut runs = Vec::new();
    eventually("it is a run", PATIENCE, async || {
        runs = app.get("runs?flow=orders&state=succeeded").await.is(200).items();
        !runs.is_empty()
    })
    .await;
    let run = app.get(&format!("runs/{}", runs[0]["id"].as_str().unwrap())).await.is(200);
    assert_eq!(run.body["output"], json!({ "order": "O001", "status": "created" }));
}

/// MQ-1, MQ-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_publishes_for_later() {
    let app = TestApp::start(Backend::Sqlite).await;
    let queue = format!("cache-{}", tool::new_id::<String>());
    let config = json!({ "broker": "rabbitmq", "connection_string": needed("MCP_TEST_RABBITMQ_URL") });
    let tools = json!([{ "id": "cache_expire", "queue": queue, "receive": true }]);
    app.service(json!({ "type": "mq", "id": "common-rabbit", "config": config, "tools": tools })).await;
    let (uri, receive) = ("mq://common-rabbit/cache_expire", "mq://common-rabbit/cache_expire_receive");
    let begin = (Instant::now(), chrono::Utc::now());
    let [later, soon, nothing, received] = call(
        &app,
        [
            (uri, json!({ "message": { "key": "user:1" }, "delay": 60000 })),
            (uri, json!({ "message": { "key": "user:2" }, "delay": 4000 })),
            (receive, json!({ "max": 10, "waitMs": 0 })),
            (receive, json!({ "max": 10, "waitMs": 20000 })),
        ],
    )
    .await;
    let available: chrono::DateTime<chrono::Utc> = later["availableAt"].as_str().unwrap().parse().unwrap();
    assert!(available - begin.1 >= chrono::TimeDelta::seconds(60), "{later}");
    assert_eq!(nothing["messages"], json!([]), "nobody has it before");
    assert!(begin.0.elapsed() >= Duration::from_secs(4));
    let messages = received["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["message"]), (1, &json!({ "key": "user:2" })), "{received}");
    assert_eq!(messages[0]["messageId"], soon["messageId"]);
}

/// The message that arrived for an address.
async fn arrival(address: &str) -> String {
    let folder = std::path::PathBuf::from(needed("MCP_TEST_EXIM_MAIL")).join("new");
    let mark = format!("Envelope-to: {address}\n");
    let mut found = None;
    eventually("mail arrives", PATIENCE, async || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut messages = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        found = messages.find(|message| message.contains(&mark));
        found.is_some()
    })
    .await;
    found.unwrap()
}

/// ML-1, ML-2, ML-3, ML-4, ML-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_sends_mail() {
    let app = TestApp::start(Backend::Sqlite).await;
    let (host, port) = needed("MCP_TEST_EXIM_URL")
        .rsplit_once(':')
        .map(|(host, port)| (host.to_owned(), port.to_owned()))
        .unwrap();
    let [ada, bob, eve, ops] =
        ["ada", "bob", "eve", "ops"].map(|name| format!("{name}-{}@tests.example", tool::new_id::<String>()));
    let mut config = json!({ "smtp_host": host, "smtp_port": port.parse::<u16>().unwrap(), "security": "none", "from_address": "it@tests.example" });
    app.service(
        json!({ "type": "mail", "id": "marketing", "config": config, "tools": [{ "id": "welcome" }] }),
    )
    .await;
    config["templates"] =
        json!({ "alert": { "subject": "[{{ .system }}]", "body": "{{ .system }}: {{ .error }}" } });
    app.service(json!({ "type": "mail", "id": "it-service", "config": config, "tools": [{ "id": "notify", "to": [ops] }] })).await;
    let attachments = json!([{ "name": "report.pdf", "content": "JVBERi0xLjcK" }]);
    let html = json!({ "to": [bob, eve], "subject": "欢迎", "body": "<h1>Welcome</h1>", "contentType": "html", "attachments": attachments });
    let [plain, many, alert] = call(
        &app,
        [
            ("mail://marketing/welcome", json!({ "to": ada, "subject": "欢迎", "body": "欢迎注册" })),
            ("mail://marketing/welcome", html),
            (
                "mail://it-service/notify",
                json!({ "template": "alert", "variables": { "system": "订单系统", "error": "超时" } }),
            ),
        ],
    )
    .await;
    assert_eq!(plain["status"], "sent", "{plain}");
    assert!(arrival(&ada).await.contains(&format!("Message-ID: {}", plain["messageId"].as_str().unwrap())));
    let told: Vec<_> =
        many["recipients"].as_array().unwrap().iter().map(|told| (&told["to"], &told["status"])).collect();
    assert_eq!(told, [(&json!(bob), &json!("sent")), (&json!(eve), &json!("sent"))]);
    for person in [&bob, &eve] {
        let message = arrival(person).await;
        for part in [
            "multipart/mixed",
            "text/html; charset=utf-8",
            "<h1>Welcome</h1>",
            "filename=\"report.pdf\"",
            "JVBERi0xLjcK",
        ] {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    }
    assert_eq!((&alert["status"], &alert["recipients"][0]["to"]), (&json!("sent"), &json!(ops)));
    assert!(arrival(&ops).await.contains("Subject: =?utf-8?b?W+iuouWNleezu+e7n10=?="));
}

/// SM-1, SM-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_sends_short_messages() {
    let app = TestApp::start(Backend::Sqlite).await;
    let gateway = needed("MCP_TEST_SMS_URL");
    let mut service = sms(&gateway.replace("http://", ""), "aliyun");
    service["id"] = json!("crm-sms");
    service["tools"] = json!([
        { "id": "welcome", "content_template": { "template": "SMS_002", "param": "content" } },
        { "id": "verification_code", "template": "SMS_001", "params": ["code"] },
    ]);
    app.service(service).await;
    let digits: String =
        tool::new_id::<String>().bytes().rev().map(|byte| char::from(b'1' + byte % 8)).collect();
    let number = format!("13{}", &digits[..9]);
    let results = call(
        &app,
        [
            ("sms://crm-sms/welcome", json!({ "to": number, "content": "欢迎注册" })),
            (
                "sms://crm-sms/verification_code",
                json!({ "to": number, "template": "SMS_001", "params": { "code": "123456" } }),
            ),
        ],
    )
    .await;
    for result in &results {
        assert!(result["status"] == "accepted" && result["messageId"].is_string(), "{result}");
    }
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let sent = http.get(format!("{gateway}/sent")).send().await.unwrap().text().await.unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let of = |message: &&Value| message["to"].as_str().unwrap().ends_with(&number);
    let taken: Vec<_> = sent
        .as_array()
        .unwrap()
        .iter()
        .filter(of)
        .map(|message| (&message["template"], &message["params"]))
        .collect();
    let expected = [
        (&json!("SMS_002"), &json!({ "content": "欢迎注册" })),
        (&json!("SMS_001"), &json!({ "code": "123456" })),
    ];
    assert_eq!(taken, expected);
}

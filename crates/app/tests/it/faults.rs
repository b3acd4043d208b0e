//! Bad input from both sides: each fault has its answer, the rest keeps working, memory stays bounded.

use crate::pipe::Pipe;
use crate::setup::example;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::mcp::http::{Behaviour, Server};
use testkit::proc;

fn service(args: &[&str]) -> Value {
    json!({ "command": example("mcp_test_server"), "args": args })
}

/// A client that has said hello to an aggregator with the service `s`.
fn aggregator() -> Pipe {
    let mut client = Pipe::start(&json!({ "s": service(&[]) }));
    client.hello("2025-06-18");
    client.names();
    client
}

fn is_well(client: &mut Pipe) {
    assert_eq!(client.text("s__echo", json!({ "text": "still here" })), "still here");
}

fn code(line: &str) -> Value {
    serde_json::from_str::<Value>(line).unwrap()["error"]["code"].clone()
}

#[test]
fn garbage_and_half_lines_of_a_client_harm_nobody() {
    let mut client = aggregator();
    for garbage in [&b"\xff\xfe\x00garbage\n"[..], b"{\"jsonrpc\":\n", b"nul\0l\n", b"\"text\"\n"] {
        client.write(garbage);
        assert!(code(&client.next()).is_i64());
    }
    client.write(b"\n\r\n   \n");
    // A message may come in pieces, and end as on Windows.
    client.write(br#"{"jsonrpc":"2.0","id":"halves","#);
    std::thread::sleep(Duration::from_millis(100));
    client.write(b"\"method\":\"ping\"}\r\n");
    assert_eq!(client.next(), r#"{"jsonrpc":"2.0","id":"halves","result":{}}"#);
    is_well(&mut client);
    // The last line is not ended when the client goes: then it was none.
    client.write(br#"{"jsonrpc":"2.0","id":9,"method":"pi"#);
    assert!(client.end().success());
}

#[test]
fn a_line_of_a_hundred_megabytes_is_refused_and_passed_over() {
    let mut client = aggregator();
    let before = proc::resident_kib(client.id());
    let chunk = vec![b'x'; 1 << 20];
    let mut grown = Vec::new();
    for _ in 0..3 {
        client.write(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":""#);
        (0..100).for_each(|_| client.write(&chunk));
        client.write(b"\"}}\n");
        let refused = client.next();
        assert_eq!(code(&refused), -32600, "{refused}");
        assert!(refused.contains(r#""id":1,"#) && refused.contains("at most 67108864 bytes"), "{refused}");
        is_well(&mut client);
        grown.push(proc::resident_kib(client.id()).saturating_sub(before) / 1024);
    }
    // 64 MiB are kept before it is clear that there is more, twice that while the buffer grows, and
    // the allocator gives it back when it likes: but three lines take no more than one.
    assert!(grown.iter().all(|grown| *grown < 300), "memory grew by {grown:?} MiB");
}

#[test]
fn a_line_of_a_hundred_megabytes_of_a_service_is_the_services_fault() {
    let mut client = aggregator();
    let answer = client.call("s__huge", json!({ "n": 100 })).to_string();
    assert!(answer.contains("longer than 67108864 bytes"), "{answer}");
    is_well(&mut client);
}

#[test]
fn depth_bombs_explode_nowhere() {
    let mut client = aggregator();
    let bomb = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    for params in [
        format!(r#"{{"name":"s__echo","arguments":{{"text":{bomb}}}}}"#),
        format!(r#"{{"name":{bomb}}}"#),
        bomb.clone(),
    ] {
        client.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
        let answer: Value = serde_json::from_str(&client.next()).unwrap();
        assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
    }
    client.send(&bomb);
    assert!(code(&client.next()).is_i64());
    let deep = client.call("s__deep", json!({})).to_string();
    assert!(deep.contains("'s'") && deep.contains("more than 256 levels deep"), "{deep}");
    is_well(&mut client);
}

#[test]
fn what_is_no_message_or_has_no_usable_id_is_refused() {
    let mut client = aggregator();
    for line in [
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        r#"["2.0",71,"ping"]"#,
        r#"["2.0",73,"tools/call",{"name":"s__echo","arguments":{"text":"x"}},null,null]"#,
        "7",
    ] {
        client.send(line);
        let refused = client.next();
        assert_eq!(code(&refused), -32600, "{refused}");
        assert!(refused.contains(r#""id":null"#), "{refused}");
    }
    let by_place = client.ask_raw("tools/list", r#"[""]"#);
    assert_eq!(code(&by_place), -32602, "{by_place}");
    is_well(&mut client);
}

#[test]
fn an_empty_cursor_is_the_beginning_of_every_list() {
    let mut client = aggregator();
    for (method, field) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let (first, same) = (client.ask(method, json!({})), client.ask(method, json!({ "cursor": "" })));
        assert!(first["result"][field].is_array(), "{first}");
        assert_eq!(first["result"], same["result"]);
    }
}

#[test]
fn two_requests_with_one_id_both_end() {
    let mut client = aggregator();
    for text in ["one", "two"] {
        let params = json!({ "name": "s__slow", "arguments": { "ms": 200, "text": text } });
        client.send(
            &json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string(),
        );
    }
    let answers = [client.next(), client.next()];
    assert!(answers.iter().all(|answer| answer.contains(r#""id":7"#)), "{answers:?}");
    assert!(answers.iter().any(|answer| answer.contains("one")), "{answers:?}");
    is_well(&mut client);
}

#[test]
fn replies_to_nothing_and_notification_storms_are_passed_over() {
    let mut client = aggregator();
    let before = proc::resident_kib(client.id());
    let replies = concat!(
        r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        "\n"
    );
    (0..25_000).for_each(|_| client.write(replies.as_bytes()));
    is_well(&mut client);
    assert_eq!(client.text("s__storm", json!({ "n": 100_000 })), "after the storm");
    let grown = proc::resident_kib(client.id()).saturating_sub(before);
    assert!(grown < 64 * 1024, "memory grew by {grown} KiB");
}

#[test]
fn answers_that_come_late_twice_or_never_disturb_nobody() {
    let mut entry = service(&[]);
    entry["timeout"] = json!(500);
    let mut client = Pipe::start(&json!({ "s": entry, "other": service(&[]) }));
    client.hello("2025-06-18");
    client.names();
    assert_eq!(client.text("s__twice", json!({})), "first");
    for (tool, arguments) in [("s__never", json!({})), ("s__late", json!({ "ms": 900 }))] {
        let answer = client.call(tool, arguments).to_string();
        assert!(answer.contains("500 ms") || answer.contains("time"), "{answer}");
    }
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(client.next_within(Duration::from_millis(100)), None, "the late answer is for nobody");
    is_well(&mut client);
    assert_eq!(client.text("other__echo", json!({ "text": "fine" })), "fine");
}

#[test]
fn ten_thousand_tools_are_listed_page_by_page_and_called() {
    let mut client = Pipe::start(&json!({ "many": service(&["--tools", "10000"]) }));
    client.hello("2025-11-25");
    let (mut names, mut cursor) = (BTreeSet::new(), json!({}));
    loop {
        let page = client.ask("tools/list", cursor);
        let tools = page["result"]["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match page["result"]["nextCursor"].as_str() {
            Some(next) => cursor = json!({ "cursor": next }),
            None => break,
        }
    }
    assert_eq!(names.len(), 10_000);
    assert_eq!(client.text("many__tool_09999", json!({})), "tool_09999");
}

#[test]
fn tools_beyond_ten_thousand_are_left_out_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let tool = |n| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } });
    let definitions = folder.path().join("tools.json");
    std::fs::write(&definitions, json!((0..10_005).map(tool).collect::<Vec<_>>()).to_string()).unwrap();
    let config = folder.path().join("mcp.json");
    let many = service(&["--definitions", definitions.to_str().unwrap()]);
    std::fs::write(&config, json!({ "mcpServers": { "many": many } }).to_string()).unwrap();
    let mut command = testkit::process::command(crate::binary::BINARY);
    let said = command.arg("tools").arg("--mcp-config").arg(&config).output().unwrap();
    let warnings = String::from_utf8_lossy(&said.stderr);
    let warnings: Vec<_> = warnings.lines().filter(|line| line.contains("10005 entries")).collect();
    assert_eq!(warnings.len(), 1, "{said:?}");
    assert!(warnings[0].contains("10000 are kept, the rest is left out"), "{warnings:?}");
    assert!(warnings[0].contains("'many'"), "{warnings:?}");
}

/// PX-10: each refusal says what happened and whose it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn remote_services_that_refuse_are_named_and_disturb_nobody() {
    let behave = |behaviour: Behaviour| Server::start(behaviour);
    let status = |status: u16| Behaviour { status: Some(status), ..Behaviour::default() };
    let good = behave(Behaviour::default()).await;
    let redirect = Some("http://127.0.0.1:9/elsewhere".to_owned());
    let bad = [
        ("forbidden", "credentials", behave(status(403)).await),
        ("missing", "404", behave(status(404)).await),
        ("broken", "500", behave(status(500)).await),
        ("busy", "503", behave(status(503)).await),
        ("moved", "redirect", behave(Behaviour { redirect, ..Behaviour::default() }).await),
    ];
    let mut services = json!({ "s": { "type": "http", "url": good.url() } });
    for (name, _, server) in &bad {
        services[*name] = json!({ "type": "http", "url": server.url() });
    }
    // A server without TLS, one that is not there, a host that is none.
    services["untrusted"] = json!({ "type": "http", "url": good.url().replace("http:", "https:") });
    services["gone"] =
        json!({ "type": "http", "url": format!("http://{}/mcp", testkit::http::dead_address().await) });
    services["nowhere"] = json!({ "type": "http", "url": "http://no-such-host.invalid/mcp" });
    let mut expected: Vec<_> = bad.iter().map(|(name, word, _)| (*name, *word)).collect();
    expected.extend([("untrusted", ""), ("gone", ""), ("nowhere", "")]);
    let expected: Vec<(String, String)> =
        expected.into_iter().map(|(name, word)| (name.to_owned(), word.to_owned())).collect();
    tokio::task::spawn_blocking(move || {
        let mut client = Pipe::start(&services);
        client.hello("2025-06-18");
        for (name, word) in expected {
            let answer = client.call(&format!("{name}__echo"), json!({})).to_string();
            assert!(answer.contains(&name) && answer.contains(&word), "{name}: {answer}");
            assert!(answer.contains("error") || answer.contains("isError"), "{name}: {answer}");
        }
        is_well(&mut client);
    })
    .await
    .unwrap();
    drop((good, bad));
}

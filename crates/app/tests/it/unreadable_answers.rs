//! Answers of a service on stdio that cannot be read: nobody but their caller learns anything of them.

use crate::binary::serve;
use crate::pipe::Pipe;
use crate::setup::PATIENCE;
use crate::stdio::service;
use serde_json::json;
use testkit::{Backend, Database, process};

/// What one caller was to get is not told to the next, who may see less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_an_answer_is_quoted_to_another_caller() {
    let database = Database::create(Backend::Sqlite).await;
    std::fs::create_dir_all(database.data_dir()).unwrap();
    let definitions = database.data_dir().join("definitions.json");
    std::fs::write(&definitions, r#"[{"name":"rest","inputSchema":{"type":"object"}}]"#).unwrap();
    let entry = json!({ "command": service(), "args": ["--definitions", definitions] });
    let config = database.data_dir().join("mcp.json");
    std::fs::write(&config, json!({ "mcpServers": { "s": entry } }).to_string()).unwrap();
    let mut command = serve(&database);
    command.arg("--mcp-config").arg(&config);
    let server = process::Server::start(command);
    let first = server.admin();
    let is_there = async || first.tool_names().await.contains(&"s__rest".to_owned());
    testkit::eventually("the tool", PATIENCE, is_there).await;
    let key = first.post("keys", json!({ "name": "narrow", "allow": ["s__rest"] })).await.is(201);
    let second = first.as_key(key.string("key"));

    for said in [
        r#","result":{"content":[{"type":"text","text":"salary-1 ÿ"}]}"#,
        ",\"result\":{\"content\":[]}}\nsalary-2 of the chief\n\"text\": \"salary-3\"\n{\"text\":\"salary-4\"",
    ] {
        first.call_name("s__rest", json!({ "rest": said })).await;
        let refused = second.call_name("s__rest", json!({ "rest": r#","result":{"a":"ÿ"}"# })).await;
        let refused = refused.body.to_string();
        assert!(refused.contains("UTF-8"), "{refused}");
        assert!(!refused.contains("salary"), "{refused}");
    }
}

/// A banner on stdout is quoted where a server cannot be used, for it belongs to no call.
#[test]
fn what_a_server_says_on_stdout_while_it_starts_is_quoted() {
    let script = "echo 'usage: give me a database'; echo '{\"level\":\"info\"}'; exit 2";
    let mut pipe = Pipe::start(&json!({ "s": { "command": "sh", "args": ["-c", script] } }));
    pipe.hello("2025-11-25");
    let answer = pipe.call("s__any", json!({})).to_string();
    assert!(answer.contains("usage: give me a database") && !answer.contains("level"), "{answer}");
}

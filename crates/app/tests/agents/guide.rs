//! The agent of the guide: its commands run as they stand, and clients of both eras ask it for what needs all of its tools.

use crate::clients::{answer_as_legacy, approve_as_modern};
use crate::guide_commands::said_by;
use serde_json::{Value, json};
use testkit::mcp::http::{Behaviour, Server};
use testkit::{Backend, TestApp, http};

const DONE: &str = "Order o1 was open, and is cancelled now.";

/// The world of the guide, after its commands have run with a model that others wrote, and what they have said.
async fn guided() -> (TestApp, Server, http::Server, String) {
    let app = TestApp::start(Backend::Sqlite).await;
    let (clock, shop) = (Server::start(Behaviour::default()).await, http::Server::start().await);
    let model = std::env::var("MCP_TEST_AIMOCK_URL");
    let model = model.expect("MCP_TEST_AIMOCK_URL is not set; run the tests with scripts/servers run -- CMD");
    let given = format!("export MODEL={model}/v1 CLOCK={} SHOP={}", clock.url(), shop.url());
    let guide = include_str!("../../../../docs/guides/agents.md");
    let guide = guide.replacen("```sh\napi()", &format!("```sh\n{given}\napi()"), 1);
    let folder = tempfile::tempdir().unwrap();
    let out = said_by(&guide, &app, folder.path()).await;
    (app, clock, shop, out)
}

fn cancelled(shop: &http::Server) -> usize {
    shop.requests().iter().filter(|request| request.method == "DELETE" && request.query == "id=o1").count()
}

fn called(clock: &Server) -> usize {
    clock.seen().iter().filter(|seen| *seen == "POST tools/call").count()
}

fn cancel(id: u64, more: &Value) -> Value {
    let mut params = json!({ "name": "support__ask", "arguments": { "prompt": "Cancel order o1." } });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// AG-1, AG-2, AG-13, AG-14, AG-15: the commands of the guide do what it says; and its agent, bound to an `mcp`, an `api` and a
/// `table` tool, answers what needs all three, with an approval in between, clients of both eras.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_agents_does_what_it_says_for_clients_of_both_eras() {
    let (app, clock, shop, out) = guided().await;
    for event in ["event: run", "event: step", "event: text", "event: end", "id: 1"] {
        assert!(out.contains(event), "{event}\n{out}");
    }
    assert!(out.contains("Order o1 is open.") && out.contains("You meant order o1."), "{out}");
    assert!(out.contains(DONE), "{out}");
    assert_eq!((called(&clock), cancelled(&shop)), (1, 1), "{out}");
    let answer = approve_as_modern(&app, "support__ask", |id, more| {
        assert_eq!(cancelled(&shop), 1, "nothing is done before");
        cancel(id, more)
    })
    .await;
    assert_eq!(answer["result"]["structuredContent"]["answer"], DONE, "{answer}");
    assert_eq!((called(&clock), cancelled(&shop)), (2, 2));
    let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
    let answer = answer_as_legacy(&app, &cancel(2, &json!({})), &yes).await.pop().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["answer"], DONE, "{answer}");
    assert_eq!((called(&clock), cancelled(&shop)), (3, 3));
    let run = answer["result"]["structuredContent"]["run"].as_str().unwrap();
    let records = app.get(&format!("audit?run={run}")).await.is(200).items();
    let mut tools: Vec<_> = records.iter().map(|record| record["tool"].as_str().unwrap()).collect();
    tools.retain(|tool| *tool != "support__ask");
    tools.sort_unstable();
    assert!(tools.len() == 3 && tools[0] == "clock__echo" && tools.contains(&"shop__cancel"), "{tools:?}");
}

//! What the contract says of graphs, guards and names, seen by whoever runs a published flow.

use crate::world::{PATIENCE, publish_over_rest, run, shop, start, until};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::{Backend, Client, TestApp, http, on_both_databases};

on_both_databases! {
    a_graph_runs_side_by_side_joins_once_and_keeps_its_order
    a_failure_cancels_what_runs_beside_it
    a_guard_blocks_redacts_and_warns
    a_guard_holds_values_to_a_schema
    what_a_tool_grows_later_gets_nothing
    a_disabled_flow_starts_nothing_and_ends_what_it_began
    a_flow_whose_name_is_taken_has_another
    a_service_is_referred_to_by_versions_that_live
    sub_flows_that_stand_too_deep_hit_a_limit
}

async fn world(backend: Backend) -> (TestApp, http::Server) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.service(shop(&upstream)).await;
    (app, upstream)
}

/// The steps of a run that the path begins with: path, begin and end.
async fn steps(client: &Client, run: &str, path: &str) -> Vec<(String, String, String)> {
    let steps = client.get(&format!("runs/{run}/steps?limit=1000")).await.is(200).items();
    let text = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().to_owned();
    let steps =
        steps.iter().map(|step| (text(step, "path"), text(step, "started_at"), text(step, "ended_at")));
    steps.filter(|(own, ..)| own.starts_with(path)).collect()
}

/// How many of them were under way at once, at the most. One that begins when another ends is not beside it.
fn most_at_once(steps: &[(String, String, String)]) -> usize {
    let beside = |at: &String| steps.iter().filter(|(_, begun, ended)| begun <= at && at < ended).count();
    steps.iter().map(|(_, begun, _)| beside(begun)).max().unwrap_or_default()
}

/// FL-7: nodes that nothing leads to begin side by side. FL-8: the node behind them and behind a dead branch runs once.
/// FL-11: items come out in their order, however long each takes, never more at once than may be. FL-12: a loop that would
/// never end ends at its `max`.
async fn a_graph_runs_side_by_side_joins_once_and_keeps_its_order(backend: Backend) {
    let (app, upstream) = world(backend).await;
    let text = "
inputs: {items: any}
nodes:
  a: {exec: 'api://shop/slow', args: {ms: 900}, next: join}
  b: {exec: 'api://shop/slow', args: {ms: 901}, next: join}
  fork: {when: 'false', then: dead, else: join}
  dead: {with: '1', next: join}
  join: {exec: 'api://shop/ship', args: {id: joined}, next: [each, loop]}
  each: {each: 'items => x, i', limit: 2, nodes: {s: {exec: 'api://shop/slow', args: {ms: '${700 - i * 200}'}, with: '${x}'}}}
  loop: {vars: {n: 0}, when: 'true', max: 3, nodes: {turn: {exec: 'api://shop/ship', args: {id: turn}, sets: {n: '${n + 1}'}}}, with: '${n}'}
";
    publish_over_rest(&app, "graph", text).await;
    let ended = run(&app, "graph", json!({ "items": ["x", "y", "z"] })).await.is(200);
    assert_eq!(ended.body["output"], json!({ "each": ["x", "y", "z"], "loop": 3 }), "{}", ended.text);
    let id = ended.string("id");
    let first: Vec<_> = [steps(&app, &id, "a").await, steps(&app, &id, "b").await].concat();
    assert_eq!((first.len(), most_at_once(&first)), (2, 2), "{first:?}");
    assert_eq!(steps(&app, &id, "join").await.len(), 1);
    assert_eq!(steps(&app, &id, "dead").await.len(), 0);
    let items = steps(&app, &id, "each[").await;
    assert_eq!((items.len(), most_at_once(&items)), (3, 2), "{items:?}");
    let sent = |word: &str| upstream.requests().iter().filter(|request| request.body.contains(word)).count();
    assert_eq!((sent("joined"), sent("turn")), (1, 3));
}

/// FL-10: nobody waits for a node beside one whose failure nothing handles.
async fn a_failure_cancels_what_runs_beside_it(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    let text =
        "nodes: {bad: {exec: 'api://shop/lost'}, beside: {exec: 'api://shop/slow', args: {ms: 60000}}}";
    publish_over_rest(&app, "fails", text).await;
    let begun = Instant::now();
    let id = start(&app, "fails", json!({})).await;
    let failed = until(&app, &id, &["failed"]).await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(failed["error"]["node"], "bad", "{failed}");
    let steps = app.get(&format!("runs/{id}/steps")).await.is(200).items();
    let beside = steps.iter().find(|step| step["path"] == "beside").unwrap();
    assert_eq!(beside["state"], "cancelled", "{beside}");
}

/// FL-15: a guard blocks, redacts or warns.
async fn a_guard_blocks_redacts_and_warns(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    for (action, expected) in [
        ("block", json!("GUARD")),
        ("redact", json!("write to [EMAIL]")),
        ("warn", json!("write to ann@example.org")),
    ] {
        let text = format!(
            "inputs: {{t: string}}\nnodes: {{g: {{guard: {{check: pii, of: '${{t}}', action: {action}}}, next: ok, fail: f}}, ok: {{with: g.value}}, f: {{with: g.error.code}}}}"
        );
        publish_over_rest(&app, action, &text).await;
        let ended = run(&app, action, json!({ "t": "write to ann@example.org" })).await.is(200);
        assert_eq!(ended.body["output"], expected, "{}", ended.text);
    }
}

/// FL-15: a guard lets through what its JSON Schema takes; what it does not take blocks, or is told of.
async fn a_guard_holds_values_to_a_schema(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    for (action, expected) in [("block", json!("GUARD")), ("warn", json!(false))] {
        let text = format!(
            "
inputs: {{order: any}}
nodes:
  g:
    guard: {{check: schema, of: '${{order}}', action: {action}, schema: {{type: object, required: [id], properties: {{id: {{type: integer}}}}}}}}
    next: ok
    fail: lost
  ok: {{with: 'g.passed'}}
  lost: {{with: g.error.code}}
"
        );
        publish_over_rest(&app, action, &text).await;
        for (order, expected) in
            [(json!({ "id": 7 }), &json!(true)), (json!({ "id": "7" }), &expected), (json!([]), &expected)]
        {
            let ended = run(&app, action, json!({ "order": order })).await.is(200);
            assert_eq!(&ended.body["output"], expected, "{action} {order}: {}", ended.text);
        }
    }
    let broken =
        "inputs: {t: string}\nnodes: {g: {guard: {check: schema, of: '${t}', schema: {type: nonsense}}}}";
    let found = app.post("flows/validate", json!({ "source": broken })).await.is(200).body;
    assert_eq!((&found["valid"], &found["errors"][0]["line"]), (&json!(false), &json!(2)), "{found}");
}

/// FL-16: a parameter is bound as it was when the flow was published; what the tool grows later gets nothing.
async fn what_a_tool_grows_later_gets_nothing(backend: Backend) {
    let (app, upstream) = world(backend).await;
    let text = "inputs: {id: string, note: string}\nnodes: {s: {exec: 'api://shop/ship'}}";
    publish_over_rest(&app, "ships", text).await;
    run(&app, "ships", json!({ "id": "1", "note": "secret" })).await.is(200);
    let parameter = |name: &str| json!({ "name": name, "parameter_type": "String", "required": false, "position": "body" });
    let mut service = shop(&upstream);
    service["tools"][1]["parameters"].as_array_mut().unwrap().push(parameter("note"));
    app.patch("services/api/shop", json!({ "tools": service["tools"] })).await.is(200);
    let ended = run(&app, "ships", json!({ "id": "2", "note": "secret" })).await.is(200);
    assert_eq!(ended.body["state"], "succeeded", "{}", ended.text);
    let bodies: Vec<_> = upstream.requests().iter().map(|request| request.body.clone()).collect();
    assert!(bodies.len() == 2 && bodies.iter().all(|body| !body.contains("secret")), "{bodies:?}");
    // Published anew, it does.
    let again = format!("name: Ships\n{text}");
    app.patch("flows/ships", json!({ "source": again })).await.is(200);
    app.post("flows/ships/publish", json!({})).await.is(200);
    run(&app, "ships", json!({ "id": "3", "note": "secret" })).await.is(200);
    assert!(upstream.requests()[2].body.contains("secret"));
}

/// FL-26: a flow that is disabled starts no runs, and those under way go on.
async fn a_disabled_flow_starts_nothing_and_ends_what_it_began(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    publish_over_rest(&app, "asks", "nodes: {w: {wait: {signal: go}}}").await;
    let id = start(&app, "asks", json!({})).await;
    until(&app, &id, &["waiting"]).await;
    app.post("flows/asks/disable", json!({})).await.is(200);
    app.post("flows/asks/runs", json!({})).await.is(409);
    app.post(&format!("runs/{id}/signals/go"), json!({ "data": 1 })).await.is(202);
    until(&app, &id, &["succeeded"]).await;
    app.post("flows/asks/enable", json!({})).await.is(200);
    start(&app, "asks", json!({})).await;
}

/// FL-1: a flow whose id another tool has is called `flow__id`.
async fn a_flow_whose_name_is_taken_has_another(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    let tool =
        json!({ "name": "order", "type": "uri", "description": "An order", "uri": "api://shop/order" });
    app.post("tools", tool).await.is(201);
    publish_over_rest(&app, "order", "nodes: {a: {with: \"'from the flow'\"}}").await;
    testkit::eventually("the flow is a tool", PATIENCE, async || {
        let names = app.tool_names().await;
        ["order", "flow__order"].iter().all(|name| names.iter().any(|one| one == name))
    })
    .await;
    assert!(app.call("flow://order", json!({})).await.is(200).text.contains("from the flow"));
}

/// SC-4: a service that only runs of an older version need is not deleted either.
async fn a_service_is_referred_to_by_versions_that_live(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    let first = "nodes: {w: {wait: {signal: go}, next: o}, o: {exec: 'api://shop/order', args: {id: '1'}}}";
    publish_over_rest(&app, "moves", first).await;
    let id = start(&app, "moves", json!({})).await;
    until(&app, &id, &["waiting"]).await;
    app.patch("flows/moves", json!({ "source": "nodes: {a: {with: '1'}}" })).await.is(200);
    app.post("flows/moves/publish", json!({})).await.is(200);
    let referring = async || app.get("services/api/shop/references").await.is(200).items();
    let found = referring().await;
    assert_eq!(
        (found.len(), &found[0]["state"], &found[0]["id"]),
        (1, &json!("live"), &json!("moves")),
        "{found:?}"
    );
    app.delete("services/api/shop").await.is_problem(409, "REFERENCED");
    app.post(&format!("runs/{id}/signals/go"), json!({})).await.is(202);
    until(&app, &id, &["succeeded", "failed"]).await;
    assert_eq!(referring().await.len(), 0);
    // A draft with a broken edge names its services, too.
    let broken = "nodes: {a: {with: '1', next: nowhere}, o: {exec: 'api://shop/order', args: {id: '1'}}}";
    app.patch("flows/moves", json!({ "source": broken })).await.is(200);
    assert_eq!(referring().await[0]["state"], "draft");
}

/// A flow that runs itself comes to an end, with a code that says why.
async fn sub_flows_that_stand_too_deep_hit_a_limit(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    let text = "nodes: {again: {flow: circle, fail: f}, f: {with: again.error.code}}";
    publish_over_rest(&app, "circle", text).await;
    let ended = run(&app, "circle", json!({})).await.is(200);
    assert_eq!(ended.body["output"], "LIMIT", "{}", ended.text);
}

//! How many runs there are at once, and whose.

use crate::crashes::serve;
use crate::world::{PATIENCE, publish, publish_in, run, shop, start, until};
use serde_json::json;
use testkit::{Backend, Database, TestApp, eventually, http, on_both_databases};
use tool::TenantId;

on_both_databases! {
    never_more_runs_are_under_way_than_a_flow_allows
    two_processes_together_call_no_more_than_a_flow_allows
    a_key_with_one_call_at_a_time_runs_a_flow_of_three_steps
    a_full_group_refuses_or_replaces
    a_flow_with_one_slot_runs_itself
    a_full_queue_refuses_starts_of_its_tenant_alone
    nothing_of_a_run_crosses_tenants
    a_secret_input_is_shown_nowhere
    all_of_a_secret_input_is_masked
    what_is_cut_out_of_a_secret_is_shown_nowhere
}

/// FL-24: of many starts at a limit of 3 never more than 3 are under way.
async fn never_more_runs_are_under_way_than_a_flow_allows(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "concurrency: {limit: 3}\nnodes: {s: {exec: 'api://shop/slow', args: {ms: 30}}}";
    publish(&app, app.database(), "narrow", text).await;
    let starts = futures::future::join_all((0..40).map(|_| start(&app, "narrow", json!({})))).await;
    let mut most = 0;
    eventually("all have ended", PATIENCE, async || {
        let running = app.get("runs?flow=narrow&state=running").await.is(200).body["total"].as_u64().unwrap();
        most = most.max(running);
        app.get("runs?flow=narrow&state=succeeded").await.is(200).body["total"] == starts.len()
    })
    .await;
    assert!((1..=3).contains(&most), "{most} at once");
    assert_eq!(upstream.requests().len(), starts.len());
}

/// FL-24: of many starts at a limit of 5, given to two processes, there are never 6 calls at the service at once.
async fn two_processes_together_call_no_more_than_a_flow_allows(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let one = serve(&database, None);
    let (admin, key) = (one.admin(), one.admin_key().unwrap().to_owned());
    admin.post("services", shop(&upstream)).await.is(201);
    let text = "concurrency: {limit: 5}\nnodes: {s: {exec: 'api://shop/slow', args: {ms: 40}}}";
    publish(&admin, &database, "narrow", text).await;
    let other = serve(&database, Some("other"));
    let there = other.client(&key);
    eventually("the other process knows the flow", PATIENCE, async || {
        there.tool_names().await.iter().any(|name| name == "narrow")
    })
    .await;
    const STARTS: usize = 300;
    for _ in 0..STARTS / 20 {
        let starts =
            (0..20).map(|number| start(if number % 2 == 0 { &admin } else { &there }, "narrow", json!({})));
        futures::future::join_all(starts).await;
    }
    eventually("all have ended", PATIENCE * 3, async || {
        there.get("runs?flow=narrow&state=succeeded").await.is(200).body["total"] == STARTS
    })
    .await;
    let most = upstream.most_at_once();
    assert!((2..=5).contains(&most), "{most} at once");
    assert_eq!(upstream.requests().len(), STARTS);
}

/// On the binary: the calls of a run are a part of the call that started it, so that they wait for no permit of their own; another
/// call of the same key is refused meanwhile.
async fn a_key_with_one_call_at_a_time_runs_a_flow_of_three_steps(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let server = serve(&database, None);
    let admin = server.admin();
    admin.post("services", shop(&upstream)).await.is(201);
    let text = "
nodes:
  one: {exec: 'api://shop/order', args: {id: a}, next: two}
  two: {exec: 'api://shop/slow', args: {ms: 1500}, next: three}
  three: {exec: 'api://shop/ship', args: {id: a}, with: \"'shipped'\"}
output: ${three}
";
    publish(&admin, &database, "three", text).await;
    let key = json!({ "name": "one", "role": "caller", "limits": { "concurrent_calls": 1 } });
    let one = server.client(&admin.post("keys", key).await.is(201).string("key"));
    let call = {
        let one = one.clone();
        tokio::spawn(async move { one.call("flow://three", json!({})).await })
    };
    eventually("the second step is under way", PATIENCE, async || {
        upstream.requests().iter().any(|request| request.path == "/slow/1500")
    })
    .await;
    one.call("api://shop/order", json!({ "id": "b" })).await.is_problem(429, "RATE_LIMITED");
    let ended = call.await.unwrap().is(200);
    assert!(ended.body["isError"] == false && ended.text.contains("shipped"), "{}", ended.text);
    assert_eq!(upstream.requests().len(), 3, "each step was made once");
    one.call("api://shop/order", json!({ "id": "b" })).await.is(200);
}

/// `overflow: refuse` is a 429, `replace` ends the older run.
async fn a_full_group_refuses_or_replaces(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = |overflow: &str| {
        format!(
            "inputs: {{k: string}}\nconcurrency: {{limit: 1, key: '${{k}}', overflow: {overflow}}}\nnodes: {{w: {{wait: {{signal: go}}}}}}"
        )
    };
    publish(&app, app.database(), "refuses", &text("refuse")).await;
    let first = start(&app, "refuses", json!({ "k": "a" })).await;
    let refused = app.post("flows/refuses/runs", json!({ "inputs": { "k": "a" } })).await;
    refused.is_problem(429, "RATE_LIMITED");
    start(&app, "refuses", json!({ "k": "b" })).await;
    until(&app, &first, &["waiting"]).await;
    publish(&app, app.database(), "replaces", &text("replace")).await;
    let first = start(&app, "replaces", json!({ "k": "a" })).await;
    until(&app, &first, &["waiting"]).await;
    let second = start(&app, "replaces", json!({ "k": "a" })).await;
    until(&app, &first, &["cancelled"]).await;
    until(&app, &second, &["waiting"]).await;
    // With a slot to spare nobody has to go, and then only the oldest.
    let two =
        "inputs: {k: string}\nconcurrency: {limit: 2, overflow: replace}\nnodes: {w: {wait: {signal: go}}}";
    publish(&app, app.database(), "two", two).await;
    let mut runs = Vec::new();
    for k in ["a", "b", "c"] {
        runs.push(start(&app, "two", json!({ "k": k })).await);
        until(&app, runs.last().unwrap(), &["waiting"]).await;
        if k == "b" {
            until(&app, &runs[0], &["waiting"]).await;
        }
    }
    until(&app, &runs[0], &["cancelled"]).await;
    until(&app, &runs[1], &["waiting"]).await;
}

/// FL-24, FL-25: of a tenant 10,000 runs may wait to begin. One more is refused with 429, by whichever door, and taken
/// again when some have gone; other tenants begin theirs.
async fn a_full_queue_refuses_starts_of_its_tenant_alone(backend: Backend) {
    const MOST: u32 = 10_000;
    let app = TestApp::start(backend).await;
    let text = "concurrency: {limit: 1}\nnodes: {w: {wait: {signal: go}}}";
    publish(&app, app.database(), "narrow", text).await;
    let acme = app.with_tenant("acme").await;
    publish_in(&acme, app.database(), &"acme".parse().unwrap(), "narrow", text).await;
    let below = "nodes: {go: {wait: {signal: go}, next: s}, s: {flow: below}}";
    publish(&app, app.database(), "below", "nodes: {a: {with: '7'}}").await;
    publish(&app, app.database(), "outer", below).await;
    let outer = start(&app, "outer", json!({})).await;
    until(&app, &outer, &["waiting"]).await;
    let first = start(&app, "narrow", json!({})).await;
    until(&app, &first, &["waiting"]).await;
    let queued = start(&app, "narrow", json!({})).await;
    // As many as another 9,998 starts would leave.
    let copied = "tenant, flow, version, state, epoch, leased_until, last_seq, news_seq, group_key, is_admitted, is_secret,
        origin, caller, created_at";
    let sql = format!(
        "INSERT INTO runs (id, {copied}) WITH RECURSIVE numbers (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {})
         SELECT 'copy-' || numbers.n, {copied} FROM numbers, runs WHERE runs.id = '{queued}'",
        MOST - 2
    );
    let mut connection = app.database().connect().await;
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    start(&app, "narrow", json!({})).await;
    let refused = app.post("flows/narrow/runs", json!({})).await.is_problem(429, "RATE_LIMITED");
    assert!(refused.text.contains("wait to begin"), "{}", refused.text);
    app.call("flow://narrow?async=true", json!({})).await.is_problem(429, "RATE_LIMITED");
    start(&acme, "narrow", json!({})).await;
    // What was accepted has its sub-flows all the same.
    app.post(&format!("runs/{outer}/signals/go"), json!({})).await.is(202);
    let ended = until(&app, &outer, &["succeeded", "failed"]).await;
    assert_eq!(ended["output"], 7, "{ended}");
    let gone = "DELETE FROM runs WHERE id = 'copy-1'";
    sqlx::query(gone).execute(&mut connection).await.unwrap();
    start(&app, "narrow", json!({})).await;
    app.post("flows/narrow/runs", json!({})).await.is_problem(429, "RATE_LIMITED");
}

/// FL-32: neither runs nor their steps, events and approvals are there for another tenant; callers see their own.
async fn nothing_of_a_run_crosses_tenants(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (acme, other) = (app.with_tenant("acme").await, app.with_tenant("other").await);
    let tenant: TenantId = "acme".parse().unwrap();
    let text = "inputs: {tenantId: string?}\nnodes: {ok: {approval: Go}}";
    publish_in(&acme, app.database(), &tenant, "asks", text).await;
    let id = start(&acme, "asks", json!({})).await;
    until(&acme, &id, &["waiting"]).await;
    for path in ["", "/steps", "/events"] {
        other.get(&format!("runs/{id}{path}")).await.is_problem(404, "NOT_FOUND");
    }
    for action in ["cancel", "pause", "resume", "retry", "replay", "signals/go"] {
        other.post(&format!("runs/{id}/{action}"), json!({})).await.is_problem(404, "NOT_FOUND");
    }
    assert_eq!(other.get("runs").await.is(200).body["total"], 0);
    assert_eq!(other.get("approvals").await.is(200).body["total"], 0);
    other.post("flows/asks/runs", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    let key = json!({ "name": "c", "tenant": "acme", "role": "caller" });
    let caller = app.with_key(key).await;
    caller.get(&format!("runs/{id}")).await.is_problem(404, "NOT_FOUND");
    assert_eq!(caller.get("runs").await.is(200).body["total"], 0);
    let own = start(&caller, "asks", json!({})).await;
    assert_eq!(caller.get("runs").await.is(200).body["total"], 1);
    caller.get(&format!("runs/{own}")).await.is(200);
    let viewer = app.with_key(json!({ "name": "v", "tenant": "acme", "role": "viewer" })).await;
    viewer.get(&format!("runs/{own}")).await.is(200);
    viewer.post(&format!("runs/{own}/cancel"), json!({})).await.is_problem(403, "FORBIDDEN");
    viewer.post("flows/asks/runs", json!({})).await.is_problem(403, "FORBIDDEN");
    // A door knows its tenant.
    let told = acme.post("flows/asks/runs", json!({ "inputs": { "tenantId": "other" } })).await;
    told.is_problem(403, "FORBIDDEN");
    caller.post(&format!("runs/{own}/cancel"), json!({})).await.is(200);
}

/// FL-32: a secret input is masked whatever it is, and nothing else because a part of it is short.
async fn all_of_a_secret_input_is_masked(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "
inputs: {on: {type: boolean, secret: true}, list: {type: array, secret: true}, cred: {type: object, secret: true}, plain: string}
nodes: {a: {with: {status: ok, user: bob, note: hello us all, same: '${[on, list, cred] == null}'}}}
";
    publish(&app, app.database(), "secrets", text).await;
    let given = json!({ "on": true, "list": [true, null, { "k": false }], "cred": { "flag": true, "country": "us" }, "plain": "yes" });
    let id = start(&app, "secrets", given).await;
    let view = until(&app, &id, &["succeeded"]).await;
    assert_eq!(view["inputs"], json!({ "on": "***", "list": "***", "cred": "***", "plain": "yes" }));
    let output = json!({ "status": "ok", "user": "bob", "note": "hello us all", "same": false });
    assert_eq!(view["output"], output, "names and words that have two letters in common");
}

/// FL-32: what a flow calls secret is sealed in the database and masked at every door.
async fn a_secret_input_is_shown_nowhere(backend: Backend) {
    const SECRET: &str = "hunter2-hunter2";
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {password: {type: string, secret: true}}
concurrency: {limit: 9, key: '${password}'}
nodes:
  made: {with: ['${upper(password)}', '${base64(password)}', 'Basic ${password}'], next: ask}
  ask: {approval: {title: 'Use ${password}?'}, next: use}
  use: {exec: 'api://shop/ship', args: {id: 'it is ${password}'}, next: below}
  below: {flow: below, args: {harmless: '${password}'}}
output: ${use}
";
    let below =
        "inputs: {harmless: string}\nnodes: {use: {exec: 'api://shop/order', args: {id: '${harmless}'}}}";
    publish(&app, app.database(), "below", below).await;
    publish(&app, app.database(), "sealed", text).await;
    let id = start(&app, "sealed", json!({ "password": SECRET })).await;
    let view = until(&app, &id, &["waiting"]).await;
    let approval = view["waiting_for"][0]["approval_id"].as_str().unwrap().to_owned();
    for path in [format!("runs/{id}"), format!("runs/{id}/steps"), "approvals".to_owned(), "runs".to_owned()]
    {
        let shown = app.get(&path).await.is(200);
        assert!(!shown.text.contains(SECRET), "{path}: {}", shown.text);
        for derived in ["HUNTER2-HUNTER2", "aHVudGVyMi1odW50ZXIy"] {
            assert!(!shown.text.contains(derived), "{path}: {}", shown.text);
        }
    }
    app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    let ended = until(&app, &id, &["succeeded"]).await;
    let received = upstream.requests();
    assert!(
        received[0].body.contains(SECRET) && received[1].path.contains(SECRET),
        "tools get what they need"
    );
    let child =
        app.get(&format!("runs?parent={id}")).await.is(200).items()[0]["id"].as_str().unwrap().to_owned();
    for path in [format!("runs/{child}"), format!("runs/{child}/steps"), format!("runs/{child}/events")] {
        let shown = app.get(&path).await.is(200);
        assert!(!shown.text.contains(SECRET), "{path}: {}", shown.text);
    }
    eventually("all calls are audited", PATIENCE, async || {
        app.get("audit?limit=100").await.is(200).text.matches("api://shop/").count() >= 2
    })
    .await;
    assert!(!ended.to_string().contains(SECRET), "{ended}");
    let events = app.get(&format!("runs/{id}/events")).await.is(200);
    assert!(events.text.contains("event: end") && !events.text.contains(SECRET), "{}", events.text);
    for table in ["runs", "run_data", "run_journal", "run_waits", "run_slots", "audit"] {
        let mut connection = app.database().connect().await;
        let sql = sqlx::AssertSqlSafe(format!("SELECT * FROM {table}"));
        for row in sqlx::query(sql).fetch_all(&mut connection).await.unwrap() {
            let texts =
                (0..sqlx::Row::len(&row)).filter_map(|at| sqlx::Row::try_get::<String, _>(&row, at).ok());
            assert!(texts.into_iter().all(|text| !text.contains(SECRET)), "{table}");
        }
    }
}

/// FL-32: neither the run nor the audit shows the parts of a secret, in lists, alone or in other texts.
async fn what_is_cut_out_of_a_secret_is_shown_nowhere(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {password: {type: string, secret: true}}
nodes:
  parts: {with: \"split(password, '-')\", next: use}
  use: {exec: 'api://shop/ship', args: {id: '${parts[0]}'}, next: both}
  both: {exec: 'api://shop/ship', args: {id: 'user ${parts[2]}!'}, next: lost}
  lost: {throw: {code: LOST, message: 'no ${upper(parts[2])}'}}
";
    publish(&app, app.database(), "cut", text).await;
    let id = start(&app, "cut", json!({ "password": "hunter2-is-mysterious" })).await;
    until(&app, &id, &["failed"]).await;
    let received = upstream.requests();
    assert!(
        received[0].body.contains("hunter2") && received[1].body.contains("mysterious"),
        "tools get them"
    );
    eventually("all calls are audited", PATIENCE, async || {
        app.get("audit?limit=100").await.is(200).text.matches("api://shop/").count() >= 2
    })
    .await;
    // Nor does whoever asks about the run, whose question is audited.
    let polled = app.call_name("flow_run", json!({ "run_id": id })).await.is(200);
    assert!(
        polled.text.contains("LOST") && !polled.text.to_lowercase().contains("mysterious"),
        "{}",
        polled.text
    );
    let asked = "audit?tool=flow_run";
    eventually("it is audited", PATIENCE, async || app.get(asked).await.is(200).body["total"] == 1).await;
    let asked = app.get(asked).await.is(200).items()[0]["id"].as_str().unwrap().to_owned();
    for path in [
        format!("runs/{id}"),
        format!("runs/{id}/steps"),
        format!("runs/{id}/events"),
        format!("audit/{asked}"),
        "audit?limit=100".into(),
    ] {
        let shown = app.get(&path).await.is(200).text.to_lowercase();
        assert!(!shown.contains("hunter2") && !shown.contains("mysterious"), "{path}: {shown}");
    }
}

/// FL-24: a run that waits for another of its own group would wait for ever; the slot is for both, and for no third.
async fn a_flow_with_one_slot_runs_itself(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = |overflow: &str| {
        format!(
            "inputs: {{n: int}}\nconcurrency: {{limit: 1, overflow: {overflow}}}\nnodes: {{a: {{only: n > 0, flow: {overflow}, args: {{n: '${{n - 1}}'}}, next: b}}, b: {{wait: 300, with: n}}}}"
        )
    };
    for overflow in ["queue", "refuse", "replace"] {
        publish(&app, app.database(), overflow, &text(overflow)).await;
        let ran = run(&app, overflow, json!({ "n": 2 })).await.is(200);
        assert_eq!(ran.body["output"], 2, "{overflow}: {}", ran.text);
    }
    let both = [start(&app, "queue", json!({ "n": 1 })).await, start(&app, "queue", json!({ "n": 1 })).await];
    let mut times = Vec::new();
    for id in both {
        let run = until(&app, &id, &["succeeded", "failed"]).await;
        let time = |key: &str| run[key].as_str().unwrap().to_owned();
        times.push((time("started_at"), time("ended_at")));
    }
    times.sort();
    assert!(times[0].1 <= times[1].0, "{times:?} overlap");
}

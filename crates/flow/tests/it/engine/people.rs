//! Waiting for time and people: timers, signals, approvals; and guards.

use super::world::{Reply, World};
use super::{failed, output, run, succeeded};
use flow::engine::{Decision, Fact, Stop, Waiting};
use serde_json::{Value, json};

fn decision(is_approved: bool) -> Fact {
    Fact::Decided(Decision {
        is_approved,
        by: "ann".to_owned(),
        comment: Some("well".to_owned()),
        data: json!({"amount": 5}),
    })
}

/// FL-13: waits are kept over restarts, and parked runs need no memory: every drive begins with the journal.
#[tokio::test(start_paused = true)]
async fn waits_end_on_time() {
    let begun = tokio::time::Instant::now();
    let text = "nodes: {a: {wait: 10s, next: b}, b: {wait: {until: \"timestamp('2027-01-15T08:00:30Z')\"}, next: c}, c: {with: '[a, b]'}}";
    let world = World::default();
    let start = world.start(text, json!({}));
    assert_eq!(start.drive().await, Ok(Stop::Parked));
    assert!(start.due_at().is_some());
    assert_eq!(succeeded(start.run().await), json!([null, null]));
    assert_eq!(begun.elapsed().as_secs(), 30);
    // What inputs of the types for times may be can be waited for.
    for past in ["2020-01-01", "2020-01-01T00:00:00", "2020-01-01 00:00:00", "2020-01-01T00:00:00+02:00"] {
        let text = format!("nodes: {{a: {{wait: {{until: '\"{past}\"'}}}}}}");
        assert_eq!(succeeded(run(&text, json!({}), &world).await), json!(null), "{past}");
    }
    let wrong = "nodes: {b: {wait: {until: '\"tomorrow\"'}}}";
    assert_eq!(failed(run(wrong, json!({}), &world).await).0, "EXPRESSION");
}

#[tokio::test(start_paused = true)]
async fn signals_are_taken_by_name_and_key_also_when_they_come_early() {
    let text = "inputs: {order: string}\nnodes: {a: {wait: {signal: paid, key: '${order}'}, next: b}, b: {wait: {signal: paid}, next: c}, c: {with: '[a, b]'}}";
    let world = World::default();
    let start = world.start(text, json!({"order": "O-1"}));
    let paid = |key: &str, data: Value| Fact::Signal { name: "paid".to_owned(), key: Some(json!(key)), data };
    start.tell("", paid("O-2", json!(2)));
    assert_eq!(start.drive().await, Ok(Stop::Parked));
    start.tell("", paid("O-1", json!(1)));
    assert_eq!(succeeded(start.run().await), json!([1, 2]));
}

/// FL-14: an approval pauses the run, and the first decision counts.
#[tokio::test(start_paused = true)]
async fn the_first_decision_counts() {
    let text = "nodes: {ok: {approval: {title: 'Ship ${run.id}?', fields: {amount: int}, timeout: 2d}, notify: {exec: 'api://mail/send', args: {to: boss}}, then: yes, else: no}, yes: {with: '[ok.decision, ok.by, ok.comment, ok.data.amount]'}, no: {with: '\"no\"'}}";
    for (first, wanted) in [(true, json!(["approve", "ann", "well", 5])), (false, json!("no"))] {
        let world = World::default();
        let start = world.start(text, json!({}));
        assert_eq!(start.drive().await, Ok(Stop::Parked));
        assert_eq!(world.keys(), ["r1:ok"]);
        let waiting = start.journal.parking().unwrap().waiting;
        assert!(
            matches!(&waiting[0], (path, Waiting::Approval { title, .. }) if path == "ok" && *title == json!("Ship r1?"))
        );
        start.tell("ok", decision(first));
        start.tell("ok", decision(!first));
        start.tell("nope[7].x", decision(first));
        assert_eq!(succeeded(start.run().await), wanted);
    }
}

/// What others write cannot begin anything.
#[tokio::test(start_paused = true)]
async fn records_of_others_open_nothing() {
    let text = "nodes: {e: {each: '[1,2,3] => x', nodes: {ok: {approval: 'T ${x}'}}}}";
    let start = World::default().start(text, json!({}));
    start.drive().await.unwrap();
    for path in ["e[2].ok", "e[9].ok", "e[99999999999999999999].ok", "e.ok", "e[0].nope", "", ".", "[", "e[1"]
    {
        start.tell(path, decision(true));
        start.tell(path, Fact::ChildEnded(Ok(json!(1))));
        start.drive().await.unwrap();
    }
    let waiting: Vec<_> =
        start.journal.parking().unwrap().waiting.into_iter().map(|(path, _)| path).collect();
    assert_eq!(waiting, ["e[0].ok"]);
}

#[tokio::test(start_paused = true)]
async fn approvals_without_else_fail_and_run_out() {
    let world = World::default();
    let start = world.start("nodes: {ok: {approval: T, next: yes}, yes: {with: 1}}", json!({}));
    start.drive().await.unwrap();
    start.tell("ok", decision(false));
    assert_eq!(failed(start.run().await), ("REJECTED".to_owned(), "ann rejected it: well".to_owned()));
    for (on_timeout, wanted) in [("reject", "REJECTED"), ("fail", "TIMEOUT")] {
        let text =
            format!("nodes: {{ok: {{approval: {{title: T, timeout: 1h, on_timeout: {on_timeout}}}}}}}");
        assert_eq!(failed(run(&text, json!({}), &world).await).0, wanted);
    }
    let text = "nodes: {ok: {approval: {title: T, timeout: 1h, on_timeout: approve}, then: yes}, yes: {with: ok.by}}";
    assert_eq!(output(text, json!({})).await, json!("timeout"));
}

/// FL-15: guards block, redact and warn.
#[tokio::test(start_paused = true)]
async fn guards_block_redact_and_warn() {
    let guard = |action: &str, more: &str| {
        format!(
            "inputs: {{t: any}}\nnodes: {{g: {{guard: {{of: '${{t}}', action: {action}, {more}}}, fail: f}}, f: {{with: g.error.code}}}}"
        )
    };
    let mail = json!({"t": "mail ann@example.org"});
    for (text, inputs, wanted) in [
        (guard("block", "check: pii"), &mail, json!("GUARD")),
        (guard("redact", "check: pii"), &mail, json!("mail [EMAIL]")),
        (guard("warn", "check: pii"), &mail, json!("mail ann@example.org")),
        (guard("block", "check: pii"), &json!({"t": "nothing"}), json!("nothing")),
        (guard("block", "check: schema, schema: {type: integer}"), &json!({"t": "x"}), json!("GUARD")),
        (guard("block", "check: schema, schema: {type: integer}"), &json!({"t": 5}), json!(5)),
        (guard("block", "check: custom, when: t > 3"), &json!({"t": 2}), json!("GUARD")),
        (guard("warn", "check: custom, when: t > 3"), &json!({"t": 2}), json!(2)),
    ] {
        let found = output(&text, inputs.clone()).await;
        let value = found.get("value").unwrap_or(&found);
        assert_eq!(*value, wanted, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn guards_by_agents_never_pass_silently() {
    let text = "inputs: {t: any}\nnodes: {g: {guard: {check: moderation, of: '${t}', by: 'agent://judge', action: redact}, fail: f}, f: {with: g.error.code}}";
    for (reply, wanted) in [
        (json!({"passed": true}), json!("hi")),
        (json!({"passed": false, "value": "**"}), json!("**")),
        (json!({"passed": false}), json!("GUARD")),
        (json!({"fine": true}), json!("GUARD")),
        // Models answer in texts.
        (json!("{\"passed\": true}"), json!("hi")),
        (json!("```json\n{\"passed\": true}\n```"), json!("hi")),
        (json!("{\"passed\": false, \"value\": \"**\"}"), json!("**")),
        (json!("it passed"), json!("GUARD")),
        (json!("{\"passed\": true} and more"), json!("GUARD")),
        (json!("{\"passed\": \"true\"}"), json!("GUARD")),
    ] {
        let world = World::default();
        world.replies("agent://judge", [Reply::Value(reply)]);
        let found = succeeded(run(text, json!({"t": "hi"}), &world).await);
        assert_eq!(*found.get("value").unwrap_or(&found), wanted);
        let asked = world.calls.lock().unwrap()[0].arguments.clone();
        assert_eq!(asked["context"], json!({"check": "moderation", "value": "hi"}));
        assert!(asked["prompt"].as_str().unwrap().contains("\"passed\""), "{asked:?}");
    }
}

/// A wait for a key ends by a signal of that key alone.
#[tokio::test(start_paused = true)]
async fn a_signal_without_a_key_ends_no_wait_for_one() {
    let signal = |key: Option<Value>| Fact::Signal { name: "paid".into(), key, data: json!("data") };
    let start = World::default().start("nodes: {w: {wait: {signal: paid, key: '7'}}}", json!({}));
    start.drive().await.unwrap();
    start.tell("", signal(None));
    start.tell("", signal(Some(json!("8"))));
    start.drive().await.unwrap();
    assert_eq!(start.journal.parking().unwrap().waiting.len(), 1);
    start.tell("", signal(Some(json!("7"))));
    assert_eq!(succeeded(start.run().await), json!("data"));
    // A wait without a key takes any.
    let start = World::default().start("nodes: {w: {wait: {signal: paid}}}", json!({}));
    start.drive().await.unwrap();
    start.tell("", signal(Some(json!("8"))));
    assert_eq!(succeeded(start.run().await), json!("data"));
    let null = run("nodes: {w: {wait: {signal: paid, key: '${null}'}}}", json!({}), &World::default()).await;
    assert_eq!(failed(null).0, "EXPRESSION");
}

/// A run that is paused does not end, either.
#[tokio::test(start_paused = true)]
async fn a_paused_run_does_not_end() {
    let start = World::default().start("nodes: {w: {wait: {signal: go}}}", json!({}));
    start.drive().await.unwrap();
    start.tell("", Fact::Pause);
    start.tell("", Fact::Signal { name: "go".into(), key: None, data: json!(1) });
    assert!(matches!(start.drive().await.unwrap(), flow::engine::Stop::Parked));
    start.tell("", Fact::Resume);
    assert_eq!(succeeded(start.run().await), json!(1));
}

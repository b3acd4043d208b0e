//! Guardrails on the way in, at tools, and on the way out.

use crate::world::*;
use serde_json::json;
use testkit::http::Server;
use testkit::model::{Model, Reply};
use tool::ErrorKind;

/// AG-18: what is blocked on the way in is refused before anything is sent.
#[tokio::test]
async fn a_prompt_that_breaks_a_rule_is_refused() {
    let model = Model::replies(vec![Reply::says("x")]).await;
    let rules = json!({ "input": [{ "max_chars": 30 }, { "pattern": "(?i)password" }] });
    let world = World::with(vec![("a", agent(&model, json!({ "guardrails": rules })))]).await;
    for arguments in [
        json!({ "prompt": "x".repeat(31) }),
        json!({ "prompt": "my Password" }),
        json!({ "prompt": "fine", "context": { "deep": ["the PASSWORD"] } }),
    ] {
        let error = world.ask("a", arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.problems()[0].code), (ErrorKind::InvalidInput, "Guardrail"));
    }
    assert!(model.asked().is_empty());
}

/// AG-18: the model never sees what is masked; tools and caller do.
#[tokio::test]
async fn masked_values_reach_tools_and_caller_and_never_the_model() {
    let model = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "[MAIL_1]" }))]),
        Reply::says("I wrote to [MAIL_1]."),
    ])
    .await;
    let mask = json!([{ "pii": ["mail"], "action": "mask" }]);
    let rules = json!({ "input": mask, "tool_output": mask });
    let more = json!({ "guardrails": rules, "tools": ["api://crm/echo"] });
    let world = World::with(vec![("a", agent(&model, more))]).await;
    let result = world.ask("a", json!({ "prompt": "Write to ada@mail.test" })).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], "I wrote to ada@mail.test.");
    assert_eq!(world.api.last().query, "text=ada%40mail.test");
    let asked = model.asked();
    assert!(asked[0].text.contains("Write to [MAIL_1]"), "{}", asked[0].text);
    assert!(asked.iter().all(|asked| !asked.text.contains("ada@mail.test")), "{}", asked[1].text);
}

/// AG-18: arguments, results and answers are looked at, too.
#[tokio::test]
async fn rules_hold_for_arguments_results_and_the_answer() {
    let model = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "secret" })), ("crm__echo", json!({ "text": "leak" }))]),
        Reply::says("see https://evil.test/x and https://ok.test/y"),
    ])
    .await;
    let rules = json!({
        "tool_input": [{ "pattern": "secret" }],
        "tool_output": [{ "pattern": "leak", "action": "block" }],
        "output": [{ "links": ["ok.test"] }]
    });
    let more = json!({ "guardrails": rules, "tools": ["api://crm/echo"] });
    let world = World::with(vec![("a", agent(&model, more))]).await;
    let result = world.ask("a", json!({ "prompt": "x" })).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], "see [link removed] and https://ok.test/y");
    assert_eq!(world.api.requests().len(), 1);
    let heard = &model.asked()[1].text;
    assert!(heard.contains("refused by a guardrail") && heard.contains("withheld by a guardrail"), "{heard}");
    let rules = json!({ "output": [{ "pattern": "evil" }] });
    let world = World::with(vec![("a", agent(&model, json!({ "guardrails": rules })))]).await;
    let told = world.ask("a", json!({ "prompt": "x" })).await.unwrap()["structuredContent"].take();
    assert_eq!((&told["error"]["reason"], &told["answer"]), (&json!("GUARDRAIL"), &json!("")));
}

/// AG-18: a run that fails tells of its last text no more than the rules of answers let pass.
#[tokio::test]
async fn no_failure_tells_what_an_output_rule_takes_out() {
    let thinking = || Reply::Says("an evil thought".into(), vec![("crm__echo".into(), "{}".into())]);
    for (rule, answer) in [
        (json!({ "pattern": "evil" }), "".to_owned()),
        (json!({ "pattern": "evil", "action": "redact" }), "an [redacted] thought".to_owned()),
    ] {
        let model = Model::replies(vec![thinking()]).await;
        let more = json!({ "guardrails": { "output": [rule] }, "tools": ["api://crm/echo"], "limits": { "steps": 1 } });
        let world = World::with(vec![("a", agent(&model, more))]).await;
        let result = world.ask("a", json!({ "prompt": "x" })).await.unwrap();
        let told = &result["structuredContent"];
        assert_eq!((&told["error"]["reason"], &told["answer"]), (&json!("STEP_LIMIT"), &json!(answer)));
        assert!(!result.to_string().contains("evil"), "{result}");
    }
}

/// AG-18: data is looked at whole: numbers, names of fields and digits in any width.
#[tokio::test]
async fn personal_data_is_found_in_numbers_names_and_wide_digits() {
    let context = json!({ "card": 4_111_111_111_111_111_u64, "ann@mail.test": 1, "n": 12,
        "wide": "４１１１ １１１１ １１１１ １１１１" });
    let model = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "[CARD_1]" }))]),
        Reply::says("done"),
    ])
    .await;
    let rules = |action: &str| {
        json!({ "guardrails": { "input": [{ "pii": ["mail", "card"], "action": action }] },
        "tools": ["api://crm/echo"] })
    };
    let world =
        World::with(vec![("a", agent(&model, rules("mask"))), ("b", agent(&model, rules("block")))]).await;
    world.ask("a", json!({ "prompt": "x", "context": context })).await.unwrap();
    let read = &model.asked()[0].text;
    assert!(
        read.contains("[CARD_1]") && read.contains("[MAIL_1]") && read.contains("\\\"n\\\":12"),
        "{read}"
    );
    assert!(!read.contains("4111111") && !read.contains("ann@") && !read.contains('４'), "{read}");
    assert_eq!(world.api.last().query, "text=4111111111111111", "tools get what is masked");
    for (name, part) in context.as_object().unwrap() {
        let asked = json!({ "prompt": "x", "context": { (name): part } });
        assert_eq!(world.ask("b", asked).await.is_err(), name != "n", "{name}");
    }
}

/// AG-18: a rule that fails blocks.
#[tokio::test]
async fn a_rule_that_fails_blocks() {
    let model = Model::replies(vec![Reply::says("x")]).await;
    let rules = json!({ "input": [{ "tool": "api://crm/nothing" }] });
    let world = World::with(vec![("a", agent(&model, json!({ "guardrails": rules })))]).await;
    let error = world.ask("a", json!({ "prompt": "x" })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(model.asked().is_empty());
}

/// AG-18: what an agent must not let pass, one that it asks must not either.
#[tokio::test]
async fn an_agent_inside_keeps_the_rules_of_the_one_around_it() {
    let outer =
        Model::replies(vec![Reply::calls(&[("b__ask", json!({ "prompt": "Look." }))]), Reply::says("Done.")])
            .await;
    let inner = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "secret" })), ("crm__echo", json!({ "text": "mine" }))]),
        Reply::says("I looked."),
    ])
    .await;
    let a = json!({ "tools": ["agent://b"], "guardrails": { "tool_input": [{ "pattern": "secret" }] } });
    let b = json!({ "tools": ["api://crm/echo"], "guardrails": { "tool_input": [{ "pattern": "mine" }] } });
    let world = World::with(vec![("a", agent(&outer, a)), ("b", agent(&inner, b))]).await;
    world.ask("a", json!({ "prompt": "x" })).await.unwrap();
    assert!(world.api.requests().is_empty(), "both rules hold");
    let alone = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "secret" }))]),
        Reply::says("I looked."),
    ])
    .await;
    let world = World::with(vec![("b", agent(&alone, json!({ "tools": ["api://crm/echo"] })))]).await;
    world.ask("b", json!({ "prompt": "x" })).await.unwrap();
    assert_eq!(world.api.requests().len(), 1, "asked by itself it keeps its own alone");
}

/// AG-18: every kind of what concerns a person is found, and a tool may decide, too.
#[tokio::test]
async fn every_kind_of_personal_data_is_masked() {
    for (kind, text) in [
        ("phone", "+49 30 901820"),
        ("id", "123-45-6789"),
        ("bank", "DE89 3704 0044 0532 0130 00"),
        ("key", "sk-abcdefghijklmnopqrstuvwx0123456789"),
    ] {
        let model = Model::replies(vec![Reply::says("ok")]).await;
        let rules = json!({ "input": [{ "pii": [kind], "action": "mask" }] });
        let world = World::with(vec![("a", agent(&model, json!({ "guardrails": rules })))]).await;
        world.ask("a", json!({ "prompt": format!("It is {text} today") })).await.unwrap();
        let read = &model.asked()[0].text;
        assert!(
            !read.contains(text) && read.contains(&format!("[{}_1]", kind.to_uppercase())),
            "{kind}: {read}"
        );
    }
}

/// AG-18: what hides in arguments and answers hides nothing from the rules; what no rule changes stays as it was written.
#[tokio::test]
async fn hidden_characters_hide_nothing_from_rules_of_arguments_and_answers() {
    let says = |text: &str| {
        let call = json!({ "text": text }).to_string();
        vec![Reply::Says(String::new(), vec![("crm__echo".into(), call)]), Reply::says(text)]
    };
    let rules = |action: &str| {
        let rule = json!([{ "pattern": "secret", "action": action }]);
        json!({ "guardrails": { "tool_input": rule, "output": rule }, "tools": ["api://crm/echo"] })
    };
    let model = Model::replies(says("a se\u{200b}cr\u{e0041}et b")).await;
    let world = World::with(vec![("a", agent(&model, rules("redact")))]).await;
    let answer = world.ask("a", json!({ "prompt": "x" })).await.unwrap();
    assert_eq!(answer["structuredContent"]["answer"], "a [redacted] b");
    assert_eq!(world.api.last().query, "text=a%20%5Bredacted%5D%20b");
    let model = Model::replies(says("se\u{200d}cret")).await;
    let world = World::with(vec![("a", agent(&model, rules("block")))]).await;
    assert_eq!(world.reason("a", json!({ "prompt": "x" })).await, "GUARDRAIL");
    assert!(world.api.requests().is_empty());
    let model = Model::replies(says("fine\u{200b}")).await;
    let world = World::with(vec![("a", agent(&model, rules("redact")))]).await;
    let answer = world.ask("a", json!({ "prompt": "x" })).await.unwrap();
    assert_eq!(answer["structuredContent"]["answer"], "fine\u{200b}");
    assert_eq!(world.api.last().query, "text=fine%E2%80%8B");
}

/// AG-7, AG-18: digits stay as the model wrote them, whatever else is changed in the arguments.
#[tokio::test]
async fn digits_stay_where_something_else_is_changed() {
    let preset = json!({ "tools": [{ "uri": "api://crm/count", "preset": { "text": "c1" } }] });
    let mask = json!({ "tools": ["api://crm/count"],
        "guardrails": { "input": [{ "pii": ["mail"], "action": "mask" }] } });
    let rule = json!({ "tools": ["api://crm/count"],
        "guardrails": { "tool_input": [{ "pattern": "ann", "action": "redact" }] } });
    for (settings, more, text) in [
        (preset, "", "c1"),
        (mask, r#","text":"[MAIL_1]""#, "a%40b.test"),
        (rule, r#","text":"ann""#, "%5Bredacted%5D"),
    ] {
        let call = vec![("crm__count".to_owned(), format!("{{\"n\":12345678901234567890123{more}}}"))];
        let model = Model::replies(vec![Reply::Says(String::new(), call), Reply::says("done")]).await;
        let world = World::with(vec![("a", agent(&model, settings))]).await;
        world.ask("a", json!({ "prompt": "for a@b.test" })).await.unwrap();
        assert_eq!(world.api.last().query, format!("n=12345678901234567890123&text={text}"));
    }
    // Rules see the digits that would be sent.
    let call = vec![("crm__count".to_owned(), r#"{"n":12345678901234567890123}"#.to_owned())];
    let model = Model::replies(vec![Reply::Says(String::new(), call), Reply::says("done")]).await;
    let rule = json!({ "tools": ["api://crm/count"],
        "guardrails": { "tool_input": [{ "pattern": "7890123$" }] } });
    let world = World::with(vec![("a", agent(&model, rule))]).await;
    world.ask("a", json!({ "prompt": "x" })).await.unwrap();
    assert!(world.api.requests().is_empty());
}

/// AG-18: what a rule masks in arguments reaches the tool as it is, and the model reads it masked from then on.
#[tokio::test]
async fn what_is_masked_in_arguments_reaches_the_tool() {
    let masking = json!([{ "pii": ["mail"], "action": "mask" }]);
    for (rules, prompt, chosen) in [
        (json!({ "tool_input": masking }), "Write to her.", "ada@mail.test"),
        (json!({ "input": masking, "tool_input": masking }), "Write to ada@mail.test.", "[MAIL_1]"),
    ] {
        let call = Reply::calls(&[("crm__send", json!({ "text": chosen }))]);
        let model = Model::replies(vec![call, Reply::says("Done.")]).await;
        let more = json!({ "guardrails": rules, "tools": ["api://crm/send"], "approval": "never" });
        let world = World::with(vec![("a", agent(&model, more))]).await;
        world.ask("a", json!({ "prompt": prompt })).await.unwrap();
        assert_eq!(world.api.last().query, "text=ada%40mail.test");
        let read = &model.asked()[1].text;
        assert!(read.contains("[MAIL_1]") && !read.contains("ada@"), "{read}");
    }
}

/// AG-18: a tool that judges arguments reads all of them, numbers and names included.
#[tokio::test]
async fn a_tool_that_judges_reads_arguments_whole() {
    let call = Reply::calls(&[("crm__count", json!({ "n": 1_000_000, "text": "pay" }))]);
    let model = Model::replies(vec![call, Reply::says("Done.")]).await;
    let more = json!({ "guardrails": { "tool_input": [{ "tool": "api://rules/judge" }] },
        "tools": ["api://crm/count"] });
    let rules = Server::start().await;
    let parameter = |name: &str| json!({ "name": name, "required": true, "position": "query" });
    let judge = json!({ "id": "judge", "description": "Judges.", "endpoint": "/echo", "method": "GET",
        "parameters": [parameter("stage"), parameter("text"), parameter("agent")] });
    let judging = json!({ "base_url": rules.url(), "allow_private_network": true, "tools": [judge] });
    let services = vec![("agent", "a", agent(&model, more)), ("api", "rules", judging)];
    let world = World::with_services(services).await;
    world.ask("a", json!({ "prompt": "Pay." })).await.unwrap();
    assert!(world.api.requests().is_empty(), "what is not allowed is not called");
    let queries: Vec<_> = rules.requests().iter().map(|request| request.query.clone()).collect();
    assert_eq!(queries.len(), 1, "{queries:?}");
    for part in ["1000000", "pay", "text"] {
        assert!(queries[0].contains(part), "{queries:?}");
    }
}

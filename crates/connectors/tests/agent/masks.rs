//! What is masked stays masked, and what is escaped is seen, wherever it comes from.

use crate::world::*;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use tool::Caller;

const MAIL: &str = "ada@mail.test";

fn masking(stages: &[&str]) -> Value {
    let rules = stages.iter().map(|stage| (*stage, json!([{ "pii": ["mail"], "action": "mask" }])));
    json!({ "guardrails": rules.collect::<std::collections::BTreeMap<_, _>>() })
}

fn with(mut settings: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("{more} is no object") };
    more.into_iter().for_each(|(name, value)| settings[name] = value);
    settings
}

/// No model call had the address in any spelling.
fn assert_never_saw(model: &Model, what: &str) {
    for asked in model.asked() {
        let shown = asked.text.contains(MAIL) || asked.text.contains(&MAIL.replace('@', "%40"));
        assert!(!shown, "{what}: {}", asked.text);
    }
}

/// AG-18: a rule of the prompt alone masks what tools say back, escaped or in an error, and what people say to a call.
#[tokio::test]
async fn a_masked_value_comes_back_to_the_model_masked() {
    let model = Model::replies(vec![
        Reply::calls(&[
            ("crm__echo", json!({ "text": "[MAIL_1]" })),
            ("crm__echo", json!({ "[MAIL_1]": 1 })),
            ("crm__remove", json!({})),
        ]),
        Reply::says("It is [MAIL_1]."),
    ])
    .await;
    let settings = agent(&model, with(masking(&["input"]), json!({ "tools": ["api://crm/*"] })));
    let world = World::with(vec![("a", settings)]).await;
    let no =
        json!({ "action": "accept", "content": { "decision": "reject", "comment": format!("not {MAIL}") } });
    let mut cx = context(Caller::local());
    cx.client = Some(Answering::new(&json!({ "elicitation": {} }), vec![no]));
    let result = world.ask_as(&cx, "a", json!({ "prompt": MAIL })).await.unwrap();
    assert_eq!(result["structuredContent"]["answer"], format!("It is {MAIL}."));
    assert_eq!(world.api.last().query, "text=ada%40mail.test", "the tool gets the real one");
    let heard = &model.asked()[1].text;
    assert!(
        heard.contains("'[MAIL_1]'")
            && heard.contains("not [MAIL_1]")
            && heard.contains("the call was denied"),
        "{heard}"
    );
    assert!(heard.contains("text=[MAIL_1]"), "{heard}");
    assert_never_saw(&model, "echo");
}

/// AG-18: what an agent inside answers is real to the one around it, and masked for its model.
#[tokio::test]
async fn the_answer_of_an_agent_inside_is_masked_for_the_model_around_it() {
    let outer = Model::replies(vec![
        Reply::calls(&[("in__ask", json!({ "prompt": "Who is [MAIL_1]?" }))]),
        Reply::says("Done."),
    ])
    .await;
    let inner = Model::replies(vec![Reply::says("It says [MAIL_1].")]).await;
    let settings = agent(&outer, with(masking(&["input"]), json!({ "tools": ["agent://in"] })));
    let world = World::with(vec![("a", settings), ("in", agent(&inner, json!({})))]).await;
    world.ask("a", json!({ "prompt": MAIL })).await.unwrap();
    assert!(outer.asked()[1].text.contains("It says [MAIL_1]."), "{}", outer.asked()[1].text);
    assert_never_saw(&outer, "outer");
    assert_never_saw(&inner, "inner");
}

/// AG-18: the rules of an agent that a run is handed over to hold for its reason and all that was said before, too.
#[tokio::test]
async fn a_handoff_tells_what_the_rules_of_the_next_agent_let_pass() {
    for stages in [["input"].as_slice(), &["input", "tool_output"]] {
        let first = Model::replies(vec![
            Reply::calls(&[("crm__echo", json!({ "text": "bob@mail.test" }))]),
            Reply::calls(&[(
                "handoff_to_b",
                json!({ "reason": format!("{MAIL} wants it"), "message": "eve@mail.test" }),
            )]),
        ])
        .await;
        let second = Model::replies(vec![Reply::says("I wrote to [MAIL_1].")]).await;
        let more =
            json!({ "tools": ["api://crm/echo"], "handoffs": [{ "to": "agent://b", "when": "always" }] });
        let b = agent(&second, masking(stages));
        let world = World::with(vec![("a", agent(&first, more)), ("b", b)]).await;
        let result = world.ask("a", json!({ "prompt": MAIL })).await.unwrap();
        assert_eq!(result["structuredContent"]["answer"], format!("I wrote to {MAIL}."));
        assert_eq!(result["structuredContent"]["handoffs"][0]["reason"], format!("{MAIL} wants it"));
        assert_never_saw(&second, "second");
        let read = &second.asked()[0].text;
        assert!(
            read.contains("[MAIL_1] wants it") && !read.contains("bob@mail") && !read.contains("eve@mail"),
            "{read}"
        );
        assert!(read.contains("crm__echo answers"), "{read}");
    }
}

/// A call of a tool that answers exactly this.
fn answering(body: &str) -> (String, Value) {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(body);
    ("crm__raw".to_owned(), json!({ "base64": text, "type": "application/json" }))
}

async fn read(body: &str, rules: Value) -> String {
    let (tool, arguments) = answering(body);
    let model = Model::replies(vec![Reply::calls(&[(&tool, arguments)]), Reply::says("Done.")]).await;
    let world =
        World::with(vec![("a", agent(&model, with(json!({ "tools": ["api://crm/raw"] }), rules)))]).await;
    world.ask("a", json!({ "prompt": "x" })).await.unwrap();
    let messages = model.asked()[1].body["messages"].clone();
    messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// AG-18, AG-19, F12: rules and the removal of what hides see JSON as the model reads it, and leave its numbers alone.
#[tokio::test]
async fn what_json_escapes_is_seen() {
    let block = json!({ "guardrails": { "tool_output": [{ "pattern": "机密" }] } });
    for body in [
        r#"{"t":"\u673a\u5bc6"}"#,
        r#"{"t":"\u673a\u200b\u5bc6"}"#,
        r#"{"t":"机\u{200b}密"}"#,
        r#"{"result":"{\"t\": \"\\u673a\\u5bc6\"}"}"#,
    ] {
        let body = body.replace("\\u{200b}", "\u{200b}");
        let read = read(&body, block.clone()).await;
        assert!(read.contains("withheld by a guardrail"), "{body}: {read}");
    }
    let mask = json!({ "guardrails": { "tool_output": [{ "pii": ["mail", "card"], "action": "mask" }] } });
    let body = r#"{"m":"carol\u0040example.com","card":"4111\u00201111 1111 1111","n":1.10}"#;
    let masked = read(body, mask).await;
    assert!(masked.contains(r#"{"m":"[MAIL_1]","card":"[CARD_1]","n":1.10}"#), "{masked}");
    let hidden = r#"{"t":"a\u200bb\udb40\udc41c\u001bd","n":12345678901234567890123}"#;
    let read = read(hidden, json!({})).await;
    assert!(read.contains(r#"{"t":"abcd","n":12345678901234567890123}"#), "{read}");
}

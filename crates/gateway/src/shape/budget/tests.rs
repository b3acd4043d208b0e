//! What is cut, what is kept, and what is said about it.

use super::*;
use serde_json::json;
use tool::Tool;

fn cut_json(value: &Value, budget_bytes: usize) -> Output {
    cut(Output::json(to_raw(value.to_string()).unwrap()), budget_bytes, None)
}

#[test]
fn cuts_at_whole_items_and_says_so() {
    let rows: Vec<_> = (0..100).map(|n| json!({ "n": n, "text": "0123456789" })).collect();
    let output = cut_json(&json!({ "total": 100, "page": { "rows": rows } }), 1000);
    let data: Value = serde_json::from_str(&output.data().unwrap()).unwrap();
    let kept = data["page"]["rows"].as_array().unwrap().len();
    assert!(kept > 20 && kept < 40, "{kept}");
    assert_eq!(data["page"]["rows"][kept - 1]["n"], kept - 1);
    assert!(output.data().unwrap().len() <= 1000);
    let result = output.to_result();
    assert!(result.contains(&format!("'/page/rows' shows the first {kept} of 100 items")), "{result}");
}

/// DB-4: who reads only what is structured must not take the beginning for the whole.
#[test]
fn never_says_of_a_cut_list_that_it_is_whole() {
    let rows: Vec<_> = (0..100).map(|n| json!({ "n": n, "text": "0123456789" })).collect();
    for (answer, name, said) in [
        (json!({ "rows": rows, "truncated": false }), "truncated", json!(true)),
        (json!({ "page": { "rows": rows, "truncated": true } }), "truncated", json!(true)),
        (json!({ "page": { "messages": rows, "complete": true } }), "complete", json!(false)),
        (json!({ "rows": rows, "complete": "yes" }), "complete", json!("yes")),
    ] {
        let output = cut_json(&answer, 1000);
        let data: Value = serde_json::from_str(&output.data().unwrap()).unwrap();
        let around = if data["page"].is_object() { &data["page"] } else { &data };
        assert_eq!(around[name], said, "{data}");
        assert!(output.to_result().contains("of 100 items"));
    }
}

#[test]
fn cuts_text_at_lines_and_never_inside_a_character() {
    let output = cut(Output::text(&"an example line\n".repeat(100)), 200, None);
    let result: Value = serde_json::from_str(&output.to_result()).unwrap();
    assert_eq!(result["content"][0]["text"].as_str().unwrap(), "an example line\n".repeat(12));
    for budget in 90..100 {
        let output = cut(Output::text(&"语".repeat(200)).failed(), budget, None);
        assert!(output.is_error() && output.to_result().contains("goes on for"));
    }
}

#[test]
fn refuses_rather_than_drop_a_picture_or_break_it() {
    let picture = || Content::image(&[7; 3000], "image/png");
    for blocks in [vec![picture()], vec![Content::text("it"), picture()]] {
        let output = cut(Output::blocks(blocks), 1000, None);
        let said = output.to_result();
        assert!(
            output.is_error() && said.contains("at most 1000 bytes") && said.contains("image of 40"),
            "{said}"
        );
    }
    let long = || Content::text(&"x".repeat(1000));
    let output = cut(Output::blocks(vec![long(), picture(), long()]), 5500, None);
    let result: Value = serde_json::from_str(&output.to_result()).unwrap();
    let kinds: Vec<_> = result["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["text", "image", "text"], "{result}");
    assert!(!output.is_error());
    assert!(
        result["content"][2]["text"].as_str().unwrap().contains("1 of 3 blocks are left out (text of 10")
    );
    let failed = cut(Output::blocks(vec![Content::text("why"), picture()]).failed(), 1000, None);
    assert!(failed.is_error() && failed.to_result().contains("why"), "an error keeps its words");
}

#[test]
fn structured_content_stays_or_the_answer_is_an_error() {
    let rows: Vec<_> = (0..100).map(|n| json!({ "n": n })).collect();
    let tool = |items: usize| {
        let schema = json!({ "required": ["rows"], "properties": { "rows": { "minItems": items } } });
        let definition = json!({ "name": "a", "inputSchema": {}, "outputSchema": schema });
        OutputSchema::of(&Tool::from_raw(&to_raw(definition.to_string()).unwrap()).unwrap()).unwrap()
    };
    let picture = Content::image(&[7; 30], "image/png");
    let picture: Value = serde_json::from_str(picture.get()).unwrap();
    let answer = json!({ "content": [picture], "structuredContent": { "rows": rows } });
    let kept = cut(relayed(&answer), 500, Some(&tool(2)));
    let result: Value = serde_json::from_str(&kept.to_result()).unwrap();
    let count = result["structuredContent"]["rows"].as_array().unwrap().len();
    assert!((10..60).contains(&count) && !kept.is_error(), "{result}");
    assert_eq!(result["content"][0], picture);
    assert!(cut(relayed(&answer), 500, Some(&tool(90))).is_error());
    assert!(
        cut(Output::json(to_raw(json!({ "rows": rows }).to_string()).unwrap()), 500, Some(&tool(90)))
            .is_error()
    );
    let one = json!({ "content": [], "structuredContent": { "rows": "x".repeat(5000) } });
    let refused = cut(relayed(&one), 500, None);
    assert!(refused.is_error() && !refused.to_result().contains("xxx"), "half a structure is none");
}

fn relayed(result: &Value) -> Output {
    Output::relayed(to_raw(result.to_string()).unwrap()).unwrap()
}

#[test]
fn says_nothing_where_nothing_is_left_out() {
    let text = "an example line\n".repeat(100);
    let blocks = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
    let rows = json!((0..50).map(|n| json!({ "a": n })).collect::<Vec<_>>());
    for (whole, budget) in [
        (Output::text(&text), text.len()),
        (Output::text(&text), text.len() + 6),
        (relayed(&json!({ "content": [{ "type": "text", "text": text }] })), text.len()),
        (relayed(&json!({ "content": blocks, "isError": false })), 60),
        (
            relayed(
                &json!({ "content": [{ "type": "text", "text": rows.to_string() }], "structuredContent": rows }),
            ),
            rows.to_string().len(),
        ),
    ] {
        assert!(whole.size_bytes() > budget);
        let before = whole.to_result();
        assert_eq!(cut(whole, budget, None).to_result(), before);
    }
    for budget in 1..text.len() {
        let result: Value =
            serde_json::from_str(&cut(Output::text(&text), budget, None).to_result()).unwrap();
        assert!(result["content"][0]["text"].as_str().unwrap().len() <= budget);
        assert!(!result["content"][1]["text"].as_str().unwrap().contains(" 0 more"), "{result}");
    }
}

#[test]
fn leaves_out_what_is_large_beside_the_data_and_says_so() {
    let large = "x".repeat(5000);
    for result in [
        json!({ "content": [{ "type": "text", "text": "the words" }], "_meta": { "x": large } }),
        json!({ "content": [{ "type": "text", "text": "the words", "_meta": { "x": large } }] }),
        json!({ "content": [{ "type": "text", "text": large }], "structuredContent": { "x": "the words" } }),
        json!({ "content": [{ "type": "text", "text": "the words" }, { "type": "text", "text": "b" }], "x": large }),
    ] {
        let result = cut(relayed(&result), 1000, None).to_result();
        assert!(result.len() < 500 && result.contains("the words"), "{result}");
        assert!(result.contains("bytes beside this are left out"), "{result}");
    }
}

#[test]
fn keeps_whole_items_in_small_budgets_however_they_are_spaced() {
    let rows: Vec<_> = (0..1000).map(|n| format!("{{\"a\": {n}}}")).collect();
    let rows = format!("[{}]", rows.join(", "));
    for budget in [20, 100, 300, 2000] {
        for output in [
            Output::json(to_raw(rows.clone()).unwrap()),
            Output::unparsed(rows.as_str()),
            Output::text(&rows),
        ] {
            let output = cut(output, budget, None);
            let data = output.to_result();
            let data: Value = serde_json::from_str(&data).unwrap();
            let kept = data["structuredContent"].as_array().unwrap().len();
            let written = data["structuredContent"].to_string().len();
            assert!(kept > 0 && written <= budget && written + 11 > budget, "{budget}: {kept}");
            let remark = data["content"][1]["text"].as_str().unwrap();
            assert!(remark.contains(&format!("the first {kept} of 1000 items")), "{remark}");
        }
    }
    let spaced = format!("[1,{}2]", " ".repeat(1000));
    let whole = cut(Output::json(to_raw(spaced).unwrap()), 100, None);
    assert_eq!((&*whole.data().unwrap(), whole.to_result().contains("Cut")), ("[1,2]", false));
}

#[test]
fn cuts_one_huge_item_as_text() {
    let output = cut_json(&json!({ "text": "x".repeat(5000) }), 100);
    assert!(output.to_result().len() < 400);
    let output = cut_json(&json!(["x".repeat(5000), 1]), 100);
    assert!(output.to_result().len() < 400);
}

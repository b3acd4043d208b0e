//! Queries that a hostile or careless caller may send.

use document::{Budget, Node, Query};
use serde_json::json;
use std::time::{Duration, Instant};

fn run(text: &str, data: &serde_json::Value, steps: u64) -> Result<String, String> {
    let query = Query::compile(text).map_err(|error| error.to_string())?;
    let found = query.run(&Node::from(data), &mut Budget::new(steps, &|| false));
    let found = found.map_err(|error| error.to_string())?;
    found.to_json_within(1_000_000).ok_or_else(|| "too large".to_owned())
}

#[test]
fn keeps_the_order_of_fields_and_whole_numbers() {
    let data = json!({ "z": 1, "a": { "y": 9_007_199_254_740_993_u64, "b": 2.50 } });
    assert_eq!(run("@", &data, 100).unwrap(), data.to_string());
    assert_eq!(run("keys(@)", &data, 100).unwrap(), r#"["z","a"]"#);
    assert_eq!(run("sum([`9007199254740993`, `1`])", &data, 100).unwrap(), "9007199254740994");
    assert_eq!(run("a.y == `9007199254740992`", &data, 100).unwrap(), "false");
    assert_eq!(run("nope.nothing", &data, 100).unwrap(), "null");
}

/// TB-4.1
#[test]
fn says_where_a_query_is_wrong() {
    for (text, position) in [
        ("foo[", "line 1, column 5"),
        ("foo.\nbar[?", "line 2, column 6"),
        ("foo | nope(@)", "line 1, column 7"),
        ("length(a, b)", "takes 1 argument, not 2"),
        ("sort_by(a, b)", "must be an expression like &name"),
        ("foo[::0]", "step"),
        ("", "line 1, column 1"),
    ] {
        let error = Query::compile(text).unwrap_err().to_string();
        assert!(error.contains(position), "{text}: {error}");
    }
    let error = run("foo | abs(@)", &json!({ "foo": "x" }), 100).unwrap_err();
    assert!(error.contains("column 7") && error.contains("abs() wants a number and got string"), "{error}");
}

#[test]
fn ends_what_would_explode() {
    let begun = Instant::now();
    let data = json!({ "list": (0..1000).collect::<Vec<_>>() });
    for text in [
        format!("list{}", "[].[@,@][]".repeat(60)),
        format!("list{}", " | [@,@]".repeat(60)),
        format!("[list{0}, list{0}] | @[0] == @[1]", " | [@,@]".repeat(40)),
        format!("to_string(list{})", " | [@,@]".repeat(40)),
        "list[?contains(`[1,2,3]`, @) || contains(list, @)] | map(&sort_by(@, &@), [@, @])".to_owned(),
        format!("list | {}", vec!["map(&map(&@, to_array(@)), @)"; 40].join(" | ")),
    ] {
        // Refused, or answered within its bounds.
        if let Ok(text) = run(&text, &data, 1_000_000) {
            assert!(text.len() <= 1_000_000);
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn survives_nesting_that_would_break_a_stack() {
    for text in [
        "(".repeat(4000),
        "!".repeat(4000) + "a",
        "[".repeat(4000),
        format!("a{}", "[*]".repeat(1300)),
        format!("a{}", ".a".repeat(2000)),
        format!("a{}", "|a".repeat(2000)),
        format!("`{}`", "[".repeat(3000)),
        "x".repeat(5000),
    ] {
        assert!(Query::compile(&text).is_err(), "{}…", &text[..20]);
    }
    let brackets = format!("{}a{}", "(".repeat(2000), ")".repeat(2000));
    assert_eq!(run(&brackets, &json!({ "a": 1 }), 1000).unwrap(), "1");
    assert_eq!(run(&format!("a{}", "[*]".repeat(60)), &json!({ "a": 1 }), 1000).unwrap(), "null");
}

#[test]
fn ends_when_it_is_told() {
    let data = Node::from(&json!((0..100_000).collect::<Vec<_>>()));
    let query = Query::compile("[?@ > `5`]").unwrap();
    let error = query.run(&data, &mut Budget::new(u64::MAX, &|| true)).unwrap_err();
    assert!(error.to_string().contains("ended before"), "{error}");
}

/// Short queries that make much out of little: lists of lists, copies with other names, long texts.
fn amplifiers() -> Vec<String> {
    let times = |part: &str, count: usize| part.repeat(count);
    vec![
        format!("list{}", times("[].[@,@,@,@][]", 12)),
        format!("list{}", times(" | [@,@,@,@][]", 12)),
        format!("list[].{{a:@,b:@,c:@,d:@}}{}", times(".[a,b,c,d][].{a:@,b:@,c:@,d:@}", 12)),
        format!("list{}", times(" | map(&[@,@,@], @) | []", 14)),
        format!("list{}", times(" | map(&{a:@,b:[@]}, @) | [*].[a,b[0]] | []", 14)),
        format!("[list,list,list,list]{} | sort_by(@, &to_string([@,@,@,@]))", times("[].[@,@,@,@][]", 6)),
        format!("list{} | max_by(@, &join('', [text, text, text]))", times("[].[@,@][]", 14)),
        format!("join('{}', map(&text, list{}))", "x".repeat(500), times("[].[@,@,@,@][]", 7)),
        format!("text{}", times(" | join('', [@,@,@,@])", 30)),
        format!("text{}", times(" | reverse(join('', [@,@]))", 30)),
        format!("list{}", times(" | to_string([@,@])", 40)),
        format!("list[*].to_string(@){}", times(" | [*].join('', [@,@,@,@])", 20)),
        format!("list[*].[{}]", vec!["sort_by(`[3,2,1]`, &@)"; 40].join(",")),
        format!("list{} | merge({{a:@}}, {{b:@}}) | values(@)", times(" | values({a:@,b:@,c:@}) | []", 14)),
        format!("list{}", times(" | [reverse(@), sort_by(@, &n), @] | []", 14)),
        format!("list{}", times(" | [@[::-1], @[0:], @[:100000]] | []", 14)),
        format!("list[*].[{}]", vec!["keys(@)"; 100].join(",")) + &times("[].[@,@,@][]", 10),
        format!("list{}", times(" | [to_array(@), [to_array(@)]] | [] | []", 14)),
    ]
}

/// The most memory this process ever had; with nextest that is this test.
fn peak_megabytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1024
}

#[test]
fn bounds_the_memory_of_what_a_query_makes() {
    let item = |n: usize| json!({ "n": n, "text": "a text of some length, which is not short either" });
    let data =
        Node::from(&json!({ "list": (0..200).map(item).collect::<Vec<_>>(), "text": "x".repeat(1000) }));
    let before = peak_megabytes();
    let mut refused = 0;
    for text in amplifiers() {
        assert!(text.len() <= 1200, "{} bytes: {text}", text.len());
        let query = Query::compile(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        if let Err(error) = query.run(&data, &mut Budget::new(10_000_000, &|| false)) {
            let error = error.to_string();
            assert!(error.contains("ask for less at once"), "{text}: {error}");
            refused += 1;
        }
        assert!(peak_megabytes() < before + 160, "{} MB after {text}", peak_megabytes() - before);
    }
    assert!(refused >= 10, "only {refused} were refused");
}

#[test]
fn counts_only_what_is_still_there() {
    let row = json!({ "list": (0..100).collect::<Vec<_>>() });
    let data = Node::from(&json!({ "rows": vec![row; 5000] }));
    // Each row makes and drops lists of more than 20 KB, 100 MB in all.
    let query = Query::compile("length(rows[?length(list[*].[@, @] | []) > `5`])").unwrap();
    let found = query.run(&data, &mut Budget::new(50_000_000, &|| false)).unwrap();
    assert_eq!(found.to_json(), "5000");
    let query = Query::compile("sort_by(rows, &length(list[*].[@, @] | [])) | length(@)").unwrap();
    assert_eq!(query.run(&data, &mut Budget::new(50_000_000, &|| false)).unwrap().to_json(), "5000");
}

//! Every function, at least once.

use super::{check, evaluate};
use expression::{Expression, FUNCTIONS};
use serde_json::{Value, json};

fn cases() -> Vec<(&'static str, Value)> {
    [lists(), texts(), times(), data()].concat()
}

fn lists() -> Vec<(&'static str, Value)> {
    vec![
        ("size(text) + tags.size() + size(order) + length(b'ab')", json!(9 + 2 + 5 + 2)),
        ("[count(tags), order.lines.count(l => l.sku == 'a')]", json!([2, 2])),
        (
            "[sum([1, 2]), sum([]), sum(order.lines, l => l.price * l.count), sum(1, 2.5)]",
            json!([3, 0, 31.0, 3.5]),
        ),
        ("[avg([1, 2]), avg([]), med([3, 1, 2]), med([4, 1]), med([])]", json!([1.5, null, 2.0, 2.5, null])),
        (
            "[min(3, 1, 2), max([1, 5.5, 2]), min([]), max(order.lines, l => l.count).sku]",
            json!([1, 5.5, null, "b"]),
        ),
        (
            "[round(2.5), round(-2.5), round(2.675, 2), round(3), round(1.25, 1), round(1e300)]",
            json!([3, -3, 2.68, 3, 1.3, 1e300]),
        ),
        (
            "[round(1.005, 2), round(1.255, 2), round(-1.005, 2), round(9.995, 2), round(0.05, 1), round(0.04, 1)]",
            json!([1.01, 1.26, -1.01, 10.0, 0.1, 0.0]),
        ),
        (
            "[round(1e300, 2), round(1.5e-7, 7), round(0.5, 0), round(123.456, 0), round(1.1, 15), round(5e-324, 15)]",
            json!([1e300, 2e-7, 1.0, 123.0, 1.1, 0.0]),
        ),
        (
            "[sort([3, 1, 2]), sort(['b', 'a']), sort(order.lines, l => l.price).map(l, l.price)]",
            json!([[1, 2, 3], ["a", "b"], [1, 2.5, 10]]),
        ),
        ("sort([2, null, 1])", json!([null, 1, 2])),
        ("[distinct([1, 1.0, '1', 2]), distinct(order.lines, l => l.sku).size()]", json!([[1, "1", 2], 2])),
        ("distinct([{'a': 1, 'b': 2}, {'b': 2, 'a': 1}]).size()", json!(1)),
        (
            "[group(order.lines, 'sku').a.size(), group([1, 2, 3], i => i % 2 == 0 ? 'even' : 'odd')]",
            json!([2, {"odd": [1, 3], "even": [2]}]),
        ),
        ("[flat([[1], 2, [[3]]]), chunk([1, 2, 3], 2)]", json!([[1, 2, [3]], [[1, 2], [3]]])),
        ("[add([1], [2]), addAll([1], [2])]", json!([[1, [2]], [1, 2]])),
        ("[proj(order, 'id', 'nope'), proj(order.lines, 'sku')[1]]", json!([{"id": "O-1"}, {"sku": "b"}])),
        (
            "[keys({'a': 1}), values({'a': 1}), merge({'a': 1, 'b': 1}, null, {'b': 2})]",
            json!([["a"], [1], {"a": 1, "b": 2}]),
        ),
        ("SUM([1, 2]) + COUNT(tags)", json!(5)),
    ]
}

fn texts() -> Vec<(&'static str, Value)> {
    vec![
        (
            "[text.contains('ü'), text.startsWith('Gr'), text.endsWith('界'), text.matches('^G.*世'), 'a'.matches('b')]",
            json!([true, true, true, true, false]),
        ),
        ("'ab'.matches('a' + '.')", json!(true)),
        ("[upper('aß'), lower('ÄB'), trim(' a ')]", json!(["ASS", "äb", "a"])),
        (
            "['a,b'.split(','), split('ab', ''), ['a', 1].join('-'), join(['x', 'y'])]",
            json!([["a", "b"], ["a", "b"], "a-1", "xy"]),
        ),
        ("replace('a.b.c', '.', '')", json!("abc")),
        (
            "[bool('true'), int('12'), int(3.9), int(-3.9), uint(3), double('1.5'), string(1.0), string(true)]",
            json!([true, 12, 3, -3, 3, 1.5, "1", "true"]),
        ),
        (
            "[bytes('ä').size(), string(b'x'), dyn(1), string(type(1)), string([1, {'a': null}])]",
            json!([2, "x", 1, "int", "[1,{\"a\":null}]"]),
        ),
        ("[string(1e21), string(0.1), string(12345678.9)]", json!(["1e+21", "0.1", "12345678.9"])),
    ]
}

fn times() -> Vec<(&'static str, Value)> {
    vec![
        (
            "[now(), date(), time(), date('-1d'), time('+2h')]",
            json!(["2026-03-31T23:05:09Z", "2026-03-31", "23:05:09", "2026-03-30", "01:05:09"]),
        ),
        (
            "[offset(now(), '-1M'), offset('2024-02-29', '+1y'), offset(now(), '+1d 2h30m')]",
            json!(["2026-02-28T23:05:09Z", "2025-02-28T00:00:00Z", "2026-04-02T01:35:09Z"]),
        ),
        ("format(when, 'yyyy-MM-dd HH:mm:ss', 'Asia/Shanghai')", json!("2026-07-28 18:30:00")),
        (
            "[format(when, \"EEE, d MMM yy 'at' h:mm a XXX\"), format(0, 'iso', '+08:00')]",
            json!(["Tue, 28 Jul 26 at 10:30 AM +00:00", "1970-01-01T08:00:00+08:00"]),
        ),
        ("timestamp(when) + duration('1h30m')", json!("2026-07-28T12:00:00Z")),
        ("timestamp('2026-07-29T00:00:00Z') - timestamp(when)", json!("48600s")),
        ("[duration('1.5s'), duration('-100ms'), duration('0')]", json!(["1.5s", "-0.1s", "0s"])),
        ("timestamp(when) < now() || now() < timestamp(when)", json!(true)),
        (
            "[timestamp(when).getFullYear(), timestamp(when).getMonth(), timestamp(when).getDate()]",
            json!([2026, 6, 28]),
        ),
        (
            "[timestamp(when).getDayOfMonth(), timestamp(when).getDayOfWeek(), timestamp(when).getDayOfYear()]",
            json!([27, 2, 208]),
        ),
        (
            "[timestamp(when).getHours('Asia/Shanghai'), timestamp(when).getMinutes(), timestamp(when).getSeconds(), timestamp(when).getMilliseconds()]",
            json!([18, 30, 0, 0]),
        ),
        (
            "[duration('90m').getHours(), duration('90m').getMinutes(), duration('1.5s').getMilliseconds()]",
            json!([1, 90, 500]),
        ),
        ("int(timestamp(when))", json!(1_785_234_600)),
    ]
}

fn data() -> Vec<(&'static str, Value)> {
    vec![
        ("size(uuid()) == 36 && uuid() != uuid()", json!(true)),
        ("[toJson({'a': [1, null]}), fromJson('{\"a\":[1.5]}').a[0]]", json!(["{\"a\":[1,null]}", 1.5])),
        ("[base64('ab'), base64(b'\\xff')]", json!(["YWI=", "/w=="])),
        ("sha256('')", json!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")),
        (
            "[jmespath(order, 'lines[?count > `1`].sku'), jmespath(tags, '[' + '0]')]",
            json!([["a", "b"], "red"]),
        ),
    ]
}

/// FL-17 (the functions of the contract are there, and do what they say)
#[test]
fn functions_do_what_they_say() {
    check(&cases());
}

#[test]
fn every_function_has_a_case_and_a_usage_that_names_it() {
    let texts: String = cases().iter().map(|(text, _)| *text).collect::<Vec<_>>().join("\n");
    let macros = ["all", "every", "exists", "some", "exists_one", "filter", "map"];
    for function in FUNCTIONS {
        let name = function.name;
        assert!(function.usage.contains(&format!("{name}(")), "{name}: {}", function.usage);
        let is_used =
            [format!("{name}("), format!(".{name}(")].iter().any(|call| texts.contains(call.as_str()));
        assert!(is_used || macros.contains(&name), "{name} has no case");
    }
}

#[test]
fn wrong_arguments_are_told_with_the_right_ones() {
    for (text, wanted) in [
        ("upper()", "upper() is called like this: upper(text)"),
        ("tags.filter()", "filter() is called like this"),
        ("tags.map(t)", "map() is called like this"),
        ("chunk(tags)", "chunk(list, size)"),
        ("toUpper('a')", "there is no function 'toUpper'"),
        ("UPPERCASE('a')", "did you mean 'upper'?"),
        ("startswith('a', 'b')", "did you mean 'startsWith'?"),
    ] {
        let error = Expression::parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    for (text, wanted) in [
        ("upper(n)", "upper() needs a text, this is a whole number"),
        ("sum(tags)", "sum() needs numbers, this is a text"),
        ("keys(tags)", "keys() needs an object, this is a list"),
        ("offset(now(), 'soon')", "an offset is written like -3M"),
        ("timestamp('soon')", "this text is no time"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "the result is out of the range of times"),
        ("duration('1s') + timestamp('9999-12-31T23:59:59Z')", "the result is out of the range of times"),
        ("timestamp('0001-01-01T00:00:00Z') - duration('20000h')", "the result is out of the range of times"),
        ("offset('9999-12-31T23:59:59Z', '1s')", "the result is out of the range of times"),
        ("date('+8000y')", "the result is out of the range of times"),
        ("format(now(), 'yyyy', 'Mars/Base')", "this time zone is unknown"),
        ("int('1.5')", "this text is no whole number"),
        ("int(1e30)", "does not fit into 64 bits"),
        ("fromJson('{')", "this text is no JSON"),
        ("'a'.matches('(' + '?=b)')", "this is no regular expression"),
        ("n.map(i, i)", "this goes over lists and objects, not over a whole number"),
    ] {
        let error = evaluate(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

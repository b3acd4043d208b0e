//! Literals, operators, members, conditions, lambdas.

use super::check;
use expression::Expression;
use serde_json::json;

#[test]
fn reads_literals() {
    check(&[
        ("1", json!(1)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("0x1F", json!(31)),
        ("5u", json!(5)),
        (".5 + 1e2", json!(100.5)),
        ("'a\\n\\u00e4\\'' + \"b\"", json!("a\nä'b")),
        ("r'\\n' + '''x'y'''", json!("\\nx'y")),
        ("b'abc'", json!("YWJj")),
        ("[1, 'a', null, true,]", json!([1, "a", null, true])),
        ("{'a': 1, 'b': {'c': []}}", json!({"a": 1, "b": {"c": []}})),
        ("{1: 'x', true: 'y'}", json!({"1": "x", "true": "y"})),
        ("`${n} is ${order.paid ? 'paid' : 'open'}, $${n}`", json!("7 is paid, ${n}")),
        ("`nested ${`in ${n}`}`", json!("nested in 7")),
        ("1 // a remark\n + 1", json!(2)),
    ]);
}

#[test]
fn numbers_of_all_kinds_mix() {
    check(&[
        ("n * 2", json!(14)),
        ("n / 2", json!(3)),
        ("n / 2.0", json!(3.5)),
        ("-n % 4", json!(-3)),
        ("n + x", json!(9.5)),
        ("huge - 1", json!(18_446_744_073_709_551_614_u64)),
        ("n == 7.0 && 7u == n && n < 7.5 && 2.5 == x", json!(true)),
        ("big < 9223372036854775808.0", json!(true)),
        ("n in [7.0]", json!(true)),
        ("1 + 2 * 3 - 4", json!(3)),
        ("(1 + 2) * 3", json!(9)),
        ("7.0 % 4", json!(3.0)),
    ]);
}

#[test]
fn compares_and_decides() {
    check(&[
        ("'a' < 'b' && !(2 > 3)", json!(true)),
        ("n == '7'", json!(false)),
        ("[1, {'a': 2}] == [1.0, {'a': 2u}]", json!(true)),
        ("null == nothing", json!(true)),
        ("n > 5 ? 'much' : 'little'", json!("much")),
        ("nothing ? 1 : 2", json!(2)),
        ("!nothing", json!(true)),
        ("'red' in tags && !('blue' in tags) && 'id' in order", json!(true)),
        ("type(n) == int && type(x) == double && type(tags) == list", json!(true)),
        ("true || 1 / 0 == 1", json!(true)),
        ("1 / 0 == 1 || true", json!(true)),
        ("false && 1 / 0 == 1", json!(false)),
        ("1 / 0 == 1 && false", json!(false)),
    ]);
}

#[test]
fn goes_on_where_a_value_is_null_or_absent() {
    check(&[
        ("nothing || 'd'", json!("d")),
        ("order.nope || 'd'", json!("d")),
        ("order.nope.deeper || nothing || 3", json!(3)),
        ("order.id || 'd'", json!("O-1")),
        ("nowhere || 1", json!(1)),
        ("false || nothing", json!(null)),
        ("order?.nope", json!(null)),
        ("order?.nope?.deeper", json!(null)),
        ("nothing?.x", json!(null)),
        ("order?.id", json!("O-1")),
        ("default(order.nope, 1)", json!(1)),
        ("order.note.default('-')", json!("-")),
        ("has(order.note)", json!(true)),
        ("has(order.nope)", json!(false)),
        ("has(order.nope.deeper)", json!(false)),
        ("n > 0 ?.5 : 1.0", json!(0.5)),
    ]);
}

#[test]
fn reaches_members() {
    check(&[
        ("order.lines[1].sku", json!("b")),
        ("order['id'] + order[`i${'d'}`]", json!("O-1O-1")),
        ("{1: 'x'}[1.0]", json!("x")),
        ("order.lines[n - 7].price", json!(10)),
        ("[[1, 2], [3]][0][1]", json!(2)),
    ]);
}

#[test]
fn lambdas_have_both_spellings_and_see_their_surroundings() {
    check(&[
        ("order.lines.filter(l, l.count > 1).map(l, l.sku)", json!(["a", "b"])),
        ("order.lines.filter(l => l.count > 1).map(l => l.sku)", json!(["a", "b"])),
        ("filter(order.lines, l => l.count > 1).size()", json!(2)),
        ("order.lines.map(l, l.count > 1, l.price)", json!([10, 2.5])),
        ("tags.map((t, i) => `${i}${t}`)", json!(["0red", "1green"])),
        ("{'a': 1, 'b': 2}.map((k, v) => `${k}${v}`)", json!(["a1", "b2"])),
        ("{'a': 1}.all(k, k == 'a')", json!(true)),
        ("[1, 2].map(a, [3, 4].map(b, a * b + n))", json!([[10, 11], [13, 15]])),
        ("[1].map(n, n + 1)", json!([2])),
        ("[1, 2, 0].exists(i, 2 / i == 1)", json!(true)),
        ("[0, 3].all(i, 6 / i == 1)", json!(false)),
        ("[1, 2, 2].exists_one(i, i == 1)", json!(true)),
        ("[1, 2, 3].some(i => i > 2) && [1].every(i => i == 1)", json!(true)),
    ]);
}

#[test]
fn names_are_those_of_the_scope_alone() {
    let text = "order.lines.map(l, l.price * rate) + [has(other.x), `${rate} ${last}`]";
    let expression = Expression::parse(text).unwrap();
    let names: Vec<_> = expression.names().map(|(name, place)| (name, place.column)).collect();
    assert_eq!(names, [("order", 1), ("rate", 30), ("other", 43), ("last", 64)]);
}

//! Texts of versions: when they are the same, and how they differ.

use serde_json::json;

#[test]
fn comments_spacing_and_order_make_no_difference() {
    let one = "name: A # first\nnodes: {a: {with: 1, next: b}, b: {with: 2}}";
    let other = r#"{"nodes": {"b": {"with": 2}, "a": {"next": "b", "with": 1}}, "name": "A"}"#;
    assert!(flow::is_same(one, other));
    assert!(flow::is_same(one, "flow: {name: A, node: {a: {with: 1, next: b}, b: {with: 2}}}"));
    assert!(!flow::is_same(one, "name: B\nnodes: {a: {with: 1, next: b}, b: {with: 2}}"));
    assert!(!flow::is_same("a: [", "a: {"));
    assert!(flow::is_same("a: [", "a: ["));
}

#[test]
fn differences_are_listed_with_their_paths() {
    let from = "name: A\nnodes: {a: {with: 1, next: [b, c]}, b: {with: 2}, c: {with: 3}}";
    let to = "nodes: {a: {with: 1, next: [b, d]}, b: {with: 2, retry: 3}, d: {with: 3}}";
    let changes: Vec<_> =
        flow::diff(from, to).into_iter().map(|change| json!([change.path, change.from, change.to])).collect();
    assert_eq!(
        changes,
        [
            json!(["name", "A", null]),
            json!(["nodes.a.next[1]", "c", "d"]),
            json!(["nodes.b.retry", null, 3]),
            json!(["nodes.c", {"with": 3}, null]),
            json!(["nodes.d", null, {"with": 3}]),
        ]
    );
    assert!(flow::diff(from, from).is_empty());
}

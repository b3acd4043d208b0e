//! The `_meta` of our requests, put into params that otherwise stay as they came.

use super::failure::Failure;
use tool::Fields;

/// Adds the params to `out`, with `ours` (fields of an object, without braces) in their `_meta`.
/// A key that stands there already and that `replaced` names gives way to ours.
pub(super) fn write_with_meta(
    params: Option<&str>,
    ours: &str,
    replaced: &[&str],
    out: &mut String,
) -> Result<(), Failure> {
    let text = params.unwrap_or("{}").trim_ascii();
    let Some(inside) = text.strip_prefix('{') else {
        return Err(Failure::Protocol("the params of a request must be an object".into()));
    };
    let fields: Fields<'_> = match may_have_meta(text) {
        true => serde_json::from_str(text).unwrap_or_default(),
        false => Fields::default(),
    };
    let Some(meta) = fields.get("_meta") else {
        let inside = inside.trim_ascii_start();
        let comma = if inside.starts_with('}') { "" } else { "," };
        out.extend(["{\"_meta\":{", ours, "}", comma, inside]);
        return Ok(());
    };
    // `meta` is a part of `text`, so the distance of their beginnings is its place.
    let start = meta.get().as_ptr().addr() - text.as_ptr().addr();
    let end = start + meta.get().len();
    out.extend([&text[..start], "{", ours]);
    let kept: Fields<'_> = serde_json::from_str(meta.get()).unwrap_or_default();
    for (key, value) in kept.0.iter().filter(|(key, _)| !replaced.contains(&&**key)) {
        out.extend([",", &serde_json::Value::from(&**key).to_string(), ":", value.get()]);
    }
    out.extend(["}", &text[end..]]);
    Ok(())
}

/// Most params have none, and need not be parsed to see that. A name may be written with escapes.
fn may_have_meta(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"\"_meta\"").is_some() || text.contains("\\u")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_meta(params: Option<&str>, ours: &str, replaced: &[&str]) -> Result<String, Failure> {
        let mut text = String::new();
        write_with_meta(params, ours, replaced, &mut text).map(|()| text)
    }

    fn merge(params: &str) -> String {
        with_meta(Some(params), "\"progressToken\":5", &["progressToken"]).unwrap()
    }

    #[test]
    fn adds_what_is_ours_and_leaves_the_rest_as_it_came() {
        assert_eq!(merge("{}"), r#"{"_meta":{"progressToken":5}}"#);
        assert_eq!(merge(r#"{ "b": 1.0,"a":1e2 }"#), r#"{"_meta":{"progressToken":5},"b": 1.0,"a":1e2 }"#);
        assert_eq!(
            merge(
                r#"{"name":"x","_meta": {"traceparent": "t","progressToken":"theirs"},"z":9007199254740993}"#
            ),
            r#"{"name":"x","_meta": {"progressToken":5,"traceparent":"t"},"z":9007199254740993}"#
        );
        assert_eq!(with_meta(None, "\"a\":1", &[]).unwrap(), r#"{"_meta":{"a":1}}"#);
        assert_eq!(
            merge(r#"{"\u005fmeta":{"a":"\u00e9"},"b":"_meta"}"#),
            r#"{"\u005fmeta":{"progressToken":5,"a":"\u00e9"},"b":"_meta"}"#
        );
        assert!(with_meta(Some("[]"), "", &[]).is_err());
    }
}

//! The `_meta` of our requests, put into params that otherwise stay as they came.

use super::failure::Failure;
use serde_json::value::RawValue;
use tool::Fields;

/// The params with `ours` (fields of an object, without braces) in their `_meta`.
/// A key that stands there already and that `replaced` names gives way to ours.
pub(super) fn with_meta(params: Option<&RawValue>, ours: &str, replaced: &[&str]) -> Result<String, Failure> {
    let text = params.map_or("{}", RawValue::get);
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else {
        return Err(Failure::Protocol("the params of a request must be an object".into()));
    };
    let Some((_, meta)) = fields.0.iter().find(|(key, _)| key == "_meta") else {
        let inside = text[1..].trim_ascii_start();
        let comma = if inside.starts_with('}') { "" } else { "," };
        return Ok(format!("{{\"_meta\":{{{ours}}}{comma}{inside}"));
    };
    let kept: Fields<'_> = serde_json::from_str(meta.get()).unwrap_or_default();
    let mut merged = format!("{{{ours}");
    for (key, value) in kept.0.iter().filter(|(key, _)| !replaced.contains(&&**key)) {
        merged.push(',');
        merged.push_str(&serde_json::Value::from(&**key).to_string());
        merged.push(':');
        merged.push_str(value.get());
    }
    merged.push('}');
    // `meta` is a part of `text`, so the distance of their beginnings is its place.
    let start = meta.get().as_ptr().addr() - text.as_ptr().addr();
    let end = start + meta.get().len();
    Ok(format!("{}{merged}{}", &text[..start], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(params: &str) -> String {
        let params = RawValue::from_string(params.to_owned()).unwrap();
        with_meta(Some(&params), "\"progressToken\":5", &["progressToken"]).unwrap()
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
        let list = RawValue::from_string("[]".to_owned()).unwrap();
        assert!(with_meta(Some(&list), "", &[]).is_err());
    }
}

//! Messages go into JSON and back without loss, and nothing else goes in.

use super::super::message::Form;
use super::form;
use super::nesting::{any_of, field};
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool::{Arguments, Error, ErrorKind};

fn arguments(value: &Value) -> Arguments {
    raw(&value.to_string())
}

pub(super) fn raw(text: &str) -> Arguments {
    Arguments::from_raw(RawValue::from_string(text.to_owned()).unwrap()).unwrap()
}

pub(super) fn everything() -> Form {
    form("loyalty.v1.Everything", false)
}

/// The arguments on the wire and back.
pub(super) fn round_trip(form: &Form, value: &Value) -> Value {
    let bytes = form.encode(&arguments(value)).unwrap_or_else(|error| panic!("{value}: {error}"));
    serde_json::from_str(form.decode(bytes).unwrap().get()).unwrap()
}

pub(super) fn refusal(text: &str) -> Error {
    let error = everything().encode(&raw(text)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
    error
}

/// Requirement SV-6: what goes in comes back.
#[test]
fn brings_back_what_went_in() {
    let value = json!({
        "aDouble": 1.5, "aFloat": -0.25, "anInt32": -2_147_483_648_i64, "anInt64": "-9223372036854775808",
        "aUint32": 4_294_967_295_u64, "aUint64": "18446744073709551615", "aSint32": 7, "aSint64": "-7", "aFixed32": 9,
        "aFixed64": "10", "aSfixed32": -11, "aSfixed64": "-12", "aBool": true, "aString": "Grüße 🦀\u{0}\"\\",
        "someBytes": "AP8Q", "tier": "TIER_GOLD", "tiers": ["TIER_SILVER", "TIER_UNKNOWN", 77],
        "counts": { "a": "1", "": "9007199254740993" }, "others": { "-5": { "aBool": true } }, "answers": { "true": "yes" },
        "many": ["1", "18446744073709551615"], "text": "one of them", "maybe": 0, "at": "2026-11-16T08:00:00.000000001Z",
        "lasting": "-1.500s", "mask": "displayName,address.city", "free": { "a": [1.0, null, { "b": "c" }] },
        "anything": null, "list": [true, "x"], "wrappedString": "", "wrappedInt64": "5", "wrappedBool": false,
        "wrappedDouble": 2.5, "nothing": {}, "child": { "child": { "aString": "deep" } }, "children": [{}, { "maybe": 1 }],
        "strange": "by its own name",
        "detail": { "@type": "type.googleapis.com/loyalty.v1.Customer", "id": "5", "displayName": "Ada" }
    });
    assert_eq!(round_trip(&everything(), &value), value);
}

/// Requirement SV-6: numbers or strings, both spellings of names, names or numbers of enums go in.
#[test]
fn takes_what_proto3_json_takes() {
    let form = everything();
    for (given, expected) in [
        (json!({ "an_int64": 9_007_199_254_740_993_i64 }), json!({ "anInt64": "9007199254740993" })),
        (json!({ "anInt64": "-1" }), json!({ "anInt64": "-1" })),
        (json!({ "anInt64": "1e2" }), json!({ "anInt64": "100" })),
        (json!({ "anInt32": "1.0", "aUint32": 2.0 }), json!({ "anInt32": 1, "aUint32": 2 })),
        (json!({ "aUint64": "18446744073709551615.0" }), json!({ "aUint64": "18446744073709551615" })),
        (
            json!({ "many": ["1e1", 2], "counts": { "a": "-2.0" } }),
            json!({ "many": ["10", "2"], "counts": { "a": "-2" } }),
        ),
        (json!({ "tiers": [2.0, 77.0] }), round_trip(&form, &json!({ "tiers": [2, 77] }))),
        (json!({ "children": [{ "anInt32": "3e0" }] }), json!({ "children": [{ "anInt32": 3 }] })),
        (json!({ "a_uint64": 18_446_744_073_709_551_615_u64 }), json!({ "aUint64": "18446744073709551615" })),
        (json!({ "anInt32": "12" }), json!({ "anInt32": 12 })),
        (json!({ "anInt32": 12.0 }), json!({ "anInt32": 12 })),
        (json!({ "tier": 2 }), json!({ "tier": "TIER_GOLD" })),
        (json!({ "tier": 99 }), json!({ "tier": 99 })),
        (json!({ "odd_name": "x" }), json!({ "strange": "x" })),
        (json!({ "some_bytes": "_-8" }), json!({ "someBytes": "/+8=" })),
        (json!({ "at": "2026-11-16T10:00:00+02:00" }), json!({ "at": "2026-11-16T08:00:00Z" })),
        (
            json!({ "aDouble": "NaN", "aFloat": "-Infinity" }),
            json!({ "aDouble": "NaN", "aFloat": "-Infinity" }),
        ),
        (json!({ "aString": null, "tiers": null, "child": null }), json!({})),
        (json!({ "number": null, "text": "x" }), json!({ "text": "x" })),
    ] {
        assert_eq!(round_trip(&form, &given), expected, "{given}");
    }
}

/// Requirement SV-6: what does not fit is refused, with its place.
#[test]
fn says_where_arguments_do_not_fit() {
    for (given, place, words) in [
        (r#"{"anInt32":2147483648}"#, "anInt32", "out of range"),
        (r#"{"anInt64":"9223372036854775808"}"#, "anInt64", "too large"),
        (r#"{"anInt64":1.5}"#, "anInt64", "integer"),
        (r#"{"aUint64":-1}"#, "aUint64", "out of range"),
        (
            r#"{"child":{"children":[{},{"tier":"TIER_IRON"}]}}"#,
            "child.children[1].tier",
            "there is no enum value",
        ),
        (r#"{"child":{"colour":1}}"#, "child", "there is no field 'colour'"),
        (r#"{"text":"a","number":"1"}"#, "", "only one field may be given of the oneof 'choice'"),
        (r#"{"someBytes":"%%%"}"#, "someBytes", "base64"),
        (r#"{"at":"yesterday"}"#, "at", ""),
        (r#"{"lasting":"1 hour"}"#, "lasting", ""),
        (r#"{"counts":{"a":{}}}"#, "counts.a", ""),
        (r#"{"others":{"x":{}}}"#, "others", ""),
        (r#"{"aBool":"true"}"#, "aBool", ""),
        (r#"{"detail":{"@type":"type.googleapis.com/no.Such"}}"#, "detail", "'no.Such' not found"),
        (r#"{"aDouble":1e999}"#, "aDouble", ""),
    ] {
        let error = refusal(given);
        assert!(error.message().contains(words), "{given}: {error}");
        let parameter = error.parameter().unwrap_or_default();
        assert!(parameter.starts_with(place.split('.').next().unwrap()), "{given}: {parameter} {error}");
    }
}

/// Requirement SV-6: an `Any` of nothing is `{}`, wherever it stands, and one of `Empty` needs no `value`.
#[test]
fn an_any_may_hold_nothing() {
    let form = everything();
    let of = |name: &str| format!("type.googleapis.com/{name}");
    let empty = of("google.protobuf.Empty");
    for (given, expected) in [
        (json!({ "detail": {} }), json!({ "detail": {} })),
        (json!({ "detail": { "@type": empty } }), json!({ "detail": { "@type": empty, "value": {} } })),
        (
            json!({ "detail": { "@type": empty, "value": {} } }),
            json!({ "detail": { "@type": empty, "value": {} } }),
        ),
        (
            json!({ "children": [{ "maybe": 1 }, { "detail": {} }], "others": { "7": { "detail": {} } } }),
            json!({ "children": [{ "maybe": 1 }, { "detail": {} }], "others": { "7": { "detail": {} } } }),
        ),
        (
            json!({ "detail": { "@type": of("google.protobuf.Any"), "value": {} } }),
            json!({ "detail": { "@type": of("google.protobuf.Any"), "value": {} } }),
        ),
        (
            json!({ "detail": { "@type": of("loyalty.v1.Everything"), "anInt64": "9007199254740993", "detail": {} } }),
            json!({ "detail": { "@type": of("loyalty.v1.Everything"), "anInt64": "9007199254740993", "detail": {} } }),
        ),
    ] {
        assert_eq!(round_trip(&form, &given), expected, "{given}");
    }
    let bytes = form.encode(&arguments(&json!({ "detail": {} }))).unwrap();
    assert_eq!(bytes, super::nesting::field("detail", &[]), "there, and nothing in it");
    let root = super::form("google.protobuf.Any", true);
    assert_eq!(round_trip(&root, &json!({})), json!({}));
    assert!(root.encode(&arguments(&json!({}))).unwrap().is_empty());
    for given in [r#"{"detail":{"value":{}}}"#, r#"{"detail":{"x":1}}"#] {
        assert!(refusal(given).message().contains("@type"), "{given}");
    }
    assert!(refusal(r#"{"detail":{},"anInt32":"x"}"#).message().contains("anInt32"));
}

/// Requirement SV-6: what protobuf has no value for is refused, and not bent until it fits.
#[test]
fn bends_no_value() {
    for (given, place, words) in [
        (r#"{"at":"2026-11-19T23:59:60Z"}"#, "at", "second 60"),
        (r#"{"at":"2026-11-19T23:59:6\u0030Z"}"#, "at", "second 60"),
        (r#"{"child":{"at":"2026-11-19T23:59:59.1234567891Z"}}"#, "child.at", "nine digits"),
        (r#"{"mask":"a,,b"}"#, "mask", "empty"),
        (r#"{"mask":",a"}"#, "mask", "empty"),
        (r#"{"mask":"a,"}"#, "mask", "empty"),
        (r#"{"aDouble":"1e400"}"#, "aDouble", "out of range"),
        (r#"{"aFloat":"1e39"}"#, "aFloat", "out of range"),
        (r#"{"wrappedDouble":"-1e400"}"#, "wrappedDouble", "out of range"),
    ] {
        let error = refusal(given);
        assert!(error.message().contains(words), "{given}: {error}");
        assert_eq!(error.parameter(), Some(place), "{given}");
    }
    let value = json!({
        "at": "2026-11-19T23:59:59.123456789Z", "mask": "a,b.c", "aDouble": "1.5e3", "aFloat": "2.5", "anInt32": "7",
        "aUint32": "8", "maybe": "0", "aString": "a,,b 12:00:60 \u{1}"
    });
    let expected = json!({
        "at": "2026-11-19T23:59:59.123456789Z", "mask": "a,b.c", "aDouble": 1500.0, "aFloat": 2.5, "anInt32": 7,
        "aUint32": 8, "maybe": 0, "aString": "a,,b 12:00:60 \u{1}"
    });
    assert_eq!(round_trip(&everything(), &value), expected);
    assert_eq!(round_trip(&everything(), &json!({ "mask": "" })), json!({ "mask": "" }));
}

/// Requirement SV-6: a number goes out as it is written, or not at all.
#[test]
fn changes_no_number() {
    let any = |number: &str| {
        format!(
            r#"{{"detail":{{"@type":"type.googleapis.com/google.protobuf.UInt64Value","value":{number}}}}}"#
        )
    };
    for (given, place) in [
        (r#"{"aUint64":18446744073709551616}"#.to_owned(), "aUint64"),
        (r#"{"anInt64":-9223372036854775809}"#.to_owned(), "anInt64"),
        (r#"{"an_int64":9007199254740993.0}"#.to_owned(), "an_int64"),
        (r#"{"aFixed64":1.8446744073709551616e19}"#.to_owned(), "aFixed64"),
        (r#"{"child":{"many":["1",18446744073709551616]}}"#.to_owned(), "child.many[1]"),
        (r#"{"counts":{"a":9223372036854775808.0}}"#.to_owned(), "counts.a"),
        (r#"{"wrappedInt64":-9223372036854775809}"#.to_owned(), "wrappedInt64"),
        (r#"{"anInt32":1.00000000000000000001}"#.to_owned(), "anInt32"),
        (r#"{"aDouble":-0.0}"#.to_owned(), "aDouble"),
        (r#"{"wrappedDouble":-0.0}"#.to_owned(), "wrappedDouble"),
        (any("18446744073709551616"), "detail.value"),
    ] {
        let error = refusal(&given);
        assert_eq!(error.parameter(), Some(place), "{given}: {error}");
    }
    let wrapped = form("google.protobuf.UInt64Value", true);
    let error = wrapped.encode(&raw(r#"{"value":18446744073709551616}"#)).unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("value")));
    let value = json!({ "anInt64": 1e3, "aDouble": 1e300, "aUint64": 4_503_599_627_370_496.0, "free": { "a": -0.0 } });
    let expected =
        json!({ "anInt64": "1000", "aDouble": 1e300, "aUint64": "4503599627370496", "free": { "a": -0.0 } });
    assert_eq!(round_trip(&everything(), &value), expected);
}

/// Requirement SV-6: deep, large and broken things cost little and harm nobody.
#[test]
fn bears_hostile_messages() {
    let nest = |levels: usize| format!("{}{}{}", "{\"child\":".repeat(levels), "{}", "}".repeat(levels));
    assert!(refusal(&nest(500)).message().contains("recursion limit"));
    let form = everything();
    // Deeper than anybody decodes: in, but not out.
    let deep = (0..200).fold(Vec::new(), |inner: Vec<u8>, _| {
        let mut outer = vec![0xb2, 0x02];
        prost::encoding::encode_varint(inner.len() as u64, &mut outer);
        outer.extend(inner);
        outer
    });
    assert_eq!(form.decode(deep.into()).unwrap_err().kind(), ErrorKind::Upstream);
    let pairs: Vec<_> = (0..50_000).map(|number| format!("\"k{number}\":{number}")).collect();
    let many = format!("{{\"counts\":{{{}}}}}", pairs.join(","));
    let bytes = form.encode(&raw(&many)).unwrap();
    assert_eq!(form.decode(bytes).unwrap().get().matches("\"k").count(), 50_000);
    for bytes in [
        &b"\x72\x02\xff\xfe"[..],                                // a_string is no UTF-8
        b"\x72\x7f",                                             // longer than there is
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",             // no tag
        b"\xd2\x01\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", // a Timestamp after the end of time
        b"\x82\x02\x05\x0a\x03a/b",                              // an Any of a type that nobody knows
    ] {
        let error = form.decode(Bytes::copy_from_slice(bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        assert!(error.message().contains("no usable loyalty.v1.Everything"), "{error}");
    }
    // Unknown fields are not told, and are no error.
    assert_eq!(form.decode(Bytes::from_static(b"\xf8\x3f\x01")).unwrap().get(), "{}");
}

/// Requirement SV-6: what is small on the wire and large in memory is refused before it is decoded.
#[test]
fn refuses_answers_that_would_grow() {
    let refusal = |form: &Form, bytes: Vec<u8>| {
        let error = form.decode(bytes.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream);
        error.message().to_owned()
    };
    let form = form("loyalty.v1.Everything", true);
    let tag = |name: &str, kind: u32| {
        let mut tag = Vec::new();
        let number = form.descriptor.get_field_by_name(name).unwrap().number();
        prost::encoding::encode_varint(u64::from(number << 3 | kind), &mut tag);
        tag
    };
    let children = [tag("children", 2), vec![0]].concat();
    assert!(refusal(&form, children.repeat(1_000_000)).contains("more fields and items"));
    // Fewer than are refused by number, each of which has all its defaults in JSON.
    assert!(refusal(&form, children.repeat(80_000)).contains("more than 16777216 bytes"));
    let mut packed = tag("many", 2);
    prost::encoding::encode_varint(3_000_000, &mut packed);
    packed.extend(vec![1; 3_000_000]);
    assert!(refusal(&form, packed).contains("more fields and items"));
    let mut any = b"\x0a\x27type.googleapis.com/loyalty.v1.Everything\x12".to_vec();
    any[1] = (any.len() - 3) as u8;
    let inner = children.repeat(1_000_000);
    prost::encoding::encode_varint(inner.len() as u64, &mut any);
    any.extend(inner);
    let mut detail = tag("detail", 2);
    prost::encoding::encode_varint(any.len() as u64, &mut detail);
    detail.extend(any);
    assert!(refusal(&form, detail).contains("more fields and items"));
    let groups = [tag("children", 3), tag("children", 4)].concat();
    assert!(refusal(&form, groups.repeat(1_000_000)).contains("more fields and items"));
}

/// Requirement SV-6: a wrapped number is told like one that is not wrapped.
#[test]
fn tells_wrapped_floats_that_are_no_numbers() {
    let value = json!({ "wrappedDouble": "NaN", "detail": {
        "@type": "x.com/google.protobuf.FloatValue", "value": "-Infinity"
    } });
    assert_eq!(round_trip(&everything(), &value), value);
    let wrapped = form("google.protobuf.DoubleValue", true);
    assert_eq!(round_trip(&wrapped, &json!({ "value": "Infinity" })), json!({ "value": "Infinity" }));
    assert_eq!(round_trip(&wrapped, &json!({ "value": 0.0 })), json!({ "value": 0.0 }));
    // The greatest of 32 bits, which is told so that it can be given back.
    let greatest = round_trip(&everything(), &json!({ "aFloat": f64::from(f32::MAX) }));
    assert_eq!(round_trip(&everything(), &greatest), greatest);
}

/// Requirement SV-6: a duration of two minds is no duration.
#[test]
fn refuses_durations_that_contradict_themselves() {
    // lasting: 5 seconds and minus 5 nanoseconds.
    let number = everything().descriptor.get_field_by_name("lasting").unwrap().number();
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3 | 2), &mut bytes);
    bytes.extend([13, 0x08, 5, 0x10, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    let error = everything().decode(bytes.into()).unwrap_err();
    assert!(error.message().contains("differ in sign"), "{error}");
    let held = any_of(
        "google.protobuf.Duration",
        vec![0x08, 5, 0x10, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    );
    let error = everything().decode(field("detail", &held).into()).unwrap_err();
    assert!(error.message().contains("differ in sign"), "{error}");
}

/// Requirement SV-6: defaults are told where they are wanted; what has a presence of its own is not made up.
#[test]
fn tells_defaults_where_they_are_wanted() {
    let customer = form("loyalty.v1.Customer", true);
    let told = customer.decode(Bytes::new()).unwrap();
    assert_eq!(told.get(), r#"{"id":"0","displayName":"","tier":"TIER_UNKNOWN"}"#);
    assert_eq!(form("loyalty.v1.Customer", false).decode(Bytes::new()).unwrap().get(), "{}");
    let all: Value =
        serde_json::from_str(form("loyalty.v1.Everything", true).decode(Bytes::new()).unwrap().get())
            .unwrap();
    assert_eq!((&all["tiers"], &all["counts"]), (&json!([]), &json!({})));
    assert!(all.get("maybe").is_none() && all.get("text").is_none() && all.get("at").is_none());
}

/// Requirement SV-6: messages that are no objects in JSON stand in one.
#[test]
fn wraps_what_is_no_object() {
    let text = form("google.protobuf.StringValue", true);
    assert_eq!(round_trip(&text, &json!({ "value": "x" })), json!({ "value": "x" }));
    assert_eq!(round_trip(&text, &json!({})), json!({ "value": "" }));
    let error = text.encode(&arguments(&json!({ "text": "x" }))).unwrap_err();
    assert!(error.message().contains("there is no parameter 'text', only 'value'"), "{error}");
    let error = text.encode(&arguments(&json!({ "value": 1 }))).unwrap_err();
    assert_eq!(error.parameter(), Some("value"));
    let free = form("google.protobuf.Struct", true);
    assert_eq!(round_trip(&free, &json!({ "a": { "b": 1.0 } })), json!({ "a": { "b": 1.0 } }));
    assert_eq!(round_trip(&form("google.protobuf.Empty", true), &json!({})), json!({}));
}

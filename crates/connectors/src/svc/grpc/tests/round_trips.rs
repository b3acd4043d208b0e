//! Messages that nobody would write come back as they went in.

use super::messages::{everything, round_trip};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| json!({ "anInt64": number.to_string() })),
        any::<u64>()
            .prop_map(|number| json!({ "aUint64": number.to_string(), "many": [number.to_string()] })),
        any::<i32>().prop_map(|number| json!({ "aSint32": number, "maybe": number })),
        any::<f64>()
            .prop_filter("finite", |float| float.is_finite() && *float != 0.0)
            .prop_map(|float| json!({ "aDouble": float })),
        any::<f32>()
            .prop_filter("finite", |float| float.is_finite() && *float != 0.0)
            .prop_map(|float| json!({ "aFloat": float })),
        any::<String>().prop_map(|text| json!({ "wrappedString": text, "text": text })),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(|bytes| {
            use base64::Engine;
            json!({ "someBytes": base64::engine::general_purpose::STANDARD.encode(bytes) })
        }),
        (0..253_402_300_799_i64, 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| {
            let time = chrono::DateTime::from_timestamp(seconds, nanos).unwrap();
            json!({ "at": time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true) })
        }),
        prop::collection::btree_map(any::<String>(), any::<i64>(), 1..5).prop_map(|map| {
            let map: serde_json::Map<_, _> =
                map.into_iter().map(|(key, number)| (key, number.to_string().into())).collect();
            json!({ "counts": map })
        }),
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| json!({ "child": inner })),
            inner.clone().prop_map(|inner| json!({ "nested": inner })),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|items| json!({ "children": items })),
            inner.prop_map(|inner| json!({ "others": { "7": inner } })),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Requirement SV-6: whatever fits comes back as it went in.
    #[test]
    fn any_message_comes_back(value in value()) {
        let form = everything();
        // Floats of 32 bits are written with fewer digits.
        let once = round_trip(&form, &value);
        prop_assert_eq!(&round_trip(&form, &once), &once);
        if !value.to_string().contains("aFloat") {
            prop_assert_eq!(once, value);
        }
    }

    /// Whatever a server sends is a message or an error, and never a panic.
    #[test]
    fn any_bytes_are_borne(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = everything().decode(bytes.into());
    }
}

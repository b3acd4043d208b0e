//! Settings that nobody would write.

use super::*;
use proptest::prelude::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[/{}a-z?#%.:]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let names = prop_oneof![
            Just("base_url".to_owned()),
            Just("tools".to_owned()),
            Just("parameters".to_owned()),
            Just("name".to_owned()),
            any::<String>()
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((names, inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_open_panic(settings in any_json()) {
        let _ = open(settings);
    }

    #[test]
    fn no_texts_in_well_formed_settings_make_open_panic(
        texts in proptest::collection::vec(any::<String>(), 8),
        endpoint in "[/{}a-z?#%.:\\\\]{0,20}",
        value in any_json(),
    ) {
        let _ = open(json!({
            "base_url": texts[0], "default_headers": { &texts[1]: &texts[2] },
            "auth": { "type": "apikey", "header": texts[3], "value": texts[4] },
            "tools": [{
                "id": texts[5], "endpoint": endpoint,
                "parameters": [{ "name": texts[6], "position": texts[7], "default_value": value }]
            }]
        }));
    }
}

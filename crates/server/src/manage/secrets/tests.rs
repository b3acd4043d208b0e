//! Secrets of settings: masked where they are shown, kept where they are left out.

use super::keeping::with_kept_secrets;
use super::masking::{Visibility, empty_masks, masked};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "properties": {
            "url": { "type": "string" },
            "auth": { "anyOf": [{ "$ref": "#/$defs/Auth" }, { "type": "null" }] },
            "headers": { "additionalProperties": { "type": "string" } },
        },
        "$defs": { "Auth": { "oneOf": [
            { "properties": { "type": { "const": "key" }, "value": { "writeOnly": true } } },
            { "properties": { "type": { "const": "basic" }, "user": {}, "password": { "writeOnly": true } } },
        ] } }
    })
}

#[test]
fn masks_secrets_behind_references_and_alternatives() {
    let settings = json!({
        "url": "u", "auth": { "type": "basic", "user": "ada", "password": "p" },
        "headers": { "Authorization": "Bearer x", "Accept": "a" }
    });
    assert_eq!(
        masked(&settings, &schema(), Visibility::Manager),
        json!({
            "url": "u", "auth": { "type": "basic", "user": "ada", "password": "***" },
            "headers": { "Authorization": "***", "Accept": "a" }
        })
    );
}

#[test]
fn masks_headers_by_their_names_and_for_those_who_may_not_manage_all_of_them() {
    let schema = json!({ "properties": {
        "headers": { "additionalProperties": { "x-secret": "header" } },
        "tools": { "items": { "properties": { "endpoint": { "x-secret": "query" } } } },
    } });
    let old = json!({
        "headers": { "Private-Token": "S1", "Accept": "a", "X-Tenant": "t" },
        "tools": [{ "endpoint": "/x?api_key=S2&q=1" }]
    });
    let of_manager = masked(&old, &schema, Visibility::Manager);
    assert_eq!(of_manager["headers"], json!({ "Private-Token": "***", "Accept": "a", "X-Tenant": "t" }));
    let of_other = masked(&old, &schema, Visibility::Other);
    assert_eq!(of_other["headers"], json!({ "Private-Token": "***", "Accept": "***", "X-Tenant": "***" }));
    for shown in [of_manager, of_other] {
        assert_eq!(shown["tools"][0]["endpoint"], "/x?api_key=***&q=1");
        assert_eq!(with_kept_secrets(shown, &old, &schema), old);
    }
    let fewer = json!({ "headers": { "Accept": "b", "Private-Token": null } });
    assert_eq!(with_kept_secrets(fewer, &old, &schema), json!({ "headers": { "Accept": "b" } }));
    let fewer = json!({ "headers": { "Accept": "b" } });
    let kept = json!({ "headers": { "Accept": "b", "Private-Token": "S1" } });
    assert_eq!(with_kept_secrets(fewer, &old, &schema), kept);
}

#[test]
fn keeps_a_secret_that_is_left_out_or_sent_back_masked() {
    let old = json!({ "url": "u", "auth": { "type": "key", "value": "old" } });
    for auth in [json!({ "type": "key" }), json!({ "type": "key", "value": "***" })] {
        let new = with_kept_secrets(json!({ "url": "v", "auth": auth }), &old, &schema());
        assert_eq!(new, json!({ "url": "v", "auth": { "type": "key", "value": "old" } }));
    }
    let new = json!({ "url": "v", "auth": { "type": "key", "value": "new" } });
    assert_eq!(with_kept_secrets(new.clone(), &old, &schema()), new);
    let new = json!({ "url": "v" });
    assert_eq!(with_kept_secrets(new.clone(), &old, &schema()), new);
}

#[test]
fn keeps_the_secrets_of_a_sign_in_whose_type_stays() {
    let schema = json!({ "properties": { "auth_config": { "properties": {
        "token": { "writeOnly": true }, "value": { "writeOnly": true } } } } });
    let old = json!({ "auth_type": "bearer", "auth_config": { "token": "old" } });
    let kept = |new: Value| with_kept_secrets(new, &old, &schema);
    for new in [
        json!({ "auth_type": "bearer" }),
        json!({ "auth_type": "bearer", "auth_config": null }),
        json!({ "auth_type": "bearer", "auth_config": {} }),
        json!({ "auth_type": "bearer", "auth_config": { "token": "***" } }),
    ] {
        assert_eq!(kept(new), old);
    }
    for new in [
        json!({}),
        json!({ "auth_type": "none" }),
        json!({ "auth_type": "none", "auth_config": {} }),
        json!({ "auth_type": "apikey", "auth_config": { "value": "new" } }),
        json!({ "auth": { "type": "bearer", "token": "new" } }),
    ] {
        assert_eq!(kept(new.clone()), new);
    }
}

#[test]
fn knows_a_header_in_either_case_and_finds_masks_without_a_secret() {
    let schema = json!({ "properties": {
        "url": { "x-secret": "query" },
        "headers": { "additionalProperties": { "x-secret": "header" } },
        "key": { "writeOnly": true }, "note": {},
    } });
    let old = json!({ "headers": { "X-Vault-Token": "S1" } });
    let kept = |headers: Value| with_kept_secrets(json!({ "headers": headers }), &old, &schema);
    assert_eq!(kept(json!({ "x-vault-token": "***" })), json!({ "headers": { "x-vault-token": "S1" } }));
    assert_eq!(kept(json!({ "x-vault-token": "S2" })), json!({ "headers": { "x-vault-token": "S2" } }));
    assert_eq!(kept(json!({ "x-vault-token": null })), json!({ "headers": {} }));
    let masks = |settings: Value| {
        empty_masks(&settings, &schema, "config").into_iter().map(|found| found.path).collect::<Vec<_>>()
    };
    let none = json!({ "url": "http://h/?key=a", "headers": { "A": "b" }, "key": "****", "note": "***" });
    assert_eq!(masks(none), Vec::<String>::new());
    let all = json!({ "url": "http://h/?key=***", "headers": { "A": "***" }, "key": "***" });
    assert_eq!(masks(all), ["config.url", "config.headers.A", "config.key"]);
}

#[test]
fn forgets_the_secrets_of_a_sign_in_of_another_type() {
    let old = json!({ "auth": { "type": "key", "value": "old" } });
    let new = json!({ "auth": { "type": "basic", "user": "ada" } });
    assert_eq!(with_kept_secrets(new.clone(), &old, &schema()), new);
}

#[test]
fn keeps_an_object_of_nothing_but_secrets_that_is_left_out() {
    let secret = || json!({ "type": "string", "writeOnly": true });
    let schema = json!({ "properties": {
        "bucket": {},
        "credentials": { "type": ["object", "null"], "properties": { "id": secret(), "key": secret() } },
        "tls": { "properties": { "key": secret(), "ca": {} } },
        "headers": { "additionalProperties": secret() },
    } });
    let credentials = json!({ "id": "i", "key": "k" });
    let old =
        json!({ "bucket": "b", "credentials": credentials, "tls": { "key": "t" }, "headers": { "a": "h" } });
    let kept = |new: Value| with_kept_secrets(new, &old, &schema);
    assert_eq!(kept(json!({ "bucket": "c" })), json!({ "bucket": "c", "credentials": credentials }));
    assert_eq!(kept(json!({ "credentials": null })), json!({ "credentials": null }));
    assert_eq!(
        kept(json!({ "credentials": { "id": "j" } })),
        json!({ "credentials": { "id": "j", "key": "k" } })
    );
}

//! Signatures of webhooks, against examples that their inventors publish.

use chrono::{DateTime, Utc};
use flow::Source;
use flow::webhook::{Received, verify};

fn source(fields: &str) -> Source {
    let text = format!("nodes: {{a: {{with: 1}}}}\ntriggers: [{{type: webhook, {fields}}}]");
    super::flow(&text).triggers.remove(0).source
}

fn check(fields: &str, secret: &str, headers: &[(&str, &str)], body: &str, now: i64) -> Result<(), String> {
    let header = |name: &str| {
        headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    };
    let received = Received { header: &header, body: body.as_bytes() };
    let now: DateTime<Utc> = DateTime::from_timestamp(now, 0).unwrap();
    verify(&source(fields), secret, &received, now).map_err(|refused| refused.to_string())
}

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const BODY: &str = r#"{"test": 2432232314}"#;
const SENT: i64 = 1_614_265_330;

/// FL-28: the signature and the age of a standard webhook.
#[test]
fn standard_webhooks_are_checked() {
    let standard = |id: &str, signature: &str, body: &str, now: i64| {
        let headers =
            [("webhook-id", id), ("webhook-timestamp", "1614265330"), ("Webhook-Signature", signature)];
        check("auth: standard", SECRET, &headers, body, now)
    };
    let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    assert_eq!(standard(id, SIGNATURE, BODY, SENT + 299), Ok(()));
    assert_eq!(standard(id, &format!("v1,AAAA v2,x {SIGNATURE}"), BODY, SENT - 10), Ok(()));
    assert_eq!(standard("msg_other", SIGNATURE, BODY, SENT), Err("'webhook-signature' is wrong".to_owned()));
    assert_eq!(standard(id, SIGNATURE, "{}", SENT), Err("'webhook-signature' is wrong".to_owned()));
    assert_eq!(standard(id, "v1,", BODY, SENT), Err("'webhook-signature' is wrong".to_owned()));
    for now in [SENT + 301, SENT - 301] {
        assert_eq!(
            standard(id, SIGNATURE, BODY, now),
            Err("'webhook-timestamp' is too old, or ahead of time".to_owned())
        );
    }
    let missing = check("auth: standard", SECRET, &[("webhook-id", id)], BODY, SENT);
    assert_eq!(missing, Err("the header 'webhook-timestamp' is missing".to_owned()));
    let odd =
        [("webhook-id", id), ("webhook-timestamp", "9999999999999999999"), ("webhook-signature", SIGNATURE)];
    assert!(check("auth: standard", SECRET, &odd, BODY, SENT).is_err());
}

/// FL-28: signatures as GitHub sends them.
#[test]
fn hmac_signatures_are_checked() {
    let fields = "auth: hmac, header: X-Hub-Signature-256, prefix: 'sha256='";
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let secret = "It's a Secret to Everybody";
    let github =
        |signature: &str, body: &str| check(fields, secret, &[("x-hub-signature-256", signature)], body, 0);
    assert_eq!(github(signature, "Hello, World!"), Ok(()));
    assert_eq!(github("sha256=dXEH6g6yUJ/CESIczphLijdXC211hsIsRvQ3nIsEPhc=", "Hello, World!"), Ok(()));
    for (signature, body) in
        [(signature, "Hello, World?"), ("sha256=", ""), ("sha256=7", ""), ("sha256=zz", "")]
    {
        assert_eq!(
            github(signature, body),
            Err("the signature in 'X-Hub-Signature-256' is wrong".to_owned())
        );
    }
    assert!(github("sha1=00", "").unwrap_err().contains("does not begin with"));
}

/// FL-28: tokens, in the usual header or another.
#[test]
fn tokens_are_checked() {
    assert_eq!(check("auth: token", "s3cret", &[("Authorization", "Bearer s3cret")], "", 0), Ok(()));
    assert_eq!(check("header: X-Token", "s3cret", &[("x-token", "s3cret")], "", 0), Ok(()));
    for headers in [&[("Authorization", "Bearer s3cre")][..], &[("Authorization", "s3cret")], &[]] {
        let error = check("auth: token", "s3cret", headers, "", 0).unwrap_err();
        assert!(!error.contains("s3cret"), "{error}");
    }
}

//! What each vendor takes: nothing that its own SDK would not have signed so.

use super::support::{VENDORS, call, cx, open, open_in, settings, somebody, taken};
use crate::mq::support::Home;
use serde_json::{Value, json};
use tool::ErrorKind;

/// SM-2, SM-3, SM-4, SM-5
#[tokio::test]
async fn sends_templates_signed_as_the_sdks_sign() {
    for vendor in VENDORS {
        let (service, number) = (open(&settings(vendor)), somebody());
        // In another order than the template has.
        let params = json!({ "minutes": 5, "code": "a b&c=中文~*'()" });
        let arguments = json!({ "to": number, "template": "SMS_001", "params": params });
        let (result, is_error, _) = call(&service, "verification_code", arguments).await.unwrap();
        assert!(!is_error && result["status"] == "accepted", "{vendor}: {result}");
        assert!(result["messageId"].as_str().is_some_and(|id| !id.is_empty()), "{vendor}: {result}");
        let message = taken(vendor, &number).await.remove(0);
        assert_eq!(message["template"], "SMS_001");
        let expected = match vendor {
            "aliyun" => json!({ "code": "a b&c=中文~*'()", "minutes": "5" }),
            "twilio" => json!("{\"code\":\"a b&c=中文~*'()\",\"minutes\":\"5\"}"),
            _ => json!(["a b&c=中文~*'()", "5"]),
        };
        assert_eq!(message["params"], expected, "{vendor}");
        assert_eq!(message["sign"], if vendor == "twilio" { Value::Null } else { json!("示例&公司") });
        service.health(&cx()).await.unwrap();
    }
}

/// SM-1
#[tokio::test]
async fn sends_words_of_callers_as_the_vendor_takes_them() {
    for vendor in VENDORS {
        let mut settings = settings(vendor);
        let tool = match vendor {
            "twilio" => json!({ "id": "welcome" }),
            _ => {
                json!({ "id": "welcome", "content_template": { "template": "SMS_002", "param": "content" } })
            }
        };
        settings["tools"] = json!([tool]);
        let (service, number) = (open(&settings), somebody());
        let (result, _, _) =
            call(&service, "welcome", json!({ "to": number, "content": "欢迎注册" })).await.unwrap();
        assert_eq!(result["status"], "accepted", "{vendor}: {result}");
        let message = taken(vendor, &number).await.remove(0);
        let found = match vendor {
            "twilio" => &message["content"],
            "aliyun" => &message["params"]["content"],
            _ => &message["params"][0],
        };
        assert_eq!(found, "欢迎注册", "{vendor}: {message}");
        if vendor != "twilio" {
            let error = call(&service, "send", json!({ "to": number, "content": "x" })).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
    }
}

/// SM-5
#[tokio::test]
async fn refuses_several_values_without_an_order_where_they_are_counted() {
    for vendor in ["tencent", "huawei"] {
        let (service, number) = (open(&settings(vendor)), somebody());
        let arguments =
            json!({ "to": number, "template": "SMS_001", "params": { "code": "1", "minutes": "5" } });
        let error = call(&service, "send", arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("params")), "{error}");
        assert!(taken(vendor, &number).await.is_empty());
    }
}

/// SM-6
#[tokio::test]
async fn splits_many_recipients_and_tells_the_fate_of_each_in_their_order() {
    for (vendor, people) in [("aliyun", 1500), ("tencent", 450), ("huawei", 700), ("twilio", 20)] {
        let service = open(&settings(vendor));
        let prefix = &somebody()[..6];
        // Numbers that end with 0000 are wrong at the vendor; Aliyun refuses the whole request for one.
        let first = if vendor == "aliyun" { 10_001 } else { 10_000 };
        let numbers: Vec<_> = (0..people).map(|index| format!("{prefix}{:05}", index + first)).collect();
        let wrong = numbers.iter().filter(|number| number.ends_with("0000")).count();
        assert_eq!(wrong, usize::from(vendor != "aliyun"), "{vendor}");
        let arguments = json!({ "to": numbers, "params": ["1", "5"] });
        let (result, _, _) = call(&service, "verification_code", arguments).await.unwrap();
        let told = result["recipients"].as_array().unwrap();
        assert!(told.iter().zip(&numbers).all(|(told, number)| told["to"] == number.as_str()), "{vendor}");
        let expected = |number: &String| if number.ends_with("0000") { "refused" } else { "accepted" };
        assert!(
            told.iter().zip(&numbers).all(|(told, number)| told["status"] == expected(number)),
            "{vendor}: {result}"
        );
        let taken = taken(vendor, "").await;
        let taken = taken.iter().filter(|message| message["to"].as_str().unwrap().contains(prefix)).count();
        assert_eq!(taken, people - wrong, "{vendor}");
    }
}

/// SM-6
#[tokio::test]
async fn one_wrong_number_stops_no_other_where_the_vendor_tells_them_apart() {
    for vendor in ["tencent", "huawei", "twilio"] {
        let (service, good, wrong) = (open(&settings(vendor)), somebody(), "13911110000");
        let arguments = json!({ "to": [wrong, good], "params": ["1", "5"] });
        let (result, is_error, _) = call(&service, "verification_code", arguments).await.unwrap();
        assert!(!is_error && result["status"] == "partial", "{vendor}: {result}");
        let statuses = [&result["recipients"][0]["status"], &result["recipients"][1]["status"]];
        assert_eq!(statuses, [&json!("refused"), &json!("accepted")], "{vendor}: {result}");
        assert!(result["recipients"][0]["code"].is_string(), "{vendor}: {result}");
    }
}

/// SM-7
#[tokio::test]
async fn says_neither_numbers_nor_words_in_errors() {
    for vendor in VENDORS {
        let service = open(&settings(vendor));
        let arguments = json!({ "to": "13911110000", "params": ["secret-code", "5"] });
        let (result, is_error, failure) = call(&service, "verification_code", arguments).await.unwrap();
        assert!(is_error && result["status"] == "failed", "{vendor}: {result}");
        assert!(
            !failure.contains("1391111") && !failure.contains("secret-code") && failure.contains("code"),
            "{failure}"
        );
        let error = call(
            &service,
            "verification_code",
            json!({ "to": "1391111x000", "params": ["secret-code", "5"] }),
        )
        .await;
        let error = error.unwrap_err();
        assert!(
            !error.full_message().contains("1391111") && !error.full_message().contains("secret-code"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn credentials_and_throttling_are_told_apart() {
    for vendor in VENDORS {
        let mut wrong_key = settings(vendor);
        wrong_key["api_key"] = json!("nobody");
        let mut wrong_secret = settings(vendor);
        wrong_secret["api_secret"] = json!("wrong");
        for settings in [wrong_key, wrong_secret] {
            let arguments = json!({ "to": somebody(), "params": ["1", "5"] });
            let error = call(&open(&settings), "verification_code", arguments).await.unwrap_err();
            assert!(
                error.kind() == ErrorKind::Upstream && error.is_about_credentials(),
                "{vendor}: {error:?}"
            );
            assert!(error.message().contains("'api_key' and 'api_secret'"), "{error}");
        }
    }
    for (vendor, code) in [
        ("aliyun", "isv.BUSINESS_LIMIT_CONTROL"),
        ("twilio", "20429"),
        ("tencent", "RequestLimitExceeded"),
        ("huawei", "APIG.0308"),
    ] {
        let arguments = json!({ "to": "13911119999", "params": ["1", "5"] });
        let error = call(&open(&settings(vendor)), "verification_code", arguments).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Upstream && error.is_retryable(), "{vendor}: {error:?}");
        assert_eq!(error.service_code(), Some(code));
        assert_eq!(error.context("attempts"), Some("2"), "it is tried again: {error:?}");
    }
}

/// SM-6: who was written to too often is told apart from the others, whom it does not stop.
#[tokio::test]
async fn numbers_that_are_written_to_too_often_are_deferred() {
    for (vendor, code) in [("tencent", "LimitExceeded.PhoneNumberDailyLimit"), ("huawei", "E200015")] {
        let (service, good) = (open(&settings(vendor)), somebody());
        let arguments = json!({ "to": ["13911119009", good], "params": ["1", "5"] });
        let (result, is_error, _) = call(&service, "verification_code", arguments).await.unwrap();
        assert!(!is_error && result["status"] == "partial", "{vendor}: {result}");
        let [often, other] = [&result["recipients"][0], &result["recipients"][1]];
        assert_eq!(
            (&often["status"], &often["code"]),
            (&json!("deferred"), &json!(code)),
            "{vendor}: {result}"
        );
        assert_eq!((&other["status"], taken(vendor, &good).await.len()), (&json!("accepted"), 1), "{vendor}");
    }
}

/// F10
#[tokio::test]
async fn a_clock_that_is_off_is_named() {
    for vendor in ["aliyun", "tencent", "huawei"] {
        let mut settings = settings(vendor);
        settings["api_key"] = json!("late-key");
        let arguments = json!({ "to": somebody(), "params": ["1", "5"] });
        let error = call(&open(&settings), "verification_code", arguments).await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Upstream && error.message().contains("set the clock"),
            "{vendor}: {error:?}"
        );
    }
}

#[tokio::test]
async fn sends_once_for_one_key() {
    let home = Home::new().await;
    let (service, number) = (open_in(&settings("tencent"), &home.env), somebody());
    let arguments = json!({ "to": number, "params": ["1", "5"], "idempotencyKey": "k1" });
    let (first, _, _) = call(&service, "verification_code", arguments.clone()).await.unwrap();
    let (second, _, _) = call(&service, "verification_code", arguments).await.unwrap();
    assert_eq!((&second["duplicate"], &second["messageId"]), (&json!(true), &first["messageId"]));
    assert_eq!(taken("tencent", &number).await.len(), 1);
}

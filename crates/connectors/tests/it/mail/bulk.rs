//! Mail to many.

use super::support::{address, arrival, arrived, call, mail, merge, open, plain, somebody, variable};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tool::ErrorKind;

fn statuses(result: &Value) -> Vec<(&str, &str)> {
    let told = result["recipients"].as_array().unwrap().iter();
    told.map(|told| (told["to"].as_str().unwrap(), told["status"].as_str().unwrap())).collect()
}

/// ML-5, ML-7, ML-8
#[tokio::test]
async fn a_list_gets_messages_of_their_own_and_each_has_a_fate() {
    let service = open(&plain(&variable("MCP_TEST_EXIM_URL")));
    let [one, refused, deferred, other] = ["list", "refused", "deferred", "list"].map(somebody);
    let (result, is_error) =
        call(&service, "send", mail(json!([one, refused, deferred, other]))).await.unwrap();
    assert!(!is_error);
    assert_eq!(result["status"], "partial");
    let expected = [(&*one, "sent"), (&*refused, "refused"), (&*deferred, "deferred"), (&*other, "sent")];
    assert_eq!(statuses(&result), expected, "{result}");
    assert_eq!(
        (&result["recipients"][1]["code"], &result["recipients"][2]["code"]),
        (&json!(550), &json!(451))
    );
    assert_eq!(result["recipients"][1]["message"], "no such user here");
    for (mine, others) in [(&one, &other), (&other, &one)] {
        let message = arrival(mine).await;
        assert!(message.contains(&format!("To: {mine}")) && !message.contains(others.as_str()), "{message}");
    }
}

/// ML-5, ML-7, ML-8
#[tokio::test]
async fn one_message_to_all_where_they_may_see_one_another_and_hides_the_rest() {
    let service = open(&plain(&variable("MCP_TEST_EXIM_URL")));
    let [one, other, copy, hidden, refused] = ["all", "all", "cc", "bcc", "refused"].map(somebody);
    let mut arguments = mail(json!([one, other]));
    merge(&mut arguments, &json!({ "cc": copy, "bcc": [hidden, refused] }));
    let (result, _) = call(&service, "send", arguments).await.unwrap();
    assert_eq!(result["status"], "partial", "{result}");
    assert_eq!(statuses(&result).iter().filter(|(_, status)| *status == "sent").count(), 4, "{result}");
    for person in [&one, &other, &copy, &hidden] {
        let message = arrival(person).await;
        assert!(
            message.contains(&format!("To: {one}, {other}")) || message.contains(&format!("To: {one},")),
            "{message}"
        );
        let visible = message.split("Message-ID:").nth(1).unwrap();
        assert!(!visible.contains(&hidden) && !message.to_lowercase().contains("\nbcc:"), "{message}");
    }
    let arguments = json!({ "to": [one, other], "together": true, "subject": "together", "body": "b" });
    let (result, _) = call(&service, "send", arguments).await.unwrap();
    let ids: Vec<_> =
        result["recipients"].as_array().unwrap().iter().map(|told| &told["messageId"]).collect();
    assert_eq!(ids[0], ids[1]);
}

/// ML-7
#[tokio::test]
async fn a_mail_that_nobody_takes_has_failed() {
    let service = open(&plain(&variable("MCP_TEST_EXIM_URL")));
    let (refused, good) = (somebody("refused"), somebody("good"));
    let (result, is_error) = call(&service, "send", mail(refused.as_str())).await.unwrap();
    assert!(is_error && result["status"] == "failed", "{result}");
    // The connection is as good as new.
    let (result, _) = call(&service, "send", mail(good.as_str())).await.unwrap();
    assert_eq!(result["status"], "sent", "{result}");
    assert_eq!(arrival(&good).await.matches("Envelope-to").count(), 1);
}

/// ML-5
#[tokio::test]
async fn says_what_was_not_sent_any_more_when_the_time_is_over() {
    let mut settings = plain(&variable("MCP_TEST_EXIM_URL"));
    merge(&mut settings, &json!({ "rate_per_minute": 6, "timeout_ms": 5000 }));
    let service = open(&settings);
    let people: Vec<_> = (0..4).map(|_| somebody("slow")).collect();
    let begin = Instant::now();
    let (result, _) = call(&service, "send", mail(json!(people))).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    let found: Vec<_> = statuses(&result).iter().map(|(_, status)| *status).collect();
    assert_eq!(found, ["sent", "deferred", "deferred", "deferred"], "{result}");
    assert!(result["recipients"][3]["message"].as_str().unwrap().contains("was not sent"), "{result}");
    arrival(&people[0]).await;
    assert!(people[1..].iter().all(|person| arrived(person).is_empty()));
}

#[tokio::test]
async fn writes_to_nobody_who_is_not_allowed() {
    let mut settings = plain(&variable("MCP_TEST_EXIM_URL"));
    merge(&mut settings, &json!({ "allow_recipients": ["team-*@tests.example"], "max_recipients": 2 }));
    let service = open(&settings);
    let (good, bad) = (somebody("team"), somebody("stranger"));
    for (parameter, arguments) in [
        ("to", json!({ "to": bad })),
        ("to", json!({ "to": [good, bad] })),
        ("cc", json!({ "to": good, "cc": bad })),
        ("bcc", json!({ "to": good, "bcc": [bad] })),
    ] {
        let mut whole = mail("x");
        merge(&mut whole, &arguments);
        let error = call(&service, "send", whole).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Denied, Some(parameter)), "{error}");
        assert!(error.message().contains("'allow_recipients'"), "{error}");
    }
    let many: Vec<_> = (0..3).map(|_| somebody("team")).collect();
    let error = call(&service, "send", mail(json!(many))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(arrived(&good).is_empty() && address().1 > 0);
}

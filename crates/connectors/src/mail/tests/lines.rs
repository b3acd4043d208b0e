//! What must not break a line of a mail, nor stand in it.

use super::*;

/// What breaks a line, or turns it around where it is shown.
const EVIL: [&str; 9] = [
    "\r\nBcc: eve@example.com",
    "\nX: y",
    "\ry",
    "\0",
    "\ty",
    "\u{85}",
    "\u{1b}[2J",
    "\u{2028}",
    "\u{202e}txt",
];

/// ML-6
#[tokio::test]
async fn refuses_line_breaks_wherever_they_could_write_headers() {
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({
        "templates": { "t": { "subject": "{{ .x }}", "body": "b" } },
        "tools": [{ "id": "fixed", "to": ["ops@example.com"], "template": "t" }],
    });
    let service = open(settings, folder.path());
    let good = json!({ "to": "a@example.com", "subject": "s", "body": "b" });
    for evil in EVIL {
        for (parameter, change) in [
            ("to", json!({ "to": format!("a@example.com{evil}") })),
            ("to", json!({ "to": [format!("A{evil} <a@example.com>")] })),
            ("cc", json!({ "cc": format!("a@example.com{evil}") })),
            ("bcc", json!({ "bcc": format!("a@example.com{evil}") })),
            ("replyTo", json!({ "replyTo": format!("a@example.com{evil}") })),
            ("subject", json!({ "subject": format!("s{evil}") })),
            ("headers.X-A", json!({ "headers": { "X-A": format!("v{evil}") } })),
            ("headers", json!({ "headers": { format!("X-A{evil}"): "v" } })),
            (
                "attachments[0].name",
                json!({ "attachments": [{ "name": format!("a{evil}.txt"), "content": "x" }] }),
            ),
            (
                "attachments[0].contentType",
                json!({ "attachments": [{ "name": "a", "contentType": format!("text/plain{evil}"), "content": "x" }] }),
            ),
            (
                "attachments[0].cid",
                json!({ "contentType": "html", "attachments": [{ "name": "a", "cid": format!("c{evil}"), "content": "x" }] }),
            ),
            (
                "subject",
                json!({ "template": "t", "subject": null, "body": null, "variables": { "x": format!("v{evil}") } }),
            ),
        ] {
            let mut arguments = good.clone();
            for (name, value) in change.as_object().unwrap() {
                arguments[name] = value.clone();
            }
            let error = send(&service, "send", arguments.clone()).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.parameter()),
                (ErrorKind::InvalidInput, Some(parameter)),
                "{arguments}: {error}"
            );
        }
        let error =
            send(&service, "fixed", json!({ "variables": { "x": format!("v{evil}") } })).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("subject")), "{error}");
    }
    assert!(kept(folder.path()).is_empty());
}

#[tokio::test]
async fn refuses_what_no_mail_can_carry() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    let arguments = json!({ "to": "a@example.com", "subject": "s", "body": "a\0b" });
    let error = send(&service, "send", arguments).await.unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("body")), "{error}");
    assert!(kept(folder.path()).is_empty());
}

//! What every connector must do, what the settings refuse, and mail in a folder; servers are tried in `tests/it/mail`.

mod lines;

use super::Settings;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{self, Capability, Sample, Subject, Tested};
use tool::{Connector, Env, ErrorKind, Kind, Outcome};

fn subject(settings: Value, dead_settings: Capability<Value>, env: Env, secrets: Vec<String>) -> Subject {
    Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings,
        dead_settings,
        env,
        secrets,
        good: Sample::new("send", json!({ "to": "ada@tests.example", "subject": "s", "body": "b" })),
        bad: Sample::new("send", json!({ "to": "nobody", "subject": "s", "body": "b" })),
        bad_argument: "to",
        slow: Capability::Absent("a folder of this machine is never slow"),
        echo: Capability::Absent("a mail needs more than one argument"),
        undescribed: Capability::Has(&[]),
    }
}

fn in_folder(folder: &Path) -> Env {
    Env { data_dir: Some(folder.to_owned()), service: Some("it".to_owned()), ..Env::default() }
}

#[tokio::test]
async fn conforms_like_every_connector_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let identity = testkit::certificates::Authority::new().identity("client");
    // Of no use to a folder, but a secret.
    let settings = json!({ "tls": { "certificate": identity.certificate, "key": identity.key } });
    let dead = Capability::Absent("a folder of this machine is never dead");
    conformance::check(&subject(settings, dead, in_folder(folder.path()), vec![identity.key])).await;
}

#[tokio::test]
async fn conforms_like_every_connector_on_exim() {
    let needed = |name: &str| {
        std::env::var(name).unwrap_or_else(|_| {
            panic!("{name} is not set: use `make test` or `scripts/servers run exim -- cargo nextest run`")
        })
    };
    let ca = std::fs::read_to_string(needed("MCP_TEST_EXIM_CA")).unwrap();
    let settings = |address: &str| {
        let (host, port) = address.rsplit_once(':').unwrap();
        json!({
            "smtp_host": host, "smtp_port": port.parse::<u16>().unwrap(), "username": "tester", "password": "tester-password",
            "from_address": "it@tests.example", "allow_private_network": true, "tls": { "ca": ca },
            "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
        })
    };
    let dead = testkit::http::dead_address().await.to_string();
    let slow = testkit::http::Server::start().await;
    let file = json!([{ "name": "slow.txt", "source": { "url": format!("{}/slow/20000", slow.url()) } }]);
    let arguments = json!({ "to": "ada@tests.example", "subject": "s", "body": "b", "attachments": file });
    let folder = tempfile::tempdir().unwrap();
    let subject = Subject {
        slow: Capability::Has(Sample::new("send", arguments)),
        ..subject(
            settings(&needed("MCP_TEST_EXIM_URL")),
            Capability::Has(settings(&dead)),
            Env { allow_private_sources: true, ..in_folder(folder.path()) },
            vec!["tester-password".to_owned()],
        )
    };
    conformance::check(&subject).await;
}

fn open(settings: Value, folder: &Path) -> Arc<dyn Connector> {
    Kind::of::<Settings>().open(settings, &in_folder(folder)).unwrap()
}

async fn send(connector: &Arc<dyn Connector>, tool: &str, arguments: Value) -> tool::Result<Value> {
    let call = conformance::call(tool, arguments.as_object().cloned().unwrap());
    let cx = conformance::context(Duration::from_secs(30));
    match conformance::bind_and_call(&**connector, &cx, call).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn kept(folder: &Path) -> Vec<String> {
    let folder = folder.join("tenants/default/mail/it");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[tokio::test]
async fn keeps_mail_in_a_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    let arguments = json!({ "to": "Ada Lovelace <ada@example.com>", "subject": "hi", "body": "there", "replyTo": "it@example.com",
                            "headers": { "X-Ticket": "7", "In-Reply-To": "<1@example.com>" } });
    let result = send(&service, "send", arguments).await.unwrap();
    assert_eq!(result["status"], "sent");
    let message = kept(folder.path()).remove(0);
    for expected in [
        "To: \"Ada Lovelace\" <ada@example.com>\r\n",
        "Subject: hi\r\n",
        "Reply-To: it@example.com\r\n",
        "X-Ticket: 7\r\n",
        "In-Reply-To: <1@example.com>\r\n",
        "MIME-Version: 1.0\r\n",
        "\r\n\r\nthere",
    ] {
        assert!(
            message.contains(expected) || message.contains(&expected.replace('"', "")),
            "{expected} is not in {message}"
        );
    }
}

/// ML-5: who is named twice is written to once, and has a status in both places.
#[tokio::test]
async fn tells_a_status_for_each_who_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    let [ada, bob, eve] = ["ada@example.com", "bob@example.com", "eve@example.com"];
    let (to, copy) = ([ada, bob, "Ada <ada@EXAMPLE.com>", bob], [eve, ada]);
    for (arguments, named, messages) in [
        (json!({ "to": to }), &[ada, bob, ada, bob][..], 2),
        (json!({ "to": to, "cc": copy }), &[ada, bob, ada, bob, eve, ada][..], 3),
    ] {
        let mut arguments = arguments;
        (arguments["subject"], arguments["body"]) = (json!("s"), json!("b"));
        let sent = send(&service, "send", arguments).await.unwrap();
        let told = sent["recipients"].as_array().unwrap();
        assert_eq!(told.iter().map(|told| told["to"].as_str().unwrap()).collect::<Vec<_>>(), named);
        assert!(told.iter().all(|told| told["status"] == "sent"), "{sent}");
        assert_eq!(kept(folder.path()).len(), messages, "with those before");
    }
}

/// ML-4: what would change nothing is refused by its name.
#[tokio::test]
async fn refuses_variables_without_a_template() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    let arguments =
        json!({ "to": "ada@example.com", "subject": "s", "body": "b", "variables": { "name": "Ada" } });
    let error = send(&service, "send", arguments).await.unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("variables")), "{error}");
    assert!(kept(folder.path()).is_empty());
}

/// ML-6
#[tokio::test]
async fn refuses_headers_that_are_not_for_callers() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    for name in [
        "Bcc",
        "To",
        "From",
        "Subject",
        "Received",
        "Content-Type",
        "DKIM-Signature",
        "X-",
        "X:Y",
        "Return-Path",
        "",
    ] {
        let arguments =
            json!({ "to": "a@example.com", "subject": "s", "body": "b", "headers": { name: "v" } });
        let error = send(&service, "send", arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
    }
}

#[tokio::test]
async fn what_a_tool_fixes_is_no_argument() {
    let folder = tempfile::tempdir().unwrap();
    let settings = json!({
        "templates": { "t": { "subject": "{{ .x }}", "body": "b" } },
        "tools": [{ "id": "fixed", "to": ["ops@example.com"], "template": "t", "from": "Robot <robot@example.com>" }],
    });
    let service = open(settings, folder.path());
    for (parameter, value) in [
        ("to", json!("eve@example.com")),
        ("cc", json!("eve@example.com")),
        ("bcc", json!("eve@example.com")),
        ("subject", json!("s")),
        ("body", json!("b")),
        ("template", json!("other")),
    ] {
        let mut arguments = json!({ "variables": { "x": "v" } });
        arguments[parameter] = value;
        let error = send(&service, "fixed", arguments).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains(parameter), "{error}");
    }
    let result =
        send(&service, "fixed", json!({ "template": "t", "variables": { "x": "v" } })).await.unwrap();
    assert_eq!(result["recipients"][0]["to"], "ops@example.com");
    assert!(kept(folder.path())[0].contains("<robot@example.com>"));
}

#[tokio::test]
async fn refuses_mail_that_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({ "max_message_bytes": 2048 }), folder.path());
    let file = json!([{ "name": "a.bin", "content": "A".repeat(4000), "encoding": "utf8" }]);
    for (parameter, more) in
        [("body", json!({ "body": "b".repeat(3000) })), ("attachments[0]", json!({ "attachments": file }))]
    {
        let mut arguments = json!({ "to": "a@example.com", "subject": "s", "body": "b" });
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        let error = send(&service, "send", arguments).await.unwrap_err();
        assert!(
            error.parameter() == Some(parameter) && error.message().contains("'max_message_bytes'"),
            "{error}"
        );
    }
}

#[test]
fn refuses_settings_that_cannot_work() {
    let folder = tempfile::tempdir().unwrap();
    let smtp = |more: Value| {
        let mut settings = json!({ "smtp_host": "smtp.example.com", "from_address": "it@example.com" });
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        settings
    };
    for (settings, path) in [
        (json!({ "provider": "pigeon" }), "provider"),
        (json!({ "provider": "smtp", "from_address": "it@example.com" }), "smtp_host"),
        (json!({ "provider": "file", "smtp_host": "h" }), "smtp_host"),
        (json!({ "username": "u", "password": "p" }), "password"),
        (json!({ "smtp_host": "smtp.example.com" }), "from_address"),
        (smtp(json!({ "smtp_host": "smtp.example.com\r\n" })), "smtp_host"),
        (smtp(json!({ "from_address": "it" })), "from_address"),
        (smtp(json!({ "from_name": "a\r\nb" })), "from_name"),
        (smtp(json!({ "username": "u" })), "password"),
        (smtp(json!({ "username": "u", "password": "p", "security": "none" })), "security"),
        (smtp(json!({ "allow_recipients": ["example.com"] })), "allow_recipients[0]"),
        (smtp(json!({ "dsn": ["always"] })), "dsn[0]"),
        (json!({ "templates": { "t": { "subject": "{{ .x ", "body": "" } } }), "templates.t.subject"),
        (json!({ "templates": { "t": { "subject": "", "body": "{{ nothing }}" } } }), "templates.t.body"),
        (json!({ "tools": [{ "id": "a b" }] }), "tools[0].id"),
        (json!({ "tools": [{ "id": "a" }, { "id": "a" }] }), "tools[1].id"),
        (json!({ "tools": [{ "id": "a", "to": ["x"] }] }), "tools[0].to[0]"),
        (json!({ "tools": [{ "id": "a", "template": "none" }] }), "tools[0].template"),
        (
            json!({ "allow_recipients": ["*@a.example"], "tools": [{ "id": "a", "to": ["x@b.example"] }] }),
            "tools[0].to[0]",
        ),
    ] {
        let error = Kind::of::<Settings>().open(settings.clone(), &in_folder(folder.path())).err();
        let error = error.unwrap_or_else(|| panic!("{settings} must be refused"));
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        let found: Vec<_> = error.problems().iter().map(|problem| problem.path.as_str()).collect();
        assert!(found.contains(&path), "{settings}: {found:?}");
    }
}

/// Whatever breaks a line, and in whatever encoding.
#[tokio::test]
async fn lines_end_as_those_of_mail_do() {
    for body in ["a\rb\nc\r\nd", "中\rb\nc\r\nd"] {
        let folder = tempfile::tempdir().unwrap();
        let service = open(json!({}), folder.path());
        let arguments = json!({ "to": "a@example.com", "subject": "s", "body": body });
        send(&service, "send", arguments).await.unwrap();
        let mail = kept(folder.path()).pop().unwrap();
        let (_, content) = mail.split_once("\r\n\r\n").unwrap();
        let packed: String = content.split_whitespace().collect();
        let decoded = BASE64_STANDARD.decode(packed).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let said = decoded.unwrap_or_else(|| content.to_owned());
        assert!(said.trim_end().ends_with("\r\nb\r\nc\r\nd"), "{said:?}");
    }
}

#[tokio::test]
async fn refuses_words_that_no_line_holds() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    let long = "x".repeat(950);
    for (parameter, change) in
        [("subject", json!({ "subject": long })), ("headers.X-A", json!({ "headers": { "X-A": long } }))]
    {
        let mut arguments = json!({ "to": "a@example.com", "subject": "s", "body": "b" });
        arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let error = send(&service, "send", arguments).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some(parameter)), "{error}");
    }
    let words = json!({ "to": "a@example.com", "subject": "中".repeat(950), "body": "b" });
    send(&service, "send", words).await.unwrap();
    let mail = kept(folder.path()).pop().unwrap();
    assert!(mail.lines().all(|line| line.len() <= 998), "{mail}");
}

/// ML-3: a mail within a mail is not encoded (RFC 2046, 5.2.1); one that would have to be is a file.
#[tokio::test]
async fn a_mail_goes_along_as_it_is() {
    let inner = "Subject: inner\n\n.line\n";
    for (content, is_whole) in [
        (inner.to_owned(), true),
        (format!("{inner}{}", "x".repeat(999)), false),
        (format!("{inner}中"), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let service = open(json!({}), folder.path());
        let file = json!([{ "name": "a.eml", "contentType": "message/rfc822", "content": content, "encoding": "utf8" }]);
        let arguments = json!({ "to": "ada@example.com", "subject": "s", "body": "b", "attachments": file });
        send(&service, "send", arguments).await.unwrap();
        let message = kept(folder.path()).remove(0);
        assert_eq!(message.contains("message/rfc822"), is_whole, "{message}");
        assert_eq!(message.contains("Subject: inner\r\n\r\n.line\r\n"), is_whole, "{message}");
        assert_eq!(message.contains("base64"), !is_whole, "{message}");
        assert_eq!(message.contains("application/octet-stream"), !is_whole, "{message}");
    }
}

/// ML-6: what looks like an encoded word is shown as it was given.
#[tokio::test]
async fn what_looks_encoded_is_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    let tricky = "=?utf-8?q?Boss_=3Cboss=40example=2Ecom=3E?= ".repeat(3);
    let arguments = json!({ "to": "ada@example.com", "subject": tricky.trim(), "body": "b", "headers": { "X-Note": "a =? b" } });
    send(&service, "send", arguments).await.unwrap();
    let message = kept(folder.path()).remove(0);
    assert!(!message.contains("utf-8?q?Boss"), "{message}");
    let subject = message.split("Subject: ").nth(1).unwrap().split("\r\n").collect::<Vec<_>>();
    let words = subject.iter().take_while(|line| line.trim().starts_with("=?utf-8?b?"));
    let words: Vec<u8> = words
        .flat_map(|word| {
            assert!(word.trim().len() <= 75, "{word}");
            BASE64_STANDARD
                .decode(word.trim().trim_start_matches("=?utf-8?b?").trim_end_matches("?="))
                .unwrap()
        })
        .collect();
    assert_eq!(String::from_utf8(words).unwrap(), tricky.trim());
    assert!(
        message.contains(&format!("X-Note: =?utf-8?b?{}?=\r\n", BASE64_STANDARD.encode("a =? b"))),
        "{message}"
    );
}

/// One domain in two cases is one, and so is one header.
#[tokio::test]
async fn writes_once_to_somebody_who_stands_there_twice() {
    let folder = tempfile::tempdir().unwrap();
    let service = open(json!({}), folder.path());
    let arguments = json!({ "to": ["ada@example.com", "ada@EXAMPLE.com", "Ada@example.com"], "subject": "s", "body": "b" });
    let result = send(&service, "send", arguments).await.unwrap();
    assert_eq!(result["recipients"].as_array().unwrap().len(), 3, "{result}");
    assert_eq!(kept(folder.path()).len(), 2);
    let twice = json!({ "to": "ada@example.com", "subject": "s", "body": "b", "headers": { "X-A": "1", "x-a": "2" } });
    let error = send(&service, "send", twice).await.unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("headers")));
}

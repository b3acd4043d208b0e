//! Mail through a real server.

use super::support::{
    arrival, arrived, call, cx, mail, merge, open, open_in, plain, secure, somebody, split, variable,
};
use serde_json::json;
use tool::{Env, ErrorKind};

/// ML-1
#[tokio::test]
async fn sends_text_with_starttls_and_a_password() {
    let service = open(&secure());
    // The server takes mail for this one only from those who signed in.
    let to = somebody("private");
    let (result, is_error) = call(&service, "send", mail(to.as_str())).await.unwrap();
    assert!(!is_error && result["status"] == "sent", "{result}");
    let id = result["messageId"].as_str().unwrap();
    assert_eq!(result["recipients"][0]["messageId"], id);
    assert_eq!((&result["recipients"][0]["to"], &result["recipients"][0]["code"]), (&json!(to), &json!(250)));
    let message = arrival(&to).await;
    for expected in [
        "with esmtpsa",
        &format!("Message-ID: {id}"),
        "From: IT <it@tests.example>",
        "Subject: =?utf-8?b?5qyi6L+O?=",
        "Content-Type: text/plain; charset=utf-8",
    ] {
        assert!(message.contains(expected), "{expected} is not in {message}");
    }
    service.health(&cx()).await.unwrap();
}

/// ML-1
#[tokio::test]
async fn sends_with_tls_from_the_beginning() {
    let (host, port) = split(&variable("MCP_TEST_EXIM_TLS_URL"));
    let mut settings = secure();
    merge(&mut settings, &json!({ "smtp_host": host, "smtp_port": port, "security": "tls" }));
    let to = somebody("private");
    let (result, _) = call(&open(&settings), "send", mail(to.as_str())).await.unwrap();
    assert_eq!(result["status"], "sent", "{result}");
    assert!(arrival(&to).await.contains("with esmtpsa"));
}

/// ML-2
#[tokio::test]
async fn sends_html_with_text_beside_it() {
    let service = open(&plain(&variable("MCP_TEST_EXIM_URL")));
    let to = somebody("html");
    let arguments = json!({ "to": to, "subject": "s", "body": "<h1>欢迎</h1>", "contentType": "html", "text": "welcome" });
    call(&service, "send", arguments).await.unwrap();
    let message = arrival(&to).await;
    assert!(
        message.contains("multipart/alternative") && message.contains("text/html; charset=utf-8"),
        "{message}"
    );
    let (text, html) = (message.find("text/plain").unwrap(), message.find("text/html").unwrap());
    assert!(text < html, "the best comes last: {message}");
    let to = somebody("html");
    call(&service, "send", json!({ "to": to, "subject": "s", "body": "<h1>x</h1>", "contentType": "html" }))
        .await
        .unwrap();
    let message = arrival(&to).await;
    assert!(
        message.contains("Content-Type: text/html; charset=utf-8") && message.contains("<h1>x</h1>"),
        "{message}"
    );
}

/// ML-3
#[tokio::test]
async fn attaches_files_from_arguments_addresses_and_within_the_body() {
    let web = testkit::http::Server::start().await;
    let env = Env { allow_private_sources: true, ..Env::default() };
    let service = open_in(&plain(&variable("MCP_TEST_EXIM_URL")), &env);
    let to = somebody("files");
    let attachments = json!([
        { "name": "report.pdf", "content": "JVBERi0xLjcK" },
        { "name": "表.csv", "content": "a;b\n1;2\n" },
        { "name": "page.txt", "source": { "url": format!("{}/text", web.url()) } },
        { "name": "logo.png", "content": "iVBORw0KGgo=", "cid": "logo" },
    ]);
    let arguments = json!({ "to": to, "subject": "s", "body": "<img src=\"cid:logo\">", "contentType": "html", "attachments": attachments });
    let (result, _) = call(&service, "send", arguments).await.unwrap();
    assert_eq!(result["status"], "sent", "{result}");
    let message = arrival(&to).await;
    for expected in [
        "multipart/mixed",
        "multipart/related",
        "Content-Disposition: attachment; filename=\"report.pdf\"",
        "JVBERi0xLjcK",
        "filename*0*=utf-8''",
        "text/csv; charset=utf-8",
        "YTtiCjE7Mgo=",
        "Content-ID: <logo>",
        "filename=\"page.txt\"",
    ] {
        assert!(message.contains(expected), "{expected} is not in {message}");
    }
}

/// ML-4
#[tokio::test]
async fn renders_templates_that_a_tool_leaves_to_its_callers() {
    let to = somebody("ops");
    let mut settings = plain(&variable("MCP_TEST_EXIM_URL"));
    merge(
        &mut settings,
        &json!({
            "templates": { "alert": { "subject": "[{{ .system }}]", "body": "<p>{{ .error }}</p>", "contentType": "html" } },
            "tools": [{ "id": "notify", "to": [to] }],
        }),
    );
    let service = open(&settings);
    let arguments = json!({ "template": "alert", "variables": { "system": "订单系统", "error": "<超时>" } });
    let (result, _) = call(&service, "notify", arguments).await.unwrap();
    assert_eq!((&result["status"], &result["recipients"][0]["to"]), (&json!("sent"), &json!(to)), "{result}");
    let message = arrival(&to).await;
    assert!(message.contains("Subject: =?utf-8?b?W+iuouWNleezu+e7n10=?="), "{message}");
    assert!(message.contains("&lt;") && message.contains("text/html"), "{message}");
    let error = call(&service, "notify", json!({ "template": "alert", "variables": { "system": "x" } }))
        .await
        .unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidInput && error.message().contains("error, system"), "{error}");
}

/// ML-11: values are escaped on their way to the server, but for those that the template takes as HTML.
#[tokio::test]
async fn escapes_values_that_the_template_does_not_take_as_html() {
    let mut settings = plain(&variable("MCP_TEST_EXIM_URL"));
    let template = json!({ "subject": "s", "body": "<p>{{ .name }}</p>{{ .table }}", "contentType": "html", "raw": ["table"] });
    merge(&mut settings, &json!({ "templates": { "report": template } }));
    let (service, to) = (open(&settings), somebody("raw"));
    let variables = json!({ "name": "<b>Ada</b>", "table": "<table><tr><td>1</td></tr></table>" });
    call(&service, "send", json!({ "to": to, "template": "report", "variables": variables })).await.unwrap();
    let message = arrival(&to).await;
    assert!(message.contains("<p>&lt;b&gt;Ada&lt;/b&gt;</p><table><tr><td>1</td></tr></table>"), "{message}");
}

/// ML-6
#[tokio::test]
async fn lines_of_a_body_end_nothing_and_bare_line_breaks_are_made_whole() {
    let service = open(&plain(&variable("MCP_TEST_EXIM_URL")));
    let (to, eve) = (somebody("dots"), somebody("eve"));
    let body = format!("one\n.\nMAIL FROM:<eve@tests.example>\r\nRCPT TO:<{eve}>\r.\r\n..two");
    call(&service, "send", json!({ "to": to, "subject": "s", "body": body })).await.unwrap();
    let message = arrival(&to).await;
    assert!(message.contains("MAIL FROM:<eve@tests.example>"), "{message}");
    assert!(message.contains("\n.\n") && message.trim_end().ends_with("..two"), "{message}");
    assert_eq!(arrived(&eve).len(), 0);
}

#[tokio::test]
async fn asks_for_reports_where_the_server_has_them() {
    let mut settings = plain(&variable("MCP_TEST_EXIM_URL"));
    merge(&mut settings, &json!({ "dsn": ["success", "failure"] }));
    let meddler =
        super::meddler::Meddler::start(&variable("MCP_TEST_EXIM_URL"), super::meddler::Meddling::Nothing)
            .await;
    let (host, port) = split(&meddler.address());
    merge(&mut settings, &json!({ "smtp_host": host, "smtp_port": port }));
    let to = somebody("dsn");
    call(&open(&settings), "send", mail(to.as_str())).await.unwrap();
    assert!(
        meddler.said().contains(&format!("RCPT TO:<{to}> NOTIFY=SUCCESS,FAILURE\r\n")),
        "{}",
        meddler.said()
    );
}

#[tokio::test]
async fn wrong_passwords_are_named_as_such() {
    let mut settings = secure();
    merge(&mut settings, &json!({ "password": "wrong-password" }));
    let service = open(&settings);
    for error in [
        call(&service, "send", mail(somebody("private"))).await.unwrap_err(),
        service.health(&cx()).await.unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.is_about_credentials()), (ErrorKind::Upstream, true), "{error:?}");
        assert!(error.message().contains("'username' and 'password'"), "{error}");
    }
}

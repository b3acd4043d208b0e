//! Servers that want tokens: fetched once for all, renewed in time, given to nobody else.

use super::*;
use crate::Login;
use fetch::Url;
use std::path::Path;
use testkit::mcp::http::{Behaviour, Server};
use testkit::oauth::{self, Provider};

async fn guarded(behaviour: oauth::Behaviour) -> (Provider, Server) {
    let provider = Provider::start(behaviour).await;
    let guard = Some(provider.guard());
    (provider, Server::start(Behaviour { guard, ..Behaviour::default() }).await)
}

fn settings(server: &Server, secret: &str) -> Value {
    json!({
        "type": "http", "url": server.url(), "allow_private_network": ["127.0.0.1"], "auth_type": "oauth2",
        "auth_config": { "client_id": "us", "client_secret": secret }
    })
}

fn attended(server: &Server, file: &Path) -> Value {
    json!({ "type": "http", "url": server.url(), "allow_private_network": ["127.0.0.1"], "login_file": file })
}

async fn say(service: &dyn Connector, word: &str) -> String {
    text(service, "echo", json!({ "text": word })).await
}

fn refusals(server: &Server, status: &str) -> usize {
    server.seen().iter().filter(|what| *what == status).count()
}

/// MC-5
#[tokio::test]
async fn many_callers_share_one_token_which_is_renewed_before_its_end() {
    let life = Duration::from_secs(2);
    let (provider, server) = guarded(oauth::Behaviour { life, ..oauth::Behaviour::default() }).await;
    let service = open(settings(&server, "right-secret")).unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..30 {
        let service = service.clone();
        calls.spawn(async move { say(&*service, &number.to_string()).await });
    }
    assert_eq!(calls.join_all().await.len(), 30);
    assert_eq!(provider.asked(), ["client_credentials read"]);
    let refused = refusals(&server, "401");
    tokio::time::sleep(Duration::from_millis(1700)).await;
    assert_eq!(say(&*service, "later").await, "later");
    assert_eq!(provider.asked(), ["client_credentials read"; 2]);
    assert_eq!(refusals(&server, "401"), refused, "the old token was not tried");
}

#[tokio::test]
async fn a_token_that_ends_early_is_replaced_once_and_every_call_is_made() {
    let (provider, server) = guarded(oauth::Behaviour::default()).await;
    let service = open(settings(&server, "right-secret")).unwrap();
    say(&*service, "a").await;
    provider.forget_tokens();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..30 {
        let service = service.clone();
        calls.spawn(async move { say(&*service, &number.to_string()).await });
    }
    assert_eq!(calls.join_all().await.len(), 30);
    assert!(refusals(&server, "401") > 2, "many were refused at once");
    assert_eq!(provider.asked().len(), 2, "and one has fetched for all");
    assert_eq!(server.seen().iter().filter(|what| *what == "POST initialize").count(), 1, "one session");
}

/// The stream of this server ends too early to be used, after it was opened with a token.
#[tokio::test]
async fn opens_a_stream_of_the_older_kind_with_a_token() {
    let (provider, server) = guarded(oauth::Behaviour::default()).await;
    let (guard, endpoint) = (Some(provider.guard()), Some("/mcp".to_owned()));
    server.behave(Behaviour { guard, endpoint, ..Behaviour::default() });
    let mut settings = settings(&server, "right-secret");
    settings["type"] = json!("sse");
    let error = error_of(&*open(settings).unwrap(), "echo", json!({})).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!((provider.asked().len(), refusals(&server, "401")), (1, 1));
    assert_eq!(server.seen()[..3], ["GET", "401", "GET"]);
}

#[tokio::test]
async fn a_wrong_secret_is_said_and_not_shown_and_not_tried_by_everybody() {
    let (provider, server) = guarded(oauth::Behaviour::default()).await;
    let service = open(settings(&server, "wrong-secret")).unwrap();
    for _ in 0..5 {
        let error = error_of(&*service, "echo", json!({})).await;
        assert_eq!(
            (error.kind(), error.reason()),
            (ErrorKind::Upstream, Some(Reason::CredentialsRejected)),
            "{error}"
        );
        assert!(error.message().contains("invalid_client"), "{error}");
        assert!(!format!("{error:?}").contains("wrong-secret"), "{error:?}");
    }
    assert_eq!(provider.asked().len(), 1);
}

#[tokio::test]
async fn a_provider_that_is_down_is_unavailable_and_can_be_tried_later() {
    let (provider, server) = guarded(oauth::Behaviour { is_down: true, ..oauth::Behaviour::default() }).await;
    let mut settings = settings(&server, "right-secret");
    settings["reconnectInterval"] = json!(1);
    let service = open(settings).unwrap();
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    provider.behave(oauth::Behaviour::default());
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(say(&*service, "up").await, "up");
}

#[tokio::test]
async fn asks_for_more_when_a_tool_needs_more_and_gives_up_when_that_does_not_help() {
    let (provider, server) = guarded(oauth::Behaviour::default()).await;
    let service = open(settings(&server, "right-secret")).unwrap();
    say(&*service, "a").await;
    call(&*service, "raw", json!({})).await.unwrap();
    assert_eq!(provider.asked(), ["client_credentials read", "client_credentials write read"]);
    let most = Some("read".to_owned());
    let (provider, server) = guarded(oauth::Behaviour { most, ..oauth::Behaviour::default() }).await;
    let service = open(settings(&server, "right-secret")).unwrap();
    let error = error_of(&*service, "raw", json!({})).await;
    assert!(error.message().contains("'write'"), "{error}");
    assert_eq!(provider.asked().len(), 2);
}

#[tokio::test]
async fn asks_nobody_at_an_address_that_is_not_allowed() {
    let other = Some("http://127.0.0.2:9".to_owned());
    let (provider, server) = guarded(oauth::Behaviour { other, ..oauth::Behaviour::default() }).await;
    let service = open(settings(&server, "right-secret")).unwrap();
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.message().contains("127.0.0.2"), "{error}");
    assert!(provider.asked().is_empty());
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_by_name() {
    for (more, path) in [
        (json!({ "auth_config": { "client_id": "us" } }), "auth_config.client_secret"),
        (json!({ "auth_config": { "client_secret": "x" } }), "auth_config.client_id"),
        (
            json!({ "auth_type": "bearer", "auth_config": { "token": "x", "scope": "y" } }),
            "auth_config.scope",
        ),
        (json!({ "api_key": "x" }), "api_key"),
        (json!({ "headers": { "Authorization": "x" } }), "headers.Authorization"),
        (json!({ "url": "wss://x.example" }), "auth_type"),
    ] {
        let mut settings = json!({ "url": "https://x.example/mcp", "auth_type": "oauth2",
            "auth_config": { "client_id": "us", "client_secret": "hush" } });
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let error = open(settings).err().unwrap();
        let paths: Vec<_> = error.problems().iter().map(|problem| problem.path.as_str()).collect();
        assert!(paths.contains(&path), "{more}: {paths:?}");
    }
    let settings = json!({ "url": "https://x", "login_file": "/x" });
    assert_eq!(Kind::of::<Settings>().privileged(&settings), Some("login_file"));
}

fn browser() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap()
}

async fn begin(server: &Server, file: &Path) -> tool::Result<Login> {
    let redirect = Url::parse("http://127.0.0.1:1/callback").unwrap();
    let cx = context(Duration::from_secs(20));
    Login::begin(&cx, attended(server, file), &Env::default(), redirect).await
}

/// Says yes in a browser.
async fn agree(login: &Login) -> Url {
    let answer = browser().get(login.address().clone()).send().await.unwrap();
    Url::parse(answer.headers()["location"].to_str().unwrap()).unwrap()
}

async fn sign_in(server: &Server, file: &Path) {
    let login = begin(server, file).await.unwrap();
    let answer = agree(&login).await;
    login.finish(&answer).await.unwrap();
}

#[tokio::test]
async fn a_person_signs_in_once_and_again_only_when_that_has_ended() {
    let life = Duration::from_secs(1);
    let (provider, server) = guarded(oauth::Behaviour { life, ..oauth::Behaviour::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.json");
    let service = open(attended(&server, &file)).unwrap();
    let error = error_of(&*service, "echo", json!({})).await;
    assert!(error.message().contains("mcp-all-in-one login notes"), "{error}");
    assert!(provider.asked().is_empty() && !file.exists());

    sign_in(&server, &file).await;
    assert_eq!(say(&*service, "in").await, "in");
    assert_eq!(provider.asked(), ["register", "authorization_code read"]);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(say(&*service, "still in").await, "still in");
    assert_eq!(provider.asked()[2..], ["refresh_token read"]);
    // Another process takes over what this one has renewed.
    let other = open(attended(&server, &file)).unwrap();
    assert_eq!(say(&*other, "me too").await, "me too");

    provider.behave(oauth::Behaviour { has_forgotten: true, ..oauth::Behaviour::default() });
    provider.forget_tokens();
    let error = error_of(&*service, "echo", json!({})).await;
    assert!(error.message().contains("mcp-all-in-one login notes"), "{error}");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(!kept.contains("refresh-token"), "what is worth nothing is not kept");
    provider.behave(oauth::Behaviour::default());
    sign_in(&server, &file).await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(say(&*service, "in again").await, "in again");
}

#[tokio::test]
async fn a_person_grants_more_when_a_tool_needs_more() {
    let (provider, server) = guarded(oauth::Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.json");
    sign_in(&server, &file).await;
    let service = open(attended(&server, &file)).unwrap();
    let error = error_of(&*service, "raw", json!({})).await;
    assert!(error.message().contains("'write'") && error.message().contains("login notes"), "{error}");
    sign_in(&server, &file).await;
    call(&*service, "raw", json!({})).await.unwrap();
    assert_eq!(provider.asked().last().unwrap(), "authorization_code read write");
}

#[tokio::test]
async fn takes_only_the_answer_to_its_own_question_from_whom_it_has_asked() {
    let (provider, server) = guarded(oauth::Behaviour::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.json");
    let cases: [(&str, Option<&str>); 5] = [
        ("state", Some("guessed")),
        ("state", None),
        ("iss", Some("https://evil.example")),
        ("iss", None),
        ("code", None),
    ];
    for (name, value) in cases {
        let login = begin(&server, &file).await.unwrap();
        let answer = agree(&login).await;
        let mut changed = answer.clone();
        let kept = answer.query_pairs().filter(|(key, _)| key != name);
        changed.query_pairs_mut().clear().extend_pairs(kept).extend_pairs(value.map(|value| (name, value)));
        let error = login.finish(&changed).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{name} {value:?}: {error}");
    }
    assert!(!file.exists() && provider.asked().iter().all(|what| what == "register"));
    assert!(provider.secrets().is_empty());
}

//! Signing in with a password: tokens that work until they are taken back, and a brake on guessing.

use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, on_both_databases};

const PASSWORD: &str = "correct horse battery";

on_both_databases! {
    signs_in_and_out
    voids_tokens_when_the_password_changes
    refuses_tampered_tokens
    tells_a_stranger_nothing_and_slows_guessing_down
    nobody_of_a_disabled_tenant_signs_in
    a_burst_of_guesses_is_braked_like_one_after_the_other
    puts_sign_ins_on_record
}

async fn with_ada(app: &TestApp) -> String {
    app.with_tenant("acme").await;
    let user = json!({ "tenant": "acme", "username": "ada", "password": PASSWORD, "role": "manager" });
    let made = app.post("users", user).await.is(201);
    assert!(!made.text.contains(PASSWORD) && !made.text.contains("argon2"), "{}", made.text);
    made.string("id")
}

fn login(password: &str) -> Value {
    json!({ "tenant": "acme", "username": "ada", "password": password })
}

async fn token(app: &TestApp, password: &str) -> String {
    app.as_nobody().post("auth/login", login(password)).await.is(200).string("token")
}

async fn works(client: &Client) {
    client.get("auth/me").await.is(200);
}

async fn is_void(client: &Client) {
    client.get("auth/me").await.is_problem(401, "UNAUTHENTICATED");
}

async fn signs_in_and_out(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = with_ada(&app).await;
    let reply = app.as_nobody().post("auth/login", login(PASSWORD)).await.is(200);
    assert!(reply.string("expires_at").ends_with('Z'));
    assert_eq!((&reply.body["user"]["id"], &reply.body["user"]["role"]), (&json!(id), &json!("manager")));
    let claims = claims(&reply.string("token"));
    assert_eq!((&claims["sub"], &claims["tenant_id"]), (&json!(id), &json!("acme")));
    assert_eq!(claims["roles"], json!(["manager"]));
    assert!(["exp", "iat", "jti"].iter().all(|claim| !claims[claim].is_null()), "{claims}");

    let ada = app.as_key(reply.string("token"));
    let me = ada.get("auth/me").await.is(200).body;
    assert_eq!((&me["kind"], &me["name"], &me["tenant"]), (&json!("user"), &json!("ada"), &json!("acme")));
    ada.get("users").await.is(200);
    let second = app.as_key(token(&app, PASSWORD).await);
    works(&second).await;
    ada.post("auth/logout", json!({})).await.is(204);
    is_void(&ada).await;
    is_void(&second).await;
    works(&app.as_key(token(&app, PASSWORD).await)).await;
    app.post("auth/logout", json!({})).await.is_problem(400, "BAD_REQUEST");
}

async fn puts_sign_ins_on_record(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = with_ada(&app).await;
    let nobody = app.as_nobody();
    // A credential beside the password changes nothing.
    for client in [&nobody, &*app] {
        client.post("auth/login", login(PASSWORD)).await.is(200);
        client.post("auth/login", login("a wrong horse")).await.is_problem(401, "UNAUTHENTICATED");
    }
    let stranger = json!({ "tenant": "acme", "username": "x".repeat(5000), "password": "a wrong horse" });
    nobody.post("auth/login", stranger).await.is_problem(401, "UNAUTHENTICATED");
    let path = "audit?kind=management&tool=POST%20/api/v1/auth/login";
    let found = app.get(&format!("{path}&tenant_id=acme")).await.is(200);
    let seen: Vec<_> = found.items().iter().rev().map(|row| json!([row["caller"], row["status"]])).collect();
    let (ok, refused) = (json!([id, "ok"]), json!(["ada", "refused"]));
    let long = json!(["x".repeat(128), "refused"]);
    assert_eq!(seen, [ok.clone(), refused.clone(), ok, refused, long], "{}", found.text);
    assert!(!found.text.contains("horse") && !found.text.contains("eyJ"), "{}", found.text);
    assert_eq!(found.items()[1]["code"], "UNAUTHENTICATED", "{}", found.text);

    // Who tries tenants that are not there is on the platform's record, and what is braked is on none.
    for _ in 0..15 {
        let nowhere = json!({ "tenant": "nowhere", "username": "eve", "password": "a wrong horse" });
        let status = nobody.post("auth/login", nowhere).await.status;
        assert!(status == 401 || status == 429, "{status}");
    }
    let found = app.get(path).await.is(200);
    assert_eq!(found.items().len(), 10, "{}", found.text);
    assert!(found.items().iter().all(|row| row["caller"] == "eve"), "{}", found.text);
    assert!(found.items()[0]["message"].as_str().unwrap().contains("nowhere"), "{}", found.text);
}

async fn voids_tokens_when_the_password_changes(backend: Backend) {
    let app = TestApp::start(backend).await;
    let id = with_ada(&app).await;
    let ada = app.as_key(token(&app, PASSWORD).await);
    let change = |old: &str, new: &str| json!({ "old_password": old, "new_password": new });
    ada.post("auth/password", change("wrong horse", "another horse"))
        .await
        .is_problem(401, "UNAUTHENTICATED");
    ada.post("auth/password", change(PASSWORD, "short")).await.is_problem(422, "VALIDATION_FAILED");
    works(&ada).await;
    ada.post("auth/password", change(PASSWORD, "another horse")).await.is(204);
    is_void(&ada).await;
    app.as_nobody().post("auth/login", login(PASSWORD)).await.is_problem(401, "UNAUTHENTICATED");
    let ada = app.as_key(token(&app, "another horse").await);
    works(&ada).await;

    let path = format!("users/{id}?tenant_id=acme");
    app.patch(&path, json!({ "password": "a third horse" })).await.is(200);
    is_void(&ada).await;
    let ada = app.as_key(token(&app, "a third horse").await);
    app.patch(&path, json!({ "status": "disabled" })).await.is(200);
    is_void(&ada).await;
    app.as_nobody().post("auth/login", login("a third horse")).await.is_problem(401, "UNAUTHENTICATED");
    app.delete(&path).await.is(204);
    is_void(&ada).await;
}

async fn refuses_tampered_tokens(backend: Backend) {
    let app = TestApp::start(backend).await;
    with_ada(&app).await;
    let good = token(&app, PASSWORD).await;
    let parts: Vec<_> = good.split('.').collect();
    let mut claims = claims(&good);
    claims["roles"] = json!(["admin"]);
    claims["tenant_id"] = json!("default");
    let forged = base64(claims.to_string().as_bytes());
    let none = base64(br#"{"alg":"none","typ":"JWT"}"#);
    for token in [
        format!("{}.{forged}.{}", parts[0], parts[2]),
        format!("{none}.{}.", parts[1]),
        format!("{none}.{forged}."),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], parts[1], parts[2].chars().rev().collect::<String>()),
    ] {
        is_void(&app.as_key(token)).await;
    }
    works(&app.as_key(good)).await;
    // Every replica can check it, no other installation can.
    let stranger = TestApp::start(Backend::Sqlite).await;
    is_void(&stranger.as_key(token(&app, PASSWORD).await)).await;
}

async fn tells_a_stranger_nothing_and_slows_guessing_down(backend: Backend) {
    let app = TestApp::start(backend).await;
    with_ada(&app).await;
    let nobody = app.as_nobody();
    let unknown = [
        json!({ "tenant": "acme", "username": "nobody", "password": PASSWORD }),
        json!({ "tenant": "nowhere", "username": "ada", "password": PASSWORD }),
        json!({ "tenant": "no tenant!", "username": "ada", "password": PASSWORD }),
        login("wrong horse"),
    ];
    let mut details = Vec::new();
    for body in unknown {
        details
            .push(nobody.post("auth/login", body).await.is_problem(401, "UNAUTHENTICATED").string("detail"));
    }
    details.dedup();
    assert_eq!(details.len(), 1, "{details:?}");
    for _ in 0..9 {
        nobody.post("auth/login", login("wrong horse")).await.is_problem(401, "UNAUTHENTICATED");
    }
    let reply = nobody.post("auth/login", login(PASSWORD)).await.is_problem(429, "RATE_LIMITED");
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    nobody.post("auth/login", json!({ "username": "ada" })).await.is_problem(422, "VALIDATION_FAILED");
}

async fn nobody_of_a_disabled_tenant_signs_in(backend: Backend) {
    let app = TestApp::start(backend).await;
    with_ada(&app).await;
    let unknown = app.as_nobody().post("auth/login", login("wrong horse")).await.string("detail");
    app.patch("tenants/acme", json!({ "status": "disabled" })).await.is(200);
    let refused = app.as_nobody().post("auth/login", login(PASSWORD)).await;
    assert_eq!(refused.is_problem(401, "UNAUTHENTICATED").string("detail"), unknown);
    app.patch("tenants/acme", json!({ "status": "active" })).await.is(200);
    works(&app.as_key(token(&app, PASSWORD).await)).await;
}

async fn a_burst_of_guesses_is_braked_like_one_after_the_other(backend: Backend) {
    let app = TestApp::start(backend).await;
    with_ada(&app).await;
    let nobody = app.as_nobody();
    let wrong = login("wrong horse");
    let guesses = (0..80).map(|_| nobody.post("auth/login", wrong.clone()));
    let replies = futures::future::join_all(guesses).await;
    let (guessed, braked): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 401);
    assert!((1..=10).contains(&guessed.len()), "{} passwords were looked at", guessed.len());
    for reply in braked {
        let reply = reply.is_problem(429, "RATE_LIMITED");
        let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    // Many names from one address are one guesser, too.
    let unknown =
        |n: usize| json!({ "tenant": "acme", "username": format!("user{n}"), "password": PASSWORD });
    let guesses = (0..80).map(|n| nobody.post("auth/login", unknown(n)));
    let replies = futures::future::join_all(guesses).await;
    let guessed = replies.iter().filter(|reply| reply.status == 401).count();
    assert!((1..=40).contains(&guessed), "{guessed} passwords were looked at");
    assert!(replies.iter().all(|reply| matches!(reply.status, 401 | 429)));
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&unbase64(payload)).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

fn unbase64(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
}

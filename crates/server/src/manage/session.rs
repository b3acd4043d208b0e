//! `/auth/session`: how a browser signs in and out, by a cookie instead of a key that a page would have to keep.

use super::auth::{Login, Me, authenticate, record};
use super::recording::{SESSION, row_of};
use super::time;
use crate::Shared;
use crate::auth::session::is_secure;
use crate::auth::{BrowserSession, BrowserToken, Purpose, SignedIn};
use crate::error::{Code, Problem, Result};
use crate::json::Json;
use crate::keyless::check_origin;
use axum::Json as Answer;
use axum::extract::{ConnectInfo, Extension, State};
use axum::response::AppendHeaders;
use http::header::{CACHE_CONTROL, SET_COOKIE};
use http::{Extensions, HeaderMap, HeaderName, StatusCode};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use store::OnceResults;
use tool::{KeyState, Once as _, Secret};
use utoipa::ToSchema;

/// What the ids of codes that were used are kept under.
const CODES: &str = "sign-in code";

/// One of: `key`; `username` and `password`, with `tenant` unless it is `default`; `code`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewSession {
    #[schema(value_type = Option<String>, format = Password)]
    key: Option<Secret>,
    tenant: Option<String>,
    username: Option<String>,
    #[schema(value_type = Option<String>, format = Password)]
    password: Option<Secret>,
    /// From `/auth/session-code`; it can be used once.
    #[schema(value_type = Option<String>, format = Password)]
    code: Option<Secret>,
}

type Headers = AppendHeaders<[(HeaderName, String); 2]>;

/// Signs a browser in. The cookie counts for REST alone, and only where the browser says that a page of this server
/// sends the request.
#[utoipa::path(post, path = "/auth/session", tag = "auth", security(()),
    request_body = NewSession, responses((status = 200, body = Me), (status = 401), (status = 429)))]
pub(super) async fn create(
    State(state): State<Shared>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    extensions: Extensions,
    Json(new): Json<NewSession>,
) -> Result<(Headers, Answer<Me>)> {
    check_origin(&state, &headers)?;
    let signed_in = match new {
        NewSession { key: Some(key), tenant: None, username: None, password: None, code: None } => {
            let signed_in = state.auth.identify(key.expose())?;
            let who = (signed_in.caller.identity.kind(), signed_in.caller.identity.id());
            record(&state, row_of(&signed_in.tenant, who, &format!("POST {SESSION}"), &extensions)).await;
            signed_in
        }
        NewSession { code: Some(code), key: None, tenant: None, username: None, password: None } => {
            redeem(&state, &code, &extensions).await?
        }
        NewSession { username: Some(username), password: Some(password), tenant, key: None, code: None } => {
            let login = Login::new(tenant, username, password);
            let user = authenticate(&state, peer, &extensions, login, SESSION).await?;
            // Not from memory, where somebody who was made a moment ago may be missing.
            SignedIn::as_user(&user).ok_or_else(|| Problem::unauthenticated("the user may not sign in"))?
        }
        _ => {
            let message = "give 'key' alone, 'code' alone, or 'username' and 'password'";
            return Err(Problem::invalid_field("key", message));
        }
    };
    let BrowserToken { text, ends_at_ms } = state.auth.issue_browser(Purpose::Session, &signed_in)?;
    let cookie = cookie(&state, &headers, &text, ends_at_ms);
    Ok((cookie, Answer(Me::of(&signed_in, Some(ends_at_ms)))))
}

/// A code counts once, on whichever replica it is shown.
async fn redeem(state: &Shared, code: &Secret, extensions: &Extensions) -> Result<SignedIn> {
    let unknown = || Problem::unauthenticated("the code has expired or was used; ask for a new one");
    let session = state.auth.browser(Purpose::Code, code.expose()).ok_or_else(unknown)?;
    let signed_in = session.signed_in;
    let once = OnceResults::new(state.store.clone(), state.options.store_timeout);
    match once.begin(&signed_in.tenant, CODES, &session.id, "").await? {
        KeyState::First => {}
        KeyState::Done(_) | KeyState::Unknown | KeyState::Other => return Err(unknown()),
    }
    let who = (signed_in.caller.identity.kind(), signed_in.caller.identity.id());
    record(state, row_of(&signed_in.tenant, who, &format!("POST {SESSION}"), extensions)).await;
    Ok(signed_in)
}

/// Signs the browser out: it forgets the cookie, and the cookie's value signs nobody in any more.
#[utoipa::path(delete, path = "/auth/session", tag = "auth", security(()), responses((status = 204)))]
pub(super) async fn delete(
    State(state): State<Shared>,
    headers: HeaderMap,
    session: Option<Extension<BrowserSession>>,
) -> Result<(StatusCode, Headers)> {
    check_origin(&state, &headers)?;
    if let Some(Extension(session)) = session {
        session.end(&state).await?;
    }
    Ok((StatusCode::NO_CONTENT, cookie(&state, &headers, "", 0)))
}

fn cookie(state: &Shared, headers: &HeaderMap, token: &str, ends_at_ms: i64) -> Headers {
    let left = (ends_at_ms - chrono::Utc::now().timestamp_millis() + 999).max(0) / 1000;
    let (name, base) = (state.auth.cookie_name(), &state.options.base_path);
    let secure = if is_secure(headers) { "; Secure" } else { "" };
    let cookie =
        format!("{name}={token}; Path={base}/api/v1; Max-Age={left}; HttpOnly; SameSite=Strict{secure}");
    AppendHeaders([(SET_COOKIE, cookie), (CACHE_CONTROL, "no-store".to_owned())])
}

#[derive(Serialize, ToSchema)]
pub(super) struct SessionCode {
    /// For `code` of `/auth/session`.
    code: String,
    expires_at: String,
}

/// A code that signs a browser in once, as whoever asks for it, within a quarter of an hour.
#[utoipa::path(post, path = "/auth/session-code", tag = "auth", responses((status = 200, body = SessionCode)))]
pub(super) async fn create_code(
    State(state): State<Shared>,
    signed_in: SignedIn,
) -> Result<Answer<SessionCode>> {
    if !matches!(signed_in.caller.identity, tool::Identity::Key(_) | tool::Identity::User(_)) {
        return Err(Problem::new(Code::Forbidden, "only keys and users can sign in to a browser"));
    }
    let BrowserToken { text, ends_at_ms } = state.auth.issue_browser(Purpose::Code, &signed_in)?;
    Ok(Answer(SessionCode { code: text, expires_at: time::show(ends_at_ms) }))
}

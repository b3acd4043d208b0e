//! Sessions of browsers: a cookie that only pages of this server can use, and only to reach REST.
//!
//! Browsers send cookies with every request to a host, whoever made it send one. So the cookie counts only where the
//! browser itself says that the page is ours, and never for MCP.

use super::until_ended::until_ended;
use super::{SignedIn, token::Purpose};
use crate::Shared;
use crate::error::{Code, Problem, Result};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue};
use percent_encoding::percent_decode_str;
use store::OnceResults;
use tool::Once as _;

/// What the ids of sessions that were signed out are kept under, for longer than a session lasts.
const ENDED: &str = "ended session";
/// What the console's pages send with every request: `<tenant>/<id>` of whom they were drawn for, or `-`. Pages of
/// others cannot send it without asking first, and they are not answered.
const CONSOLE: &str = "x-console";

/// Who a browser has signed in as.
#[derive(Debug, Clone)]
pub(crate) struct BrowserSession {
    pub(crate) signed_in: SignedIn,
    /// When the session ends, if nothing ends it before.
    pub(crate) ends_at_ms: i64,
    /// What its token is known by.
    pub(crate) id: String,
}

impl BrowserSession {
    /// Ends it on every replica: whoever kept the cookie has nothing in it.
    pub(crate) async fn end(&self, state: &Shared) -> Result<()> {
        results(state).begin(&self.signed_in.tenant, ENDED, &self.id, "").await?;
        state.auth.tell_signed_out();
        Ok(())
    }

    /// The page was drawn for whoever is signed in: another tab may have signed in as somebody else since.
    fn check_page(&self, headers: &HeaderMap) -> Result<()> {
        let Some(named) = headers.get(CONSOLE).and_then(|value| value.to_str().ok()) else { return Ok(()) };
        let SignedIn { tenant, caller, .. } = &self.signed_in;
        let own = format!("{tenant}/{}", caller.identity.id());
        if named == "-" || percent_decode_str(named).decode_utf8().is_ok_and(|named| named == own) {
            return Ok(());
        }
        let detail = format!(
            "this page belongs to somebody else than who is signed in now, {} in the tenant {tenant}; load it anew",
            caller.name
        );
        Err(Problem::new(Code::OtherSession, detail))
    }

    pub(super) async fn was_ended(&self, state: &Shared) -> Result<bool> {
        Ok(results(state).is_known(&self.signed_in.tenant, ENDED, &self.id).await?)
    }
}

fn results(state: &Shared) -> OnceResults {
    OnceResults::new(state.store.clone(), state.options.store_timeout)
}

/// Signs in by the cookie, where it counts. (No call hands cookies on: connectors refuse that header.)
pub(crate) async fn accept(State(state): State<Shared>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let token = cookie(headers, state.auth.cookie_name()).filter(|_| comes_from_own_page(headers));
    let Some(token) = token.map(str::to_owned) else { return next.run(request).await };
    let Some(session) = state.auth.browser(Purpose::Session, &token) else { return next.run(request).await };
    match session.was_ended(&state).await {
        Ok(false) => {}
        Ok(true) => return next.run(request).await,
        // Who may be signed out is not let in.
        Err(problem) => return problem.into_response(),
    }
    if let Err(problem) = session.check_page(headers) {
        return problem.into_response();
    }
    request.extensions_mut().insert(session.clone());
    let response = next.run(request).await;
    until_ended(state, session, token, response)
}

/// The page that sends the request is one of this server. Browsers that do not say so, as none does over plain HTTP, name
/// at least its origin; where they name none, which only a page of that origin may leave out, the console names itself.
fn comes_from_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    match text("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None if headers.contains_key(ORIGIN) => {
            let origin = text(ORIGIN.as_str()).and_then(|origin| origin.split_once("://"));
            origin.is_some_and(|(_, authority)| text(HOST.as_str()) == Some(authority))
        }
        None => headers.contains_key(CONSOLE),
    }
}

/// The page was loaded over HTTPS, by what its browser or the proxy before us says.
pub(crate) fn is_secure(headers: &HeaderMap) -> bool {
    let begins = |name: &str, word: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| value.starts_with(word))
    };
    begins("origin", "https://") || begins("x-forwarded-proto", "https")
}

/// The value of the cookie of this name.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let texts = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut cookies =
        texts.flat_map(|text| text.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    cookies.find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        pairs.collect()
    }

    #[test]
    fn knows_a_page_of_its_own() {
        for (pairs, expected) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            (&[("sec-fetch-site", "same-site"), ("origin", "http://a"), ("host", "a")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("origin", "http://a:1"), ("host", "a:1")], true),
            (&[("origin", "http://a:2"), ("host", "a:1")], false),
            (&[("origin", "null"), ("host", "null")], false),
            (&[("host", "a:1")], false),
            (&[("host", "a:1"), (CONSOLE, "-")], true),
            (&[("origin", "http://a:2"), ("host", "a:1"), (CONSOLE, "-")], false),
            (&[("sec-fetch-site", "cross-site"), (CONSOLE, "-")], false),
            (&[], false),
        ] {
            assert_eq!(comes_from_own_page(&headers(pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn finds_its_own_cookie_among_others() {
        let mut map = headers(&[("cookie", "a=1; aio_x=t=o; b=2")]);
        map.append(COOKIE, HeaderValue::from_static("c=3"));
        assert_eq!(cookie(&map, "aio_x"), Some("t=o"));
        assert_eq!((cookie(&map, "c"), cookie(&map, "aio_y")), (Some("3"), None));
    }
}

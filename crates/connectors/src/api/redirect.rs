//! Redirects: which are followed, and what of a request goes along.

use fetch::http::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION, USER_AGENT,
};
use fetch::http::{Method, StatusCode};
use fetch::{Request, Url};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Error, Result};

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Redirects {
    #[default]
    SameOrigin,
    Any,
    None,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// Where a response sends us, if it does and that is to be followed.
pub(super) fn target(
    policy: Redirects,
    status: StatusCode,
    headers: &HeaderMap,
    url: &Url,
) -> Option<Result<Url>> {
    if policy == Redirects::None || !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = headers.get(LOCATION)?;
    let bad = || Error::upstream("the service redirected to something that is no address");
    Some(location.to_str().ok().and_then(|text| url.join(text).ok()).ok_or_else(bad))
}

/// Turns the request to its new address, if it may go there.
///
/// # Errors
/// When it may not.
pub(super) fn follow(
    policy: Redirects,
    request: &mut Request,
    status: StatusCode,
    target: Result<Url>,
) -> Result<()> {
    let target = target?;
    let is_same = is_same_place(&request.url, &target);
    let is_post = request.method == Method::POST;
    let becomes_get = status == StatusCode::SEE_OTHER && request.method != Method::HEAD
        || is_post && matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND);
    if becomes_get {
        request.method = Method::GET;
        request.body.clear();
        request.headers.remove(CONTENT_TYPE);
        request.headers.remove(CONTENT_LENGTH);
    }
    if !is_same {
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        let is_web = matches!(target.scheme(), "http" | "https");
        let is_downgrade = request.url.scheme() == "https" && target.scheme() == "http";
        if policy != Redirects::Any || !reads || !is_web || is_downgrade {
            return Err(refused(&target, status));
        }
        // Whatever else the headers hold, it was meant for the service and not for another place.
        let meant_for_all = [ACCEPT, ACCEPT_LANGUAGE, USER_AGENT];
        let kept = request.headers.iter().filter(|(name, _)| meant_for_all.contains(name));
        let kept = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        request.headers = kept;
    }
    request.url = target;
    Ok(())
}

fn refused(target: &Url, status: StatusCode) -> Error {
    // Without a name, a password or a query, which may be secret.
    let port = target.port().map(|port| format!(":{port}")).unwrap_or_default();
    let place = format!("{}://{}{port}", target.scheme(), target.host_str().unwrap_or_default());
    let message =
        format!("the service redirected to another place, '{place}', which is not followed; see 'redirects'");
    Error::upstream(message).with_status(status.as_u16())
}

/// The same scheme, host and port, or the step from http to https on their usual ports.
fn is_same_place(from: &Url, to: &Url) -> bool {
    let is_upgrade = (from.scheme(), to.scheme()) == ("http", "https")
        && (from.port_or_known_default(), to.port_or_known_default()) == (Some(80), Some(443));
    let is_same = from.scheme() == to.scheme() && from.port_or_known_default() == to.port_or_known_default();
    from.host_str() == to.host_str() && (is_same || is_upgrade)
}

//! The console: pages that were built into this program, and what browsers may do with them.
//!
//! Nothing here knows anybody: the pages ask REST, which signs people in. A program that was built without them says how
//! to build them.

use crate::Shared;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, StatusCode};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::borrow::Cow;

/// What `make console` has made: read from the folder while we are developed, part of the program when it is handed out.
#[derive(RustEmbed)]
#[folder = "../../ui/dist/"]
#[allow_missing = true]
struct Dist;

/// Scripts learn from it what styles they may add.
const NONCE: &str = "__NONCE__";
/// What stands before every path.
const BASE: &str = "__BASE__";

const NOT_BUILT: &str = r#"<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>mcp-all-in-one</title></head>
<body>
<h1>The console is not built</h1>
<p>The server runs: REST and MCP work without the console. To build it, run this in the folder of the sources; it needs
Node 20.19 or later with npm. Then build and start the server again, as <code>make run</code> does:</p>
<pre><code>make console</code></pre>
<p><a href="__BASE__/api/docs">REST interface</a></p>
</body>
</html>
"#;

/// The console is part of this program.
pub(crate) fn is_built() -> bool {
    Dist::get("index.html").is_some()
}

/// Every page is the same one: what it shows follows from its address.
pub(crate) async fn page(State(state): State<Shared>) -> Response {
    let base = &state.options.base_path;
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let index = Dist::get("index.html").map(|file| String::from_utf8_lossy(&file.data).into_owned());
    let page = match index {
        // Whatever stands before our paths stands before those of the assets.
        Some(index) => index.replace("=\"./", "=\"/").replace("=\"/assets/", &format!("=\"{base}/assets/")),
        None => NOT_BUILT.to_owned(),
    };
    let page = page.replace(NONCE, &nonce).replace(BASE, base);
    let head = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ];
    (head, [(CONTENT_SECURITY_POLICY, policy(&nonce))], page).into_response()
}

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Nothing stands at the root of the pages; the first of them is at the door.
pub(crate) async fn home(State(state): State<Shared>) -> Redirect {
    Redirect::temporary(&format!("{}/", state.options.base_path))
}

/// A script, a style, a picture: named after what it holds, so that browsers may keep it for good.
pub(crate) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    file(&format!("assets/{path}"), &headers, "public, max-age=31536000, immutable")
}

fn file(path: &str, headers: &HeaderMap, cache: &'static str) -> Response {
    // What is only there compressed, for those who ask for it, is no file of its own.
    let is_plain = !path.ends_with(".br") && !path.ends_with(".gz");
    let Some(plain) = Dist::get(path).filter(|_| is_plain) else {
        return (StatusCode::NOT_FOUND, [(CACHE_CONTROL, "no-store")], "there is no such file")
            .into_response();
    };
    let (body, encoding) = compressed(path, headers)
        .map_or_else(|| (bytes(plain), None), |(file, name)| (bytes(file), Some(name)));
    let head = [
        (CONTENT_TYPE, content_type(path)),
        (CACHE_CONTROL, cache),
        (VARY, "accept-encoding"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (RESOURCE_POLICY, "same-origin"),
    ];
    match encoding {
        Some(encoding) => (head, [(CONTENT_ENCODING, encoding)], body).into_response(),
        None => (head, body).into_response(),
    }
}

/// The same file as it was compressed when it was built, if the client takes that.
fn compressed(path: &str, headers: &HeaderMap) -> Option<(EmbeddedFile, &'static str)> {
    let accepted = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
    let accepts = |name: &str| {
        accepted.split(',').any(|offer| {
            let mut parts = offer.split(';').map(str::trim);
            parts.next() == Some(name)
                && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
        })
    };
    let all = [("br", "br"), ("gzip", "gz")];
    all.into_iter()
        .filter(|(name, _)| accepts(name))
        .find_map(|(name, ending)| Some((Dist::get(&format!("{path}.{ending}"))?, name)))
}

fn bytes(file: EmbeddedFile) -> Bytes {
    match file.data {
        Cow::Borrowed(data) => Bytes::from_static(data),
        Cow::Owned(data) => Bytes::from(data),
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" | "map" => "application/json",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_lets_pages_run_nothing_but_their_own_scripts() {
        let policy = policy("abc");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-abc';"));
        assert!(!policy.contains("unsafe"));
    }

    #[test]
    fn takes_what_was_compressed_only_for_those_who_accept_it() {
        let headers = |text: &'static str| {
            HeaderMap::from_iter([(ACCEPT_ENCODING, http::HeaderValue::from_static(text))])
        };
        for text in ["identity", "br;q=0, gzip;q=0"] {
            assert!(compressed("index.html", &headers(text)).is_none());
        }
        assert_eq!(file("../Cargo.toml", &HeaderMap::new(), "no-store").status(), StatusCode::NOT_FOUND);
    }
}

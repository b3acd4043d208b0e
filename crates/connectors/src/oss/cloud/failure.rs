//! Why a store did not do what it was asked, in our words.

use crate::shared::attempts::retry_after;
use crate::shared::clock::skew;
use fetch::http::header::CONTENT_TYPE;
use fetch::http::{HeaderMap, StatusCode};
use opendal::ErrorKind;
use tool::{Error, Reason, Result};

/// An error of ours on its way through OpenDAL.
#[derive(Debug)]
pub(super) struct Carried(pub(super) Error);

impl std::fmt::Display for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Carried {}

/// What OpenDAL says; what it quotes of requests stays with it.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
pub(super) fn explain(error: opendal::Error, key: &str) -> Error {
    let source = std::error::Error::source(&error);
    if let Some(Carried(ours)) = source.and_then(|source| source.downcast_ref::<Carried>()) {
        return ours.restated(ours.message().to_owned());
    }
    match error.kind() {
        ErrorKind::NotFound => missing(key),
        ErrorKind::AlreadyExists | ErrorKind::ConditionNotMatch => exists(),
        ErrorKind::RateLimited => Error::upstream("the store wants fewer requests").retryable(),
        ErrorKind::Unsupported => Error::unsupported("the store cannot do that"),
        ErrorKind::PermissionDenied => rejected("it does not allow this"),
        kind => {
            let failed = Error::upstream(format!("the store failed ({kind})"));
            if error.is_temporary() { failed.retryable() } else { failed }
        }
    }
}

pub(super) fn missing(key: &str) -> Error {
    let shown: String = key.chars().take(200).collect();
    Error::missing(format!("there is no object '{shown}', or no such bucket"))
}

pub(super) fn exists() -> Error {
    Error::upstream("there is an object under that key already").with_service_code("exists")
}

/// What is not there may be the bucket, whatever was looked for in it.
///
/// # Errors
/// `Missing`, naming the setting, where the store says so.
pub(super) fn check_bucket(bucket: &str, words: &[u8]) -> Result<()> {
    let code = element(&String::from_utf8_lossy(words), "Code").unwrap_or_default();
    if code != "NoSuchBucket" {
        return Ok(());
    }
    let message = format!(
        "the store has no bucket '{bucket}'; check the setting 'bucket' of the service, or create it"
    );
    Err(Error::missing(message).with_service_code(code))
}

/// An answer of a store to anything but a question for an object: no page for people, and a list where that was asked for.
///
/// # Errors
/// `Upstream`, naming the setting.
pub(super) fn check_store(headers: &HeaderMap, list: Option<&Vec<u8>>) -> Result<()> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_page = content_type.to_ascii_lowercase().contains("html");
    let is_list = |begun: &Vec<u8>| memchr::memmem::find(begun, b"<ListBucketResult").is_some();
    if is_page || list.is_some_and(|begun| !is_list(begun)) {
        let message = "the address answers, but not as an object store does; check the settings 'endpoint' and 'bucket'";
        return Err(Error::upstream(message));
    }
    Ok(())
}

/// What an answer with a bad status means.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap, words: &[u8]) -> Error {
    let words = String::from_utf8_lossy(words);
    let code = element(&words, "Code").unwrap_or_default();
    let number = status.as_u16();
    let said = if code.is_empty() { format!("HTTP {number}") } else { format!("{code}, HTTP {number}") };
    let skew = skew(headers).filter(|_| matches!(number, 400 | 401 | 403));
    if code.contains("TimeTooSkewed") || code == "RequestExpired" || skew.is_some() {
        let off = skew.map_or_else(String::new, |skew| format!(" by {} minutes", skew.as_secs() / 60));
        let message = format!(
            "the clock of this machine and that of the store differ{off}, so that it refuses our signature; set the clock ({said})"
        );
        return Error::upstream(message).with_status(number).with_service_code(code);
    }
    let error = match number {
        401 | 403 => rejected(&said),
        429 => Error::upstream(format!("the store wants fewer requests ({said})")).retryable(),
        503 if code == "SlowDown" => {
            Error::upstream(format!("the store wants fewer requests ({said})")).retryable()
        }
        // From somebody between, who has lost the answer.
        502 | 504 => {
            Error::unavailable(format!("the store is not able to answer ({said})")).retryable().in_doubt()
        }
        503 => Error::unavailable(format!("the store is not able to answer ({said})")).retryable(),
        500 => Error::upstream(format!("the store failed ({said})")).retryable(),
        _ => Error::upstream(format!("the store refuses the request ({said})")),
    };
    let error = match retry_after(headers) {
        Some(time) => error.with_retry_after(time),
        None => error,
    };
    if code.is_empty() {
        error.with_status(number)
    } else {
        error.with_status(number).with_service_code(code)
    }
}

fn rejected(said: &str) -> Error {
    Error::upstream(format!(
        "the store refuses the credentials of the service; check its setting 'credentials' ({said})"
    ))
    .because(Reason::CredentialsRejected)
}

/// The text of an XML element that has neither attributes nor children: a word for programs.
pub(super) fn element(xml: &str, name: &str) -> Option<String> {
    let text = xml.split_once(&format!("<{name}>"))?.1.split_once("</")?.0;
    let is_word = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    is_word.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fetch::http::HeaderValue;
    use fetch::http::header::DATE;
    use std::time::{Duration, SystemTime};
    use tool::ErrorKind as Kind;

    fn refused(status: u16, code: &str) -> Error {
        let xml =
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>AKSECRET</Message></Error>");
        refusal(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), xml.as_bytes())
    }

    #[test]
    fn tells_what_to_do_about_each_refusal() {
        let error = refused(403, "SignatureDoesNotMatch");
        assert_eq!((error.kind(), error.reason()), (Kind::Upstream, Some(Reason::CredentialsRejected)));
        assert!(
            error.message().contains("'credentials'") && !error.message().contains("AKSECRET"),
            "{error}"
        );
        let error = refused(503, "SlowDown");
        assert!(error.kind() == Kind::Upstream && error.is_retryable(), "{error:?}");
        let error = refused(503, "ServiceUnavailable");
        assert!(error.kind() == Kind::Unavailable && error.is_retryable(), "{error:?}");
        assert_eq!(refused(400, "<b>").service_code(), None);
    }

    /// F10
    #[test]
    fn names_the_clock_where_that_is_why() {
        assert!(refused(403, "RequestTimeTooSkewed").message().contains("clock"));
        let hour = SystemTime::now() - Duration::from_secs(3700);
        let headers =
            HeaderMap::from_iter([(DATE, HeaderValue::from_str(&httpdate::fmt_http_date(hour)).unwrap())]);
        let error = refusal(StatusCode::FORBIDDEN, &headers, b"");
        assert!(error.message().contains("differ by 61 minutes"), "{error}");
        let headers = HeaderMap::from_iter([(
            DATE,
            HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())).unwrap(),
        )]);
        assert!(!refusal(StatusCode::FORBIDDEN, &headers, b"").message().contains("clock"));
    }
}

//! Where a model is, how to sign in there, and which dialect is spoken.

use super::stream::Partial;
use super::{Answer, Asking, ModelRequest, anthropic, gemini, openai};
use crate::shared::headers::header_value;
use fetch::http::Method;
use fetch::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use fetch::{Request, Url};
use serde_json::{Map, Value};
use std::fmt;
use tool::secret::Redactor;
use tool::{Error, Problem, Result, Secret};

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Dialect {
    /// Where the provider is that the dialect is named after.
    pub(in super::super) fn home(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "v1",
            Self::Gemini => "v1beta",
        }
    }

    /// The header that carries the key, and the key as it stands there.
    fn key_header(self, key: &Secret) -> (HeaderName, String) {
        match self {
            Self::OpenAi => (HeaderName::from_static("authorization"), format!("Bearer {}", key.expose())),
            Self::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            Self::Gemini => (HeaderName::from_static("x-goog-api-key"), key.expose().to_owned()),
        }
    }
}

/// One model at one provider.
pub(in super::super) struct Endpoint {
    dialect: Dialect,
    base: Url,
    headers: HeaderMap,
    model: String,
    /// Merged into each request.
    extra: Map<String, Value>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({:?}, {})", self.dialect, self.model)
    }
}

impl Endpoint {
    /// An endpoint at an address that was checked. Paths of problems begin with `path`.
    pub(in super::super) fn new(
        dialect: Dialect,
        base: Url,
        api_key: Option<&Secret>,
        model: &str,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if dialect == Dialect::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        if let Some((name, text)) = api_key.map(|key| dialect.key_header(key)) {
            match header_value(&text).filter(|_| !text.trim().is_empty()) {
                Some(mut value) => {
                    value.set_sensitive(true);
                    headers.insert(name, value);
                }
                None => {
                    let message = "the api_key holds control characters or is too long for a header";
                    problems.push(Problem::new(format!("{path}api_key"), "InvalidHeaderValue", message));
                }
            }
        }
        let base = with_version(base, dialect.version());
        Self { dialect, base, headers, model: model.to_owned(), extra: Map::new() }
    }

    /// The same with more headers, which are as secret as the key, and fields for every request.
    pub(in super::super) fn with(mut self, headers: HeaderMap, extra: Map<String, Value>) -> Self {
        for (name, mut value) in headers.into_iter().filter_map(|(name, value)| Some((name?, value))) {
            value.set_sensitive(true);
            self.headers.insert(name, value);
        }
        Self { extra, ..self }
    }

    /// Who is asked here, as spans tell it.
    pub(super) fn asking(&self) -> Asking<'_> {
        let provider = match self.dialect {
            Dialect::OpenAi => "openai",
            Dialect::Anthropic => "anthropic",
            Dialect::Gemini => "gcp.gemini",
        };
        let (host, port) = (self.base.host_str(), self.base.port_or_known_default());
        Asking { provider, model: Some(&self.model), host, port }
    }

    pub(super) fn url(&self) -> &Url {
        &self.base
    }

    pub(super) fn request(&self, asked: &ModelRequest<'_>, is_streamed: bool) -> Result<Request> {
        let (path, mut body) = match self.dialect {
            Dialect::OpenAi => (openai::PATH.to_owned(), openai::body(&self.model, asked, is_streamed)?),
            Dialect::Anthropic => {
                (anthropic::PATH.to_owned(), anthropic::body(&self.model, asked, is_streamed)?)
            }
            Dialect::Gemini => (gemini::path(&self.model, is_streamed), gemini::body(asked)?),
        };
        body.merge(&self.extra)?;
        let mut request = self.begin(Method::POST, &path)?;
        request.body = body.to_text().into();
        Ok(request)
    }

    /// Asks which models there are: cheap, and it needs the key.
    pub(super) fn probe(&self) -> Result<Request> {
        self.begin(Method::GET, "models")
    }

    fn begin(&self, method: Method, path: &str) -> Result<Request> {
        let url = self.base.join(path);
        let url = url.map_err(|error| Error::internal("a model has no address").caused_by(error))?;
        let mut request = Request::new(method, url);
        request.headers = self.headers.clone();
        Ok(request)
    }

    /// A whole answer; nothing where it is none.
    pub(super) fn read(&self, text: &str) -> Option<Answer> {
        match self.dialect {
            Dialect::OpenAi => openai::read(text),
            Dialect::Anthropic => anthropic::read(text),
            Dialect::Gemini => gemini::read(text),
        }
    }

    /// Takes in one event of a streamed answer; nothing where it is none of the dialect.
    pub(super) fn take(&self, partial: &mut Partial, data: &str) -> Option<()> {
        match self.dialect {
            Dialect::OpenAi => openai::take(partial, data),
            Dialect::Anthropic => anthropic::take(partial, data),
            Dialect::Gemini => gemini::take(partial, data),
        }
    }

    /// A provider's words without what signs us in.
    pub(super) fn masked(&self, words: &str) -> String {
        let secrets = self.headers.values().filter(|value| value.is_sensitive());
        let secrets: Vec<_> = secrets.filter_map(|value| value.to_str().ok()).collect();
        let bare = secrets.iter().map(|secret| secret.trim_start_matches("Bearer "));
        Redactor::new(secrets.iter().copied().chain(bare)).apply_to_cut(words)
    }
}

/// The address with a slash at its end, behind the version of the interface, which may stand there or not.
fn with_version(mut base: Url, version: &str) -> Url {
    let path = base.path().trim_end_matches('/').to_owned();
    let last = path.rsplit('/').next().unwrap_or_default();
    let mut after = last.strip_prefix('v').unwrap_or_default().chars();
    let is_version =
        after.next().is_some_and(|c| c.is_ascii_digit()) && after.all(|c| c.is_ascii_alphanumeric());
    match is_version {
        true => base.set_path(&format!("{path}/")),
        false => base.set_path(&format!("{path}/{version}/")),
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_may_be_left_out() {
        for (given, version, expected) in [
            ("https://a.test", "v1", "https://a.test/v1/"),
            ("https://a.test/v1", "v1", "https://a.test/v1/"),
            ("https://a.test/v1/", "v1", "https://a.test/v1/"),
            ("https://a.test/openai/v4", "v1", "https://a.test/openai/v4/"),
            ("https://a.test/v1beta", "v1beta", "https://a.test/v1beta/"),
            ("https://a.test/vertex", "v1beta", "https://a.test/vertex/v1beta/"),
        ] {
            assert_eq!(with_version(given.parse().unwrap(), version).as_str(), expected);
        }
    }
}

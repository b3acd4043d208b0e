//! Embeddings from a provider that speaks OpenAI's interface.

use crate::shared::body::{self, BodyError};
use crate::shared::headers::bearer;
use crate::shared::network::{Policy, Resolver, refused};
use async_trait::async_trait;
use fetch::http::Method;
use fetch::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use fetch::{Request, Tls, Url};
use serde::Deserialize;
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tool::{Embeddings, Env, Error, Result, Secret};

/// How long the provider may take for one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of its answer.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// No model makes longer vectors.
const MAX_DIMENSIONS: usize = 16_000;

/// Where embeddings come from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What stands before `/embeddings`, e.g. `https://api.openai.com/v1`.
    pub base_url: String,
    /// The provider's name for the model.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<Secret>,
    /// How long the vectors are; the model's own length unless given.
    pub dimensions: Option<usize>,
}

/// A client of the provider.
pub struct Client {
    settings: Settings,
    url: Url,
    http: fetch::Client,
    policy: Arc<Policy>,
    model: String,
}

impl Client {
    /// Checks the settings, without calling anybody.
    ///
    /// # Errors
    /// `InvalidConfig`, saying which setting is wrong.
    pub fn new(settings: Settings, env: &Env) -> Result<Self> {
        let wrong =
            |message: String| Error::invalid_config(format!("the embeddings cannot be used: {message}"));
        let url = format!("{}/embeddings", settings.base_url.trim_end_matches('/'));
        let url: Url = url.parse().map_err(|_| wrong("the base URL is no URL".into()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("the base URL must begin with http:// or https://".into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("the base URL holds a user name or password; give a key instead".into()));
        }
        if settings.model.trim().is_empty() {
            return Err(wrong("the model needs a name".into()));
        }
        if settings.dimensions.is_some_and(|length| !(1..=MAX_DIMENSIONS).contains(&length)) {
            return Err(wrong(format!("the dimensions must be 1 to {MAX_DIMENSIONS}")));
        }
        let policy = Arc::new(Policy::new(None, env, &mut Vec::new()));
        let http = fetch::Client::new(Arc::new(Resolver(policy.clone())), Tls::default());
        let length = settings.dimensions.map_or_else(String::new, |length| format!("/{length}"));
        let model = format!("{}{length}", settings.model);
        Ok(Self { settings, url, http, policy, model })
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<u8>> {
        self.policy.check(&self.url).map_err(|refused| explain_refusal(&refused))?;
        let mut body = json!({ "model": self.settings.model, "input": texts, "encoding_format": "float" });
        if let Some(length) = self.settings.dimensions {
            body["dimensions"] = length.into();
        }
        let mut request = Request::new(Method::POST, self.url.clone());
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = body.to_string().into();
        if let Some(key) = &self.settings.api_key {
            let value = bearer(key);
            let value =
                value.ok_or_else(|| Error::invalid_config("the key for embeddings is no legal header"))?;
            request.headers.insert(AUTHORIZATION, value);
        }
        let response = self.http.send(request).await.map_err(explain)?;
        let status = response.status();
        if !status.is_success() {
            // What it says beside may repeat the text or the key.
            let message = format!("the provider of embeddings answered with status {}", status.as_u16());
            return Err(Error::upstream(message).retryable());
        }
        body::read(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
            BodyError::TooLong => Error::upstream("the provider of embeddings answered too much"),
            BodyError::Broken(error) => explain(error),
        })
    }

    fn read(&self, answer: &[u8], wanted: usize) -> Result<Vec<Vec<f32>>> {
        let answer: Answer = serde_json::from_slice(answer).map_err(|_| {
            Error::upstream("the provider of embeddings answered something else than embeddings")
        })?;
        let mut data = answer.data;
        data.sort_by_key(|entry| entry.index);
        if data.len() != wanted {
            let message = format!("the provider was asked for {wanted} embeddings and sent {}", data.len());
            return Err(Error::upstream(message));
        }
        let length =
            self.settings.dimensions.or(data.first().map(|first| first.embedding.len())).unwrap_or_default();
        data.into_iter().map(|entry| unit(entry.embedding, length)).collect()
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

/// The vector with length one, so that the product of two is their cosine.
fn unit(mut vector: Vec<f32>, length: usize) -> Result<Vec<f32>> {
    if vector.len() != length || length > MAX_DIMENSIONS {
        let message =
            format!("the provider sent an embedding of {} dimensions instead of {length}", vector.len());
        return Err(Error::upstream(message));
    }
    let norm = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    if !norm.is_normal() {
        return Err(Error::upstream("the provider of embeddings sent a vector whose length is zero"));
    }
    vector.iter_mut().for_each(|part| *part /= norm);
    Ok(vector)
}

#[async_trait]
impl Embeddings for Client {
    fn model(&self) -> &str {
        &self.model
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let late = |_| {
            let message = format!("the provider of embeddings did not answer within {} s", TIMEOUT.as_secs());
            Error::timeout(message).retryable()
        };
        let answer = tokio::time::timeout(TIMEOUT, self.ask(texts)).await.map_err(late)??;
        self.read(&answer, texts.len())
    }
}

/// Without the URL, which may hold a secret.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn explain(error: fetch::Error) -> Error {
    if let Some(refused) = refused::find(&error) {
        return explain_refusal(refused);
    }
    Error::unavailable("the provider of embeddings cannot be reached").retryable()
}

fn explain_refusal(refused: &Error) -> Error {
    let address = refused.context("address").unwrap_or_default();
    Error::denied(format!(
        "the provider of embeddings is at {address}, which is not public; start with --allow-private-network"
    ))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embeddings({})", self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_which_setting_is_wrong() {
        let env = Env::default();
        let fine = || Settings {
            base_url: "https://embeddings.example.com/v1".into(),
            model: "m".into(),
            api_key: None,
            dimensions: None,
        };
        assert!(Client::new(fine(), &env).is_ok());
        for (settings, wrong) in [
            (Settings { base_url: "nowhere".into(), ..fine() }, "no URL"),
            (Settings { base_url: "ftp://example.com".into(), ..fine() }, "http://"),
            (Settings { base_url: "https://me:key@example.com".into(), ..fine() }, "user name or password"),
            (Settings { model: " ".into(), ..fine() }, "name"),
            (Settings { dimensions: Some(0), ..fine() }, "dimensions"),
        ] {
            let error = Client::new(settings, &env).unwrap_err();
            assert!(error.message().contains(wrong), "{error}");
            assert!(!error.message().contains("key@"), "{error}");
        }
    }
}

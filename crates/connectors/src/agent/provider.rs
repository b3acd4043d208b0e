//! Who runs a model, and where.

use super::model::{Dialect, Endpoint};
use crate::shared::base_url::check_base_url;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Problem, Secret};

/// Who runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Provider {
    /// OpenAI, and all that speak its language.
    Openai,
    Anthropic,
    Gemini,
    /// Ollama on this machine.
    Ollama,
    /// The MCP client that calls.
    Client,
}

const OLLAMA: &str = "http://127.0.0.1:11434/v1";

impl Provider {
    fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Openai | Self::Ollama => Some(Dialect::OpenAi),
            Self::Anthropic => Some(Dialect::Anthropic),
            Self::Gemini => Some(Dialect::Gemini),
            Self::Client => None,
        }
    }
}

/// A model that stands in for another.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FallbackSettings {
    /// Who runs the model: `openai`, `anthropic`, `gemini` or `ollama`.
    #[schemars(extend("x-address" = true))]
    pub(super) provider: Provider,
    /// Where the model is; the provider's own address unless given.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) base_url: Option<String>,
    /// The provider's key.
    #[serde(default)]
    pub(super) api_key: Option<Secret>,
    /// The provider's name for the model.
    #[serde(default)]
    pub(super) model: Option<String>,
}

/// The endpoint that settings describe; `path` stands before the names of their fields.
pub(super) fn check_endpoint(
    given: &FallbackSettings,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<Endpoint> {
    let mut refuse = |name: &str, code, message: &str| {
        problems.push(Problem::new(format!("{path}{name}"), code, message));
    };
    let Some(dialect) = given.provider.dialect() else {
        refuse(
            "provider",
            "NotAllowed",
            "the caller's own model stands in for no other; use another provider",
        );
        return None;
    };
    let model = given.model.as_deref().unwrap_or_default();
    let is_legal = |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '?' | '#' | '\\');
    if model.is_empty() || model.len() > 200 || !model.chars().all(is_legal) || model.contains("..") {
        refuse(
            "model",
            "Required",
            "the model needs a name of 1 to 200 characters, as its provider writes it",
        );
        return None;
    }
    let home = if given.provider == Provider::Ollama { OLLAMA } else { dialect.home() };
    let text = given.base_url.as_deref().unwrap_or(home);
    let base = check_base_url(text, &format!("{path}base_url"), "api_key or headers", problems)?;
    Some(Endpoint::new(dialect, base, given.api_key.as_ref(), model, path, problems))
}

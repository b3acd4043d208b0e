//! Tool URIs: `type://service/tool?options`, the address of anything callable.

mod options;
mod parse;
#[cfg(test)]
mod tests;

pub use options::{Method, Options};
pub use parse::ParseError;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The most bytes a URI may have.
pub const MAX_LENGTH: usize = 4096;

/// Types whose URIs may leave the tool out: a flow and an agent are one tool each.
const WITHOUT_TOOL: [&str; 2] = ["flow", "agent"];

/// The tool of every agent, which may be named or left out: `agent://support/ask` is `agent://support`.
const OF_AGENTS: (&str, &str) = ("agent", "ask");

/// The address of a tool, e.g. `api://crm-service/customer_list?timeout=5000`.
///
/// Parsing is strict and printing is canonical: `uri.to_string().parse()` gives `uri` again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Uri {
    scheme: String,
    service: String,
    tool: Option<String>,
    options: Options,
}

impl Uri {
    /// The address of a service's tool, without options. The parts are taken as they are,
    /// so they need no escapes here.
    pub fn of_tool(scheme: &str, service: &str, tool: &str) -> Self {
        Self {
            scheme: scheme.into(),
            service: service.into(),
            tool: Some(tool.into()),
            options: Options::default(),
        }
    }

    /// The address of what is one tool itself, a flow or an agent.
    #[must_use]
    pub fn of_service(scheme: &str, service: &str) -> Self {
        Self { scheme: scheme.into(), service: service.into(), tool: None, options: Options::default() }
    }

    /// The address of a service's tool, or of the service where it is one tool itself.
    #[must_use]
    pub fn of(scheme: &str, service: &str, tool: &str) -> Self {
        match WITHOUT_TOOL.contains(&scheme) {
            true => Self::of_service(scheme, service),
            false => Self::of_tool(scheme, service, tool),
        }
    }

    /// The type, e.g. `api`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The service's id, e.g. `crm-service`.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.service
    }

    /// The tool's name; only flows and agents have none.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// What comes behind the question mark.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The same address with other options.
    #[must_use]
    pub fn with_options(&self, options: Options) -> Self {
        Self { options, ..self.clone() }
    }
}

/// Everything that would end a part or is not plain text.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'/')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Like `ESCAPED`, but a slash needs no escape behind the question mark.
const ESCAPED_OPTION: &AsciiSet = &ESCAPED.remove(b'/');

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, utf8_percent_encode(&self.service, ESCAPED))?;
        if let Some(tool) = &self.tool {
            write!(f, "/{}", utf8_percent_encode(tool, ESCAPED))?;
        }
        let mut separator = '?';
        for (name, value) in self.options.pairs() {
            let name = utf8_percent_encode(&name, ESCAPED_OPTION);
            let value = utf8_percent_encode(&value, ESCAPED_OPTION);
            write!(f, "{separator}{name}={value}")?;
            separator = '&';
        }
        Ok(())
    }
}

impl FromStr for Uri {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::parse(text)
    }
}

impl<'de> Deserialize<'de> for Uri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Uri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

//! The options of a tool URI: typed where they are known, kept as text where not.

use super::ParseError;
use crate::{Error, Problem};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

const MAX_TIMEOUT_MS: u64 = 3_600_000;
const MAX_ATTEMPTS: u32 = 20;

/// The options that every type of service has.
const COMMON: [&str; 5] = ["timeout", "max-attempts", "method", "async", "version"];

/// An HTTP method that tools may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Head,
}

impl Method {
    /// All of them, in the order documents list them.
    pub const ALL: [Self; 6] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Head];

    /// The method as it stands in a request line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
        }
    }
}

impl FromStr for Method {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(text)).ok_or(())
    }
}

/// What comes behind the question mark of a tool URI.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// `timeout`, in milliseconds: how long the call may take, or one attempt where `max-attempts` is given too.
    pub timeout: Option<Duration>,
    /// `max-attempts`: how often the service is asked before the call fails.
    pub max_attempts: Option<u32>,
    /// `method`: the HTTP method, where the type has one.
    pub method: Option<Method>,
    /// `async`: answer at once and go on in the background.
    pub is_async: Option<bool>,
    /// `version`: which version of the thing to run.
    pub version: Option<u32>,
    /// Options only the connector knows, in the order given.
    pub other: Vec<(String, String)>,
}

impl Options {
    /// Those that only limit a call, whatever it does.
    pub const LIMITS: [&str; 2] = ["timeout", "max-attempts"];

    /// How long the whole call may take. The gateway sees to that, so that connectors need not.
    #[must_use]
    pub fn call_timeout(&self) -> Option<Duration> {
        self.timeout.filter(|_| self.max_attempts.is_none())
    }

    /// How long one attempt may take, which only the connector can see to: whoever speaks of attempts gives each
    /// of them so long.
    #[must_use]
    pub fn attempt_timeout(&self) -> Option<Duration> {
        self.timeout.filter(|_| self.max_attempts.is_some())
    }

    /// The value of an option that is not one of the typed ones.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.other.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Refuses options that a type does not know, which has `own` beside those that all types have.
    ///
    /// # Errors
    /// Each that is unknown, with those that are known.
    pub fn check_known(&self, own: &[&str]) -> Result<(), ParseError> {
        let unknown = self.other.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        let error = |(name, _): &(String, String)| {
            let known: Vec<_> = COMMON.iter().chain(own).copied().collect();
            ParseError::UnknownOption { name: name.clone(), known: known.join(", ") }
        };
        ParseError::of_options(unknown.map(error).collect())
    }

    /// What is left of these options within those that somebody has set before: time and attempts are the
    /// smaller ones, and everything else stays as it was set.
    ///
    /// # Errors
    /// `InvalidInput` when one would be another than was set.
    pub fn within(mut self, set: &Self) -> crate::Result<Self> {
        self.timeout = smaller(self.timeout, set.timeout);
        self.max_attempts = smaller(self.max_attempts, set.max_attempts);
        for (name, value) in set.deeds() {
            match self.deeds().find(|(own, _)| *own == name) {
                Some((_, own)) if own != value => {
                    let message = format!(
                        "the option {name}={own} cannot be chosen, the tool has set {name}={value}; leave it out"
                    );
                    return Err(refused("OptionIsSet", message));
                }
                _ => {}
            }
        }
        self.method = self.method.or(set.method);
        self.is_async = self.is_async.or(set.is_async);
        self.version = self.version.or(set.version);
        let more: Vec<_> = set.other.iter().filter(|(name, _)| self.get(name).is_none()).cloned().collect();
        self.other.extend(more);
        Ok(self)
    }

    /// Refuses a method that a tool with these does not leave open. The first is the one it uses by itself.
    ///
    /// # Errors
    /// `InvalidInput` with what is open.
    pub fn check_method(&self, open: &[Method]) -> crate::Result<()> {
        let Some(wanted) = self.method.filter(|wanted| !open.contains(wanted)) else { return Ok(()) };
        let open: Vec<_> = open.iter().map(|method| method.as_str()).collect();
        let what = match open.as_slice() {
            [] => "it has no method to choose; leave the option out".to_owned(),
            [own] => format!(
                "it sends {own}; leave the option out, or let the tool's definition list more in 'methods'"
            ),
            several => format!("it leaves {} open; choose one of them", several.join(", ")),
        };
        let message = format!("the tool does not take the option method={}: {what}", wanted.as_str());
        Err(refused("MethodNotOpen", message))
    }

    /// Those options that change what is done, not only how long or how often, for a tool that uses the
    /// method `own` by itself. Allow-lists see these.
    #[must_use]
    pub fn acting(&self, own: Option<Method>) -> Self {
        let method = self.method.filter(|method| Some(*method) != own);
        Self { method, is_async: self.is_async, version: self.version, ..Self::default() }
    }

    /// The same without time and attempts, which only narrow.
    #[must_use]
    pub fn without_limits(&self) -> Self {
        Self { timeout: None, max_attempts: None, ..self.clone() }
    }

    /// Nothing stands behind the question mark.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Every option but time and attempts, as text.
    fn deeds(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        self.pairs().filter(|(name, _)| !matches!(name.as_ref(), "timeout" | "max-attempts"))
    }

    /// Every option as text, the typed ones first.
    pub fn pairs(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        let known = [
            ("timeout", self.timeout.map(|timeout| timeout.as_millis().to_string())),
            ("max-attempts", self.max_attempts.map(|attempts| attempts.to_string())),
            ("method", self.method.map(|method| method.as_str().to_owned())),
            ("async", self.is_async.map(|is_async| is_async.to_string())),
            ("version", self.version.map(|version| version.to_string())),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into())));
        known.chain(self.other.iter().map(|(name, value)| (name.into(), value.into())))
    }

    /// Takes one more option in. `name` and `value` are free of escapes.
    pub(super) fn add(&mut self, name: String, value: String) -> Result<(), ParseError> {
        let bad = |expected: &'static str| ParseError::BadOption {
            name: name.clone(),
            value: value.clone(),
            expected,
        };
        let is_duplicate = match name.as_str() {
            "timeout" => {
                let ms =
                    integer(&value, MAX_TIMEOUT_MS).ok_or_else(|| bad("milliseconds from 1 to 3600000"))?;
                self.timeout.replace(Duration::from_millis(ms)).is_some()
            }
            "max-attempts" => {
                let attempts =
                    integer(&value, MAX_ATTEMPTS.into()).ok_or_else(|| bad("a number from 1 to 20"))?;
                self.max_attempts.replace(attempts as u32).is_some()
            }
            "method" => {
                let method = value.parse().map_err(|()| bad("GET, POST, PUT, PATCH, DELETE or HEAD"))?;
                self.method.replace(method).is_some()
            }
            "async" => {
                let is_async = value.parse().map_err(|_| bad("true or false"))?;
                self.is_async.replace(is_async).is_some()
            }
            "version" => {
                let version = integer(&value, u32::MAX.into()).ok_or_else(|| bad("a whole number from 1"))?;
                self.version.replace(version as u32).is_some()
            }
            _ if self.get(&name).is_some() => true,
            _ => {
                self.other.push((name, value));
                return Ok(());
            }
        };
        if is_duplicate { Err(ParseError::DuplicateOption(name)) } else { Ok(()) }
    }
}

fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn refused(code: &'static str, message: String) -> Error {
    Error::invalid_input(&message).with_problems(vec![Problem::new("uri", code, message)])
}

/// Digits only, without leading zeros or signs, from 1 to `max`.
fn integer(text: &str, max: u64) -> Option<u64> {
    let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_plain && (1..=max).contains(number))
}

//! Who is calling, and what that someone may do.

use crate::whole::whole_or_null;
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a person or a key is for. Each role may do what the ones below it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks at what is there; calls nothing.
    Viewer,
    /// Calls tools.
    Caller,
    /// Manages its tenant.
    Manager,
    /// Manages the platform: tenants, and everything in them.
    Admin,
}

impl Role {
    /// The role as it is written in JSON and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Caller => "caller",
            Self::Manager => "manager",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Viewer, Self::Caller, Self::Manager, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| {
                Error::invalid_input(format!("'{text}' is no role; use admin, manager, caller or viewer"))
            })
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        const ALL: [Role; 4] = [Role::Viewer, Role::Caller, Role::Manager, Role::Admin];
        const WORDS: [&str; 4] = ["viewer", "caller", "manager", "admin"];
        word(deserializer, &ALL, &WORDS)
    }
}

/// One of these by its word. What serde derives would also take an object with the word as a field.
fn word<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    all: &[T],
    words: &'static [&'static str],
) -> std::result::Result<T, D::Error> {
    let word = String::deserialize(deserializer)?;
    let found = words.iter().position(|known| *known == word).and_then(|at| all.get(at));
    found.copied().ok_or_else(|| serde::de::Error::unknown_variant(&word, words))
}

/// What a key may be used for, where that is less than its role allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reading: services, tools, audit.
    Read,
    /// Listing and calling tools.
    Call,
    /// Changing what is configured.
    Manage,
}

impl Scope {
    /// The scope as it is written in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Call => "call",
            Self::Manage => "manage",
        }
    }

    /// The role that it takes at least.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Read => Role::Viewer,
            Self::Call => Role::Caller,
            Self::Manage => Role::Manager,
        }
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        word(deserializer, &[Self::Read, Self::Call, Self::Manage], &["read", "call", "manage"])
    }
}

/// How much a tenant or a key may use. A limit left out is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Calls begun within a minute, with bursts of as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub calls_per_minute: Option<u32>,
    /// Calls under way at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub concurrent_calls: Option<u32>,
}

impl<'de> Deserialize<'de> for Limits {
    /// Of an object: what serde derives would also take a list of the fields in their order.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            #[serde(default, deserialize_with = "whole_or_null")]
            calls_per_minute: Option<u32>,
            #[serde(default, deserialize_with = "whole_or_null")]
            concurrent_calls: Option<u32>,
        }
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Fields, A::Error> {
                Fields::deserialize(MapAccessDeserializer::new(map))
            }
        }
        let Fields { calls_per_minute, concurrent_calls } = deserializer.deserialize_map(Object)?;
        Ok(Self { calls_per_minute, concurrent_calls })
    }
}

/// A name with `*` for any run of characters, e.g. `api://crm-service/*` or `time__*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pattern(pub String);

impl Pattern {
    /// Whether an address is meant that is called with `options`, those that change what is done. Options
    /// need a pattern that speaks of them behind a `?`: no `*` before it stands for any.
    #[must_use]
    pub fn matches_with(&self, address: &str, options: &str) -> bool {
        match self.0.split_once('?') {
            None => options.is_empty() && self.matches(address),
            Some((pattern, of_options)) => {
                matches(pattern, address) && matches(of_options, options.trim_start_matches('?'))
            }
        }
    }

    /// Whether everything that `other` means is meant by this one, too. A star of `other` can only be
    /// within one of ours, so it is compared like any other character.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self.0.split_once('?'), other.0.split_once('?')) {
            (None, None) => self.matches(&other.0),
            (None, Some(_)) => false,
            (Some((pattern, options)), None) => matches(pattern, &other.0) && matches(options, ""),
            (Some((pattern, options)), Some((theirs, their_options))) => {
                matches(pattern, theirs) && matches(options, their_options)
            }
        }
    }

    /// Why no name and no URI of a tool can ever be meant, if that is so.
    #[must_use]
    pub fn never_matches(&self) -> Option<String> {
        let address = self.0.split_once('?').map_or(self.0.as_str(), |(address, _)| address);
        if address.is_empty() {
            return Some("it is empty".to_owned());
        }
        if self.0.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Some("it has a blank or a control character".to_owned());
        }
        if let Some(why) =
            self.0.split_once('?').and_then(|(address, options)| vain_options(address, options))
        {
            return Some(why);
        }
        let (scheme, rest) = address.split_once("://")?;
        // What a star may stand for: a part, a service and its tool, nothing, digits of an escape.
        let tried = ["x", "x/x", "", "0", "20"].map(|star| {
            format!("{}://{}", scheme.replace('*', "x"), rest.replace('*', star)).parse::<crate::Uri>()
        });
        match tried.iter().any(Result::is_ok) {
            true => None,
            false => tried[0].as_ref().err().map(ToString::to_string),
        }
    }

    /// Compares the whole text, in time linear in both.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        matches(&self.0, text)
    }
}

/// Why no call has these options behind this address, if that is so.
fn vain_options(address: &str, options: &str) -> Option<String> {
    let mut keys = options.split('&').filter_map(|option| option.split('=').next());
    if let Some(key) = keys.find(|key| crate::uri::Options::LIMITS.contains(key)) {
        return Some(format!("the option '{key}' limits a call and is not compared; leave it out"));
    }
    let start = address.split('*').next().unwrap_or_default();
    let may_begin_a_uri = address.contains('*') && start.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_name = !address.contains("://") && !may_begin_a_uri;
    is_name.then(|| {
        "options are no part of a name; they follow a URI, as in api://crm/get?method=DELETE".to_owned()
    })
}

fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_patterns_that_can_never_match() {
        for text in [
            "*",
            "crm__*",
            "api://*",
            "*://*",
            "api://crm*",
            "api://crm/a%2*",
            "api://crm/x?method=*",
            "api*",
            "*?method=DELETE",
            "a*?*",
        ] {
            assert_eq!(Pattern(text.to_owned()).never_matches(), None, "{text}");
        }
        for text in [
            "",
            " ",
            "crm ping",
            "crm\n",
            "api://[",
            "api://crm/",
            "api://crm",
            "API://crm/x",
            "://x/y",
            "?x=1",
            "hs__echo?async=true",
            "mcp://hs/echo?timeout=5",
            "api://hs/echo?method=*&max-attempts=2",
            "rt__*?method=DELETE",
        ] {
            assert!(Pattern(text.to_owned()).never_matches().is_some(), "{text}");
        }
    }

    #[test]
    fn matches_names_with_stars() {
        for (pattern, text, expected) in [
            ("time__*", "time__now", true),
            ("time__*", "atime__now", false),
            ("api://crm/*", "api://crm/list", true),
            ("*", "", true),
            ("*list", "customer_list", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("ab*b", "ab", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(Pattern(pattern.into()).matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn takes_options_only_where_the_pattern_speaks_of_them() {
        for (pattern, options, expected) in [
            ("api://crm/get", "", true),
            ("api://crm/get", "?method=DELETE", false),
            ("api://crm/*", "?method=DELETE", false),
            ("*", "?method=DELETE", false),
            ("api://crm/get?method=DELETE", "?method=DELETE", true),
            ("api://crm/get?method=DELETE", "", false),
            ("api://crm/*?method=*", "?method=DELETE", true),
            ("*?*", "", true),
        ] {
            let pattern = Pattern(pattern.into());
            assert_eq!(pattern.matches_with("api://crm/get", options), expected, "{pattern} on {options}");
        }
    }

    #[test]
    fn covers_patterns_that_mean_less() {
        for (wide, narrow, expected) in [
            ("*", "time__*", true),
            ("time__*", "time__n*", true),
            ("time__*", "time__now", true),
            ("time__*", "time*", false),
            ("time__*", "*", false),
            ("a*c", "a*b*c", true),
            ("a*b*c", "a*c", false),
            ("*", "*?method=*", false),
            ("*?*", "*?method=*", true),
            ("*?*", "time__*", true),
            ("x?method=GET", "x", false),
            ("x?method=*", "x?method=GET", true),
        ] {
            assert_eq!(
                Pattern(wide.into()).covers(&Pattern(narrow.into())),
                expected,
                "{wide} over {narrow}"
            );
        }
    }

    #[test]
    fn orders_roles_by_what_they_may() {
        assert!(Role::Admin > Role::Manager && Role::Manager > Role::Caller && Role::Caller > Role::Viewer);
        assert_eq!("manager".parse::<Role>().unwrap(), Role::Manager);
        assert!("root".parse::<Role>().unwrap_err().to_string().contains("'root' is no role"));
    }

    /// A word is a text: nothing else means one.
    #[test]
    fn reads_roles_and_scopes_as_they_are_written() {
        for role in [Role::Viewer, Role::Caller, Role::Manager, Role::Admin] {
            let written = serde_json::to_string(&role).unwrap();
            assert_eq!(serde_json::from_str::<Role>(&written).unwrap(), role);
        }
        for scope in [Scope::Read, Scope::Call, Scope::Manage] {
            let written = serde_json::to_string(&scope).unwrap();
            assert_eq!(serde_json::from_str::<Scope>(&written).unwrap(), scope);
        }
        for text in [r#"{"admin":null}"#, r#"["admin"]"#, "3", "null", r#""Admin""#] {
            assert!(serde_json::from_str::<Role>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Scope>(r#"{"manage":null}"#).is_err());
        let error = serde_json::from_str::<Role>(r#""manger""#).unwrap_err().to_string();
        assert!(error.contains("unknown variant `manger`, expected one of `viewer`"), "{error}");
    }
}

//! Identifiers: short strings that are safe in URLs, logs and SQL, one type per thing they name.

use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const MAX_LENGTH: usize = 128;

/// Why a text is no identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Nothing was given.
    #[error("an id must not be empty")]
    Empty,
    /// More characters than an id may have.
    #[error("an id has at most {MAX_LENGTH} characters, this one has {0}")]
    TooLong(usize),
    /// A character outside `[A-Za-z0-9_.-]`, or a leading dot.
    #[error("an id may hold letters, digits, '_', '-' and (not first) '.', but this one holds {0:?}")]
    IllegalCharacter(char),
}

fn check(text: &str) -> Result<(), InvalidId> {
    if text.is_empty() {
        return Err(InvalidId::Empty);
    }
    if text.len() > MAX_LENGTH {
        return Err(InvalidId::TooLong(text.chars().count()));
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match text.chars().find(|c| !legal(*c)) {
        Some(c) => Err(InvalidId::IllegalCharacter(c)),
        None if text.starts_with('.') => Err(InvalidId::IllegalCharacter('.')),
        None => Ok(()),
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// A new id that sorts by the time it was made.
            #[must_use]
            pub fn generate() -> Self {
                Self(new_id())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

id! {
    /// Names a tenant: the wall that nothing crosses.
    TenantId
}
id! {
    /// Names a person of a tenant.
    UserId
}
id! {
    /// Names an API key; it is not the key itself.
    KeyId
}
id! {
    /// Names a Tool of a tenant, whatever it is called.
    ToolId
}
id! {
    /// Names work that goes on after its call was answered.
    RunId
}
id! {
    /// Names a table of a tenant.
    TableId
}
id! {
    /// Names an MCP instance of a tenant; it is not its key.
    InstanceId
}

impl TenantId {
    /// The tenant every installation starts with.
    #[must_use]
    pub fn default_tenant() -> Self {
        Self("default".into())
    }
}

/// A new UUID, later ones greater, written down without the detour of `to_string`.
#[must_use]
pub fn new_id<T: for<'a> From<&'a str>>() -> T {
    T::from(uuid::Uuid::now_v7().as_hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()))
}

/// When an id of [`new_id`] was made, in milliseconds since 1970; nothing for others.
#[must_use]
pub fn made_at_ms(id: &str) -> Option<i64> {
    let (seconds, nanoseconds) = uuid::Uuid::try_parse(id).ok()?.get_timestamp()?.to_unix();
    i64::try_from(seconds).ok()?.checked_mul(1000)?.checked_add(i64::from(nanoseconds / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_plain_names_and_generated_ids() {
        for text in ["acme", "a", "A-1_b.c", TenantId::generate().as_str()] {
            assert_eq!(text.parse::<TenantId>().map(|id| id.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn an_id_tells_when_it_was_made() {
        let before = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let made = made_at_ms(&new_id::<String>()).unwrap_or_default();
        assert!((0..60_000).contains(&(i128::from(made) - i128::try_from(before).unwrap_or_default())));
        assert_eq!((made_at_ms("x"), made_at_ms("7f3b2a90-0000-4000-8000-000000000000")), (None, None));
    }

    #[test]
    fn says_what_is_wrong_with_an_id() {
        let error = |text: &str| text.parse::<TenantId>().unwrap_err();
        assert_eq!(error(""), InvalidId::Empty);
        assert_eq!(error(&"a".repeat(129)), InvalidId::TooLong(129));
        assert_eq!(error("a/b"), InvalidId::IllegalCharacter('/'));
        assert_eq!(error("../etc"), InvalidId::IllegalCharacter('/'));
        assert_eq!(error(".."), InvalidId::IllegalCharacter('.'));
        assert_eq!(error("a\0"), InvalidId::IllegalCharacter('\0'));
    }
}

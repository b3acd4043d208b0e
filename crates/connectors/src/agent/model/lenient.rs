//! Values in answers that dialects and servers write in more than one way.

use super::MAX_CALLS;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A list, of which no more is kept than tells that it is too long: it may have a million items.
pub(super) struct Few<T>(pub(super) Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Few<T>, A::Error> {
        let mut few = Vec::new();
        while few.len() <= MAX_CALLS {
            let Some(item) = items.next_element()? else { return Ok(Few(few)) };
            few.push(item);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Few(few))
    }
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

/// A text, alone or in parts; nothing where it is something else.
pub(super) fn text_of(content: &RawValue) -> Option<String> {
    match content.get().as_bytes().first()? {
        b'n' => Some(String::new()),
        b'"' => serde_json::from_str(content.get()).ok(),
        b'[' => {
            let parts: Few<Part<'_>> = serde_json::from_str(content.get()).ok()?;
            // A text is whole or none.
            (parts.0.len() <= MAX_CALLS).then(|| parts.0.into_iter().filter_map(|part| part.text).collect())
        }
        _ => None,
    }
}

/// Arguments, which some write as a text that is JSON, and some as JSON.
pub(super) fn arguments_text(arguments: &RawValue) -> String {
    match arguments.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(arguments.get()).unwrap_or_default(),
        Some(b'n') | None => String::new(),
        Some(_) => arguments.get().to_owned(),
    }
}

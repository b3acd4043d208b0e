//! What some services offer besides tools: documents to read and prompts to fill in.

use crate::call::Extras;
use crate::fields::Fields;
use crate::form::{Form, Formed, PROMPT, RESOURCE, TEMPLATE};
use crate::sanitize::{Hidden, clean_field};
use crate::{Context, Result};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use tokio::sync::broadcast;

/// What services offer in lists beside their tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Prompts, by name.
    Prompts,
    /// Resources, by URI.
    Resources,
    /// Templates of resources, by their pattern.
    Templates,
}

impl ListKind {
    /// Where the key stands in a definition.
    #[must_use]
    pub fn key_field(self) -> &'static str {
        match self {
            Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    fn form(self) -> Form {
        Form::Record(match self {
            Self::Prompts => PROMPT,
            Self::Resources => RESOURCE,
            Self::Templates => TEMPLATE,
        })
    }
}

/// One thing on offer, as its service describes it.
#[derive(Debug, Clone)]
pub struct Item {
    /// A prompt's name, a resource's URI, or a template of such URIs.
    pub key: String,
    /// The definition in JSON.
    pub definition: Box<RawValue>,
}

/// Everything a service offers besides tools.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// Prompts, by name.
    pub prompts: Vec<Item>,
    /// Resources, by URI.
    pub resources: Vec<Item>,
    /// Templates of resources, by their pattern.
    pub templates: Vec<Item>,
    /// How the service wants to be used, in its own words, without what hides in them.
    pub instructions: Option<String>,
    /// It knows how arguments of prompts and templates go on.
    pub can_complete: bool,
    /// It tells when a resource has changed.
    pub can_watch: bool,
}

/// What a caller wants of a library.
#[derive(Debug)]
pub enum Wanted {
    /// The contents of a resource.
    Resource {
        /// Which one.
        uri: String,
    },
    /// A prompt with its arguments filled in.
    Prompt {
        /// Which one.
        name: String,
        /// With what, as the caller wrote it.
        arguments: Option<Box<RawValue>>,
    },
    /// How an argument may go on.
    Completion {
        /// Of what.
        of: Reference,
        /// The argument so far, as the caller wrote it.
        argument: Box<RawValue>,
    },
}

/// Something that has arguments to complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A prompt, by name.
    Prompt(String),
    /// A template of resources, by its pattern, or a resource.
    Resource(String),
}

/// A resource has changed.
#[derive(Debug, Clone)]
pub struct Update {
    /// Which one.
    pub uri: String,
}

/// The documents and prompts of a service.
#[async_trait]
pub trait Library: Send + Sync {
    /// What is there now. The catalog caches the answer; `Connector::changes` tells when it is old.
    async fn offer(&self, cx: &Context) -> Result<Offer>;

    /// Gets what is wanted, in the words of the service.
    async fn get(&self, cx: &Context, wanted: Wanted, extras: Extras) -> Result<Box<RawValue>>;

    /// Wants to hear of changes of a resource, until `unwatch` was called as often.
    async fn watch(&self, cx: &Context, uri: &str) -> Result<()>;

    /// Does not want to hear of them any more.
    fn unwatch(&self, uri: &str);

    /// Where changes of watched resources come out.
    fn updates(&self) -> broadcast::Receiver<Update>;
}

impl Item {
    /// The same as every client can read it, and whether something had to be changed or left out for that. Whoever has
    /// found its key has found all that it must have.
    #[must_use]
    pub fn in_form(mut self, kind: ListKind) -> (Self, bool) {
        let changed = match kind.form().apply(self.definition.get()) {
            Formed::Changed(text) => RawValue::from_string(text).ok(),
            Formed::AsItIs | Formed::Unusable => None,
        };
        let is_changed = changed.is_some();
        if let Some(changed) = changed {
            self.definition = changed;
        }
        (self, is_changed)
    }

    /// The same without what hides in its words, and what that was.
    #[must_use]
    pub fn cleaned(mut self) -> (Self, BTreeSet<Hidden>) {
        let mut found = BTreeSet::new();
        let cleaned = clean_field("", self.definition.get(), &mut found);
        if let Some(Ok(cleaned)) = cleaned.map(RawValue::from_string) {
            self.definition = cleaned;
        }
        (self, found)
    }

    /// The definition with another key, which stands in this field; everything else as it is.
    #[must_use]
    pub fn renamed(&self, field: &str, name: &str) -> String {
        let fields: Fields<'_> = serde_json::from_str(self.definition.get()).unwrap_or_default();
        let mut text = String::with_capacity(self.definition.get().len() + name.len());
        for (key, value) in &fields.0 {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&serde_json::Value::from(&**key).to_string());
            text.push(':');
            match &**key {
                key if key == field => text.push_str(&serde_json::Value::from(name).to_string()),
                _ => text.push_str(value.get()),
            }
        }
        text.push('}');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_in_words_is_taken_out_and_the_rest_stays() {
        let text = "{ \"name\":\"a\u{200b}b\", \"description\":\"x\\u200b\u{202e}y\", \"n\":1.0,\
            \"arguments\":[{\"name\":\"who\",\"description\":\"\\u001b[31mred\"}] }";
        let definition = RawValue::from_string(text.to_owned()).unwrap();
        let (item, hidden) = Item { key: "ab".into(), definition }.cleaned();
        let kinds = [Hidden::TerminalEscape, Hidden::ZeroWidth, Hidden::Bidirectional];
        assert_eq!(hidden, kinds.into());
        assert_eq!(
            item.definition.get(),
            "{ \"name\":\"a\u{200b}b\", \"description\":\"xy\", \"n\":1.0,\
            \"arguments\":[{\"name\":\"who\",\"description\":\"red\"}] }"
        );
        let plain = RawValue::from_string(r#"{"name":"a","description":"b \u0041"}"#.to_owned()).unwrap();
        let (item, hidden) = Item { key: "a".into(), definition: plain.clone() }.cleaned();
        assert_eq!((item.definition.get(), hidden.len()), (plain.get(), 0));
    }

    #[test]
    fn a_renamed_definition_keeps_everything_else() {
        let text = r#"{"title":"T","name":"greet","x":9007199254740993,"arguments":[{"name":"who"}]}"#;
        let definition = RawValue::from_string(text.to_owned()).unwrap();
        let item = Item { key: "greet".into(), definition };
        assert_eq!(
            item.renamed("name", "Hello__greet"),
            r#"{"title":"T","name":"Hello__greet","x":9007199254740993,"arguments":[{"name":"who"}]}"#
        );
    }
}

//! The schemas of settings: generated and compiled once per type, however many services have such settings.

use crate::schema::Schema;
use schemars::JsonSchema;
use serde_json::Value;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

/// The schema of one type of settings.
#[derive(Debug)]
pub struct SettingsSchema {
    /// The JSON Schema, with secrets marked `writeOnly`.
    pub json: Value,
    pub(crate) compiled: Schema,
}

/// What follows from types alone, which are as many as the program has: kept for good.
static KNOWN: LazyLock<RwLock<HashMap<TypeId, &'static SettingsSchema>>> = LazyLock::new(RwLock::default);

impl SettingsSchema {
    /// The schema of `S`.
    ///
    /// # Panics
    /// When the schema that is generated for `S` is none, which the conformance suite would have found.
    #[must_use]
    pub fn of<S: JsonSchema + 'static>() -> &'static Self {
        let id = TypeId::of::<S>();
        if let Some(known) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return known;
        }
        let json = schemars::schema_for!(S).to_value();
        let compiled = Schema::compile(&json, "setting").expect("a generated schema is a valid one");
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(id).or_insert_with(|| Box::leak(Box::new(Self { json, compiled })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_each_types_schema_once() {
        #[derive(JsonSchema)]
        struct One {
            #[expect(dead_code, reason = "only its schema counts")]
            a: String,
        }
        let (first, again) = (SettingsSchema::of::<One>(), SettingsSchema::of::<One>());
        assert!(std::ptr::eq(first, again));
        assert_eq!(first.json["properties"]["a"]["type"], "string");
        assert!(!std::ptr::eq(first, SettingsSchema::of::<Vec<One>>()));
    }
}

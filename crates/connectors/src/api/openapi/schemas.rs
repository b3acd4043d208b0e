//! Schemas of a document as JSON Schema that stands alone: references spelled out, dialects made one, size bounded.

use super::budget::Budget;
use super::dialects::{keep_required, known_type, nullable, tidy_bounds};
use super::document::{Document, Version, list, object, reference};
use super::merge::merged;
use super::names::shorten;
use super::notes::Notes;
use super::patterns;
use serde_json::{Map, Value, json};

/// How deep references and objects are spelled out: all the way, or as far as there is room for. All fields of an
/// object are better than the first one with all that is in it.
const DEPTHS: [usize; 4] = [10, 6, 4, 2];
/// Members of `oneOf` and its like.
const MAX_MEMBERS: usize = 50;
/// Values of an `enum`; a longer list is left out.
const MAX_VALUES: usize = 2_000;
const MAX_WORDS: usize = 300;
/// The size of one pattern.
const MAX_PATTERN: usize = 500_000;

/// Spells the schemas of one tool out, and counts what that costs.
///
/// Where something is left out, more is accepted than the document says, never less.
pub(super) struct Schemas<'a> {
    document: &'a Document,
    budget: Budget,
    /// What is left for the patterns of all tools, which cost far more than their text.
    patterns: &'a mut Budget,
    max_depth: usize,
    /// How deep this try has come.
    deepest: usize,
    /// The references that are being spelled out.
    open: Vec<String>,
    /// How often something was left out.
    cuts: usize,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(document: &'a Document, max_bytes: usize, patterns: &'a mut Budget) -> Self {
        let budget = Budget::new(max_bytes);
        Self { document, budget, patterns, max_depth: DEPTHS[0], deepest: 0, open: Vec::new(), cuts: 0 }
    }

    /// The bytes that were written so far.
    pub(super) fn used(&self) -> usize {
        self.budget.used()
    }

    /// The schema without references, and with nothing in it that JSON Schema does not know.
    pub(super) fn convert(&mut self, schema: &Value, notes: &mut Notes) -> Map<String, Value> {
        let (before, patterns_before) = (self.budget, *self.patterns);
        let mut result = Map::new();
        self.deepest = DEPTHS[0];
        for depth in DEPTHS {
            // To go less deep helps only where it was deep.
            if depth > self.deepest {
                continue;
            }
            (self.budget, self.max_depth, self.deepest) = (before, depth, 0);
            *self.patterns = patterns_before;
            result = self.convert_at(schema, 0, notes);
            if !self.budget.is_spent() {
                break;
            }
        }
        if self.budget.is_spent() || self.max_depth < DEPTHS[0] {
            notes.warn("a schema is too large to be spelled out whole; what is deep inside takes any value");
        }
        result
    }

    fn convert_at(&mut self, schema: &Value, depth: usize, notes: &mut Notes) -> Map<String, Value> {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return entries(json!({ "not": {} })),
            _ => return Map::new(),
        };
        self.deepest = self.deepest.max(depth);
        // Each field costs a look, whatever comes of it.
        if depth > self.max_depth || !self.budget.spend(2 + fields.len()) {
            return self.cut(schema, "its fields are not spelled out here");
        }
        if let Some(reference) = reference(schema) {
            return self.referenced(reference, fields, depth, notes);
        }
        let mut result = self.keywords(fields, depth, notes);
        let members = list(fields.get("allOf"));
        if !members.is_empty() {
            result = self.all_of(result, members, depth, notes);
        }
        let is_nullable = |key: &str| fields.get(key) == Some(&Value::Bool(true));
        if self.document.version != Version::V31 && (is_nullable("nullable") || is_nullable("x-nullable")) {
            result = nullable(result);
        }
        result
    }

    fn referenced(
        &mut self,
        reference: &str,
        siblings: &Map<String, Value>,
        depth: usize,
        notes: &mut Notes,
    ) -> Map<String, Value> {
        let document = self.document;
        let target = match document.target(reference) {
            Ok(target) => target,
            Err(unresolved) => {
                notes.warn(format!("{unresolved}; any value is accepted there"));
                self.cuts += 1;
                return self.described(Map::new(), "Defined in a place that was not imported.");
            }
        };
        let mut result = if self.open.iter().any(|open| open == reference) {
            self.cut(target, "it contains itself, so its fields are not spelled out again")
        } else {
            self.open.push(reference.to_owned());
            let result = self.convert_at(target, depth + 1, notes);
            self.open.pop();
            result
        };
        // Words and defaults beside a reference are meant for this place.
        for key in ["description", "default"] {
            if let Some(value) = siblings.get(key) {
                self.copy(&mut result, key, value);
            }
        }
        if siblings.get("nullable") == Some(&Value::Bool(true)) { nullable(result) } else { result }
    }

    /// A schema that says only what kind of thing it is, and why no more.
    fn cut(&mut self, schema: &Value, why: &str) -> Map<String, Value> {
        self.cuts += 1;
        let schema = self.document.resolve(schema).unwrap_or(schema);
        let mut result = Map::new();
        let is_object = || schema.get("properties").is_some().then(|| "object".into());
        if let Some(kind) = known_type(schema.get("type")).or_else(is_object) {
            self.budget.spend_field("type", &kind);
            result.insert("type".into(), kind);
        }
        self.keep_items(object(Some(schema)), &mut result);
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let words = text("title").or_else(|| text("description")).map(|words| shorten(words, 100));
        self.described(result, &words.map_or_else(|| format!("({why})"), |words| format!("{words} ({why})")))
    }

    /// Clients refuse a list that does not say what is in it, if only "anything".
    fn keep_items(&mut self, fields: &Map<String, Value>, result: &mut Map<String, Value>) {
        let is_list = |kind: &Value| kind == "array" || list(Some(kind)).iter().any(|kind| kind == "array");
        let is_cut = fields.contains_key("items") && !result.contains_key("items");
        if is_cut && result.get("type").is_some_and(is_list) {
            let items = fields.get("items").and_then(|items| self.document.resolve(items).ok());
            let kind = items.and_then(|items| known_type(items.get("type")));
            // Only the kind, and not that of lists, which would have to say what is in them.
            let kind = kind.filter(|kind| kind.is_string() && kind != "array");
            let items = kind.map(|kind| ("type".to_owned(), kind));
            self.budget.spend("items".len() + 20);
            result.insert("items".into(), Value::Object(items.into_iter().collect()));
        }
    }

    /// Adds a description, if there is room for it.
    fn described(&mut self, mut schema: Map<String, Value>, words: &str) -> Map<String, Value> {
        if self.budget.spend_field("description", &Value::Null) && self.budget.spend(words.len()) {
            schema.insert("description".into(), words.into());
        }
        schema
    }

    fn all_of(
        &mut self,
        own: Map<String, Value>,
        members: &[Value],
        depth: usize,
        notes: &mut Notes,
    ) -> Map<String, Value> {
        let members: Vec<_> =
            self.members(members, depth, notes).into_iter().filter(|member| !member.is_empty()).collect();
        let joined = members.iter().try_fold(own.clone(), merged);
        let joined = joined.map(|mut joined| {
            let properties = joined.get("properties").cloned();
            // What one member asks for and another one keeps to the server cannot be sent.
            keep_required(&mut joined, |name| properties.as_ref().is_none_or(|all| all.get(name).is_some()));
            joined
        });
        joined.unwrap_or_else(|| {
            let mut result = own;
            result.insert("allOf".into(), members.into_iter().map(Value::Object).collect());
            result
        })
    }

    /// The schemas of a list, as far as there is room.
    fn members(&mut self, members: &[Value], depth: usize, notes: &mut Notes) -> Vec<Map<String, Value>> {
        let mut converted = Vec::new();
        for member in members.iter().take(MAX_MEMBERS) {
            let member = self.convert_at(member, depth + 1, notes);
            if self.budget.is_spent() {
                break;
            }
            converted.push(member);
        }
        if converted.len() < members.len() {
            self.cuts += 1;
        }
        converted
    }

    fn keywords(
        &mut self,
        fields: &Map<String, Value>,
        depth: usize,
        notes: &mut Notes,
    ) -> Map<String, Value> {
        let mut result = Map::new();
        if let Some(kind) = known_type(fields.get("type")) {
            self.budget.spend_field("type", &kind);
            result.insert("type".into(), kind);
        }
        for (key, value) in fields {
            if self.budget.is_spent() {
                break;
            }
            match key.as_str() {
                "properties" => self.properties(&mut result, value, depth, notes),
                "items" | "additionalProperties" | "not" => self.inner(&mut result, key, value, depth, notes),
                "oneOf" | "anyOf" | "prefixItems" => {
                    self.choices(&mut result, key, list(Some(value)), depth, notes);
                }
                "pattern" => self.pattern(&mut result, value, notes),
                _ => self.copy(&mut result, key, value),
            }
        }
        self.keep_items(fields, &mut result);
        tidy_bounds(fields, &mut result);
        let properties = object(fields.get("properties"));
        let is_read_only =
            |name: &str| properties.get(name).is_some_and(|property| self.is_read_only(property));
        keep_required(&mut result, |name| !is_read_only(name));
        result
    }

    /// A keyword that holds one schema.
    fn inner(
        &mut self,
        result: &mut Map<String, Value>,
        key: &str,
        value: &Value,
        depth: usize,
        notes: &mut Notes,
    ) {
        let cuts = self.cuts;
        let inner = match value {
            // The fields that were left out must still be taken.
            Value::Bool(_) if key == "additionalProperties" && result.contains_key(key) => return,
            Value::Bool(_) if key == "additionalProperties" => value.clone(),
            Value::Object(_) | Value::Bool(_) => self.convert_at(value, depth + 1, notes).into(),
            _ => return,
        };
        // What is left out of a `not` would make it refuse more.
        let is_too_strict = key == "not" && self.cuts > cuts;
        if !is_too_strict && self.budget.spend(key.len() + 4) {
            result.insert(key.to_owned(), inner);
        }
    }

    /// A keyword that holds several schemas.
    fn choices(
        &mut self,
        result: &mut Map<String, Value>,
        key: &str,
        members: &[Value],
        depth: usize,
        notes: &mut Notes,
    ) {
        let cuts = self.cuts;
        let converted = self.members(members, depth, notes);
        let is_whole = converted.len() == members.len() || key == "prefixItems";
        // Two members that are cut short may take the same value, which `oneOf` refuses.
        let key = if key == "oneOf" && self.cuts > cuts { "anyOf" } else { key };
        if !converted.is_empty() && is_whole && !result.contains_key(key) && self.budget.spend(key.len() + 4)
        {
            result.insert(key.to_owned(), converted.into_iter().map(Value::Object).collect());
        }
    }

    /// Fields that a caller may send; what the server alone writes is left out.
    fn properties(
        &mut self,
        result: &mut Map<String, Value>,
        value: &Value,
        depth: usize,
        notes: &mut Notes,
    ) {
        let all = object(Some(value));
        let mut properties = Map::new();
        self.budget.spend("properties".len() + 6);
        for (name, property) in all {
            // A look at each, also at those that are left out.
            if !self.budget.spend(1) {
                break;
            }
            if self.is_read_only(property) {
                continue;
            }
            if !self.budget.spend(name.len() + 4) {
                break;
            }
            properties.insert(name.clone(), self.convert_at(property, depth + 1, notes).into());
        }
        if self.budget.is_spent() {
            self.cuts += 1;
            result.insert("additionalProperties".into(), true.into());
        }
        result.insert("properties".into(), properties.into());
    }

    /// Keeps a pattern that can be compiled in reasonable time.
    fn pattern(&mut self, result: &mut Map<String, Value>, value: &Value, notes: &mut Notes) {
        let Some(text) = value.as_str().filter(|text| !text.is_empty()) else { return };
        let size = patterns::size(text);
        if size > MAX_PATTERN || !self.patterns.spend(size) {
            self.cuts += 1;
            notes.warn("a pattern is too large to be used; it is left out");
        } else if self.budget.spend_field("pattern", value) {
            result.insert("pattern".into(), value.clone());
        }
    }

    fn is_read_only(&self, property: &Value) -> bool {
        let is_marked = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        is_marked(property) || self.document.resolve(property).is_ok_and(is_marked)
    }

    /// Keeps a keyword that has no schemas in it, if its value is of the type it must have.
    fn copy(&mut self, result: &mut Map<String, Value>, key: &str, value: &Value) {
        let is_count = value.as_u64().is_some();
        let is_fit = match key {
            "description" => value.is_string(),
            "format" | "contentEncoding" | "contentMediaType" => value.is_string(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                is_count
            }
            "uniqueItems" => value.is_boolean(),
            "enum" => (1..=MAX_VALUES).contains(&list(Some(value)).len()),
            "required" => value.is_array(),
            "const" | "default" => true,
            _ => false,
        };
        if !is_fit {
            return;
        }
        if let Some(words) = value.as_str().filter(|_| key == "description") {
            let words = shorten(words, MAX_WORDS);
            if !words.is_empty() {
                let without = std::mem::take(result);
                *result = self.described(without, &words);
            }
        } else if value != "" && self.budget.spend_field(key, value) {
            result.insert(key.to_owned(), value.clone());
        }
    }
}

fn entries(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

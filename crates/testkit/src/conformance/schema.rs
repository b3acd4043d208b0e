//! Walking through JSON Schemas as schemars writes them.

use serde_json::Value;

/// One step into a document.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Name(String),
    Item,
}

/// Every object schema with properties, with a path for people.
pub(super) fn objects(root: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    collect(root, "settings", &mut found);
    found
}

/// Every property of every object, with a path for people.
pub(super) fn properties(root: &Value) -> Vec<(String, &Value)> {
    let all = objects(root).into_iter();
    all.flat_map(|(path, object)| {
        let properties = object["properties"].as_object().into_iter().flatten();
        properties.map(move |(name, property)| (format!("{path}.{name}"), property))
    })
    .collect()
}

fn collect<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) {
                found.push((path.to_owned(), schema));
            }
            for (name, inner) in fields {
                let is_wrapper = matches!(name.as_str(), "properties" | "$defs");
                let inner_path = if is_wrapper { path.to_owned() } else { format!("{path}.{name}") };
                collect(inner, &inner_path, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, path, found)),
        _ => {}
    }
}

/// The property, or what it refers to, has words for people.
pub(super) fn is_described(root: &Value, property: &Value) -> bool {
    let has_words = |schema: &Value| schema["description"].as_str().is_some_and(|text| !text.is_empty());
    has_words(property) || has_words(resolve(root, property))
}

/// The way to the first place in `document` that is exactly this text.
pub(super) fn find_text(document: &Value, text: &str) -> Option<Vec<Step>> {
    let prefixed = |step: Step, inner: &Value| {
        find_text(inner, text).map(|mut steps| {
            steps.insert(0, step);
            steps
        })
    };
    match document {
        Value::String(found) if found == text => Some(Vec::new()),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, inner)| prefixed(Step::Name(name.clone()), inner))
        }
        Value::Array(items) => items.iter().find_map(|inner| prefixed(Step::Item, inner)),
        _ => None,
    }
}

/// The schema of what `path` leads to.
pub(super) fn at<'a>(root: &'a Value, path: &[Step]) -> Option<&'a Value> {
    let mut schema = root;
    for step in path {
        schema = resolve(root, schema);
        schema = match step {
            Step::Name(name) => {
                schema["properties"].get(name).or_else(|| schema.get("additionalProperties"))?
            }
            Step::Item => schema.get("items")?,
        };
    }
    Some(resolve(root, schema))
}

/// Follows `$ref`, and `anyOf` with null, which is how schemars writes an `Option`.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        return root.pointer(target).map_or(schema, |target| resolve(root, target));
    }
    let options = schema["anyOf"].as_array().into_iter().flatten();
    match options.clone().find(|option| option["type"] != "null") {
        Some(option) if options.count() == 2 => resolve(root, option),
        _ => schema,
    }
}

//! Rules about settings: the schema is the reference page and the form, so it must be complete.

use super::{Subject, Verdict, ensure, schema};
use serde_json::Value;
use tool::ErrorKind;
use tool::schema::Schema;

pub(super) fn schema_is_valid_and_closed(subject: &Subject) -> Verdict {
    let root = subject.tested.kind.settings_schema();
    Schema::compile(root, "setting").map_err(|error| format!("the settings schema is unusable: {error}"))?;
    ensure(root["type"] == "object", || "the settings must be an object".to_owned())?;
    for (path, object) in schema::objects(root) {
        let is_closed =
            object.get("additionalProperties").is_some_and(|value| *value == false || value.is_object());
        ensure(is_closed, || format!("'{path}' takes any property; add #[serde(deny_unknown_fields)]"))?;
    }
    Ok(())
}

pub(super) fn every_setting_is_described(subject: &Subject) -> Verdict {
    let root = subject.tested.kind.settings_schema();
    let silent: Vec<_> = schema::properties(root)
        .into_iter()
        .filter(|(_, property)| !schema::is_described(root, property))
        .map(|(path, _)| path)
        .collect();
    ensure(silent.is_empty(), || format!("write a doc comment on {}", silent.join(", ")))
}

/// The console asks for every setting by its title, in both languages.
pub(super) fn every_setting_has_words(subject: &Subject) -> Verdict {
    let root = subject.tested.kind.form_schema();
    let has = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let is_named = |property: &Value| {
        let zh = &property["x-ui"]["zh"];
        has(&property["title"]) && has(&zh["title"]) && has(&zh["description"])
    };
    let silent: Vec<_> = schema::properties(&root)
        .into_iter()
        .filter(|(_, property)| !is_named(property))
        .map(|(path, _)| path)
        .collect();
    ensure(silent.is_empty(), || format!("add to the connector's words.rs: {}", silent.join(", ")))
}

pub(super) fn secrets_are_write_only(subject: &Subject) -> Verdict {
    let root = subject.tested.kind.settings_schema();
    for secret in &subject.secrets {
        let path = schema::find_text(&subject.settings, secret)
            .ok_or("each of the subject's secrets must stand in its settings")?;
        let found = schema::at(root, &path).ok_or_else(|| format!("the schema has nothing at {path:?}"))?;
        ensure(found["writeOnly"] == true, || format!("{path:?} holds a secret; make it a tool::Secret"))?;
    }
    for (path, property) in schema::properties(root) {
        let name = path.rsplit('.').next().unwrap_or_default();
        let sounds_secret =
            ["password", "secret", "token", "api_key"].iter().any(|word| name.ends_with(word));
        let is_text = property["type"] == "string" || property["type"][0] == "string";
        ensure(!(sounds_secret && is_text) || property["writeOnly"] == true, || {
            format!("'{path}' sounds like a secret; make it a tool::Secret")
        })?;
    }
    Ok(())
}

/// Without one, stored secrets would follow the service wherever a change leads it.
pub(super) fn secrets_have_an_address(subject: &Subject) -> Verdict {
    let root = subject.tested.kind.settings_schema();
    let properties = schema::properties(root);
    let has = |mark: &str| properties.iter().any(|(_, property)| property[mark] == true);
    ensure(!has("writeOnly") || has(tool::connector::ADDRESS), || {
        "mark the fields that say where the service is with #[schemars(extend(\"x-address\" = true))]"
            .to_owned()
    })
}

pub(super) fn readme_examples_open(subject: &Subject) -> Verdict {
    let mut blocks = 0;
    for block in subject.readme.split("```json\n").skip(1) {
        blocks += 1;
        let text = block.split("```").next().unwrap_or_default();
        let settings: Value = serde_json::from_str(text)
            .map_err(|error| format!("json block {blocks} of the README is no JSON: {error}"))?;
        subject
            .tested
            .kind
            .open(settings, &subject.env)
            .map_err(|error| format!("json block {blocks} of the README does not open: {error:?}"))?;
    }
    ensure(blocks > 0, || "the README needs an example of the settings in a ```json block".to_owned())
}

pub(super) fn unknown_setting_is_refused_by_name(subject: &Subject) -> Verdict {
    let mut settings = subject.settings.clone();
    settings["no_such_setting"] = true.into();
    let Err(error) = subject.tested.kind.open(settings, &subject.env) else {
        return Err("an unknown setting was taken; add #[serde(deny_unknown_fields)]".to_owned());
    };
    ensure(error.kind() == ErrorKind::InvalidConfig, || format!("must be InvalidConfig: {error:?}"))?;
    let names_it = error.problems().iter().any(|problem| problem.path == "no_such_setting");
    ensure(names_it, || format!("no problem names the setting: {error:?}"))
}

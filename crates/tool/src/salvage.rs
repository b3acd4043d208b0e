//! Settings with mistakes in them, made readable, so that what is not mistaken is checked as well.
//!
//! A wrong value is taken out, or something stands in for it. Either may cause complaints of its own,
//! so both are tried, and only what is wrong both times is told.

use crate::Problem;
use crate::schema::{Complaint, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};
use std::collections::BTreeMap;

/// Stand for a text that is missing or no text. Whoever asks for a name or an address refuses them. They differ, so that
/// what is said of one of them is not said again of the other.
const UNREADABLE: [&str; 2] = ["\u{0}unreadable\u{0}", "\u{0}not to be read\u{0}"];

/// How often the parser may fail before we give up on the rest.
const MAX_TRIES: usize = 200;

/// What a wrong value is replaced by.
#[derive(Debug, Clone, Copy)]
enum StandIn {
    Nothing,
    Text,
    Number,
    List,
    Object,
}

/// As little as the parser takes.
const BARE: &[StandIn] = &[StandIn::Nothing, StandIn::Text, StandIn::List, StandIn::Object];

/// As much as the parser takes.
const FILLED: &[StandIn] =
    &[StandIn::Text, StandIn::Number, StandIn::List, StandIn::Nothing, StandIn::Object];

/// What `check` finds in settings that the schema has complaints about, beyond those.
pub(crate) fn check_rest<S: DeserializeOwned>(
    schema: &Schema,
    settings: &Value,
    complaints: &[Complaint],
    check: impl Fn(S) -> Vec<Problem>,
) -> Vec<Problem> {
    let read = |stand_ins, text| {
        let Readable { parsed, replaced } = read(schema, settings, complaints, stand_ins, text)?;
        let mut problems = check(parsed);
        problems.retain(|problem| !replaced.iter().any(|path| problem.is_within(path)));
        Some((problems, replaced.is_empty()))
    };
    let Some((mut problems, is_all)) = read(BARE, UNREADABLE[0]) else { return Vec::new() };
    if !problems.is_empty() && !is_all {
        let others = read(FILLED, UNREADABLE[1]).map(|(others, _)| others).unwrap_or_default();
        problems.retain(|problem| others.contains(problem));
    }
    problems
}

struct Readable<S> {
    parsed: S,
    /// Paths of the values that were replaced.
    replaced: Vec<String>,
}

/// Replaces what keeps the parser from reading the settings, and nothing else.
fn read<S: DeserializeOwned>(
    schema: &Schema,
    settings: &Value,
    complaints: &[Complaint],
    stand_ins: &[StandIn],
    text: &str,
) -> Option<Readable<S>> {
    let mut settings = settings.clone();
    let mut complaints = complaints.to_vec();
    let mut tried = BTreeMap::new();
    for _ in 0..MAX_TRIES {
        let at = match serde_path_to_error::deserialize::<_, S>(&settings) {
            Ok(parsed) => {
                let is_replaced = |complaint: &&Complaint| tried.contains_key(&complaint.pointer);
                let replaced = complaints.iter().filter(is_replaced);
                let replaced = replaced.map(|complaint| complaint.problem.path.clone()).collect();
                return Some(Readable { parsed, replaced });
            }
            Err(error) => pointer_to(error.path()),
        };
        let is_open = |complaint: &&Complaint| {
            tried.get(&complaint.pointer).is_none_or(|tries| *tries < stand_ins.len())
        };
        let open: Vec<_> = complaints.iter().filter(is_open).collect();
        let pointer = blamed(&open, &at, &settings)?.to_owned();
        let tries = tried.entry(pointer.clone()).or_insert(0);
        let stand_in = stand_ins[*tries];
        *tries += 1;
        put(&mut settings, &pointer, stand_in, text);
        if matches!(stand_in, StandIn::List | StandIn::Object) {
            complaints.extend(schema.complaints(&settings)); // it lacks what it must have
        }
    }
    None
}

/// The complaint behind a failure of the parser: at the same place, about a field that is missing
/// there, or as near as can be.
fn blamed<'a>(open: &[&'a Complaint], at: &str, settings: &Value) -> Option<&'a str> {
    let is_missing = |pointer: &str| {
        pointer.rsplit_once('/').is_some_and(|(parent, _)| parent == at)
            && settings.pointer(pointer).is_none()
    };
    let is_below =
        |pointer: &str, above: &str| pointer.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
    let is_part = |pointer: &&str| !pointer.is_empty(); // in place of the whole, there is nothing to check
    let find = |fits: &dyn Fn(&str) -> bool| {
        open.iter().map(|one| one.pointer.as_str()).filter(is_part).find(|one| fits(one))
    };
    find(&|pointer| pointer == at)
        .or_else(|| find(&is_missing))
        .or_else(|| find(&|pointer| is_below(pointer, at)))
        .or_else(|| find(&|pointer| is_below(at, pointer)))
}

/// Puts a stand-in there. Nothing is taken out of lists: what follows would move.
fn put(settings: &mut Value, pointer: &str, stand_in: StandIn, text: &str) {
    let value = match stand_in {
        StandIn::Nothing => return take_out(settings, pointer),
        StandIn::Text => text.into(),
        StandIn::Number => u32::MAX.into(),
        StandIn::List => json!([text]),
        StandIn::Object => json!({}),
    };
    if let Some(place) = settings.pointer_mut(pointer) {
        *place = value;
    } else if let Some((parent, name)) = pointer.rsplit_once('/')
        && let Some(fields) = settings.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        fields.insert(unescaped(name), value);
    }
}

/// Takes a field out of its object.
pub(crate) fn take_out(settings: &mut Value, pointer: &str) {
    if let Some((parent, name)) = pointer.rsplit_once('/')
        && let Some(fields) = settings.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        fields.shift_remove(&unescaped(name));
    }
}

/// Where the parser failed, as a JSON Pointer.
fn pointer_to(path: &Path) -> String {
    let name = |segment: &Segment| match segment {
        Segment::Seq { index } => index.to_string(),
        Segment::Map { key: name } | Segment::Enum { variant: name } => escaped(name),
        Segment::Unknown => "?".to_owned(),
    };
    path.iter().map(|segment| format!("/{}", name(segment))).collect()
}

/// A name as it stands in a JSON Pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::open_checked;
    use crate::{Error, Result};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use std::sync::Arc;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Trip {
        to: String,
        #[serde(default)]
        stops: Vec<Stop>,
        #[serde(default)]
        shortest: u32,
        #[serde(default = "far")]
        longest: u32,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Stop {
        name: String,
        #[serde(default)]
        minutes: u32,
    }

    fn far() -> u32 {
        5
    }

    fn check(trip: &Trip) -> Vec<Problem> {
        let mut problems = Vec::new();
        let is_odd = |name: &str| name.contains(|c: char| !c.is_ascii_lowercase());
        if is_odd(&trip.to) {
            problems.push(Problem::new("to", "Odd", format!("'{}' is odd", trip.to)));
        }
        for (at, stop) in trip.stops.iter().enumerate() {
            if is_odd(&stop.name) {
                problems.push(Problem::new(
                    format!("stops[{at}].name"),
                    "Odd",
                    format!("'{}' is odd", stop.name),
                ));
            }
            if stop.minutes == 7 {
                let message = format!("nobody waits 7 minutes at '{}'", stop.name);
                problems.push(Problem::new(format!("stops[{at}].minutes"), "Odd", message));
            }
        }
        if trip.stops.is_empty() {
            problems.push(Problem::new("to", "Lonely", "there are no stops"));
        }
        if trip.shortest > trip.longest {
            problems.push(Problem::new("shortest", "TooLarge", "the shortest is longer than the longest"));
        }
        problems
    }

    fn found(settings: Value) -> Vec<String> {
        let open = |trip: Trip| -> Result<Arc<dyn crate::Connector>> {
            Err(Error::invalid_config("no").with_problems(check(&trip)))
        };
        let error = open_checked("trip", settings, open).err().unwrap();
        error.problems().iter().map(|problem| format!("{} {}", problem.path, problem.code)).collect()
    }

    #[test]
    fn checks_the_rest_where_something_is_missing_or_of_the_wrong_type() {
        let stops = json!([5, { "name": "A" }, { "minutes": 7, "name": "b" }, {}]);
        assert_eq!(
            found(json!({ "to": 5, "stops": stops, "extra.1": 1 })),
            [
                "to WrongType",
                "stops[0] WrongType",
                "stops[3].name Required",
                "extra.1 Unknown",
                "stops[1].name Odd",
                "stops[2].minutes Odd"
            ]
        );
        assert_eq!(found(json!({ "stops": [{ "name": "A" }] })), ["to Required", "stops[0].name Odd"]);
    }

    #[test]
    fn tells_nothing_that_only_the_replacement_is_to_blame_for() {
        assert_eq!(found(json!({ "to": "a", "stops": "x" })), ["stops WrongType"]);
        let settings = json!({ "to": "a", "stops": [{ "name": "b" }], "shortest": 9, "longest": "x" });
        assert_eq!(found(settings), ["longest WrongType"]);
        let settings = json!({ "to": "a", "stops": [{ "name": 5, "minutes": 7 }] });
        assert_eq!(found(settings), ["stops[0].name WrongType"]);
    }

    #[test]
    fn gives_up_where_nothing_can_be_read() {
        assert_eq!(found(json!("x")), [" WrongType"]);
        assert_eq!(found(json!([])), [" WrongType"]);
    }
}

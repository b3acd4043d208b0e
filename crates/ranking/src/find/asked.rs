//! What `find_tools` is asked for.

use super::Listed;
use serde_json::{Map, Value};
use tool::{Arguments, Error, Result};

const MAX_QUERY: usize = 1_000;
const MAX_LIMIT: usize = 20;
const USUAL_LIMIT: usize = 5;
/// Names that may be asked for at once.
const MAX_NAMES: usize = 100;
const KEYS: [&str; 5] = ["query", "service", "names", "limit", "detail"];

/// How much of each tool is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Its definition.
    #[default]
    Full,
    /// Its name and first sentence.
    Brief,
}

/// The arguments of `find_tools`.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// What the tool is to do.
    pub query: Option<String>,
    /// Only tools of this service.
    pub service: Option<String>,
    /// Only these tools.
    pub names: Vec<String>,
    /// The most tools.
    pub limit: usize,
    /// How much of each.
    pub detail: Detail,
}

impl Find {
    /// Reads the arguments.
    ///
    /// # Errors
    /// `InvalidInput`, naming the argument.
    pub fn read(arguments: &Arguments) -> Result<Self> {
        let map = arguments.as_map()?;
        if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let key: String = key.chars().take(100).collect();
            let message = format!("there is no argument '{key}'; there are {}", KEYS.join(", "));
            return Err(Error::invalid_input(message).of_parameter(key));
        }
        let query = text(map, "query")?;
        if query.as_ref().is_some_and(|query| query.chars().count() > MAX_QUERY) {
            return Err(wrong("query", &format!("a text of at most {MAX_QUERY} characters; say it shorter")));
        }
        let names = names(map)?;
        let usual = names.len().clamp(USUAL_LIMIT, MAX_LIMIT);
        Ok(Self {
            query,
            service: text(map, "service")?,
            limit: limit(map)?.unwrap_or(usual),
            detail: detail(map)?,
            names,
        })
    }

    /// Nothing is asked for but what there is.
    pub(super) fn is_overview(&self) -> bool {
        self.query.is_none() && self.service.is_none() && self.names.is_empty()
    }

    /// The tool is one of those that were asked for.
    pub(super) fn takes(&self, listed: &Listed<'_>) -> bool {
        self.service.as_ref().is_none_or(|service| service.eq_ignore_ascii_case(listed.service))
            && (self.names.is_empty() || self.names.iter().any(|name| name == listed.name))
    }
}

fn given<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn wrong(key: &str, what: &str) -> Error {
    Error::invalid_input(format!("'{key}' must be {what}")).of_parameter(key)
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>> {
    match given(map, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Some(_) => Err(wrong(key, "a text")),
    }
}

fn names(map: &Map<String, Value>) -> Result<Vec<String>> {
    let what = format!("a list of at most {MAX_NAMES} names of tools");
    let list = match given(map, "names") {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MAX_NAMES => list,
        Some(_) => return Err(wrong("names", &what)),
    };
    let name = |name: &Value| name.as_str().map(str::to_owned).ok_or_else(|| wrong("names", &what));
    list.iter().map(name).collect()
}

fn limit(map: &Map<String, Value>) -> Result<Option<usize>> {
    let Some(value) = given(map, "limit") else { return Ok(None) };
    let number =
        value.as_f64().filter(|number| number.fract() == 0.0 && (1.0..=MAX_LIMIT as f64).contains(number));
    match number {
        Some(number) => Ok(Some(number as usize)),
        None => Err(wrong("limit", &format!("a whole number from 1 to {MAX_LIMIT}"))),
    }
}

fn detail(map: &Map<String, Value>) -> Result<Detail> {
    match given(map, "detail").map(Value::as_str) {
        None | Some(Some("full")) => Ok(Detail::Full),
        Some(Some("brief")) => Ok(Detail::Brief),
        Some(_) => Err(wrong("detail", "'full' or 'brief'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Find> {
        let Value::Object(arguments) = value else { panic!("{value} is no object") };
        Find::read(&Arguments::from(arguments))
    }

    #[test]
    fn reads_what_is_asked_and_fills_in_the_rest() {
        let find =
            read(json!({ "query": " mail ", "service": null, "limit": 7.0, "detail": "brief" })).unwrap();
        assert_eq!((find.query.as_deref(), find.limit, find.detail), (Some("mail"), 7, Detail::Brief));
        let all = read(json!({ "query": "  " })).unwrap();
        assert!(all.is_overview() && all.limit == 5);
        assert_eq!(read(json!({ "names": ["a", "b", "c", "d", "e", "f"] })).unwrap().limit, 6);
    }

    #[test]
    fn refuses_by_the_name_of_the_argument() {
        for (value, parameter) in [
            (json!({ "query": "x".repeat(1001) }), "query"),
            (json!({ "query": 7 }), "query"),
            (json!({ "limit": 0 }), "limit"),
            (json!({ "limit": 21 }), "limit"),
            (json!({ "limit": 1.5 }), "limit"),
            (json!({ "names": "x" }), "names"),
            (json!({ "names": [1] }), "names"),
            (json!({ "detail": "all" }), "detail"),
            (json!({ "top": 3 }), "top"),
        ] {
            assert_eq!(read(value.clone()).unwrap_err().parameter(), Some(parameter), "{value}");
        }
    }
}

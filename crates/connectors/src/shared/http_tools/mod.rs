//! Tools that are HTTP requests with holes for arguments: their settings, requests and answers, whoever is asked.

mod client;
mod endpoint;
mod error_template;
mod form;
mod parameter_settings;
mod parameters;
mod places;
mod plain_schema;
mod request;
mod response;
mod settings;
pub(crate) mod tools;
mod value_schema;

pub(crate) use client::{Client, Limits, Transport, Turn, until_done};
pub(crate) use parameter_settings::ParameterSettings;
pub(crate) use parameters::{Position, Reserved, Style, Type};
pub(crate) use request::Base;
pub(crate) use settings::{FormEncoding, ToolSettings, default_method, method_schema};
pub(crate) use tools::Definition;
pub(crate) use value_schema::ValueSchema;

use crate::shared::digits;
use serde_json::Value;

/// A value as it stands in a path, a query string or a header. A whole number is one there, even if a model has
/// written it as `5.0` or `1e3`.
pub(crate) fn text_of(value: &Value) -> String {
    /// Up to here every whole number is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::String(text) => match digits::digits_of(value).and_then(|digits| digits.split_once('.')) {
            Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole.to_owned(),
            _ => digits::unmarked(text).to_owned(),
        },
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 && float.abs() <= EXACT => format!("{:.0}", float + 0.0),
            _ => number.to_string(),
        },
        other => digits::to_json(other),
    }
}

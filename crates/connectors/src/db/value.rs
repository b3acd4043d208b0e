//! Values of callers on their way into a column.

use super::catalog::{Column, Kind};
use super::engine::Bound;
use super::number::{self, float, whole, written};
use super::settings::DbType;
use crate::shared::digits::{to_json, unmarked};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;
use base64::{Engine as _, alphabet};
use serde_json::Value;
use tool::{Error, Result};

/// Why a number is not taken that would be rounded.
const ROUNDED: &str =
    "a number that the database keeps: this one has more digits than the 15 or so of a float of 64 bits";

/// The value as the engine binds it.
///
/// # Errors
/// `InvalidInput` naming the argument, when the value is none of the column's, or would be rounded on its way.
pub(super) fn bound(column: &Column, argument: &str, value: &Value, db_type: DbType) -> Result<Bound> {
    let made = match (value, written(value)) {
        (Value::Null, _) => Ok(Bound::Null),
        (_, Some(number)) => of_number(column, &number, db_type),
        (value, None) => of_value(column, value, db_type),
    };
    match made {
        Ok(Bound::Unsigned(_)) if db_type == DbType::Sqlite => Err(wrong(
            argument,
            "at most 9223372036854775807: SQLite has no larger whole numbers and would round it",
        )),
        made => made.map_err(|wanted| wrong(argument, wanted)),
    }
}

fn wrong(argument: &str, wanted: &str) -> Error {
    let parameter = argument.split(['.', '[']).next().unwrap_or(argument).to_owned();
    Error::invalid_input(format!("Parameter '{argument}' must be {wanted}")).of_parameter(parameter)
}

/// A number, as its column keeps it. Floats are rounded where the column is one.
fn of_number(column: &Column, number: &str, db_type: DbType) -> Result<Bound, &'static str> {
    match &column.kind {
        // They have no truth values of their own, and show those that they were given as numbers.
        Kind::Boolean if db_type != DbType::Postgresql => whole(number).ok_or("true or false"),
        Kind::Integer | Kind::BigInteger => whole(number).ok_or("a whole number of at most 64 bits"),
        Kind::Decimal => decimal(number, db_type),
        Kind::Float => {
            let float: f64 = number.parse().unwrap_or_default();
            let is_small = column.is_small_float(db_type);
            let kept = if is_small { f64::from(float as f32) } else { float };
            kept.is_finite().then_some(Bound::Float(kept)).ok_or("a number within the range of its column")
        }
        Kind::Json => Ok(Bound::Text(number.to_owned())),
        Kind::Any => whole(number).or_else(|| float(number).map(Bound::Float)).ok_or(ROUNDED),
        Kind::Boolean => Err("true or false"),
        Kind::Bytes => Err("bytes in base64"),
        Kind::List(_) => Err("a list"),
        Kind::Text | Kind::Uuid | Kind::Date | Kind::Time | Kind::Moment | Kind::Other => Err("a string"),
    }
}

/// As it was written, so that no digit is lost.
fn decimal(number: &str, db_type: DbType) -> Result<Bound, &'static str> {
    match db_type != DbType::Mysql || number::is_of_mysql(number) {
        true => Ok(Bound::Text(number.to_owned())),
        false => Err("a number of at most 35 digits before the point and 30 behind it"),
    }
}

/// A value that is no number.
fn of_value(column: &Column, value: &Value, db_type: DbType) -> Result<Bound, &'static str> {
    Ok(match (&column.kind, value) {
        (Kind::Boolean, Value::Bool(is_true)) => Bound::Boolean(*is_true),
        (Kind::Boolean, _) => return Err("true or false"),
        (Kind::BigInteger, Value::String(text)) => written_integer(text).ok_or("a whole number")?,
        (Kind::Integer | Kind::BigInteger, _) => return Err("a whole number"),
        (Kind::Decimal, Value::String(text)) if is_decimal(text) => decimal(text, db_type)?,
        (Kind::Decimal | Kind::Float, Value::String(text)) if is_named(text, db_type) => {
            Bound::Text(text.clone())
        }
        (Kind::Decimal, _) => return Err("a number, or a text of one"),
        (Kind::Float, _) => return Err("a number"),
        (Kind::Bytes, Value::String(text)) => match decoded(text) {
            // PostgreSQL decodes it itself, and knows one form.
            Some(bytes) if db_type == DbType::Postgresql => Bound::Text(BASE64_STANDARD.encode(bytes)),
            Some(bytes) => Bound::Bytes(bytes),
            None => return Err("bytes in base64"),
        },
        (Kind::Bytes, _) => return Err("bytes in base64"),
        (Kind::Moment, Value::String(text)) if db_type == DbType::Mysql => {
            Bound::Text(super::engine::to_mysql(text).unwrap_or_else(|| text.clone()))
        }
        (
            Kind::Text | Kind::Uuid | Kind::Date | Kind::Time | Kind::Moment | Kind::Other,
            Value::String(text),
        ) => Bound::Text(text.clone()),
        (Kind::Text | Kind::Uuid | Kind::Date | Kind::Time | Kind::Moment | Kind::Other, _) => {
            return Err("a string");
        }
        // As it is shown, so that what was read can be written.
        (Kind::Json, Value::String(text)) if column.is_json_text() => Bound::Text(text.clone()),
        (Kind::Json, value) => Bound::Text(to_json(value)),
        (Kind::List(element), Value::Array(items)) => Bound::Text(list(element, items)),
        (Kind::List(_), _) => return Err("a list"),
        // What looks like a number becomes one there, whoever wrote it as a text.
        (Kind::Any, Value::String(text)) if column.makes_numbers() && is_rounded(text.trim()) => {
            return Err(ROUNDED);
        }
        (Kind::Any, Value::Bool(is_true)) => Bound::Boolean(*is_true),
        (Kind::Any, Value::String(text)) => Bound::Text(text.clone()),
        (Kind::Any, value) => Bound::Text(to_json(value)),
    })
}

/// Base64 with either alphabet, padded or not, as gRPC services take it, too.
fn decoded(text: &str) -> Option<Vec<u8>> {
    const EITHER: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, EITHER);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, EITHER);
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

fn is_rounded(text: &str) -> bool {
    is_decimal(text) && text.parse::<i64>().is_err() && float(text).is_none()
}

fn written_integer(text: &str) -> Option<Bound> {
    let signed = text.parse().map(Bound::Integer);
    signed.or_else(|_| text.parse().map(Bound::Unsigned)).ok()
}

/// A value that belongs to no column, as its own type says.
///
/// # Errors
/// `InvalidInput` naming the argument, for a number that would be rounded on its way.
pub(super) fn any(argument: &str, value: &Value, db_type: DbType) -> Result<Bound> {
    if let Some(number) = written(value) {
        return match whole(&number) {
            Some(number) => Ok(number),
            // There it goes as a text, to be cast to what it needs.
            None if db_type == DbType::Postgresql => Ok(Bound::Text(number.into_owned())),
            None => float(&number).map(Bound::Float).ok_or_else(|| {
                wrong(argument, &format!("{ROUNDED}; give it as a text, and CAST that to a decimal"))
            }),
        };
    }
    Ok(match value {
        Value::Null => Bound::Null,
        Value::Bool(is_true) => Bound::Boolean(*is_true),
        Value::String(text) => Bound::Text(text.clone()),
        other => Bound::Text(to_json(other)),
    })
}

/// A value for a parameter of SQL, whose type the database has said.
///
/// # Errors
/// As of [`any`].
pub(super) fn of_type(
    argument: &str,
    value: &Value,
    type_name: Option<&String>,
    db_type: DbType,
) -> Result<Bound> {
    match value {
        Value::Array(items) if type_name.is_some_and(|name| name.ends_with("[]")) => {
            Ok(Bound::Text(list(&Kind::Text, items)))
        }
        value => any(argument, value, db_type),
    }
}

/// A text as a value of a type of PostgreSQL. Types of time without a zone drop the offset of what they are given; so it is
/// made the moment that it is before, in UTC, as which such times are shown.
pub(super) fn cast(text: &str, type_name: &str) -> String {
    let name = type_name.to_ascii_lowercase();
    match name.strip_suffix("[]").map_or((name.as_str(), ""), |name| (name, "[]")) {
        ("timestamp" | "timestamp without time zone", list) => {
            format!("CAST(CAST({text} AS timestamp with time zone{list}) AS {type_name})")
        }
        _ => format!("CAST({text} AS {type_name})"),
    }
}

fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_plain = |character: char| character.is_ascii_digit() || ".eE+-".contains(character);
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.chars().all(is_plain)
        && text.parse::<f64>().is_ok()
}

/// What PostgreSQL has beside numbers, as we show it.
fn is_named(text: &str, db_type: DbType) -> bool {
    db_type == DbType::Postgresql && matches!(text, "NaN" | "Infinity" | "-Infinity")
}

/// A list as PostgreSQL writes one, e.g. `{1,"a b",NULL}`.
fn list(element: &Kind, items: &[Value]) -> String {
    let written = items.iter().map(|item| match (element, item) {
        (_, Value::Null) => "NULL".to_owned(),
        (Kind::List(inner), Value::Array(items)) => list(inner, items),
        // Lists of PostgreSQL have as many dimensions as they are given.
        (element, Value::Array(items)) if *element != Kind::Json => list(element, items),
        (Kind::Bytes, Value::String(text)) => {
            let bytes = BASE64_STANDARD.decode(text).unwrap_or_default();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\"\\\\x{hex}\"")
        }
        (Kind::Json, item) => quoted(&to_json(item)),
        (_, Value::String(text)) => quoted(unmarked(text)),
        (_, item) => quoted(&to_json(item)),
    });
    format!("{{{}}}", written.collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn column(kind: Kind) -> Column {
        Column {
            name: "c".into(),
            type_name: "x".into(),
            kind,
            is_nullable: true,
            has_default: false,
            is_generated: false,
            comment: None,
        }
    }

    #[test]
    fn binds_what_fits_and_names_what_does_not() {
        let bind = |kind: Kind, value: Value| bound(&column(kind), "c", &value, DbType::Sqlite);
        assert_eq!(bind(Kind::Integer, json!(5.0)).unwrap(), Bound::Integer(5));
        assert_eq!(
            bind(Kind::BigInteger, json!("9007199254740993")).unwrap(),
            Bound::Integer(9_007_199_254_740_993)
        );
        let large = bound(&column(Kind::BigInteger), "c", &json!(u64::MAX), DbType::Mysql);
        assert_eq!(large.unwrap(), Bound::Unsigned(u64::MAX));
        assert_eq!(bind(Kind::Decimal, json!("0.10")).unwrap(), Bound::Text("0.10".into()));
        assert_eq!(bind(Kind::Bytes, json!("AP8=")).unwrap(), Bound::Bytes(vec![0, 255]));
        assert_eq!(bind(Kind::Text, Value::Null).unwrap(), Bound::Null);
        assert_eq!(bind(Kind::Boolean, json!(1)).unwrap(), Bound::Integer(1));
        assert_eq!(bind(Kind::Any, json!("0.10")).unwrap(), Bound::Text("0.10".into()));
        for (kind, value) in [
            (Kind::Integer, json!(1.5)),
            (Kind::Integer, json!("1")),
            (Kind::BigInteger, json!(u64::MAX)),
            (Kind::BigInteger, json!("1; DROP TABLE x")),
            (Kind::Decimal, json!("NaN")),
            (Kind::Decimal, json!("1e")),
            (Kind::Boolean, json!(1.5)),
            (Kind::Bytes, json!("no base64!")),
            (Kind::Text, json!(1)),
            (Kind::Any, json!("12345678901234567890.0123456789")),
        ] {
            let error = bind(kind, value).unwrap_err();
            assert!(error.message().contains("'c'"), "{error}");
        }
    }

    #[test]
    fn writes_lists_that_hold_anything() {
        let items = [json!("a\"b\\c"), json!("NULL"), Value::Null, json!("x,y")];
        assert_eq!(list(&Kind::Text, &items), r#"{"a\"b\\c","NULL",NULL,"x,y"}"#);
        assert_eq!(list(&Kind::List(Box::new(Kind::Integer)), &[json!([1, 2])]), r#"{{"1","2"}}"#);
        assert_eq!(list(&Kind::Integer, &[json!([1, null])]), r#"{{"1",NULL}}"#);
    }
}

//! Values of callers on their way into a column.

use super::catalog::{Column, Kind};
use super::engine::Bound;
use super::settings::DbType;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Number, Value};
use tool::{Error, Result};

/// The value as the engine binds it.
///
/// # Errors
/// `InvalidInput` naming the argument, when the value is none of the column's.
pub(super) fn bound(column: &Column, argument: &str, value: &Value, db_type: DbType) -> Result<Bound> {
    let wrong = |wanted: &str| {
        Err(Error::invalid_input(format!("Parameter '{argument}' must be {wanted}")).of_parameter(argument))
    };
    let made = match (&column.kind, value) {
        (_, Value::Null) => Bound::Null,
        (Kind::Boolean, Value::Bool(is_true)) => Bound::Boolean(*is_true),
        (Kind::Boolean, _) => return wrong("true or false"),
        (Kind::Integer | Kind::BigInteger, Value::Number(number)) => match integer(number) {
            Some(bound) => bound,
            None => return wrong("a whole number"),
        },
        (Kind::BigInteger, Value::String(text)) => match written_integer(text) {
            Some(bound) => bound,
            None => return wrong("a whole number"),
        },
        (Kind::Integer | Kind::BigInteger, _) => return wrong("a whole number"),
        // As it was written, so that no digit is lost.
        (Kind::Decimal, Value::Number(number)) => Bound::Text(number.to_string()),
        (Kind::Decimal, Value::String(text)) if is_decimal(text) => Bound::Text(text.clone()),
        (Kind::Decimal | Kind::Float, Value::String(text)) if is_named(text, db_type) => {
            Bound::Text(text.clone())
        }
        (Kind::Decimal, _) => return wrong("a number, or a text of one"),
        (Kind::Float, Value::Number(number)) => {
            let float = number.as_f64().unwrap_or_default();
            let is_small = column.is_small_float(db_type);
            Bound::Float(if is_small { f64::from(float as f32) } else { float })
        }
        (Kind::Float, _) => return wrong("a number"),
        (Kind::Bytes, Value::String(text)) => match BASE64_STANDARD.decode(text) {
            // PostgreSQL decodes it itself.
            Ok(_) if db_type == DbType::Postgresql => Bound::Text(text.clone()),
            Ok(bytes) => Bound::Bytes(bytes),
            Err(_) => return wrong("bytes in base64"),
        },
        (Kind::Bytes, _) => return wrong("bytes in base64"),
        (Kind::Moment, Value::String(text)) if db_type == DbType::Mysql => {
            Bound::Text(super::engine::to_mysql(text).unwrap_or_else(|| text.clone()))
        }
        (
            Kind::Text | Kind::Uuid | Kind::Date | Kind::Time | Kind::Moment | Kind::Other,
            Value::String(text),
        ) => Bound::Text(text.clone()),
        (Kind::Text | Kind::Uuid | Kind::Date | Kind::Time | Kind::Moment | Kind::Other, _) => {
            return wrong("a string");
        }
        (Kind::Json, value) => Bound::Text(value.to_string()),
        (Kind::List(element), Value::Array(items)) => Bound::Text(list(element, items)),
        (Kind::List(_), _) => return wrong("a list"),
        (Kind::Any, value) => any(value),
    };
    match made {
        Bound::Unsigned(_) if db_type == DbType::Sqlite => {
            wrong("at most 9223372036854775807: SQLite has no larger whole numbers and would round it")
        }
        made => Ok(made),
    }
}

fn written_integer(text: &str) -> Option<Bound> {
    let signed = text.parse().map(Bound::Integer);
    signed.or_else(|_| text.parse().map(Bound::Unsigned)).ok()
}

/// A value that belongs to no column, as its own type says.
pub(super) fn any(value: &Value) -> Bound {
    match value {
        Value::Null => Bound::Null,
        Value::Bool(is_true) => Bound::Boolean(*is_true),
        Value::Number(number) => {
            integer(number).unwrap_or_else(|| Bound::Float(number.as_f64().unwrap_or_default()))
        }
        Value::String(text) => Bound::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Bound::Text(value.to_string()),
    }
}

/// A value for a parameter of SQL, whose type the database has said.
pub(super) fn of_type(value: &Value, type_name: Option<&String>) -> Bound {
    match value {
        Value::Array(items) if type_name.is_some_and(|name| name.ends_with("[]")) => {
            Bound::Text(list(&Kind::Text, items))
        }
        value => any(value),
    }
}

/// A whole number, even if a model has written it as `5.0`.
fn integer(number: &Number) -> Option<Bound> {
    if let Some(number) = number.as_i64() {
        return Some(Bound::Integer(number));
    }
    if let Some(number) = number.as_u64() {
        return Some(Bound::Unsigned(number));
    }
    let float = number.as_f64()?;
    let is_whole = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
    is_whole.then_some(Bound::Integer(float as i64))
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
        (Kind::Json, item) => quoted(&item.to_string()),
        (_, Value::String(text)) => quoted(text),
        (_, item) => quoted(&item.to_string()),
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
        for (kind, value) in [
            (Kind::Integer, json!(1.5)),
            (Kind::Integer, json!("1")),
            (Kind::BigInteger, json!(u64::MAX)),
            (Kind::BigInteger, json!("1; DROP TABLE x")),
            (Kind::Decimal, json!("NaN")),
            (Kind::Decimal, json!("1e")),
            (Kind::Boolean, json!(1)),
            (Kind::Bytes, json!("no base64!")),
            (Kind::Text, json!(1)),
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

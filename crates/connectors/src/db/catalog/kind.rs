//! What values a column holds, as far as JSON and its schema tell them apart.

use crate::db::settings::DbType;
use serde_json::{Value, json};

/// The kind of a column's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::db) enum Kind {
    Boolean,
    Integer,
    /// Up to 64 bits: a text where JSON's numbers are not exact.
    BigInteger,
    /// A text, so that no digit is lost.
    Decimal,
    Float,
    Text,
    Uuid,
    /// In base64.
    Bytes,
    Date,
    Time,
    Moment,
    Json,
    List(Box<Self>),
    /// A type that we know only by its text.
    Other,
    /// A column of SQLite that holds anything.
    Any,
}

impl Kind {
    /// By the name of the type in the engine's catalog.
    pub(in crate::db) fn of(type_name: &str, db_type: DbType) -> Self {
        let name = type_name.to_ascii_lowercase();
        match db_type {
            DbType::Postgresql => Self::of_postgres(&name),
            DbType::Mysql => Self::of_mysql(&name),
            DbType::Sqlite => Self::of_sqlite(&name),
        }
    }

    fn of_postgres(name: &str) -> Self {
        if let Some(element) = name.strip_suffix("[]") {
            return Self::List(Box::new(Self::of_postgres(element)));
        }
        match name {
            "boolean" => Self::Boolean,
            "smallint" | "integer" | "oid" => Self::Integer,
            "bigint" => Self::BigInteger,
            "numeric" => Self::Decimal,
            "real" | "double precision" => Self::Float,
            "text" | "character varying" | "bpchar" | "character" | "name" | "citext" | "\"char\""
            | "xml" => Self::Text,
            "uuid" => Self::Uuid,
            "bytea" => Self::Bytes,
            "date" => Self::Date,
            "time without time zone" | "time with time zone" => Self::Time,
            "timestamp without time zone" | "timestamp with time zone" => Self::Moment,
            "json" | "jsonb" => Self::Json,
            _ => Self::Other,
        }
    }

    fn of_mysql(name: &str) -> Self {
        if name == "tinyint(1)" {
            return Self::Boolean;
        }
        let base = name.split(['(', ' ']).next().unwrap_or_default();
        match base {
            "tinyint" | "smallint" | "mediumint" | "int" | "year" => Self::Integer,
            "bigint" | "bit" => Self::BigInteger,
            "decimal" => Self::Decimal,
            "float" | "double" => Self::Float,
            "date" => Self::Date,
            "time" => Self::Time,
            "datetime" | "timestamp" => Self::Moment,
            "json" => Self::Json,
            "uuid" => Self::Uuid,
            _ if base.ends_with("blob") || base.ends_with("binary") => Self::Bytes,
            _ if base.ends_with("text") || base.ends_with("char") || matches!(base, "enum" | "set") => {
                Self::Text
            }
            _ => Self::Other,
        }
    }

    /// Any column of SQLite holds any value; what it was declared as says what is meant.
    fn of_sqlite(name: &str) -> Self {
        match name {
            _ if name.contains("bool") => Self::Boolean,
            _ if name.contains("int") => Self::BigInteger,
            _ if name.contains("char") || name.contains("clob") || name.contains("text") => Self::Text,
            _ if name.contains("blob") => Self::Bytes,
            _ if name.contains("real") || name.contains("floa") || name.contains("doub") => Self::Float,
            _ => Self::Any,
        }
    }

    /// Whether one value may have more bytes than an answer.
    pub(in crate::db) fn can_be_large(&self, db_type: DbType) -> bool {
        match self {
            _ if db_type == DbType::Sqlite => true,
            Self::Text | Self::Bytes | Self::Json | Self::List(_) | Self::Other | Self::Any => true,
            Self::Decimal => db_type == DbType::Postgresql,
            Self::Boolean
            | Self::Integer
            | Self::BigInteger
            | Self::Float
            | Self::Uuid
            | Self::Date
            | Self::Time
            | Self::Moment => false,
        }
    }

    /// JSON Schema of a value that is handed in.
    pub(in crate::db) fn input_schema(&self, db_type: DbType) -> Value {
        match self {
            Self::Boolean if db_type == DbType::Postgresql => json!({ "type": "boolean" }),
            // There it is a number, and shown as one.
            Self::Boolean => json!({ "type": ["boolean", "integer"] }),
            Self::Integer => json!({ "type": "integer" }),
            Self::BigInteger => json!({ "type": ["integer", "string"], "pattern": "^-?[0-9]+$" }),
            Self::Decimal => json!({ "type": ["number", "string"] }),
            Self::Float if db_type == DbType::Postgresql => json!({
                "anyOf": [{ "type": "number" }, { "type": "string", "enum": ["NaN", "Infinity", "-Infinity"] }]
            }),
            Self::Float => json!({ "type": "number" }),
            Self::Text | Self::Other => json!({ "type": "string" }),
            Self::Uuid => json!({ "type": "string", "format": "uuid" }),
            Self::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Self::Date => json!({ "type": "string", "format": "date" }),
            Self::Time => json!({ "type": "string" }),
            Self::Moment => json!({ "type": "string", "format": "date-time" }),
            Self::Json | Self::Any => json!({}),
            // Of values, of null, and of lists, where it has more than one dimension.
            Self::List(_) => json!({ "type": "array" }),
        }
    }

    /// JSON Schema of a value that comes out; whatever it is, it may be null. What a column of SQLite was declared as
    /// promises nothing.
    pub(in crate::db) fn output_schema(&self, db_type: DbType) -> Value {
        match self {
            _ if db_type == DbType::Sqlite => json!({}),
            Self::Boolean if db_type == DbType::Mysql => json!({ "type": ["boolean", "integer", "null"] }),
            Self::Boolean => json!({ "type": ["boolean", "null"] }),
            Self::Integer => json!({ "type": ["integer", "null"] }),
            Self::BigInteger => json!({ "type": ["integer", "string", "null"] }),
            Self::Float => json!({ "type": ["number", "string", "null"] }),
            Self::Json | Self::Any => json!({}),
            Self::List(_) => json!({ "type": ["array", "null"] }),
            Self::Decimal
            | Self::Text
            | Self::Uuid
            | Self::Bytes
            | Self::Date
            | Self::Time
            | Self::Moment
            | Self::Other => json!({ "type": ["string", "null"] }),
        }
    }
}

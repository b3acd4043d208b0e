//! The tools of a database: what each is called, takes, gives and does.

use super::catalog::{Catalog, Column, Table};
use super::operation::Operation;
use super::selection::Selection;
use super::settings::DbType;
use super::{Action, Entries, Entry, Offer};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tool::definition::object_schema;
use tool::{Error, Result, Tool};

/// Names that no query may have.
pub(super) const FIXED: [&str; 4] = ["tables", "describe", "query", "execute"];

/// Every tool that is offered over this catalog, by name, with those that need none.
pub(super) fn all(
    catalog: &Catalog,
    selection: &Selection,
    offer: &Offer,
    named: &Entries,
) -> Result<Entries> {
    let mut tools = Entries::new();
    for table in &catalog.tables {
        for operation in offer.operations.iter().copied().filter(|operation| offer.allows(*operation, table))
        {
            let name = match selection.table {
                Some(_) => operation.as_str().to_owned(),
                None => format!("{}_{}", table.prefix, operation.as_str()),
            };
            let definition = of_table(table, operation, offer, selection.db_type);
            add(&mut tools, &name, Action::Table(Arc::clone(table), operation), definition)?;
        }
    }
    let may_send_sql = !catalog.is_superuser || offer.allows_superuser;
    if offer.has_query && may_send_sql {
        add(&mut tools, "query", Action::Query, of_query(selection, offer))?;
    }
    if offer.has_execute() && may_send_sql {
        add(&mut tools, "execute", Action::Execute, of_execute(selection))?;
    }
    tools.extend(named.clone());
    Ok(tools)
}

/// The tools that are the same over any catalog, by name.
pub(super) fn named(offer: &Offer) -> Result<Entries> {
    let mut tools = Entries::new();
    add(&mut tools, "tables", Action::Tables, of_tables())?;
    add(&mut tools, "describe", Action::Describe, of_describe())?;
    for (index, query) in offer.queries.iter().enumerate() {
        let definition = Definition {
            description: query.description.clone(),
            input: query.input_schema(),
            output: Some(rows_with_columns()),
            hints: Hints::READING,
        };
        let tool = definition.tool(&query.id)?.shaped(query.shape.clone()).taking_null(true);
        tools.insert(query.id.clone(), Arc::new(Entry { tool, action: Action::Named(index) }));
    }
    Ok(tools)
}

fn add(tools: &mut Entries, name: &str, action: Action, definition: Definition) -> Result<()> {
    tools.insert(name.to_owned(), Arc::new(Entry { tool: definition.tool(name)?, action }));
    Ok(())
}

/// What a client is told of a tool, beside its name.
struct Definition {
    description: String,
    input: Value,
    output: Option<Value>,
    hints: Hints,
}

struct Hints {
    is_reading: bool,
    is_destructive: bool,
    is_idempotent: bool,
}

impl Hints {
    const READING: Self = Self { is_reading: true, is_destructive: false, is_idempotent: true };
}

impl Definition {
    fn tool(self, name: &str) -> Result<Tool> {
        let mut definition = json!({
            "name": name,
            "description": self.description,
            "inputSchema": self.input,
            "annotations": {
                "readOnlyHint": self.hints.is_reading,
                "destructiveHint": self.hints.is_destructive,
                "idempotentHint": self.hints.is_idempotent,
                "openWorldHint": false,
            },
        });
        if let Some(output) = self.output {
            definition["outputSchema"] = output;
        }
        let definition = to_raw_value(&definition)
            .map_err(|error| Error::internal("a definition cannot be written").caused_by(error))?;
        Ok(Tool::from_raw(&definition)?.taking_null(true))
    }
}

fn of_table(table: &Table, operation: Operation, offer: &Offer, db_type: DbType) -> Definition {
    Definition {
        description: operation.description(table),
        input: input_schema(table, operation, offer, db_type),
        output: output_schema(table, operation, db_type),
        hints: Hints {
            is_reading: operation.is_reading(),
            is_destructive: !operation.is_reading() && operation != Operation::Create,
            is_idempotent: operation.is_idempotent(),
        },
    }
}

fn input_schema(table: &Table, operation: Operation, offer: &Offer, db_type: DbType) -> Value {
    let key = || table.key_columns().map(|column| column.name.clone()).collect::<Vec<_>>();
    match operation {
        Operation::Take | Operation::Delete => object_schema(properties(table.key_columns(), db_type), key()),
        Operation::List => {
            let limit = whole("How many rows at the most", 1, Some(offer.limits.rows), Some(100));
            reading(
                table,
                [("limit", limit), ("offset", whole("How many rows to leave out", 0, None, Some(0)))],
            )
        }
        Operation::Page => {
            let size = whole("How many rows a page has", 1, Some(offer.limits.rows), Some(20));
            reading(table, [("page", whole("Which page, from 0", 0, None, Some(0))), ("size", size)])
        }
        Operation::Stream => {
            let limit = whole("How many rows at the most", 1, Some(offer.limits.rows), Some(100));
            let after =
                json!({ "type": "string", "description": "Where to go on: the `after` of the last answer" });
            reading(table, [("limit", limit), ("after", after)])
        }
        Operation::Count => {
            object_schema(Map::from_iter([("where".to_owned(), where_schema(table))]), Vec::new())
        }
        Operation::Create => created(table, db_type),
        Operation::Modify | Operation::Save => changed(table, db_type),
        Operation::Bulk | Operation::Execute => bulk(table, db_type),
    }
}

fn reading<const N: usize>(table: &Table, more: [(&str, Value); N]) -> Value {
    let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let mut properties = Map::from_iter([
        ("where".to_owned(), where_schema(table)),
        (
            "fields".to_owned(),
            json!({ "type": "array", "items": { "type": "string", "enum": names }, "description": "The columns to show, all unless given" }),
        ),
        (
            "orderBy".to_owned(),
            json!({ "type": "array", "items": { "type": "string" }, "description": "Columns to order by, e.g. [\"created desc\", \"id\"]" }),
        ),
    ]);
    properties.extend(more.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    object_schema(properties, Vec::new())
}

fn where_schema(table: &Table) -> Value {
    let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    json!({
        "type": "object",
        "description": format!(
            "Conditions that all hold: {{\"column\": value}} or {{\"column\": {{operator: value}}}} with eq, ne, gt, ge, lt, le, in, like or null, and \"$or\": [conditions, …]. Columns: {}",
            names.join(", ")
        ),
    })
}

fn whole(description: &str, least: usize, most: Option<usize>, default: Option<usize>) -> Value {
    let mut schema = json!({ "type": "integer", "minimum": least, "description": description });
    if let Some(most) = most {
        schema["maximum"] = most.into();
    }
    if let Some(default) = default {
        schema["default"] = most.map_or(default, |most| default.min(most)).into();
    }
    schema
}

fn properties<'t>(columns: impl Iterator<Item = &'t Column>, db_type: DbType) -> Map<String, Value> {
    let property = |column: &Column| {
        let mut schema = column.kind.input_schema(db_type);
        let words = match &column.comment {
            Some(comment) => format!("{comment} ({})", column.type_name),
            None => column.type_name.clone(),
        };
        schema["description"] = words.into();
        (column.name.clone(), schema)
    };
    columns.map(property).collect()
}

fn created(table: &Table, db_type: DbType) -> Value {
    let needed = table.writable_columns().filter(|column| !column.is_nullable && !column.has_default);
    let needed = needed.map(|column| column.name.clone()).collect();
    object_schema(properties(table.writable_columns(), db_type), needed)
}

/// The key says which row; it may be generated.
fn changed(table: &Table, db_type: DbType) -> Value {
    let mut all = properties(table.key_columns(), db_type);
    all.extend(properties(table.writable_columns(), db_type));
    object_schema(all, table.key_columns().map(|column| column.name.clone()).collect())
}

fn bulk(table: &Table, db_type: DbType) -> Value {
    let key = table.key_columns().map(|column| column.name.clone()).collect();
    let list = |description: &str, items: Value| json!({ "type": "array", "description": description, "items": items });
    let properties = Map::from_iter([
        ("create".to_owned(), list("Rows to add", created(table, db_type))),
        ("modify".to_owned(), list("Rows to change, by their keys", changed(table, db_type))),
        (
            "delete".to_owned(),
            list("Keys of rows to delete", object_schema(properties(table.key_columns(), db_type), key)),
        ),
        (
            "transactional".to_owned(),
            json!({ "type": "boolean", "default": false, "description": "All or nothing; otherwise what fails stops no other" }),
        ),
    ]);
    object_schema(properties, Vec::new())
}

/// MCP wants answers of tools that describe them to be objects, and `take` may answer null.
fn output_schema(table: &Table, operation: Operation, db_type: DbType) -> Option<Value> {
    let row = || {
        let property = |column: &Column| (column.name.clone(), column.kind.output_schema(db_type));
        let properties: Map<_, _> = table.columns.iter().map(property).collect();
        json!({ "type": "object", "properties": properties })
    };
    let rows = || json!({ "type": "array", "items": row() });
    Some(match operation {
        Operation::Take => return None,
        Operation::List => described([("rows", rows()), ("truncated", json!({ "type": "boolean" }))]),
        Operation::Page => described([
            ("content", rows()),
            ("page", json!({ "type": "integer" })),
            ("size", json!({ "type": "integer" })),
            ("totalElements", json!({ "type": "integer" })),
            ("totalPages", json!({ "type": "integer" })),
            ("first", json!({ "type": "boolean" })),
            ("last", json!({ "type": "boolean" })),
        ]),
        Operation::Stream => described([("rows", rows()), ("after", json!({ "type": ["string", "null"] }))]),
        Operation::Count => described([("count", json!({ "type": "integer" }))]),
        Operation::Create | Operation::Modify | Operation::Save => row(),
        Operation::Delete => described([("deleted", json!({ "type": "integer" }))]),
        Operation::Bulk => {
            described([("done", json!({ "type": "integer" })), ("failed", json!({ "type": "array" }))])
        }
        Operation::Execute => described([("affected", json!({ "type": "integer" }))]),
    })
}

/// An object that has all of these.
fn described<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let required: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    let mut schema = json!({ "type": "object", "required": required });
    schema["properties"] =
        fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect::<Map<_, _>>().into();
    schema
}

fn rows_with_columns() -> Value {
    let column =
        described([("name", json!({ "type": "string" })), ("type", json!({ "type": ["string", "null"] }))]);
    described([
        ("columns", json!({ "type": "array", "items": column })),
        ("rows", json!({ "type": "array", "items": { "type": "object" } })),
        ("truncated", json!({ "type": "boolean" })),
    ])
}

fn of_tables() -> Definition {
    let row = described([("name", json!({ "type": "string" })), ("view", json!({ "type": "boolean" }))]);
    Definition {
        description: "Lists the tables and views of the database.".to_owned(),
        input: tool::definition::no_arguments(),
        output: Some(described([
            ("rows", json!({ "type": "array", "items": row })),
            ("truncated", json!({ "type": "boolean" })),
        ])),
        hints: Hints::READING,
    }
}

fn of_describe() -> Definition {
    let table =
        json!({ "type": "string", "description": "The name of a table or view, as `tables` lists it" });
    Definition {
        description: "Shows the columns of a table: names, types, keys and what they are for.".to_owned(),
        input: object_schema(Map::from_iter([("table".to_owned(), table)]), vec!["table".to_owned()]),
        output: Some(described([
            ("table", json!({ "type": "string" })),
            ("columns", json!({ "type": "array", "items": { "type": "object" } })),
        ])),
        hints: Hints::READING,
    }
}

fn of_query(selection: &Selection, offer: &Offer) -> Definition {
    let rows = whole("How many rows at the most", 1, Some(offer.limits.rows), Some(offer.limits.rows));
    let mut input = sql_schema("One statement that reads");
    input["properties"]["maxRows"] = rows;
    Definition {
        description: format!(
            "Runs one SQL statement that reads ({}). Values go into params, as :name in the statement.",
            selection.dialect()
        ),
        input,
        output: Some(rows_with_columns()),
        hints: Hints::READING,
    }
}

fn of_execute(selection: &Selection) -> Definition {
    Definition {
        description: format!(
            "Runs one SQL statement that writes ({}). Values go into params, as :name in the statement.",
            selection.dialect()
        ),
        input: sql_schema("One statement that changes data or tables"),
        output: Some(described([("affected", json!({ "type": "integer" }))])),
        hints: Hints { is_reading: false, is_destructive: true, is_idempotent: false },
    }
}

fn sql_schema(description: &str) -> Value {
    let sql = json!({ "type": "string", "minLength": 1, "maxLength": 100_000, "description": description });
    let params = json!({ "type": "object", "description": "The value of each :name in sql" });
    let properties = Map::from_iter([("sql".to_owned(), sql), ("params".to_owned(), params)]);
    object_schema(properties, vec!["sql".to_owned()])
}

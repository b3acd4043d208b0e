//! The `where` of table tools: conditions over columns of the catalog, with values bound.

use super::build::Builder;
use super::catalog::{Column, Kind, Table};
use serde_json::{Map, Value};
use tool::{Error, Result, TenantId};

/// Conditions deeper than this mean nothing to anybody.
const MAX_DEPTH: usize = 8;
/// More values than this belong into a table of their own.
const MAX_VALUES: usize = 1000;

/// Writes ` WHERE …`: the tenant's column, where there is one, and the caller's conditions.
///
/// # Errors
/// `InvalidInput` naming what is wrong.
pub(super) fn push_where(
    builder: &mut Builder<'_>,
    table: &Table,
    tenant: &TenantId,
    wanted: Option<&Map<String, Value>>,
) -> Result<()> {
    let wanted = wanted.filter(|wanted| !wanted.is_empty());
    if table.tenant_column.is_none() && wanted.is_none() {
        return Ok(());
    }
    builder.push(" WHERE ");
    if let Some(column) = &table.tenant_column {
        builder.of_tenant(column, tenant);
        if wanted.is_some() {
            builder.push(" AND ");
        }
    }
    match wanted {
        Some(wanted) => push_all(builder, table, wanted, "where", 0),
        None => Ok(()),
    }
}

/// All of the conditions, in parentheses.
fn push_all(
    builder: &mut Builder<'_>,
    table: &Table,
    conditions: &Map<String, Value>,
    path: &str,
    depth: usize,
) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(wrong(path, "is nested too deeply"));
    }
    builder.push("(");
    for (index, (name, condition)) in conditions.iter().enumerate() {
        builder.push(if index > 0 { " AND " } else { "" });
        let path = format!("{path}.{name}");
        match name.as_str() {
            "$or" => push_each(builder, table, condition, &path, (depth, " OR "))?,
            "$and" => push_each(builder, table, condition, &path, (depth, " AND "))?,
            _ => {
                let column = column(table, name, &path)?;
                push_condition(builder, column, condition, &path)?;
            }
        }
    }
    if conditions.is_empty() {
        builder.push("1 = 1");
    }
    builder.push(")");
    Ok(())
}

fn push_each(
    builder: &mut Builder<'_>,
    table: &Table,
    alternatives: &Value,
    path: &str,
    (depth, word): (usize, &str),
) -> Result<()> {
    let items = alternatives.as_array().filter(|items| !items.is_empty() && items.len() <= MAX_VALUES);
    let items = items.ok_or_else(|| wrong(path, "must be a list of conditions"))?;
    builder.push("(");
    for (index, item) in items.iter().enumerate() {
        builder.push(if index > 0 { word } else { "" });
        let path = format!("{path}[{index}]");
        let conditions = item.as_object().ok_or_else(|| wrong(&path, "must be an object of conditions"))?;
        push_all(builder, table, conditions, &path, depth + 1)?;
    }
    builder.push(")");
    Ok(())
}

/// One column: a value that it equals, or operators.
fn push_condition(builder: &mut Builder<'_>, column: &Column, condition: &Value, path: &str) -> Result<()> {
    let Some(operators) = condition.as_object().filter(|_| column.kind != Kind::Json) else {
        return push_operator(builder, column, "eq", condition, path);
    };
    if operators.is_empty() {
        return Err(wrong(path, "names no operator; use eq, ne, gt, ge, lt, le, in, like or null"));
    }
    for (index, (operator, value)) in operators.iter().enumerate() {
        builder.push(if index > 0 { " AND " } else { "" });
        push_operator(builder, column, operator, value, &format!("{path}.{operator}"))?;
    }
    Ok(())
}

fn push_operator(
    builder: &mut Builder<'_>,
    column: &Column,
    operator: &str,
    value: &Value,
    path: &str,
) -> Result<()> {
    let sign = match (operator, value) {
        ("eq", Value::Null) | ("null", Value::Bool(true)) => {
            builder.name(&column.name).push(" IS NULL");
            return Ok(());
        }
        ("ne", Value::Null) | ("null", Value::Bool(false)) => {
            builder.name(&column.name).push(" IS NOT NULL");
            return Ok(());
        }
        ("null", _) => return Err(wrong(path, "must be true or false")),
        ("in", value) => return push_in(builder, column, value, path),
        ("eq", _) => " = ",
        ("ne", _) => " <> ",
        ("gt", _) => " > ",
        ("ge", _) => " >= ",
        ("lt", _) => " < ",
        ("le", _) => " <= ",
        ("like", _) if matches!(column.kind, Kind::Text | Kind::Any) => " LIKE ",
        ("like", _) => return Err(wrong(path, "compares texts, and the column holds none")),
        _ => return Err(wrong(path, "is no operator; use eq, ne, gt, ge, lt, le, in, like or null")),
    };
    builder.name(&column.name).push(sign).value(column, path, value)?;
    Ok(())
}

fn push_in(builder: &mut Builder<'_>, column: &Column, values: &Value, path: &str) -> Result<()> {
    let values = values.as_array().filter(|values| values.len() <= MAX_VALUES);
    let values = values.ok_or_else(|| wrong(path, "must be a list of at most 1000 values"))?;
    if values.is_empty() {
        builder.push("1 = 0");
        return Ok(());
    }
    builder.name(&column.name).push(" IN (");
    for (index, value) in values.iter().enumerate() {
        builder.push(if index > 0 { ", " } else { "" }).value(column, path, value)?;
    }
    builder.push(")");
    Ok(())
}

/// The column of the table that a caller names.
///
/// # Errors
/// `InvalidInput` that says which there are.
pub(super) fn column<'t>(table: &'t Table, name: &str, path: &str) -> Result<&'t Column> {
    table.column(name).ok_or_else(|| {
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let name: String = name.chars().take(100).collect();
        wrong(
            path,
            &format!("names the column '{name}', which {} has not; it has {}", table.name, names.join(", ")),
        )
    })
}

pub(super) fn wrong(path: &str, why: &str) -> Error {
    let argument = path.split(['.', '[']).next().unwrap_or(path).to_owned();
    Error::invalid_input(format!("Parameter '{path}' {why}")).of_parameter(argument)
}

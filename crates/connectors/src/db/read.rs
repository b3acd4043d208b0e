//! The operations that read a table: take, list, page, stream and count.

use super::Db;
use super::arguments::{Arguments, Ordering};
use super::build::Builder;
use super::catalog::{Column, Table};
use super::engine::Statement;
use super::filter::{push_where, wrong};
use super::rows::{Finished, Limits};
use super::settings::DbType;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value, json};
use std::collections::HashMap;
use tool::{Context, Error, Output, Result};

const LIST_LIMIT: u64 = 100;
const PAGE_SIZE: u64 = 20;

impl Db {
    pub(super) async fn take(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
        limits: Limits,
    ) -> Result<Output> {
        arguments.only_key(table)?;
        let key = arguments.key(table)?;
        let statement = self.row_statement(cx, table, &key, limits)?;
        let row = self.client.read(&statement, limits.of_rows(1)).await?;
        super::output(row.into_row().map_or_else(|| "null".to_owned(), |row| row.get().to_owned()))
    }

    pub(super) async fn list(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
        limits: Limits,
    ) -> Result<Output> {
        let most = limits.rows as u64;
        let limit = arguments.number("limit", LIST_LIMIT, 1, most)?;
        let offset = arguments.number("offset", 0, 0, i64::MAX as u64)?;
        let order = arguments.order(table)?;
        let mut builder = self.select(table, &arguments.fields(table)?, limits);
        push_where(&mut builder, table, &cx.tenant, arguments.object("where")?)?;
        push_order(&mut builder, table, &order);
        push_window(&mut builder, limit + 1, offset);
        let found = self.client.read(&builder.finish(), limits.of_rows(limit)).await?;
        let answer = format!("{{\"rows\":[{}],\"truncated\":{}}}", found.json, found.is_truncated);
        super::output(limits.check_answer(answer)?)
    }

    pub(super) async fn page(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
        limits: Limits,
    ) -> Result<Output> {
        let size = arguments.number("size", PAGE_SIZE, 1, limits.rows as u64)?;
        let page = arguments.number("page", 0, 0, i64::MAX as u64 / size)?;
        let order = arguments.order(table)?;
        let wanted = arguments.object("where")?;
        let mut builder = self.select(table, &arguments.fields(table)?, limits);
        push_where(&mut builder, table, &cx.tenant, wanted)?;
        push_order(&mut builder, table, &order);
        push_window(&mut builder, size, page * size);
        let total = self.total(cx, table, wanted).await?;
        let found = self.client.read(&builder.finish(), limits.of_rows(size)).await?;
        // A page that is not whole would be taken for the last.
        if found.is_truncated {
            return Err(super::rows::too_large(limits).about("the page"));
        }
        let pages = total.div_ceil(size);
        let (first, last) = (page == 0, page + 1 >= pages);
        super::output(limits.check_answer(format!(
            "{{\"content\":[{}],\"page\":{page},\"size\":{size},\"totalElements\":{total},\"totalPages\":{pages},\"first\":{first},\"last\":{last}}}",
            found.json
        ))?)
    }

    pub(super) async fn stream(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
        limits: Limits,
    ) -> Result<Output> {
        let limit = arguments.number("limit", LIST_LIMIT, 1, limits.rows as u64)?;
        let order = total_order(table, arguments.order(table)?, self.selection.db_type)?;
        let mut fields = arguments.fields(table)?;
        for Ordering { column, .. } in &order {
            if !fields.iter().any(|field| field.name == column.name) {
                fields.push(column);
            }
        }
        let wanted = arguments.object("where")?;
        let mut builder = self.builder();
        builder.push("SELECT ").selected(fields.iter().copied(), limits.bytes);
        builder.misfit(table, order.iter().map(|ordering| ordering.column)).push(" FROM ").table(table);
        push_where(&mut builder, table, &cx.tenant, wanted)?;
        if let Some(after) = arguments.text("after")? {
            let has_where = table.tenant_column.is_some() || wanted.is_some_and(|wanted| !wanted.is_empty());
            builder.push(if has_where { " AND " } else { " WHERE " });
            push_after(&mut builder, table, &order, &read_cursor(after, order.len())?)?;
        }
        push_order(&mut builder, table, &order);
        push_window(&mut builder, limit + 1, 0);
        let found = self.client.read(&builder.finish(), limits.of_rows(limit)).await?;
        let after = if found.is_truncated { cursor(&found, &order, limits)? } else { Value::Null };
        super::output(limits.check_answer(format!("{{\"rows\":[{}],\"after\":{after}}}", found.json))?)
    }

    pub(super) async fn count(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
    ) -> Result<Output> {
        let count = self.total(cx, table, arguments.object("where")?).await?;
        super::output(json!({ "count": count }).to_string())
    }

    async fn total(&self, cx: &Context, table: &Table, wanted: Option<&Map<String, Value>>) -> Result<u64> {
        let mut builder = self.builder();
        builder.push("SELECT COUNT(*) AS n FROM ").table(table);
        push_where(&mut builder, table, &cx.tenant, wanted)?;
        let found = self.client.read(&builder.finish(), self.one_row()).await?;
        let row: Value = serde_json::from_str(&found.json).unwrap_or_default();
        row["n"].as_u64().ok_or_else(|| Error::upstream("the database did not count"))
    }

    /// The statement that reads one row by its key.
    pub(super) fn row_statement(
        &self,
        cx: &Context,
        table: &Table,
        key: &[(&Column, &Value)],
        limits: Limits,
    ) -> Result<Statement> {
        let mut builder = self.select(table, &table.columns.iter().collect::<Vec<_>>(), limits);
        push_key(&mut builder, table, cx, key)?;
        Ok(builder.finish())
    }

    /// `SELECT` these columns `FROM` the table.
    pub(super) fn select(&self, table: &Table, columns: &[&Column], limits: Limits) -> Builder<'_> {
        let mut builder = self.builder();
        builder.push("SELECT ").selected(columns.iter().copied(), limits.bytes);
        builder.push(" FROM ").table(table);
        builder
    }

    pub(super) fn builder(&self) -> Builder<'_> {
        Builder::new(self.selection.db_type, self.selection.schema.as_deref())
    }

    pub(super) fn one_row(&self) -> Limits {
        self.offer.limits.of_rows(1)
    }
}

/// ` WHERE` the key is this, and the tenant is the caller's.
pub(super) fn push_key(
    builder: &mut Builder<'_>,
    table: &Table,
    cx: &Context,
    key: &[(&Column, &Value)],
) -> Result<()> {
    builder.push(" WHERE ");
    for (index, (column, value)) in key.iter().enumerate() {
        builder.push(if index > 0 { " AND " } else { "" });
        builder.name(&column.name).push(" = ").value(column, &column.name, value)?;
    }
    if let Some(column) = &table.tenant_column {
        builder.push(" AND ").of_tenant(column, &cx.tenant);
    }
    Ok(())
}

/// Pages of rows without an order would overlap, so the key decides at the end.
fn push_order(builder: &mut Builder<'_>, table: &Table, order: &[Ordering<'_>]) {
    let is_ordered = |column: &Column| order.iter().any(|other| other.column.name == column.name);
    let rest = table.key_columns().filter(|column| !is_ordered(column));
    let rest = rest.map(|column| Ordering { column, is_descending: false });
    for (index, Ordering { column, is_descending }) in order.iter().copied().chain(rest).enumerate() {
        builder.push(if index > 0 { ", " } else { " ORDER BY " }).column(table, column);
        builder.push(if is_descending { " DESC" } else { "" });
    }
}

fn push_window(builder: &mut Builder<'_>, limit: u64, offset: u64) {
    builder.push(" LIMIT ").number(limit).push(" OFFSET ").number(offset);
}

/// The wanted order and, behind it, the key, so that every row has its place.
fn total_order<'t>(
    table: &'t Table,
    mut order: Vec<Ordering<'t>>,
    db_type: DbType,
) -> Result<Vec<Ordering<'t>>> {
    if let Some(nullable) = order.iter().find(|ordering| ordering.column.is_nullable) {
        let why =
            format!("names '{}', which can be null and has no place in a stream then", nullable.column.name);
        return Err(wrong("orderBy", &why));
    }
    for column in table.key_columns() {
        if !order.iter().any(|ordering| ordering.column.name == column.name) {
            order.push(Ordering { column, is_descending: false });
        }
    }
    match order.iter().find(|ordering| !ordering.column.is_comparable(db_type)) {
        Some(Ordering { column, .. }) => {
            let why = format!(
                "leads to '{}', which is ordered by {} in one way and compared in another; use page instead of stream",
                column.name, column.type_name
            );
            Err(wrong("orderBy", &why))
        }
        None => Ok(order),
    }
}

/// What comes behind the row with these values: larger in one column, equal in those before it.
fn push_after(
    builder: &mut Builder<'_>,
    table: &Table,
    order: &[Ordering<'_>],
    values: &[Value],
) -> Result<()> {
    builder.push("(");
    for last in 0..order.len() {
        builder.push(if last > 0 { " OR (" } else { "(" });
        for (index, (Ordering { column, is_descending }, value)) in
            order.iter().zip(values).enumerate().take(last + 1)
        {
            let sign = match (index == last, is_descending) {
                (false, _) => " = ",
                (true, false) => " > ",
                (true, true) => " < ",
            };
            builder.push(if index > 0 { " AND " } else { "" }).column(table, column).push(sign);
            builder.cursor(column, value)?;
        }
        builder.push(")");
    }
    builder.push(")");
    Ok(())
}

/// Where a stream goes on: the values that order its last row, as they were written, so that no digit is lost.
fn cursor(found: &Finished, order: &[Ordering<'_>], limits: Limits) -> Result<Value> {
    let row: Option<HashMap<String, &RawValue>> =
        found.last_row().and_then(|row| serde_json::from_str(row).ok());
    let Some(row) = row else { return Err(super::rows::too_large(limits)) };
    let values: Vec<_> = order.iter().filter_map(|ordering| row.get(&ordering.column.name)).collect();
    let written = serde_json::to_string(&values)
        .map_err(|error| Error::internal("a place in a stream cannot be written").caused_by(error))?;
    Ok(Value::from(BASE64_URL_SAFE_NO_PAD.encode(written)))
}

fn read_cursor(text: &str, length: usize) -> Result<Vec<Value>> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
    let values: Option<Vec<Box<RawValue>>> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let values: Option<Vec<Value>> =
        values.and_then(|values| values.iter().map(|value| exact(value.get())).collect());
    values.filter(|values| values.len() == length && !values.iter().any(Value::is_null)).ok_or_else(|| {
        wrong("after", "is not where a stream of this order ended; hand on 'after' as it came")
    })
}

/// JSON whose numbers are what they say to the last bit; serde_json's own are not always.
pub(super) fn exact(json: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(json).ok()?;
    match value {
        Value::Number(number) if number.is_f64() => {
            Number::from_f64(json.trim().parse().ok()?).map(Value::Number)
        }
        value => Some(value),
    }
}

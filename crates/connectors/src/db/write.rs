//! The operations that change a table: create, modify, save and delete.

use super::Db;
use super::arguments::Arguments;
use super::build::Builder;
use super::catalog::{Column, Table};
use super::failure;
use super::pool::Lease;
use super::read::push_key;
use super::settings::DbType;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool::{Context, Error, ErrorKind, Output, Result};

/// Columns and what they become.
type Given<'t, 'a> = Vec<(&'t Column, &'a Value)>;

impl Db {
    pub(super) async fn create(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
    ) -> Result<Output> {
        let given = arguments.columns(table)?;
        let mut lease = self.client.writer().await?;
        let row = self.insert(cx, &mut lease, table, &given).await;
        answered(lease, row)
    }

    pub(super) async fn modify(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
    ) -> Result<Output> {
        let (key, given) = split(table, arguments)?;
        let mut lease = self.client.writer().await?;
        let row = self.update(cx, &mut lease, table, &key, &given).await;
        let row = row.and_then(|row| row.ok_or_else(|| no_such_row(table)));
        answered(lease, row)
    }

    /// Changes the row, or adds it. Somebody may add it in between; then it is there, and is changed.
    pub(super) async fn save(&self, cx: &Context, table: &Table, arguments: Arguments<'_>) -> Result<Output> {
        let (key, given) = split(table, arguments)?;
        let whole: Given<'_, '_> = key.iter().chain(&given).copied().collect();
        let mut lease = self.client.writer().await?;
        let row = async {
            if let Some(row) = self.update(cx, &mut lease, table, &key, &given).await? {
                return Ok(row);
            }
            match self.insert(cx, &mut lease, table, &whole).await {
                Err(error) if error.service_code() == Some(failure::CONFLICT) => {
                    self.update(cx, &mut lease, table, &key, &given).await?.ok_or(error)
                }
                inserted => inserted,
            }
        };
        let row = row.await;
        answered(lease, row)
    }

    pub(super) async fn delete(
        &self,
        cx: &Context,
        table: &Table,
        arguments: Arguments<'_>,
    ) -> Result<Output> {
        arguments.only_key(table)?;
        let key = arguments.key(table)?;
        let mut lease = self.client.writer().await?;
        let deleted = self.remove(cx, &mut lease, table, &key).await;
        let deleted = deleted.map_err(|error| maybe_done(error, &lease))?;
        lease.release();
        super::output(json!({ "deleted": deleted }).to_string())
    }

    /// Adds a row and reads it back.
    pub(super) async fn insert(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        given: &[(&Column, &Value)],
    ) -> Result<Box<RawValue>> {
        let mut builder = self.builder();
        builder.push("INSERT INTO ").table(table);
        let tenant = table.tenant_column.as_ref();
        if given.is_empty() && tenant.is_none() {
            builder.push(if builder.db_type == DbType::Mysql { " () VALUES ()" } else { " DEFAULT VALUES" });
        } else {
            builder
                .push(" (")
                .names(given.iter().map(|(column, _)| *column).chain(tenant))
                .push(") VALUES (");
            for (index, (column, value)) in given.iter().enumerate() {
                builder.push(if index > 0 { ", " } else { "" }).value(column, &column.name, value)?;
            }
            if let Some(column) = tenant {
                builder.push(if given.is_empty() { "" } else { ", " }).tenant(column, &cx.tenant);
            }
            builder.push(")");
        }
        if self.selection.db_type != DbType::Mysql {
            let row = self.returning(lease, table, builder).await?;
            return row.ok_or_else(|| Error::upstream("the database did not return the row"));
        }
        lease.execute(&builder.finish()).await?;
        self.inserted(cx, lease, table, given).await
    }

    /// Changes a row and reads it back; none when it is not there.
    async fn update(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        key: &[(&Column, &Value)],
        given: &[(&Column, &Value)],
    ) -> Result<Option<Box<RawValue>>> {
        let Some(builder) = self.update_builder(cx, table, key, given)? else {
            // Nothing to change: the row as it is.
            return Ok(lease.read(&self.row_statement(cx, table, key)?, self.one_row()).await?.into_row());
        };
        if self.selection.db_type != DbType::Mysql {
            return self.returning(lease, table, builder).await;
        }
        lease.execute(&builder.finish()).await?;
        Ok(lease.read(&self.row_statement(cx, table, key)?, self.one_row()).await?.into_row())
    }

    /// `UPDATE … SET … WHERE` the key; nothing when no column is given.
    pub(super) fn update_builder(
        &self,
        cx: &Context,
        table: &Table,
        key: &[(&Column, &Value)],
        given: &[(&Column, &Value)],
    ) -> Result<Option<Builder<'_>>> {
        if given.is_empty() {
            return Ok(None);
        }
        let mut builder = self.builder();
        builder.push("UPDATE ").table(table).push(" SET ");
        for (index, (column, value)) in given.iter().enumerate() {
            builder.push(if index > 0 { ", " } else { "" }).name(&column.name).push(" = ");
            builder.value(column, &column.name, value)?;
        }
        push_key(&mut builder, table, cx, key)?;
        Ok(Some(builder))
    }

    /// Deletes a row and says how many went.
    pub(super) async fn remove(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        key: &[(&Column, &Value)],
    ) -> Result<u64> {
        let mut builder = self.builder();
        builder.push("DELETE FROM ").table(table);
        push_key(&mut builder, table, cx, key)?;
        lease.execute(&builder.finish()).await
    }

    async fn returning(
        &self,
        lease: &mut Lease,
        table: &Table,
        mut builder: Builder<'_>,
    ) -> Result<Option<Box<RawValue>>> {
        builder.push(" RETURNING ").selected(table.columns.iter(), self.offer.limits.bytes);
        Ok(lease.read(&builder.finish(), self.one_row()).await?.into_row())
    }

    /// The row that MySQL has just added: by its key, or by the number that it was given.
    async fn inserted(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        given: &[(&Column, &Value)],
    ) -> Result<Box<RawValue>> {
        let value_of = |column: &Column| {
            let found = given.iter().find(|(other, _)| other.name == column.name);
            found.map(|(_, value)| *value).filter(|value| !value.is_null())
        };
        let key: Vec<_> = table.key_columns().map(|column| (column, value_of(column))).collect();
        let statement = match key.as_slice() {
            [(column, None)] => {
                let mut builder = self.builder();
                builder.push("SELECT ").selected(table.columns.iter(), self.offer.limits.bytes);
                builder
                    .push(" FROM ")
                    .table(table)
                    .push(" WHERE ")
                    .name(&column.name)
                    .push(" = LAST_INSERT_ID()");
                builder.finish()
            }
            [] => return echoed(given),
            key => {
                let key: Option<Given<'_, '_>> =
                    key.iter().map(|(column, value)| Some((*column, (*value)?))).collect();
                match key {
                    Some(key) => self.row_statement(cx, table, &key)?,
                    None => return echoed(given),
                }
            }
        };
        let row = lease.read(&statement, self.one_row()).await?.into_row();
        row.map_or_else(|| echoed(given), Ok)
    }
}

/// A row that cannot be read back, as it was given.
fn echoed(given: &[(&Column, &Value)]) -> Result<Box<RawValue>> {
    let row: serde_json::Map<_, _> =
        given.iter().map(|(column, value)| (column.name.clone(), (*value).clone())).collect();
    serde_json::value::to_raw_value(&row)
        .map_err(|error| Error::internal("a row is no JSON").caused_by(error))
}

/// The key, and the other columns that were given.
pub(super) fn split<'t, 'a>(
    table: &'t Table,
    arguments: Arguments<'a>,
) -> Result<(Given<'t, 'a>, Given<'t, 'a>)> {
    let key = arguments.key(table)?;
    let is_of_key = |name: &str| table.key_columns().any(|column| column.name == name);
    let mut given = Vec::new();
    for (name, value) in arguments.0.iter().filter(|(name, _)| !is_of_key(name)) {
        let column = super::filter::column(table, name, name)?;
        if column.is_generated {
            return Err(super::filter::wrong(name, "is filled in by the database; leave it out"));
        }
        given.push((column, value));
    }
    Ok((key, given))
}

pub(super) fn no_such_row(table: &Table) -> Error {
    Error::missing(format!("{} has no row with this key", table.name))
}

fn answered(lease: Lease, row: Result<Box<RawValue>>) -> Result<Output> {
    let row = row.map_err(|error| maybe_done(error, &lease));
    lease.release();
    Ok(Output::json(row?))
}

/// What was sent and not answered may have been done, so that nobody should simply send it again.
pub(super) fn maybe_done(error: Error, lease: &Lease) -> Error {
    match error.kind() {
        ErrorKind::Unavailable if lease.is_spent() => {
            Error::unavailable(format!("{}; the change may have happened", error.message()))
        }
        _ => error,
    }
}

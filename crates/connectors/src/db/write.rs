//! The operations that change a table: create, modify, save and delete.

use super::Db;
use super::arguments::Arguments;
use super::build::{Builder, large_columns};
use super::catalog::{Column, Table};
use super::engine::Statement;
use super::failure;
use super::pool::Lease;
use super::read::push_key;
use super::rows::Limits;
use super::settings::DbType;
use super::written::Written;
use serde_json::{Value, json};
use tool::{Context, Error, ErrorKind, Output, Result};

/// Columns and what they become.
pub(super) type Given<'t, 'a> = Vec<(&'t Column, &'a Value)>;

impl Db {
    pub(super) async fn create(
        &self,
        cx: &Context,
        table: &Table,
        (arguments, limits): (Arguments<'_>, Limits),
    ) -> Result<Output> {
        let given = arguments.columns(table)?;
        let mut lease = self.client.writer().await?;
        let row = self.insert(cx, &mut lease, table, &given).await;
        self.answered(cx, (lease, table), row, limits).await
    }

    pub(super) async fn modify(
        &self,
        cx: &Context,
        table: &Table,
        (arguments, limits): (Arguments<'_>, Limits),
    ) -> Result<Output> {
        let (key, given) = split(table, arguments)?;
        let mut lease = self.client.writer().await?;
        let row = self.update(cx, &mut lease, table, &key, &given).await;
        let row = row.and_then(|row| row.ok_or_else(|| no_such_row(table)));
        self.answered(cx, (lease, table), row, limits).await
    }

    /// Changes the row, or adds it. Somebody may add it in between; then it is there, and is changed.
    pub(super) async fn save(
        &self,
        cx: &Context,
        table: &Table,
        (arguments, limits): (Arguments<'_>, Limits),
    ) -> Result<Output> {
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
        self.answered(cx, (lease, table), row, limits).await
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
    async fn insert(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        given: &[(&Column, &Value)],
    ) -> Result<Written> {
        let builder = self.insert_builder(cx, table, given)?;
        if self.selection.db_type != DbType::Mysql {
            let row = self.returning(lease, table, builder).await?;
            return row.ok_or_else(|| Error::upstream("the database did not return the row"));
        }
        lease.execute(&builder.finish()).await?;
        // The row is there, whether it can be read back or not.
        let row = self.inserted(cx, lease, table, given).await.ok().flatten();
        Ok(row.unwrap_or_else(|| Written::given(given, self.offer.limits.bytes)))
    }

    /// `INSERT INTO … VALUES` what is given, and the tenant.
    pub(super) fn insert_builder(
        &self,
        cx: &Context,
        table: &Table,
        given: &[(&Column, &Value)],
    ) -> Result<Builder<'_>> {
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
        Ok(builder)
    }

    /// Changes a row and reads it back; none when it is not there.
    async fn update(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        key: &[(&Column, &Value)],
        given: &[(&Column, &Value)],
    ) -> Result<Option<Written>> {
        let Some(builder) = self.update_builder(cx, table, key, given)? else {
            // Nothing to change: the row as it is.
            let statement = self.row_statement(cx, table, key, self.offer.limits)?;
            let row = lease.read(&statement, self.one_row()).await?.into_row();
            return Ok(row.map(|row| Written::whole(row.get())));
        };
        if self.selection.db_type != DbType::Mysql {
            return self.returning(lease, table, builder).await;
        }
        let changed = lease.execute(&builder.finish()).await?;
        let mut builder = self.written(table);
        push_key(&mut builder, table, cx, key)?;
        match self.read_written(lease, table, &builder.finish()).await {
            Err(_) if changed > 0 => {
                let whole: Given<'_, '_> = key.iter().chain(given).copied().collect();
                Ok(Some(Written::given(&whole, self.offer.limits.bytes)))
            }
            row => row,
        }
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
    ) -> Result<Option<Written>> {
        builder.push(" RETURNING ").written(table, self.offer.limits.bytes);
        self.read_written(lease, table, &builder.finish()).await
    }

    /// `SELECT` what is shown of a row that was written `FROM` the table.
    fn written(&self, table: &Table) -> Builder<'_> {
        let mut builder = self.builder();
        builder.push("SELECT ").written(table, self.offer.limits.bytes).push(" FROM ").table(table);
        builder
    }

    /// Reads a row that was written. There is room for it whatever its columns are called, because what was done must
    /// not be refused.
    async fn read_written(
        &self,
        lease: &mut Lease,
        table: &Table,
        statement: &Statement,
    ) -> Result<Option<Written>> {
        let frame: usize = table.columns.iter().map(|column| 64 + 6 * column.name.len()).sum();
        let limits = Limits::new(1, self.offer.limits.bytes + frame);
        let found = lease.read(statement, limits).await?;
        let large = large_columns(table, self.selection.db_type);
        Ok((found.count > 0).then(|| Written::read(&found.json, table, &large)))
    }

    /// The row that MySQL has just added: by its key, or by the number that it was given. None where neither is known.
    async fn inserted(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        given: &[(&Column, &Value)],
    ) -> Result<Option<Written>> {
        let value_of = |column: &Column| {
            let found = given.iter().find(|(other, _)| other.name == column.name);
            found.map(|(_, value)| *value).filter(|value| !value.is_null())
        };
        let key: Vec<_> = table.key_columns().map(|column| (column, value_of(column))).collect();
        let mut builder = self.written(table);
        match key.as_slice() {
            [] => return Ok(None),
            [(column, None)] => {
                builder.push(" WHERE ").name(&column.name).push(" = LAST_INSERT_ID()");
            }
            key => {
                let key: Option<Given<'_, '_>> =
                    key.iter().map(|(column, value)| Some((*column, (*value)?))).collect();
                let Some(key) = key else { return Ok(None) };
                push_key(&mut builder, table, cx, &key)?;
            }
        }
        self.read_written(lease, table, &builder.finish()).await
    }

    async fn answered(
        &self,
        cx: &Context,
        (mut lease, table): (Lease, &Table),
        row: Result<Written>,
        limits: Limits,
    ) -> Result<Output> {
        let row = match row {
            Ok(written) => Ok(self.complete(cx, &mut lease, table, (written, limits)).await),
            Err(error) => Err(maybe_done(error, &lease)),
        };
        lease.release();
        row?.output()
    }
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

/// What was sent and not answered may have been done, so that nobody should simply send it again.
pub(super) fn maybe_done(error: Error, lease: &Lease) -> Error {
    match error.kind() {
        ErrorKind::Unavailable if lease.is_spent() => {
            Error::unavailable(format!("{}; the change may have happened", error.message()))
        }
        _ => error,
    }
}

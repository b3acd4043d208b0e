//! The operation `bulk`: many rows in one call, all or as many as possible.

use super::Db;
use super::arguments::Arguments;
use super::catalog::Table;
use super::filter::wrong;
use super::pool::Lease;
use super::write::{maybe_done, no_such_row, split};
use serde_json::{Map, Value, json};
use tool::{Context, Error, Output, Result};

const LISTS: [&str; 3] = ["create", "modify", "delete"];

/// One thing to do: which list it stands in, where, and the columns.
struct Item<'a> {
    list: &'static str,
    index: usize,
    columns: &'a Map<String, Value>,
}

impl Db {
    pub(super) async fn bulk(&self, cx: &Context, table: &Table, arguments: Arguments<'_>) -> Result<Output> {
        let items = items(arguments, self.offer.limits.rows)?;
        let is_transactional = arguments.is_set("transactional")?;
        let mut lease = self.client.writer().await?;
        let answer = match is_transactional {
            true => self.together(cx, &mut lease, table, &items).await,
            false => Ok(self.one_by_one(cx, &mut lease, table, &items).await),
        };
        let answer = answer.map_err(|error| maybe_done(error, &lease));
        lease.release();
        super::output(answer?.to_string())
    }

    /// Each for itself: what fails stops no other, unless the connection is gone.
    async fn one_by_one(&self, cx: &Context, lease: &mut Lease, table: &Table, items: &[Item<'_>]) -> Value {
        let (mut done, mut failed) = (0, Vec::new());
        for item in items {
            if lease.is_spent() {
                failed.push(item.failure("not tried: the connection to the database broke before"));
                continue;
            }
            match self.carry_out(cx, lease, table, item).await {
                Ok(()) => done += 1,
                Err(error) => failed.push(item.failure(maybe_done(error, lease).message())),
            }
        }
        json!({ "done": done, "failed": failed })
    }

    /// All or nothing.
    async fn together(
        &self,
        cx: &Context,
        lease: &mut Lease,
        table: &Table,
        items: &[Item<'_>],
    ) -> Result<Value> {
        lease.command("BEGIN").await?;
        for item in items {
            if let Err(error) = self.carry_out(cx, lease, table, item).await {
                if !lease.is_spent() {
                    lease.command("ROLLBACK").await?;
                }
                return Ok(json!({ "done": 0, "failed": [item.failure(error.message())] }));
            }
        }
        lease.command("COMMIT").await?;
        Ok(json!({ "done": items.len(), "failed": [] }))
    }

    async fn carry_out(&self, cx: &Context, lease: &mut Lease, table: &Table, item: &Item<'_>) -> Result<()> {
        let arguments = Arguments(item.columns);
        match item.list {
            "create" => {
                let builder = self.insert_builder(cx, table, &arguments.columns(table)?)?;
                lease.execute(&builder.finish()).await.map(drop)
            }
            "modify" => {
                let (key, given) = split(table, arguments)?;
                let Some(builder) = self.update_builder(cx, table, &key, &given)? else {
                    return Err(Error::invalid_input("no column to change is given"));
                };
                match lease.execute(&builder.finish()).await? {
                    0 => Err(no_such_row(table)),
                    _ => Ok(()),
                }
            }
            _ => {
                arguments.only_key(table)?;
                self.remove(cx, lease, table, &arguments.key(table)?).await.map(drop)
            }
        }
    }
}

impl Item<'_> {
    fn failure(&self, message: &str) -> Value {
        json!({ "operation": self.list, "index": self.index, "message": message })
    }
}

fn items(arguments: Arguments<'_>, most: usize) -> Result<Vec<Item<'_>>> {
    let mut items = Vec::new();
    for list in LISTS {
        for (index, value) in arguments.list(list)?.iter().enumerate() {
            let path = format!("{list}[{index}]");
            let columns = value.as_object().ok_or_else(|| wrong(&path, "must be an object of columns"))?;
            items.push(Item { list, index, columns });
        }
    }
    if items.len() > most {
        let why = format!("has more rows with the other lists than 'max_rows' of the service, {most}");
        return Err(wrong("create", &why));
    }
    Ok(items)
}

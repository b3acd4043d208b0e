//! Settings of tables: there are none, a table's id is all that is needed.

use super::{TableTools, inline, tools};
use document::Pointer;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tool::words::{Word, word};
use tool::{Ambient, Connector, Env, Error, Inline, Result, TableId};

/// The operations over one table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The id of the table.
    table_id: String,
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = tool::tables::SCHEME;
    const TITLE: &'static str = "JSON table";
    const WORDS: &'static [&'static [Word]] = &[&[word("table_id", "Table", "数据表", "数据表的 ID。")]];
    const INLINE: Option<Inline> = Some(inline::INLINE);
    const URI_OPTIONS: &'static [&'static str] = &["path"];
    const AMBIENT: Option<Ambient> = Some(Ambient {
        tools: || Ok(tools::all()?.into_iter().map(|(_, tool)| tool).collect()),
        open: |id, env| open(id, env),
    });

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        open(&self.table_id, env)
    }
}

fn open(id: &str, env: &Env) -> Result<Arc<dyn Connector>> {
    let unknown =
        || Error::not_found(format!("there is no table '{}'", id.chars().take(100).collect::<String>()));
    let id: TableId = id.parse().map_err(|_| unknown())?;
    Ok(Arc::new(TableTools::new(env, id, Pointer::default(), tools::all()?)))
}

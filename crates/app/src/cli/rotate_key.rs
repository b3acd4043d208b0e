//! `rotate-key`: everything that is sealed, sealed anew.

use super::Data;
use crate::{Failure, wiring};
use clap::Args;
use std::process::ExitCode;

/// Re-encrypt all secrets with a new master key.
///
/// With the key in the data dir, a new one is made and the old one is forgotten at the end.
/// With MCP_ALL_IN_ONE_MASTER_KEY, give NEW,OLD: everything is sealed with NEW, and OLD can go
/// when this has ended.
#[derive(Args)]
pub(super) struct RotateKey {
    #[command(flatten)]
    data: Data,
}

impl RotateKey {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let is_given = self.data.master_key.is_some();
        let dir = self.data.dir()?;
        let store = wiring::open_store(&dir, self.data.database, self.data.master_key.as_ref()).await?;
        let rotated = if is_given { store.reseal().await } else { store.rotate_master_key().await };
        let count = rotated.map_err(|error| {
            Failure::new("the master key was not rotated; the old one still works").because(error)
        })?;
        store.close().await;
        super::print(&format!("{count} values are sealed with the new master key"));
        Ok(ExitCode::SUCCESS)
    }
}

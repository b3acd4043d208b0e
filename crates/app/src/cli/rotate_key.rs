//! `rotate-key`: everything that is sealed, sealed anew.

use super::Data;
use crate::{Failure, wiring};
use clap::Args;
use std::process::ExitCode;
use store::Vault;

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
        let dir = self.data.dir()?;
        let failed = |error: store::Error| {
            Failure::new("the master key was not rotated; the old one still works").because(error)
        };
        let count = if self.data.master_key.is_some() {
            let store = wiring::open_store(&dir, self.data.database, self.data.master_key.as_ref()).await?;
            store.rotate_master_key().await.map_err(failed)?
        } else {
            // Opened once before, so that a key file is not touched for a database that is not there.
            wiring::open_store(&dir, self.data.database.clone(), None).await?.close().await;
            let rotation = Vault::rotate_file(&dir).map_err(failed)?;
            let store = wiring::open_store(&dir, self.data.database, None).await?;
            let count = store.rotate_master_key().await.map_err(failed)?;
            rotation.finish().map_err(failed)?;
            count
        };
        super::print(&format!("{count} values are sealed with the new master key"));
        Ok(ExitCode::SUCCESS)
    }
}

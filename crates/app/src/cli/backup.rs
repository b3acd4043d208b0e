//! `backup` and `restore`: everything in one file, for either database.

use super::Data;
use crate::{Failure, wiring};
use clap::Args;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::Store;
use store::backup::{Contents, Present};

/// Write everything in the database to a file, while the server runs.
///
/// The file restores into SQLite and PostgreSQL alike. Secrets stay sealed in it: keep the master key, too,
/// in another place.
#[derive(Args)]
pub(super) struct Backup {
    /// The file to write
    file: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    data: Data,
}

/// Put a backup into an empty database. Stop the server first.
///
/// It takes the master key that the backup's server had: copy its master.key into the data dir, or give it with
/// MCP_ALL_IN_ONE_MASTER_KEY.
#[derive(Args)]
pub(super) struct Restore {
    /// The file that `backup` wrote
    file: PathBuf,
    /// Replace everything that is in the database
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    data: Data,
}

impl Backup {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        if self.file.exists() && !self.force {
            let failure = Failure::new(format!("{} is there already", self.file.display()));
            return Err(failure.advice("choose another name, or replace it with --force"));
        }
        let store =
            wiring::connect_store(&self.data.dir()?, self.data.database, self.data.master_key.as_ref())
                .await?;
        let written = write(&store, &self.file).await?;
        store.close().await;
        super::print(&format!(
            "{} rows are in {}. The master key is not: keep it in another place, without it nobody can read the secrets. \
             Files of services are not either (objects of provider fs, SQLite files): copy the folder tenants of the data dir.",
            written.rows,
            self.file.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}

impl Restore {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(format!("{} cannot be read", self.file.display())).because(error)
        };
        let mut file = BufReader::new(File::open(&self.file).map_err(failed)?);
        let store =
            wiring::connect_store(&self.data.dir()?, self.data.database, self.data.master_key.as_ref())
                .await?;
        let present = if self.force { Present::Replace } else { Present::Keep };
        let restored = store.restore(&mut file, present).await.map_err(|error| {
            Failure::new("nothing was restored; the database is as it was").because(error)
        })?;
        store.close().await;
        super::print(&format!("{} rows are restored; the server can be started", restored.rows));
        Ok(ExitCode::SUCCESS)
    }
}

/// Under another name until it is whole, so that a backup that was broken off is never taken for one.
async fn write(store: &Store, path: &Path) -> Result<Contents, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(format!("{} cannot be written", path.display())).because(error);
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    // It holds hashes of passwords and keys.
    let options = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial);
    let mut file = BufWriter::new(options.map_err(failed)?);
    let written = store.backup(&mut file).await;
    let written =
        written.map_err(|error| Failure::new("no backup was made").because(error)).and_then(|contents| {
            file.get_ref().sync_all().and_then(|()| std::fs::rename(&partial, path)).map_err(failed)?;
            Ok(contents)
        });
    if written.is_err() {
        // What is left of it helps nobody.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

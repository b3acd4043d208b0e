//! Who is at a database: any number of servers, or one restore.

use crate::database::{Backend, Write};
use crate::{Error, Result, Store, private_file, sqlite};
use futures::future::BoxFuture;
use sqlx::AnyConnection;
use sqlx::pool::PoolConnectionMetadata;
use sqlx::{Executor as _, Row as _};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// How often and after which pauses it is tried to get a lock that others have for a moment.
const LOCK_ATTEMPTS: u32 = 5;
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Joins the servers at a SQLite file until the returned file is dropped or the process ends. Also says whether nobody
/// else is there.
pub(crate) fn share(database: &Path) -> Result<(Option<File>, bool)> {
    let path = lock_of(database);
    let file = open(&path)?;
    // Whoever can have it alone for a moment is alone; others who come at that moment try again.
    let is_alone = file.try_lock().is_ok() && file.unlock().is_ok();
    match shared_soon(&file) {
        Ok(()) => Ok((Some(file), is_alone)),
        Err(TryLockError::WouldBlock) => {
            let path = database.display();
            Err(Error::unavailable(format!(
                "a backup is being restored into {path}; start when that has ended"
            )))
        }
        Err(TryLockError::Error(error)) => {
            let path = path.display();
            tracing::warn!(%error, "{path} cannot be locked: a restore would not notice this server: {error}");
            Ok((None, false))
        }
    }
}

/// Waits a little for those who look whether they are alone.
fn shared_soon(file: &File) -> std::result::Result<(), TryLockError> {
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            other => return other,
        }
    }
    file.try_lock_shared()
}

/// Joins the servers at a PostgreSQL database for as long as the connection lasts: one that is made anew after an
/// outage joins again. While a backup is restored it waits.
pub(crate) fn share_connected(
    connection: &mut AnyConnection,
    _: PoolConnectionMetadata,
) -> BoxFuture<'_, sqlx::Result<()>> {
    Box::pin(async move {
        connection.execute("SELECT CAST(pg_advisory_lock_shared(7236412952) AS TEXT)").await?;
        Ok(())
    })
}

/// Takes the database for a restore, until the write has ended and the returned file is dropped.
pub(crate) async fn take(store: &Store, write: &mut Write) -> Result<Option<File>> {
    match store.backend() {
        Backend::Sqlite => {
            let database = sqlite::path_of(store.url().expose())?;
            let path = lock_of(&database);
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) => Ok(Some(file)),
                Err(TryLockError::WouldBlock) => Err(occupied(&format!("the file {}", database.display()))),
                Err(TryLockError::Error(error)) => Err(unusable(&path, &error)),
            }
        }
        Backend::Postgres => {
            let sql = "SELECT pg_try_advisory_xact_lock(7236412952), CAST(current_database() AS TEXT)";
            let row = sqlx::query(sql).fetch_one(write.connection()).await?;
            match row.try_get::<bool, _>(0)? {
                true => Ok(None),
                false => {
                    Err(occupied(&format!("the PostgreSQL database '{}'", row.try_get::<String, _>(1)?)))
                }
            }
        }
    }
}

fn occupied(what: &str) -> Error {
    let message = format!("a server runs on {what}; stop every server that uses it, then restore again");
    Error::invalid(message).at("database")
}

/// Beside the database: SQLite has locks of its own in its file, and closing it would end them.
fn lock_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn open(path: &Path) -> Result<File> {
    let opened = private_file::options().create(true).truncate(false).open(path);
    opened.map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("cannot lock {}: {error}", path.display()))
}

//! What SQLite needs before it is used: a private file, a write-ahead log and patience.

use crate::{Error, Options, Result, private_file};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use sqlx::AnyConnection;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

const RESERVED: &AsciiSet = &CONTROLS.add(b' ').add(b'?').add(b'#').add(b'%').add(b'"').add(b'<').add(b'>');

/// How long a write waits for its turn among this process's own writes.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Creates the file when it is missing and opens it: the connections that read, and the one that writes.
///
/// SQLite has one writer at a time, and its own waiting is not fair: a pool's is. One that always writes also
/// knows what the pages hold that it wrote before; after another connection it has to read them again.
pub(crate) async fn connect(options: &Options) -> Result<(AnyPool, AnyPool)> {
    let path = path_of(options.url.expose())?;
    create(&path)?;
    let text = path.to_str().ok_or_else(|| Error::invalid("the database path is no UTF-8"))?;
    let url = format!("sqlite://{}?mode=rw", utf8_percent_encode(text, RESERVED));
    let connect = url.parse::<AnyConnectOptions>()?.disable_statement_logging();
    enable_write_ahead_log(&connect, options.busy_timeout).await?;
    // Sorting in memory: a full disk must not stop the readers.
    let settings = format!(
        "PRAGMA busy_timeout = {}; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;",
        options.busy_timeout.as_millis()
    );
    let pool = |max_connections, patience| {
        let settings = settings.clone();
        // A file does not go away: there is no need to ask before each use whether it has.
        let pool = AnyPoolOptions::new().max_connections(max_connections).test_before_acquire(false);
        // SQLite takes a transaction back by itself when its disk is full. sqlx does not notice and takes the
        // connection for one inside a transaction from then on: nothing could begin on it any more.
        let pool = pool.before_acquire(|connection, _| {
            let is_usable = !connection.is_in_transaction();
            Box::pin(std::future::ready(Ok(is_usable)))
        });
        pool.acquire_timeout(patience).after_connect(move |connection, _| {
            let settings = settings.clone();
            Box::pin(async move {
                connection.execute(sqlx::raw_sql(AssertSqlSafe(settings))).await?;
                Ok(())
            })
        })
    };
    let writer = pool(1, TURN_TIMEOUT).connect_with(connect.clone()).await?;
    let readers = pool(options.max_connections, options.connect_timeout).connect_lazy_with(connect);
    Ok((readers, writer))
}

/// `sqlite:/path/file.db`, also with `//` and with `?mode=rwc` as other tools write it.
pub(crate) fn path_of(url: &str) -> Result<PathBuf> {
    let rest = url.strip_prefix("sqlite:").unwrap_or(url);
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !matches!(query, "" | "mode=rwc" | "mode=rw") {
        return Err(Error::invalid("the sqlite: URL takes no options after '?'"));
    }
    let path = percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| Error::invalid("the sqlite: URL holds a bad percent escape"))?;
    if path.is_empty() || path.starts_with(':') {
        return Err(Error::invalid("the sqlite: URL needs the path of a file"));
    }
    Ok(PathBuf::from(path.as_ref()))
}

fn create(path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("cannot create the database file {}: {error}", path.display()))
    };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    private_file::create_if_missing(path).map_err(failed)
}

/// The switch to the log needs the file for itself and does not wait by itself: two processes
/// that start at once would trip over each other. Later connections find it switched.
async fn enable_write_ahead_log(connect: &AnyConnectOptions, patience: Duration) -> Result<()> {
    let deadline = Instant::now() + patience;
    let mut connection = connect.connect().await?;
    loop {
        match journal_mode(&mut connection).await {
            Ok(mode) if mode == "wal" => break,
            Ok(_) => {
                tracing::warn!("the disk allows no write-ahead log for SQLite; writes will be slower");
                break;
            }
            Err(error) if error.is_retryable() && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(connection.close().await?)
}

async fn journal_mode(connection: &mut AnyConnection) -> Result<String> {
    let row = sqlx::query("PRAGMA journal_mode = WAL").fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn writes_durably_and_keeps_references() {
        sqlx::any::install_default_drivers();
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(format!("sqlite:{}", folder.path().join("a b?%.db").display()));
        assert!(connect(&options).await.is_err(), "? must be escaped");
        let options = Options::new(format!("sqlite:{}", folder.path().join("a b%3F%25.db").display()));
        let (readers, writer) = connect(&options).await.unwrap();
        assert!(folder.path().join("a b?%.db").exists());
        for pool in [readers, writer] {
            for (pragma, expected) in
                [("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 5000), ("temp_store", 2)]
            {
                let sql = AssertSqlSafe(format!("PRAGMA {pragma}"));
                let row = sqlx::query(sql).fetch_one(&pool).await.unwrap();
                assert_eq!(row.get::<i64, _>(0), expected, "{pragma}");
            }
            let row = sqlx::query("PRAGMA journal_mode").fetch_one(&pool).await.unwrap();
            assert_eq!(row.get::<String, _>(0), "wal");
        }
    }

    #[test]
    fn finds_the_path_in_every_spelling_of_the_url() {
        for (url, path) in [
            ("sqlite:/data/a.db", "/data/a.db"),
            ("sqlite:///data/a.db", "/data/a.db"),
            ("sqlite:a.db", "a.db"),
            ("sqlite://a.db?mode=rwc", "a.db"),
            ("sqlite:/with%20space/a%3F.db", "/with space/a?.db"),
            ("sqlite:/with space/ä.db", "/with space/ä.db"),
        ] {
            assert_eq!(path_of(url).unwrap(), PathBuf::from(path), "{url}");
        }
        for url in ["sqlite:", "sqlite::memory:", "sqlite:/a.db?immutable=1", "sqlite:/%ff"] {
            assert!(path_of(url).is_err(), "{url}");
        }
    }
}

//! The way of a driver's bytes: over a socket of ours, to an address that was checked, never more than there is room for.
//!
//! The driver resolves names and connects by itself, and reads a row whole, however large it is. So it is given a Unix
//! socket in a folder that nobody else can open, and what goes through it is counted.

use super::clear_text::SignIn;
use crate::shared::network::{Policy, dial};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio_util::task::AbortOnDropHandle;
use tool::{Error, Result};

const BUFFER_BYTES: usize = 32 * 1024;

/// A connection to a server that waits for the driver.
#[derive(Debug)]
pub(super) struct Wire {
    is_outgrown: Arc<AtomicBool>,
    has_asked_in_clear: Arc<AtomicBool>,
    /// Carries the bytes until the driver or the server ends it.
    _task: AbortOnDropHandle<()>,
}

impl Wire {
    /// The server sent more at once than an answer may hold.
    pub(super) fn is_outgrown(&self) -> bool {
        self.is_outgrown.load(Ordering::Relaxed)
    }

    /// Set where the server was cut off because it asked for the password in clear text.
    pub(super) fn has_asked_in_clear(&self) -> Arc<AtomicBool> {
        self.has_asked_in_clear.clone()
    }
}

/// The folder of a socket; it goes when the driver has connected.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    fn create() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = std::env::temp_dir().join(format!("mcp-db-{}", tool::new_id::<String>()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of a socket harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Connects to the server and lets one driver in, through the socket `name` of the folder. A sign-in that is read along is
/// cut off before the driver hears that it is to send the password in clear text.
///
/// # Errors
/// `Denied` when the policy allows none of the server's addresses, `Unavailable` when it cannot be reached.
pub(super) async fn connect(
    (host, port): (&str, u16),
    policy: &Arc<Policy>,
    most_bytes: usize,
    name: &str,
    mut sign_in: Option<SignIn>,
) -> Result<(Folder, Wire)> {
    let server = dial(host, port, policy).await.map_err(|error| error.about("database"))?;
    // Answers to small questions must not wait for more.
    let _ = server.set_nodelay(true);
    let failed =
        |error: io::Error| Error::internal("no socket can be made in the temporary folder").caused_by(error);
    let folder = Folder::create().map_err(failed)?;
    let listener = UnixListener::bind(folder.path().join(name)).map_err(failed)?;
    let is_outgrown = Arc::new(AtomicBool::new(false));
    let has_asked_in_clear = Arc::new(AtomicBool::new(false));
    let (outgrown, asked) = (is_outgrown.clone(), has_asked_in_clear.clone());
    let task = tokio::spawn(async move {
        if let Ok((driver, _)) = listener.accept().await {
            drop(listener);
            let may_pass = |bytes: &[u8]| {
                let is_asking = sign_in.as_mut().is_some_and(|sign_in| sign_in.asks_in_clear(bytes));
                asked.fetch_or(is_asking, Ordering::Relaxed);
                !is_asking
            };
            carry(driver, server, most_bytes, &outgrown, may_pass).await;
        }
    });
    Ok((folder, Wire { is_outgrown, has_asked_in_clear, _task: AbortOnDropHandle::new(task) }))
}

/// Carries bytes both ways. The count begins anew with each question, so that it is the size of one answer.
async fn carry(
    mut driver: UnixStream,
    mut server: TcpStream,
    most_bytes: usize,
    is_outgrown: &AtomicBool,
    mut may_pass: impl FnMut(&[u8]) -> bool,
) {
    let received = AtomicUsize::new(0);
    let (mut from_driver, mut to_driver) = driver.split();
    let (mut from_server, mut to_server) = server.split();
    let questions = async {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = from_driver.read(&mut buffer).await?;
            if count == 0 {
                return to_server.shutdown().await;
            }
            received.store(0, Ordering::Relaxed);
            to_server.write_all(&buffer[..count]).await?;
        }
    };
    let answers = async {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = from_server.read(&mut buffer).await?;
            if count == 0 {
                return io::Result::Ok(());
            }
            if received.fetch_add(count, Ordering::Relaxed) + count > most_bytes {
                is_outgrown.store(true, Ordering::Relaxed);
                return Ok(());
            }
            if !may_pass(&buffer[..count]) {
                return Ok(());
            }
            to_driver.write_all(&buffer[..count]).await?;
        }
    };
    // Whichever side ends, both do: the driver sees the end of its socket.
    tokio::select! {
        _ = questions => {}
        _ = answers => {}
    }
}

//! Our own stdin and stdout, without a thread that waits for them where the system can.
//!
//! tokio's own hand every read and write to another thread, since a file or a terminal can do no better. A
//! program that starts us gives us pipes or sockets.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{UnixStream, unix::pipe};

/// What others write to us.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    match Kind::of(std::io::stdin()) {
        Some(Kind::Pipe(pipe)) => match pipe::Receiver::from_file(pipe) {
            Ok(pipe) => Box::new(pipe),
            Err(_) => Box::new(tokio::io::stdin()),
        },
        Some(Kind::Socket(socket)) => Box::new(socket),
        None => Box::new(tokio::io::stdin()),
    }
}

/// Where others read what we write.
pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    match Kind::of(std::io::stdout()) {
        Some(Kind::Pipe(pipe)) => match pipe::Sender::from_file(pipe) {
            Ok(pipe) => Box::new(pipe),
            Err(_) => Box::new(tokio::io::stdout()),
        },
        Some(Kind::Socket(socket)) => Box::new(socket),
        None => Box::new(tokio::io::stdout()),
    }
}

/// Ends when nobody can read any more what we write, where the system tells.
pub(super) async fn output_closed() {
    /// It is looked at now and then, as nothing else depends on it than how soon we go.
    const PAUSE: Duration = Duration::from_millis(500);
    enum Output {
        Pipe(pipe::Sender),
        Socket(UnixStream),
    }
    let output = match Kind::of(std::io::stdout()) {
        Some(Kind::Pipe(pipe)) => pipe::Sender::from_file(pipe).map(Output::Pipe).ok(),
        Some(Kind::Socket(socket)) => Some(Output::Socket(socket)),
        None => None,
    };
    let Some(output) = output else { return std::future::pending().await };
    loop {
        tokio::time::sleep(PAUSE).await;
        let ready = match &output {
            Output::Pipe(pipe) => pipe.ready(Interest::WRITABLE).await,
            Output::Socket(socket) => socket.ready(Interest::WRITABLE).await,
        };
        if ready.is_ok_and(|ready| ready.is_write_closed()) {
            return;
        }
    }
}

/// What the system can wait for.
enum Kind {
    Pipe(File),
    Socket(UnixStream),
}

impl Kind {
    fn of(end: impl AsFd) -> Option<Self> {
        let file = File::from(end.as_fd().try_clone_to_owned().ok()?);
        let kind = file.metadata().ok()?.file_type();
        if kind.is_fifo() {
            return Some(Self::Pipe(file));
        }
        if !kind.is_socket() {
            return None;
        }
        let socket = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
        // A socket of another family says so here.
        socket.local_addr().ok()?;
        socket.set_nonblocking(true).ok()?;
        UnixStream::from_std(socket).ok().map(Self::Socket)
    }
}

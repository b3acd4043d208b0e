//! The door over stdio: one client, one process, one message a line.

use super::connection::{Connection, Identity};
use gateway::Gateway;
use mcp::{RpcError, envelope, one_line};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};

pub use super::connection::Options;

/// The longest message; a longer one is refused and passed over.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// What is kept of a longer one, to find its id, which mostly stands near the front.
const KEPT_BYTES: usize = 4 * 1024;

/// Serves one client until it says `exit` or closes its end.
///
/// `is_loaded` turns true when every service has said what it offers, or has had its time.
pub async fn serve(
    gateway: Arc<Gateway>,
    is_loaded: watch::Receiver<bool>,
    options: Options,
    input: impl AsyncBufRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let identity = Identity::local(gateway.only_client().cloned());
    let (connection, rx) = Connection::new(gateway, identity, is_loaded, options);
    let writer = tokio::spawn(write_lines(rx, output));
    if let End::OfInput = read_messages(&connection, input).await {
        // As in `echo … | mcp-all-in-one stdio`.
        connection.finish().await;
    }
    connection.close().await;
    drop(connection);
    // What was answered is written; a client that does not read any more is not waited for long.
    let _ = tokio::time::timeout(Duration::from_secs(2), writer).await;
}

/// How the input ended.
enum End {
    OfInput,
    Exit,
}

async fn read_messages(connection: &Arc<Connection>, mut input: impl AsyncBufRead + Unpin + Send) -> End {
    loop {
        let line = match read_line(&mut input).await {
            Ok(Some(Ok(line))) => line,
            Ok(Some(Err(TooLong { start, size }))) => {
                let message = format!(
                    "a message of {size} bytes is too large: at most {MAX_LINE_BYTES} bytes are taken"
                );
                let id = envelope::id_at_start(&start);
                let error = RpcError::invalid_request(message);
                connection.send(envelope::error(id.as_deref(), &error)).await;
                continue;
            }
            Ok(None) | Err(_) => return End::OfInput,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        if !connection.receive(line).await {
            return End::Exit;
        }
    }
}

/// A line that was passed over.
struct TooLong {
    start: Vec<u8>,
    size: usize,
}

/// A line without its end, or what is left of one that is too long; `None` at the end of the input.
async fn read_line(
    input: &mut (impl AsyncBufRead + Unpin),
) -> std::io::Result<Option<Result<Vec<u8>, TooLong>>> {
    let mut line = Vec::new();
    let mut size = 0;
    loop {
        let chunk = input.fill_buf().await?;
        if chunk.is_empty() {
            return Ok((size > 0).then(|| taken(line, size)));
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        size += part.len();
        if size <= MAX_LINE_BYTES {
            line.extend_from_slice(part);
        } else if line.len() > KEPT_BYTES {
            line.truncate(KEPT_BYTES);
            line.shrink_to_fit();
        }
        let taken_bytes = part.len() + usize::from(end.is_some());
        input.consume(taken_bytes);
        if end.is_some() {
            return Ok(Some(taken(line, size)));
        }
    }
}

fn taken(line: Vec<u8>, size: usize) -> Result<Vec<u8>, TooLong> {
    if size > MAX_LINE_BYTES { Err(TooLong { start: line, size }) } else { Ok(line) }
}

async fn write_lines(mut rx: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = rx.recv().await {
        let mut lines = one_line(line).into_bytes();
        lines.push(b'\n');
        while let Ok(more) = rx.try_recv() {
            lines.extend_from_slice(one_line(more).as_bytes());
            lines.push(b'\n');
        }
        if output.write_all(&lines).await.is_err() || output.flush().await.is_err() {
            rx.close();
            return;
        }
    }
}

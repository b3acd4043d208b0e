//! A socket that is not closed over what is still on its way.
//!
//! Closing a socket with unread bytes makes the kernel reset the connection, and the reset may overtake
//! the answer: a client that is told 413 while it sends would only see a broken pipe.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// How long the other side may take to notice that it is not listened to any more.
const TIME: Duration = Duration::from_secs(1);
/// How much it may send meanwhile.
const BYTES: usize = 64 * 1024 * 1024;

/// What is sent in one piece, even if it comes in several: the kernel takes longer for a list of pieces than we
/// for a copy.
const SMALL_BYTES: usize = 2 * 1024;

/// A connection that says goodbye and then hears the other side out, within limits.
pub(crate) struct Lingering {
    stream: TcpStream,
    /// Since goodbye was said.
    goodbye: Option<Goodbye>,
}

struct Goodbye {
    end: Pin<Box<Sleep>>,
    bytes_left: usize,
}

impl Lingering {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, goodbye: None }
    }

    fn poll_hear_out(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Self { stream, goodbye: Some(goodbye) } = self else { return Poll::Ready(()) };
        let mut scratch = [0; 8 * 1024];
        while goodbye.bytes_left > 0 && goodbye.end.as_mut().poll(cx).is_pending() {
            let mut heard = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut *stream).poll_read(cx, &mut heard)) {
                Ok(()) if !heard.filled().is_empty() => {
                    goodbye.bytes_left = goodbye.bytes_left.saturating_sub(heard.filled().len());
                }
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = pieces.iter().map(|piece| piece.len()).sum();
        let stream = Pin::new(&mut self.stream);
        if length > SMALL_BYTES {
            return stream.poll_write_vectored(cx, pieces);
        }
        let (mut small, mut end) = ([0; SMALL_BYTES], 0);
        for piece in pieces {
            small[end..end + piece.len()].copy_from_slice(piece);
            end += piece.len();
        }
        stream.poll_write(cx, &small[..length])
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.goodbye.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.goodbye = Some(Goodbye { end: Box::pin(sleep(TIME)), bytes_left: BYTES });
        }
        self.poll_hear_out(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    async fn pair() -> (Lingering, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Lingering::new(listener.accept().await.unwrap().0), client)
    }

    #[tokio::test]
    async fn sends_pieces_in_their_order_few_or_many() {
        for size in [0, 1, 300, SMALL_BYTES, 100_000] {
            let (mut server, mut client) = pair().await;
            let pieces = [vec![b'a'; size], vec![], vec![b'b'; size], b"end".to_vec()];
            let expected = pieces.concat();
            tokio::spawn(async move {
                let mut slices: Vec<_> = pieces.iter().map(|piece| io::IoSlice::new(piece)).collect();
                let mut rest = slices.as_mut_slice();
                while !rest.is_empty() {
                    let count = server.write_vectored(rest).await.unwrap();
                    io::IoSlice::advance_slices(&mut rest, count);
                }
                server.shutdown().await.unwrap();
            });
            let mut received = Vec::new();
            client.read_to_end(&mut received).await.unwrap();
            assert_eq!(received, expected);
        }
    }

    #[tokio::test]
    async fn an_answer_is_read_by_a_client_that_is_still_sending() {
        for _ in 0..20 {
            let (mut server, mut client) = pair().await;
            let server = tokio::spawn(async move {
                server.read_exact(&mut [0; 10]).await.unwrap();
                server.write_all(b"enough").await.unwrap();
                server.shutdown().await.unwrap();
            });
            client.write_all(&vec![0; 10 * 1024 * 1024]).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert_eq!(answer, "enough");
            drop(client);
            server.await.unwrap();
        }
    }

    #[tokio::test]
    async fn waits_no_longer_than_a_moment() {
        let (mut server, _client) = pair().await;
        let begun = Instant::now();
        server.shutdown().await.unwrap();
        assert!(begun.elapsed() >= TIME && begun.elapsed() < 10 * TIME);
        let (mut server, client) = pair().await;
        drop(client);
        let begun = Instant::now();
        server.shutdown().await.unwrap();
        assert!(begun.elapsed() < TIME);
    }
}

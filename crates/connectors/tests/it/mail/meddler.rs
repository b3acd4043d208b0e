//! A man in the middle between us and a real mail server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What it does to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meddling {
    /// Nothing but counting and listening.
    Nothing,
    /// What the server says to the final dot is lost, and the connection with it.
    LoseLastAnswer,
    /// What the server says to the final dot never comes.
    HoldLastAnswer,
    /// The second message on a connection is told that the connection has rested for too long.
    SayGoodbye,
    /// The first message of a connection is not wanted once all is said but what it says.
    RefuseData,
    /// The server seems to offer no STARTTLS.
    TakeOutStarttls,
    /// Something in clear stands behind the server's agreement to encrypt.
    SpeakBeforeEncryption,
}

#[derive(Debug)]
pub(super) struct Meddler {
    address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    connections: AtomicUsize,
    open: AtomicUsize,
    /// What clients said, as far as it could be read.
    said: Mutex<Vec<u8>>,
}

impl Meddler {
    pub(super) async fn start(server: &str, meddling: Meddling) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let (shared, server) = (seen.clone(), server.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (seen, server) = (shared.clone(), server.clone());
                tokio::spawn(async move {
                    seen.connections.fetch_add(1, Ordering::SeqCst);
                    seen.open.fetch_add(1, Ordering::SeqCst);
                    let server = TcpStream::connect(server).await.unwrap();
                    let _ = pass_on(client, server, meddling, &seen).await;
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, seen, task }
    }

    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Connections that nobody has closed.
    pub(super) fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    pub(super) fn said(&self) -> String {
        String::from_utf8_lossy(&self.seen.said.lock().unwrap()).into_owned()
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(
    mut client: TcpStream,
    mut server: TcpStream,
    meddling: Meddling,
    seen: &Seen,
) -> std::io::Result<()> {
    let (mut from_client, mut from_server) = (vec![0; 65536], vec![0; 65536]);
    let (mut letters, mut is_ended) = (0, false);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let heard = &from_client[..read?];
                if heard.is_empty() {
                    return Ok(());
                }
                seen.said.lock().unwrap().extend_from_slice(heard);
                letters += String::from_utf8_lossy(heard).matches("MAIL FROM").count();
                if meddling == Meddling::SayGoodbye && letters > 1 {
                    client.write_all(b"421 4.4.2 you have rested for too long\r\n").await?;
                    return Ok(());
                }
                is_ended |= heard.ends_with(b".\r\n");
                if meddling == Meddling::RefuseData && letters == 1 && heard == b"DATA\r\n" {
                    client.write_all(b"451 4.3.0 not now\r\n").await?;
                    continue;
                }
                server.write_all(heard).await?;
            }
            read = server.read(&mut from_server) => {
                let heard = from_server[..read?].to_vec();
                if heard.is_empty() {
                    return Ok(());
                }
                let text = String::from_utf8_lossy(&heard).into_owned();
                match meddling {
                    Meddling::LoseLastAnswer if is_ended => return Ok(()),
                    // Until the client has enough of it.
                    Meddling::HoldLastAnswer if is_ended => {
                        while client.read(&mut from_client).await? > 0 {}
                        return Ok(());
                    }
                    Meddling::TakeOutStarttls => {
                        client.write_all(text.replace("250-STARTTLS\r\n", "").as_bytes()).await?;
                    }
                    Meddling::SpeakBeforeEncryption if text.starts_with("220 TLS") => {
                        client.write_all(format!("{text}250 and so it is\r\n").as_bytes()).await?;
                    }
                    _ => client.write_all(&heard).await?,
                }
            }
        }
    }
}

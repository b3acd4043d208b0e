//! A server over HTTP may speak both eras: which of its connections a call takes, and the second one where it is needed.

use super::client::ReconnectingClient;
use mcp::Era;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tool::{Context, QuestionMode};
use tracing::debug;

/// How long a call waits to learn whether a handshake is possible, too.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server that did not want a handshake is not asked for one again.
const AGAIN: Duration = Duration::from_secs(60);

/// The ways to a server.
pub(super) struct ServerClients {
    /// In the era that the server prefers; over HTTP that is the newer one.
    pub(super) main: Arc<ReconnectingClient>,
    legacy: Option<LegacyClient>,
}

/// The way with a handshake to a server that does not need one. What the server asks its client with a request of
/// its own, or tells it unasked, it can say only there.
struct LegacyClient {
    client: Arc<ReconnectingClient>,
    began: Instant,
    /// In milliseconds since we began.
    not_before_ms: AtomicU64,
}

impl ServerClients {
    pub(super) fn new(main: Arc<ReconnectingClient>) -> Self {
        let legacy = main.with_handshake().map(|client| LegacyClient {
            client: Arc::new(client),
            began: Instant::now(),
            not_before_ms: AtomicU64::new(0),
        });
        Self { main, legacy }
    }

    /// The way that suits the calling program: one that hears of things while its call runs gets a server that says
    /// them then.
    pub(super) async fn suiting(&self, cx: &Context) -> &Arc<ReconnectingClient> {
        match &self.legacy {
            Some(legacy) if cx.question_mode == Some(QuestionMode::DuringCall) => {
                match legacy.client.has_session() {
                    true => &legacy.client,
                    false if legacy.is_refused() => &self.main,
                    // Boxed, as what is rare must not make the future of every call large.
                    false => Box::pin(legacy.or(cx, &self.main)).await,
                }
            }
            _ => &self.main,
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<ReconnectingClient>> {
        self.legacy.iter().map(|legacy| &legacy.client).chain([&self.main])
    }
}

impl LegacyClient {
    fn is_refused(&self) -> bool {
        self.began.elapsed() < Duration::from_millis(self.not_before_ms.load(Ordering::Relaxed))
    }

    /// This way where the server has it, else the main one. A fault does not fail the call: the main way says what is wrong.
    async fn or<'a>(
        &'a self,
        cx: &Context,
        main: &'a Arc<ReconnectingClient>,
    ) -> &'a Arc<ReconnectingClient> {
        let Ok(server) = main.server(cx).await else { return main };
        let deadline = cx.deadline.min(Instant::now() + PATIENCE);
        let is_possible = server.version.era() == Era::Modern
            && match self.client.shake_hands(&Context { deadline, ..cx.clone() }).await {
                Ok(has_session) => has_session,
                Err(error) => {
                    debug!(server = main.name(), %error, "the MCP server is spoken to without a handshake only");
                    false
                }
            };
        if is_possible {
            return &self.client;
        }
        let until = self.began.elapsed() + AGAIN;
        self.not_before_ms.store(until.as_millis().try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        main
    }
}

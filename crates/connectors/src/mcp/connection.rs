//! The life of a connection: it is made, looked after while it is used, and closed when its time has come.

use super::client::ReconnectingClient;
use super::listen;
use super::session::Session;
use super::state::Phase;
use mcp::client::{Failure, Notification, Options};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tool::Reason;

/// The least time between two looks at whether a connection is used.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl ReconnectingClient {
    /// Makes the connection, whoever has asked for it, and looks after it.
    pub(super) async fn connect(self: &Arc<Self>) {
        let (known, version) = (self.state().era, self.limits.version);
        let only_client = self.only_client.clone();
        let options = Options { known, version, only_client, ..Options::default() };
        let diagnosis = options.diagnosis.clone();
        let cx = self.context(self.limits.start);
        let connected = tokio::select! {
            connected = self.target.connect(&cx, &options) => connected,
            () = self.closing.cancelled() => Err(Failure::Cancelled),
        };
        let connected = match connected {
            Err(Failure::Timeout) => {
                let ms = self.limits.start.as_millis();
                let why =
                    format!("it did not start and finish the handshake within {ms} ms ('start_timeout')");
                Err(Failure::unreachable_because(Reason::StartTimedOut, why))
            }
            other => other,
        };
        let mut state = self.state();
        match connected {
            Err(failure) => {
                state.phase = Phase::Idle;
                state.era = None;
                state.fail(&self.limits);
                state.last_failure = Some((failure, diagnosis));
            }
            Ok((client, told)) => {
                self.watched.all_unsubscribed();
                let session = Arc::new(Session::new(client, diagnosis));
                state.phase = Phase::Ready(session.clone());
                state.last_failure = None;
                state.was_connected = true;
                state.era = Some(session.client.version().era());
                let is_suspect = std::mem::take(&mut state.is_suspect);
                drop(state);
                self.tasks.spawn(self.clone().look_after(session, told, is_suspect));
            }
        }
    }

    /// Passes changes on, and closes the connection when its time has come.
    async fn look_after(
        self: Arc<Self>,
        session: Arc<Session>,
        mut told: mpsc::Receiver<Notification>,
        is_suspect: bool,
    ) {
        let mut changed = session.client.lists_changed();
        let mut roots = self.only_client.as_ref().map(|client| client.roots());
        let listening = listen::listen(&self, &session, &self.watched);
        tokio::pin!(listening);
        let comparing = async {
            if is_suspect {
                self.tools.compare(&self.context(self.limits.start), &self).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::pin!(comparing);
        loop {
            let idle = self.limits.idle.map_or(NEVER, |idle| idle.saturating_sub(session.idle_time()));
            tokio::select! {
                () = self.closing.cancelled() => break,
                () = session.retired.cancelled() => {
                    tokio::select! {
                        () = session.wait_until_unused() => break,
                        () = self.closing.cancelled() => break,
                    }
                }
                () = session.client.closed().cancelled() => break,
                Ok(()) = changed.changed() => self.tools.forget(),
                () = &mut comparing => {}
                () = listen::next_roots(&mut roots) => listen::tell_roots(&self, &session).await,
                () = &mut listening => {}
                Some(told) = told.recv() => self.watched.hear(told),
                () = tokio::time::sleep(idle.max(LOOK_AGAIN)) => if self.retire_idle(&session) {
                    break;
                }
            }
        }
        session.client.close().await;
    }

    /// Takes an unused session out of service; not if somebody has just begun to use it.
    fn retire_idle(&self, session: &Arc<Session>) -> bool {
        let mut state = self.state();
        let is_current = matches!(&state.phase, Phase::Ready(current) if Arc::ptr_eq(current, session));
        // One reference is the state's, one is ours: nobody else is about to use it.
        let is_idle = self.limits.idle.is_some_and(|idle| session.idle_time() >= idle);
        if !is_idle || !is_current || Arc::strong_count(session) > 2 {
            return false;
        }
        state.phase = Phase::Idle;
        session.retired.cancel();
        true
    }

    /// Nobody wants to hear of a resource any more; a server that is not there need not know.
    pub(super) fn forget_resource(self: &Arc<Self>, uri: &str) {
        let Phase::Ready(session) = &self.state().phase else { return self.watched.unsubscribed(uri) };
        let (client, session, uri) = (self.clone(), session.clone(), uri.to_owned());
        self.tasks.spawn(async move { listen::unsubscribe(&client, &session, &uri).await });
    }
}

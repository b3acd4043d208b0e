//! Watching for changes, by this process and by others.

use crate::database::Backend;
use crate::{Error, Result, Store, revisions};
use sqlx::postgres::PgListener;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often SQLite is asked.
const POLL: Duration = Duration::from_millis(500);
/// How often PostgreSQL is asked, should a notification be lost.
const SAFETY_POLL: Duration = Duration::from_secs(5);
/// How long one question may take: a connection into the void must not stop the watcher.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pauses between attempts to listen again.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

impl Store {
    /// The latest revision (0 before the first look), kept up to date by a task that ends with
    /// `cancel` or with the last receiver. A lost database only makes the value late.
    #[must_use]
    pub fn watch(&self, cancel: CancellationToken) -> watch::Receiver<i64> {
        let (sender, receiver) = watch::channel(0);
        let watcher = Watcher { store: self.clone(), sender, is_lost: false };
        tokio::spawn(async move {
            cancel.run_until_cancelled(watcher.run()).await;
        });
        receiver
    }
}

struct Watcher {
    store: Store,
    sender: watch::Sender<i64>,
    /// The last question went unanswered; said once, not every time.
    is_lost: bool,
}

impl Watcher {
    async fn run(mut self) {
        let sender = self.sender.clone();
        tokio::select! {
            () = sender.closed() => {}
            () = self.follow() => {}
        }
    }

    async fn follow(&mut self) {
        match self.store.backend() {
            Backend::Sqlite => loop {
                self.look().await;
                self.pause(POLL).await;
            },
            Backend::Postgres => self.follow_notifications().await,
        }
    }

    async fn follow_notifications(&mut self) {
        let mut backoff = BACKOFF.0;
        loop {
            if let Ok(Ok(listener)) = tokio::time::timeout(PATIENCE, self.listen()).await {
                backoff = BACKOFF.0;
                self.follow_listener(listener).await;
            }
            self.look().await;
            self.pause(backoff).await;
            backoff = (backoff * 2).min(BACKOFF.1);
        }
    }

    async fn listen(&self) -> Result<PgListener> {
        let mut listener = PgListener::connect(self.store.url().expose()).await?;
        listener.eager_reconnect(false);
        listener.listen(revisions::CHANNEL).await?;
        Ok(listener)
    }

    /// Returns when the connection is lost, or proves deaf.
    async fn follow_listener(&mut self, mut listener: PgListener) {
        // After listening has begun, so that nothing falls between.
        self.look().await;
        loop {
            let store = self.store.clone();
            tokio::select! {
                notification = listener.try_recv() => match notification {
                    Ok(Some(_)) => {
                        while listener.next_buffered().is_some() {}
                        self.look().await;
                    }
                    Ok(None) | Err(_) => return,
                },
                () = store.changed().notified() => {
                    self.look().await;
                }
                () = tokio::time::sleep(SAFETY_POLL) => {
                    if self.look().await {
                        return;
                    }
                }
            }
        }
    }

    async fn pause(&self, duration: Duration) {
        tokio::select! {
            () = self.store.changed().notified() => {}
            () = tokio::time::sleep(duration) => {}
        }
    }

    /// Whether there was something new.
    async fn look(&mut self) -> bool {
        let answer = tokio::time::timeout(PATIENCE, self.store.revisions().current()).await;
        match answer.unwrap_or_else(|_| Err(Error::unavailable("the database does not answer"))) {
            Ok(revision) => {
                if std::mem::take(&mut self.is_lost) {
                    tracing::info!("the database answers again");
                }
                self.sender.send_if_modified(|value| std::mem::replace(value, revision) != revision)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_lost, true) {
                    tracing::warn!(%error, "cannot look for changes in the database: {error}");
                }
                false
            }
        }
    }
}

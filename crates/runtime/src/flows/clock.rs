//! The clock of all runs is the database's: replicas whose own clocks differ agree on it.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use flow::engine::Clock;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};
use store::Store;

/// The database's time, told by a clock of this process that is set by it now and then.
#[derive(Debug)]
pub(super) struct DatabaseClock(RwLock<(Instant, i64)>);

impl DatabaseClock {
    pub(super) async fn new(store: &Store) -> store::Result<Self> {
        Ok(Self(RwLock::new(read(store).await?)))
    }

    /// Sets it anew.
    pub(super) async fn set(&self, store: &Store) -> store::Result<()> {
        let read = read(store).await?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        let (since, ms) = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        ms.saturating_add(i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// When a time of the database is, by the clock that tokio waits by; long ago is now.
    pub(super) fn instant(&self, time: DateTime<Utc>) -> Instant {
        let left = time.timestamp_millis().saturating_sub(self.now_ms());
        Instant::now() + Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }
}

async fn read(store: &Store) -> store::Result<(Instant, i64)> {
    let begun = Instant::now();
    let ms = store.runs().now().await?;
    // It was read somewhere between.
    Ok((begun + begun.elapsed() / 2, ms))
}

#[async_trait]
impl Clock for DatabaseClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.now_ms()).unwrap_or_default()
    }

    async fn sleep_until(&self, instant: DateTime<Utc>) {
        // The clock may be set meanwhile.
        while self.now() < instant {
            let part = Instant::now() + Duration::from_secs(60);
            tokio::time::sleep_until(self.instant(instant).min(part).into()).await;
        }
    }
}

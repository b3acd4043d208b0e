//! Passwords are hashed a few at a time: each takes tens of milliseconds and megabytes.

use crate::error::{Code, Problem, Result};
use std::sync::Arc;
use std::time::Duration;
use store::password;
use tokio::sync::Semaphore;
use tool::Secret;

/// At the same time; each takes 19 MiB and a core.
const AT_ONCE: usize = 2;
/// Those that wait for their turn; more are told to come again.
const WAITING: usize = 32;
/// How long they wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// The only way to a hash of a password.
pub(crate) struct Hashing {
    turns: Arc<Semaphore>,
    places: Semaphore,
}

impl Default for Hashing {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), places: Semaphore::new(AT_ONCE + WAITING) }
    }
}

impl Hashing {
    /// The hash of a new password.
    pub(crate) async fn hash(&self, password: Secret) -> Result<Secret> {
        Ok(self.run(move || password::hash(&password)).await??)
    }

    /// Whether the password has this hash. No hash costs as much as one, so that nobody learns which names exist.
    pub(crate) async fn verify(&self, password: Secret, hash: Option<Secret>) -> Result<bool> {
        let verify = move || match hash {
            Some(hash) => password::verify(&password, &hash),
            None => {
                password::verify_dummy(&password);
                false
            }
        };
        self.run(verify).await
    }

    /// Runs in its turn, off the threads that serve requests. The turn belongs to the work, not to whoever waits
    /// for it: one who goes away frees nothing.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let _place = self.places.try_acquire().map_err(|_| busy())?;
        let turn = tokio::time::timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| busy())?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.map_err(|_| Problem::new(Code::Internal, "the password could not be hashed"))
    }
}

fn busy() -> Problem {
    let detail = "too many passwords are being checked at the moment; try again in a few seconds";
    Problem::new(Code::RateLimited, detail).retry_after(Duration::from_secs(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn works_on_two_at_a_time_and_sends_those_away_who_would_wait_too_long() {
        let (hashing, now, most) = (Hashing::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let counters = Arc::new((now, most));
        let works = (0..80).map(|_| {
            let counters = counters.clone();
            hashing.run(move || {
                let (now, most) = &*counters;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(5));
                now.fetch_sub(1, Ordering::SeqCst);
            })
        });
        let ended = futures::future::join_all(works).await;
        assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), AT_ONCE + WAITING);
        assert_eq!(counters.1.load(Ordering::SeqCst), AT_ONCE);
        assert!(hashing.run(|| ()).await.is_ok());
    }

    #[tokio::test]
    async fn one_who_goes_away_frees_nothing() {
        let hashing = Hashing::default();
        let (tx, rx) = std::sync::mpsc::channel::<()>();
        let gone = hashing.run(move || rx.recv().is_ok());
        assert!(tokio::time::timeout(Duration::from_millis(50), gone).await.is_err());
        assert_eq!(hashing.turns.available_permits(), AT_ONCE - 1);
        drop(tx);
    }
}

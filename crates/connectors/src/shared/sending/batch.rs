//! The messages of one call, several at a time, until the time is over.

use super::{Fate, Pace, Status};
use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tool::{Context, Error, Reason, Result};

/// What is left at the end to say what became of the rest.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Who takes pieces of a call, each for one or more people.
#[async_trait]
pub(crate) trait Carry: Send + Sync {
    type Piece: Sync;

    /// Whether it is told that nobody knows of a single piece. Otherwise its end is that of the call.
    const KNOWS_DOUBT: bool;

    /// How many people get the piece.
    fn recipients(&self, piece: &Self::Piece) -> usize;

    /// How often a piece may go out, where that is limited.
    fn pace(&self) -> Option<&Pace>;

    /// Hands a piece over, and tells what became of it at each recipient. `is_doubtful` is set from when on nobody knows
    /// whether the other end has it.
    async fn carry(&self, piece: &Self::Piece, is_doubtful: &AtomicBool) -> Result<Vec<Fate>>;
}

/// Hands all pieces over, `at_once` at a time, and tells what became of each in their order. `is_doubtful` is set when one
/// failed of which nobody knows whether the other end has it.
pub(crate) async fn carry_all<C: Carry>(
    cx: &Context,
    carrier: &C,
    pieces: &[C::Piece],
    at_once: usize,
    is_doubtful: &AtomicBool,
) -> Vec<Result<Vec<Fate>>> {
    let batch = Batch {
        stop: Instant::now() + cx.remaining().saturating_sub(LAST_WORDS),
        is_single: pieces.len() == 1,
        is_down: AtomicBool::new(false),
        is_doubtful,
    };
    let works: Vec<BoxFuture<'_, _>> =
        pieces.iter().map(|piece| Box::pin(batch.carry(carrier, piece)) as BoxFuture<'_, _>).collect();
    futures::stream::iter(works).buffered(at_once).collect().await
}

/// What the pieces of one call have in common.
struct Batch<'a> {
    stop: Instant,
    is_single: bool,
    /// One could not be handed over at all, so that the rest need not try.
    is_down: AtomicBool,
    is_doubtful: &'a AtomicBool,
}

impl Batch<'_> {
    async fn carry<C: Carry>(&self, carrier: &C, piece: &C::Piece) -> Result<Vec<Fate>> {
        if self.is_down.load(Ordering::Relaxed) {
            return Err(Error::unavailable("it was not sent, since one before it could not be").retryable());
        }
        let doubt = Doubt { own: AtomicBool::new(false), all: self.is_doubtful };
        let mut work = pin!(async {
            if let Some(pace) = carrier.pace() {
                pace.wait().await;
            }
            carrier.carry(piece, &doubt.own).await
        });
        let ended = match timeout_at(self.stop, &mut work).await {
            // The end of a single piece is the end of the call.
            Err(_) if self.is_single && !(C::KNOWS_DOUBT && doubt.is_there()) => Ok(work.await),
            ended => ended,
        };
        match ended {
            Ok(ended) => {
                self.is_down.fetch_or(ended.is_err(), Ordering::Relaxed);
                if let Ok(fates) = &ended {
                    doubt.end();
                    // Should the others be given up, somebody has something all the same.
                    let may_have = |fate: &Fate| matches!(fate.status, Status::Taken | Status::Unknown);
                    self.is_doubtful.fetch_or(fates.iter().any(may_have), Ordering::Relaxed);
                }
                ended
            }
            Err(_) if doubt.end() => Ok(vec![Fate::unknown(); carrier.recipients(piece)]),
            Err(_) => {
                let message = "no time was left to send it; it was not sent";
                Err(Error::timeout(message).because(Reason::AttemptTimedOut).retryable())
            }
        }
    }
}

/// Whether nobody knows of one piece. Where it is given up half-way, nobody knows of the call.
struct Doubt<'a> {
    own: AtomicBool,
    all: &'a AtomicBool,
}

impl Doubt<'_> {
    fn is_there(&self) -> bool {
        self.own.load(Ordering::Relaxed)
    }

    /// What became of the piece is told; says whether there was any doubt.
    fn end(&self) -> bool {
        self.own.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        self.all.fetch_or(*self.own.get_mut(), Ordering::Relaxed);
    }
}

//! Waiting for what other tasks bring about, without guessing how fast the machine is.

use std::time::{Duration, Instant};

/// Tries until it holds.
///
/// # Panics
/// When it does not hold within the time.
pub async fn eventually<Check>(what: &str, within: Duration, mut check: Check)
where
    Check: AsyncFnMut() -> bool,
{
    let deadline = Instant::now() + within;
    while !check().await {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

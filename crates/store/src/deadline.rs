//! An end to waiting: a database that is gone without a word never answers.

use crate::{Error, Result};
use std::time::Duration;

/// The answer, or `Unavailable` when there is none within `time`.
pub async fn within<T>(time: Duration, answer: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(time, answer)
        .await
        .unwrap_or_else(|_| Err(Error::unavailable(format!("the database did not answer within {time:?}"))))
}

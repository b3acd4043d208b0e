//! Many callers of one service, few of whom it serves at once.

use super::support::{run, run_within};
use futures::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::conformance::context;
use tool::{Connector, ErrorKind};

/// Five hundred call at once and get their turn, as their answers show; one more has less time than that takes, and hears so.
/// Another service, `beside`, does not notice.
pub(super) async fn all_get_theirs(
    orders: &Arc<dyn Connector>,
    beside: &Arc<dyn Connector>,
    hasty: Duration,
) -> Vec<Value> {
    let patient = (1..=500).map(|n| run(orders, "created", json!({ "message": n })));
    let late = async {
        // Behind all of them.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let begin = Instant::now();
        let late = run_within(orders, &context(hasty), "created", json!({ "message": "late" })).await;
        (late.unwrap_err(), begin.elapsed())
    };
    let other = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let begin = Instant::now();
        run(beside, "created", json!({ "message": 1 })).await.unwrap();
        begin.elapsed()
    };
    let begin = Instant::now();
    let (patient, (late, waited), other) = tokio::join!(join_all(patient), late, other);
    let all = begin.elapsed();
    assert_eq!(late.kind(), ErrorKind::Timeout, "{late:?}");
    assert!(waited < all && other < all, "late after {waited:?}, others after {other:?}, all after {all:?}");
    patient.into_iter().map(Result::unwrap).collect()
}

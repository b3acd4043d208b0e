//! Between the engine's records and the store's: one is typed, the other is a row.

use chrono::DateTime;
use flow::engine::{Fact, Record, Waiting};
use serde_json::{Map, Value, json};
use store::runs::{NewRecord, NewWait};

/// The row of a record.
pub(super) fn to_row(record: &Record) -> NewRecord {
    let (kind, data) = fact_parts(&record.fact);
    NewRecord {
        at: record.at.timestamp_millis(),
        path: record.path.clone(),
        attempt: i64::from(record.attempt),
        kind,
        data: data.to_string(),
    }
}

fn fact_parts(fact: &Fact) -> (String, Value) {
    let Ok(Value::Object(mut fact)) = serde_json::to_value(fact) else { return Default::default() };
    let kind = fact.remove("kind").and_then(|kind| kind.as_str().map(str::to_owned));
    (kind.unwrap_or_default(), fact.remove("data").unwrap_or_default())
}

/// The record of a row.
///
/// # Errors
/// When the row holds something else.
pub(super) fn from_row(row: &NewRecord) -> Result<Record, Foreign> {
    let mut record = Map::from_iter([
        ("at".to_owned(), json!(DateTime::from_timestamp_millis(row.at).unwrap_or_default())),
        ("path".to_owned(), row.path.as_str().into()),
        ("attempt".to_owned(), row.attempt.into()),
        ("kind".to_owned(), row.kind.as_str().into()),
    ]);
    let data: Value = serde_json::from_str(&row.data).map_err(|_| Foreign)?;
    // Facts without anything to say have no data at all.
    if !data.is_null() {
        record.insert("data".to_owned(), data);
    }
    serde_json::from_value(record.into()).map_err(|_| Foreign)
}

/// A row that is none of the engine's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Foreign;

/// A journal with such a row in it.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// What stands before it.
    pub(super) before: Vec<Record>,
}

impl From<Unreadable> for tool::Error {
    fn from(_: Unreadable) -> Self {
        Self::internal(
            "the journal of the run holds something unexpected and cannot be read; start another run",
        )
    }
}

/// Somebody else's record, of now.
pub(super) fn of_others(at_ms: i64, path: &str, fact: Fact) -> NewRecord {
    let at = DateTime::from_timestamp_millis(at_ms).unwrap_or_default();
    to_row(&Record { at, path: path.to_owned(), attempt: 1, fact })
}

/// The word for what is waited for.
pub(super) fn kind_of(waiting: &Waiting) -> &'static str {
    match waiting {
        Waiting::Timer { .. } => "timer",
        Waiting::Retry { .. } => "retry",
        Waiting::Signal { .. } => "signal",
        Waiting::Approval { .. } => "approval",
        Waiting::Child { .. } => "child",
    }
}

/// What a node waits for, as others see it. Of a secret run nothing but that it waits: the rest is in its journal.
pub(super) fn wait_of(path: &str, waiting: &Waiting, is_secret: bool) -> NewWait {
    let data = match is_secret {
        true => Value::Null,
        false => serde_json::to_value(waiting).unwrap_or_default(),
    };
    NewWait {
        id: tool::new_id(),
        path: path.to_owned(),
        kind: kind_of(waiting).to_owned(),
        until: waiting.until().map(|until| until.timestamp_millis()),
        data: data.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::engine::{Ending, Failure};

    #[test]
    fn every_kind_of_record_survives_the_way_to_a_row_and_back() {
        let failure = Failure::new("TIMEOUT", "late");
        let facts = [
            Fact::Again,
            Fact::Cancel,
            Fact::Pass(3),
            Fact::Written { vars: Map::from_iter([("n".to_owned(), json!(1))]) },
            Fact::Called { target: json!("api://a/b"), arguments: Map::new() },
            Fact::Waiting(Waiting::Child { run: "r".into() }),
            Fact::Signal { name: "s".into(), key: None, data: Value::Null },
            Fact::ChildEnded(Err(failure.clone())),
            Fact::ChildEnded(Ok(Value::Null)),
            Fact::Ended(Ending::Failed { error: failure }),
            Fact::Ended(Ending::Cancelled),
        ];
        for fact in facts {
            let at = DateTime::from_timestamp_millis(1_700_000_000_123).unwrap();
            let record = Record { at, path: "ship[3].send".into(), attempt: 2, fact };
            assert_eq!(from_row(&to_row(&record)).as_ref(), Ok(&record));
        }
        let foreign = NewRecord { kind: "nonsense".into(), ..of_others(0, "", Fact::Cancel) };
        assert_eq!(from_row(&foreign), Err(Foreign));
    }
}

//! The queue between calls and the audit: bounded, batched, drained at the end.

use super::{Entry, Record};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

/// Records that may wait; when it is full, calls wait rather than lose one.
const QUEUE: usize = 8192;
const BATCH: usize = 512;
/// How long a record may wait for company.
const LINGER: Duration = Duration::from_millis(50);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// How long there is nothing to write before the sink may see to what it put aside.
const IDLE: Duration = Duration::from_secs(1);

/// Where audit entries are kept.
#[async_trait]
pub trait Sink: Send + Sync + 'static {
    /// Keeps a batch, all or nothing. A batch that failed is offered again, with the same ids.
    async fn write(&self, batch: &[Entry]) -> tool::Result<()>;

    /// Called now and then while there is nothing to write, to see to what was put aside.
    async fn catch_up(&self) {}
}

/// The way into the audit.
#[derive(Debug)]
pub struct Audit {
    tx: mpsc::Sender<Record>,
    writer: Mutex<Option<JoinHandle<()>>>,
    closing: tokio_util::sync::CancellationToken,
}

impl Audit {
    /// Starts the writer. It ends when [`Audit::drain`] is called.
    #[must_use]
    pub fn start(sink: Arc<dyn Sink>) -> Self {
        let (tx, rx) = mpsc::channel(QUEUE);
        let closing = tokio_util::sync::CancellationToken::new();
        let writer = tokio::spawn(run(rx, sink, closing.clone()));
        Self { tx, writer: Mutex::new(Some(writer)), closing }
    }

    /// Hands a record over; waits only while the queue is full.
    pub(crate) async fn write(&self, record: Record) {
        if let Err(record) = self.tx.send(record).await {
            let entry = record.0.into_entry();
            tracing::error!(?entry, "a call ended after the audit was closed");
        }
    }

    /// Writes what is waiting and ends the writer, within `time`.
    pub async fn drain(&self, time: Duration) {
        self.closing.cancel();
        let Some(mut writer) = self.writer.lock().await.take() else { return };
        if tokio::time::timeout(time, &mut writer).await.is_err() {
            tracing::error!("the audit could not be written within {time:?}; records are lost");
            writer.abort();
        }
    }
}

async fn run(
    mut rx: mpsc::Receiver<Record>,
    sink: Arc<dyn Sink>,
    closing: tokio_util::sync::CancellationToken,
) {
    let mut records = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            count = rx.recv_many(&mut records, BATCH) => if count == 0 { return },
            () = closing.cancelled(), if !rx.is_closed() => { rx.close(); continue }
            () = tokio::time::sleep(IDLE) => { sink.catch_up().await; continue }
        }
        if records.len() < BATCH && !rx.is_closed() {
            tokio::select! {
                () = tokio::time::sleep(LINGER) => {}
                () = closing.cancelled() => {}
            }
            while records.len() < BATCH
                && let Ok(record) = rx.try_recv()
            {
                records.push(record);
            }
        }
        let entries: Vec<Entry> = records.drain(..).map(Record::into_entry).collect();
        write_until_kept(&*sink, &entries).await;
    }
}

async fn write_until_kept(sink: &dyn Sink, entries: &[Entry]) {
    let mut wait = FIRST_RETRY;
    while let Err(error) = sink.write(entries).await {
        let count = entries.len();
        tracing::warn!(count, error = error.full_message(), "{count} audit records wait: {error}");
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LAST_RETRY);
    }
}

//! The queue between calls and the audit: bounded, batched, drained at the end.

use super::{Entry, RecentCalls, Record};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Records that may wait; when it is full, calls wait rather than lose one.
const QUEUE: usize = 8192;
/// While fewer places are left, records come without what their calls have sent and got, which may be large.
const ROOM: usize = QUEUE / 4 * 3;
/// Written at once: about what comes up while a record waits for company, when it comes up fast.
const BATCH: usize = 2048;
/// How long a record may wait for company.
const LINGER: Duration = Duration::from_millis(50);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// How long the records that nothing keeps may take on their way to the log.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long there is nothing to write before the sink may see to what it put aside.
const IDLE: Duration = Duration::from_secs(1);
/// Entries that may wait for a slow listener; more are missed, which it is told.
const NEWS: usize = 4096;

/// Where audit entries are kept.
#[async_trait]
pub trait Sink: Send + Sync + 'static {
    /// Keeps a batch, all or nothing. A batch that failed is offered again, with the same ids.
    async fn write(&self, batch: &[Entry]) -> tool::Result<()>;

    /// Whether anybody will ever see what is kept. Asked for each record: a log may be switched on.
    fn is_read(&self) -> bool {
        true
    }

    /// Called now and then while there is nothing to write, to see to what was put aside.
    async fn catch_up(&self) {}
}

/// The way into the audit.
pub struct Audit {
    sink: Arc<dyn Sink>,
    tx: mpsc::Sender<Box<Record>>,
    /// Records handed over, and how many of them are kept.
    handed: AtomicU64,
    kept: watch::Receiver<u64>,
    /// What the last calls sent and got.
    calls: Arc<RecentCalls>,
    news: broadcast::Sender<Arc<Entry>>,
    /// Somebody waits for the records that wait for company.
    hurry: Arc<Notify>,
    writer: Mutex<Option<JoinHandle<()>>>,
    closing: CancellationToken,
    giving_up: CancellationToken,
}

impl Audit {
    /// Starts the writer, which keeps nothing of what calls send and get. It ends when [`Audit::drain`] is called.
    #[must_use]
    pub fn start(sink: Arc<dyn Sink>) -> Self {
        Self::keeping(sink, 0)
    }

    /// The same, keeping in memory what so many of each tenant's last calls and failures have sent and got.
    #[must_use]
    pub fn keeping(sink: Arc<dyn Sink>, count: usize) -> Self {
        let (tx, rx) = mpsc::channel(QUEUE);
        let (closing, giving_up) = (CancellationToken::new(), CancellationToken::new());
        let (kept_tx, kept) = watch::channel(0);
        let hurry = Arc::new(Notify::new());
        let (calls, news) = (Arc::new(RecentCalls::new(count)), broadcast::Sender::new(NEWS));
        let writer = Writer {
            calls: calls.clone(),
            news: news.clone(),
            rx,
            sink: sink.clone(),
            kept: kept_tx,
            hurry: hurry.clone(),
            closing: closing.clone(),
            giving_up: giving_up.clone(),
        };
        let writer = Mutex::new(Some(tokio::spawn(writer.run())));
        let handed = AtomicU64::new(0);
        Self { sink, tx, handed, kept, calls, news, hurry, writer, closing, giving_up }
    }

    /// What the last calls sent and got.
    #[must_use]
    pub fn kept_calls(&self) -> &RecentCalls {
        &self.calls
    }

    /// Tells of every record from now on, of all tenants, when it is kept.
    #[must_use]
    pub fn follow(&self) -> broadcast::Receiver<Arc<Entry>> {
        self.news.subscribe()
    }

    /// Whether calls take down what they send and get.
    pub(crate) fn keeps_calls(&self) -> bool {
        self.calls.is_on() && self.sink.is_read()
    }

    /// Hands a record over; waits only while the queue is full.
    pub(crate) async fn write(&self, mut record: Box<Record>) {
        if !self.sink.is_read() {
            return;
        }
        if record.inspection.is_on() && !record.has_failed() && self.tx.capacity() < ROOM {
            record.inspection.forget_kept();
        }
        if let Err(record) = self.tx.send(record).await {
            let (entry, _) = record.0.into_entry();
            tracing::error!(?entry, "a call ended after the audit was closed");
            return;
        }
        self.handed.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until every record handed over so far is kept, for at most `time`.
    pub async fn flush(&self, time: Duration) {
        let handed = self.handed.load(Ordering::Relaxed);
        let mut kept = self.kept.clone();
        self.hurry.notify_one();
        // Too late, or the writer has ended: whoever asks sees what there is.
        let _ = tokio::time::timeout(time, kept.wait_for(|kept| *kept >= handed)).await;
    }

    /// Writes what is waiting and ends the writer, within `time`. What cannot be kept by then goes to the log.
    pub async fn drain(&self, time: Duration) {
        self.closing.cancel();
        let Some(mut writer) = self.writer.lock().await.take() else { return };
        if tokio::time::timeout(time, &mut writer).await.is_ok() {
            return;
        }
        tracing::error!("the audit could not be written within {time:?}; its last records stand in this log");
        self.giving_up.cancel();
        if tokio::time::timeout(LAST_WORDS, &mut writer).await.is_err() {
            tracing::error!("the audit does not end; records are lost");
            writer.abort();
        }
    }
}

struct Writer {
    rx: mpsc::Receiver<Box<Record>>,
    sink: Arc<dyn Sink>,
    kept: watch::Sender<u64>,
    hurry: Arc<Notify>,
    calls: Arc<RecentCalls>,
    news: broadcast::Sender<Arc<Entry>>,
    closing: CancellationToken,
    giving_up: CancellationToken,
}

impl Writer {
    async fn run(mut self) {
        let mut records = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                count = self.rx.recv_many(&mut records, BATCH) => if count == 0 { return },
                () = self.closing.cancelled(), if !self.rx.is_closed() => { self.rx.close(); continue }
                () = tokio::time::sleep(IDLE) => { self.sink.catch_up().await; continue }
            }
            if records.len() < BATCH && !self.rx.is_closed() {
                self.wait_for_company(&mut records).await;
            }
            let entries: Vec<Entry> = records.drain(..).map(|record| self.take_in(record)).collect();
            tokio::select! {
                biased;
                () = self.giving_up.cancelled() => log(&entries),
                () = write_until_kept(&*self.sink, &entries) => {}
            }
            self.kept.send_modify(|kept| *kept += entries.len() as u64);
            if self.news.receiver_count() > 0 {
                // Whoever listens may have gone by now.
                entries.into_iter().for_each(|entry| drop(self.news.send(Arc::new(entry))));
            }
        }
    }

    fn take_in(&self, record: Box<Record>) -> Entry {
        let (entry, call) = record.into_entry();
        if let Some(call) = call.filter(|_| self.calls.is_on()) {
            self.calls.keep(&entry.tenant, call);
        }
        entry
    }

    #[expect(clippy::vec_box, reason = "they come in boxes, as the queue gives them")]
    async fn wait_for_company(&mut self, records: &mut Vec<Box<Record>>) {
        tokio::select! {
            () = tokio::time::sleep(LINGER) => {}
            () = self.hurry.notified() => {}
            () = self.closing.cancelled() => {}
        }
        while records.len() < BATCH
            && let Ok(record) = self.rx.try_recv()
        {
            records.push(record);
        }
    }
}

/// The last resort: a record in the log is better than none.
fn log(entries: &[Entry]) {
    for entry in entries {
        tracing::error!(?entry, "an audit record that nothing else could keep");
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

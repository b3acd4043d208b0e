//! Logs: on stderr, for people on a terminal, as JSON for everyone else.
//!
//! A log on a full disk, one whose reader has gone, or one that nobody reads stops nothing: lines go through a
//! bounded queue to a thread of their own. Those that find it full, or cannot be written, are dropped and counted.

use crate::Failure;
use metrics::counter;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tracing_subscriber::EnvFilter;

/// Lines that may wait.
const QUEUE_LINES: usize = 8192;
/// Bytes of lines that may wait.
const QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// How long the end of the process waits for its last words to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The way to stderr. There is one of both in a process.
static LINES: OnceLock<Lines> = OnceLock::new();

/// Begins to log. `level` is a level or a filter like `info,gateway=debug`.
pub(crate) fn begin(level: &str) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Failure::new(format!("'{level}' is no log level"))
            .because(error)
            .advice("use error, warn, info, debug, trace or off")
    })?;
    // An error of the writer would be told on stderr, which is where it comes from.
    let logs =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Log).log_internal_errors(false);
    // A second start in the same process keeps the first one's log.
    let _ = if std::io::stderr().is_terminal() {
        logs.with_target(false).compact().try_init().map_err(|_| ())
    } else {
        logs.json().flatten_event(true).with_current_span(false).try_init().map_err(|_| ())
    };
    report_panics();
    Ok(())
}

/// Says something to whoever reads stderr, beside the log and in order with it.
pub(crate) fn say(text: &str) {
    lines().push(format!("{text}\n").into_bytes());
}

/// Waits until what was said is written, but not for long.
pub(crate) fn end() {
    lines().flush(LAST_WORDS);
}

/// A panic is a line of the log like any other: the usual report would wait for stderr.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text =
            text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        tracing::error!(target: "panic", thread = name, place, "a mistake of ours, at {place}: {text}");
        // Nobody else would wait for it: the process ends.
        if name == "main" {
            end();
        }
    }));
}

fn lines() -> &'static Lines {
    LINES.get_or_init(Lines::start)
}

/// What the log is written to, one line at a time.
struct Log;

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        lines().push(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

enum Message {
    Line(Vec<u8>),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

struct Lines {
    tx: SyncSender<Message>,
    waiting_bytes: AtomicUsize,
    /// Since that was last said.
    dropped: AtomicUsize,
}

impl Lines {
    fn start() -> Self {
        let (tx, rx) = sync_channel(QUEUE_LINES);
        // Without the thread the queue fills and lines are dropped, which is all that can be done.
        let _ = std::thread::Builder::new().name("log".to_owned()).spawn(move || write_lines(&rx));
        Self { tx, waiting_bytes: AtomicUsize::new(0), dropped: AtomicUsize::new(0) }
    }

    /// Takes a line if there is room, and never waits.
    fn push(&self, line: Vec<u8>) {
        let size = line.len();
        let has_room = self.waiting_bytes.fetch_add(size, Ordering::Relaxed) + size <= QUEUE_BYTES;
        if !has_room || self.tx.try_send(Message::Line(line)).is_err() {
            self.waiting_bytes.fetch_sub(size, Ordering::Relaxed);
            self.drop_one();
        }
    }

    fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        counter!("mcp_all_in_one_log_lines_dropped_total").increment(1);
    }

    fn flush(&self, time: Duration) {
        let deadline = Instant::now() + time;
        let (done, is_done) = sync_channel(1);
        let mut message = Message::Flush(done);
        while let Err(error) = self.tx.try_send(message) {
            message = match error {
                TrySendError::Full(message) if Instant::now() < deadline => message,
                TrySendError::Full(_) | TrySendError::Disconnected(_) => return,
            };
            std::thread::sleep(Duration::from_millis(5));
        }
        // Too late: stderr takes nothing.
        let _ = is_done.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

fn write_lines(rx: &Receiver<Message>) {
    let mut stderr = std::io::stderr();
    for message in rx {
        let line = match message {
            Message::Line(line) => line,
            Message::Flush(done) => {
                // Whoever asked may have gone.
                let _ = done.try_send(());
                continue;
            }
        };
        let lines = lines();
        lines.waiting_bytes.fetch_sub(line.len(), Ordering::Relaxed);
        if stderr.write_all(&line).is_err() {
            lines.drop_one();
            continue;
        }
        let dropped = lines.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(dropped, "{dropped} log lines were dropped: stderr took none");
        }
    }
}

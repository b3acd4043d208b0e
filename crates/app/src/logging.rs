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
use tracing_subscriber::filter::LevelFilter;

/// Lines that may wait.
const QUEUE_LINES: usize = 8192;
/// Bytes of lines that may wait.
const QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// How long the end of the process waits for its last words to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Libraries that write whole messages into the log, also as warnings: what they report is told by us as well, without.
const SILENT: [&str; 2] = ["lapin", "rmcp"];
/// Libraries that write what they carry once they are asked for more than `info`.
const DISCREET: [&str; 20] = [
    "amq_protocol",
    "h2",
    "hickory_proto",
    "hickory_resolver",
    "hyper",
    "hyper_util",
    "jsonwebtoken",
    "krafka",
    "opendal",
    "opentelemetry",
    "redis",
    "reqsign",
    "reqwest",
    "rustls",
    "sqlx",
    "tokio_tungstenite",
    "tonic",
    "tower",
    "tower_http",
    "tungstenite",
];

/// The way to stderr. There is one of both in a process.
static LINES: OnceLock<Lines> = OnceLock::new();

/// Begins to log. `level` is a level or a filter like `info,gateway=debug`.
pub(crate) fn begin(level: &str) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(discreet(level)).map_err(|error| {
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

/// The filter without what others carry, unless a directive names the library: a message is nobody's business who reads
/// the log.
fn discreet(level: &str) -> String {
    let everything = level.split(',').filter_map(|one| one.trim().parse::<LevelFilter>().ok()).next_back();
    let most = everything.unwrap_or(LevelFilter::ERROR).min(LevelFilter::INFO);
    let silent = SILENT.map(|library| format!("{library}=off"));
    let discreet = DISCREET.map(|library| format!("{library}={most}"));
    // Of two directives for one library, the later one counts.
    let all: Vec<String> = silent.into_iter().chain(discreet).chain([level.to_owned()]).collect();
    all.join(",")
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex, PoisonError};

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<u8>>>);

    impl Write for Heard {
        fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(line);
            Ok(line.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What stands in the log at a level.
    fn log(level: &str) -> String {
        let heard = Heard::default();
        let writer = heard.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::try_new(discreet(level)).unwrap())
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(target: "lapin::returned_messages", "returned whole");
            tracing::warn!(target: "rmcp", "unexpected whole");
            tracing::warn!(target: "krafka::client", "a broker is away");
            tracing::trace!(target: "tungstenite::protocol", "frame whole");
            tracing::debug!(target: "connectors::mq", "our own detail");
            tracing::warn!(target: "connectors::mq", "our own warning");
        });
        let heard = heard.0.lock().unwrap();
        String::from_utf8(heard.clone()).unwrap()
    }

    /// What somebody publishes or calls with is in no log, however much is asked for.
    #[test]
    fn libraries_write_no_messages_into_the_log_unless_they_are_named() {
        for level in ["warn", "info", "debug", "trace", "info,connectors=debug", "warn,gateway=trace"] {
            let log = log(level);
            assert!(!log.contains("whole"), "{level}: {log}");
            assert!(log.contains("our own warning") && log.contains("a broker is away"), "{level}: {log}");
            let has_detail = !["warn", "info", "warn,gateway=trace"].contains(&level);
            assert_eq!(log.contains("our own detail"), has_detail, "{level}: {log}");
        }
        for level in ["info,lapin=warn", "lapin=warn", "lapin::returned_messages=debug", "info,lapin"] {
            assert!(log(level).contains("returned whole"), "{level}");
        }
        assert!(log("info,tungstenite=trace").contains("frame whole"));
        for quiet in ["off", "error"] {
            assert_eq!(log(quiet), "", "{quiet}");
        }
    }

    #[test]
    fn what_is_no_level_is_refused() {
        for level in ["", "info", "1", "info,app=debug"] {
            assert!(EnvFilter::try_new(discreet(level)).is_ok(), "{level}");
        }
        assert!(EnvFilter::try_new(discreet("app=loudly")).is_err());
    }
}

//! A server that is our child: one message per line on its stdin and stdout.

use super::super::diagnosis::{Diagnosis, Lines};
use super::super::failure::Failure;
use super::super::inbox::Inbox;
use super::process::Group;
use super::{Outgoing, Owned};
use crate::one_line;
use bytes::BytesMut;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tool::Secret;

/// Messages that wait to be written; senders wait for room.
const QUEUE: usize = 256;
const READ_BYTES: usize = 64 * 1024;
/// How long a child may take to end when its stdin is closed, and again when it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long its last words may take to arrive once it has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What to start.
#[derive(Debug, Clone)]
pub struct Command {
    /// A path, or a name to be found in `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Added to our own environment.
    pub env: Vec<(String, Secret)>,
    /// Where it runs, if not where we do.
    pub cwd: Option<PathBuf>,
}

struct Queued {
    text: String,
    id: Option<u64>,
}

pub(in super::super) struct Stdio {
    /// Taken when the connection is closed, which closes the child's stdin.
    queue: Mutex<Option<mpsc::Sender<Queued>>>,
    group: Arc<Group>,
    ended: watch::Receiver<bool>,
    _tasks: [Owned; 4],
}

impl Stdio {
    pub(super) fn start(
        command: &Command,
        inbox: &Arc<Inbox>,
        diagnosis: &Arc<Diagnosis>,
        max_line_bytes: usize,
    ) -> Result<Self, Failure> {
        let (group, mut child) = Group::start(command)?;
        let group = Arc::new(group);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(Failure::unreachable("the command's pipes are not there"));
        };
        let (queue, queued) = mpsc::channel(QUEUE);
        let (has_ended, ended) = watch::channel(false);
        let reader = Reader {
            inbox: inbox.clone(),
            diagnosis: diagnosis.clone(),
            answers: queue.downgrade(),
            max_line_bytes,
        };
        let tasks = [
            Owned::spawn(write(stdin, queued, inbox.clone())),
            Owned::spawn(reader.run(stdout, group.clone())),
            Owned::spawn(read_stderr(stderr, diagnosis.clone())),
            Owned::spawn(wait(child, inbox.clone(), has_ended)),
        ];
        Ok(Self { queue: Mutex::new(Some(queue)), group, ended, _tasks: tasks })
    }

    pub(super) async fn send(&self, message: Outgoing<'_>) -> Result<(), Failure> {
        let queued = Queued { text: message.text, id: message.id };
        let closed = || Failure::unreachable("the connection is closed");
        let queue = self.queue().ok_or_else(closed)?;
        queue.send(queued).await.map_err(|_| closed())
    }

    pub(super) fn post(&self, text: String) {
        if let Some(queue) = self.queue() {
            // A child that does not read gets no answers to its questions either.
            let _ = queue.try_send(Queued { text, id: None });
        }
    }

    /// Closes stdin, waits, asks, waits, and ends what is left of the group.
    pub(super) async fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut ended = self.ended.clone();
        if timeout(PATIENCE, ended.wait_for(|ended| *ended)).await.is_err() {
            self.group.terminate();
            let _ = timeout(PATIENCE, ended.wait_for(|ended| *ended)).await;
        }
        self.group.kill();
        // A killed process ends; the time-out is for those that are stuck in the kernel.
        let _ = timeout(PATIENCE, ended.wait_for(|ended| *ended)).await;
    }

    fn queue(&self) -> Option<mpsc::Sender<Queued>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.group.kill();
    }
}

/// Writes what is queued, as much at once as there is.
async fn write(mut stdin: ChildStdin, mut queued: mpsc::Receiver<Queued>, inbox: Arc<Inbox>) {
    let mut messages = Vec::new();
    let mut text = Vec::new();
    while queued.recv_many(&mut messages, QUEUE).await > 0 {
        text.clear();
        let mut ends = Vec::with_capacity(messages.len());
        for message in messages.drain(..) {
            text.extend_from_slice(one_line(message.text).as_bytes());
            text.push(b'\n');
            ends.push((text.len(), message.id));
        }
        let mut written = 0;
        while written < text.len() {
            match stdin.write(&text[written..]).await {
                Ok(count) if count > 0 => written += count,
                _ => {
                    let unsent = ends.iter().filter(|(end, _)| *end > written).filter_map(|(_, id)| *id);
                    return fail_unsent(unsent.collect(), queued, &inbox).await;
                }
            }
        }
        // One huge message must not cost memory for ever.
        text.shrink_to(READ_BYTES);
    }
}

/// Tells those whose requests were not written. Why the process does not read is known a little later.
async fn fail_unsent(mut unsent: Vec<u64>, mut queued: mpsc::Receiver<Queued>, inbox: &Inbox) {
    queued.close();
    while let Ok(message) = queued.try_recv() {
        unsent.extend(message.id);
    }
    let unsent = inbox.take_out(&unsent);
    let _ = timeout(LAST_WORDS * 2, inbox.closed().cancelled()).await;
    let why = inbox.failure().map(|failure| failure.to_string());
    let why = why.unwrap_or_else(|| "the process does not read its stdin any more".to_owned());
    for reply in unsent {
        let _ = reply.send(Err(Failure::unreachable(why.clone())));
    }
    inbox.close(&Failure::cut_off(why));
}

struct Reader {
    inbox: Arc<Inbox>,
    diagnosis: Arc<Diagnosis>,
    /// Weak, so that closing the queue closes the child's stdin.
    answers: mpsc::WeakSender<Queued>,
    max_line_bytes: usize,
}

impl Reader {
    async fn run(self, mut stdout: ChildStdout, group: Arc<Group>) {
        let mut buffer = BytesMut::with_capacity(READ_BYTES);
        let mut searched = 0;
        loop {
            match stdout.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            while let Some(found) = memchr::memchr(b'\n', &buffer[searched..]) {
                let line = buffer.split_to(searched + found + 1);
                searched = 0;
                self.line(&line);
            }
            searched = buffer.len();
            if searched > self.max_line_bytes {
                let limit = self.max_line_bytes;
                let why = format!("a line on its stdout is longer than {limit} bytes; the process was ended");
                self.inbox.close(&Failure::Protocol(why));
                return group.kill();
            }
            // Too little room is read into slowly, and too much is what a long line has left.
            if buffer.is_empty() && !(READ_BYTES / 4..=READ_BYTES * 4).contains(&buffer.capacity()) {
                buffer = BytesMut::with_capacity(READ_BYTES);
            }
        }
        self.line(&buffer);
        // Usually the process has ended too, and its status says more.
        tokio::time::sleep(LAST_WORDS).await;
        self.inbox.close(&Failure::cut_off("the process closed its stdout"));
    }

    fn line(&self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let mut answers = Vec::new();
        if self.inbox.deliver(line, None, &mut answers).is_err() {
            self.diagnosis.add_noise(line);
        }
        for text in answers {
            if let Some(queue) = self.answers.upgrade() {
                let _ = queue.try_send(Queued { text, id: None });
            }
        }
    }
}

async fn read_stderr(mut stderr: ChildStderr, diagnosis: Arc<Diagnosis>) {
    let mut chunk = [0; 4096];
    let mut lines = Lines::default();
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        lines.push(&chunk[..count], &diagnosis);
    }
    lines.end(&diagnosis);
}

/// Waits for the end of the child, and tells those who wait for its answers.
async fn wait(mut child: Child, inbox: Arc<Inbox>, ended: watch::Sender<bool>) {
    let status = child.wait().await;
    ended.send_replace(true);
    // What it has written before its end may still be on the way.
    tokio::time::sleep(LAST_WORDS / 2).await;
    let why = match status {
        Ok(status) => format!("the process ended ({status})"),
        Err(error) => format!("the process is lost: {error}"),
    };
    inbox.close(&Failure::cut_off(why));
}

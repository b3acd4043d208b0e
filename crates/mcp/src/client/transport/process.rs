//! A child in a process group that cannot outlive us.
//!
//! The group is led by a guard, a shell that does nothing but wait for the end of its stdin.
//! We hold the other end of that pipe: however we die, the guard notices and ends the group.
//! While the guard is there its group id cannot be given to others, so that signals to the group
//! never reach strangers.
//!
//! A process may leave its group, and outlive its parent, by a session of its own. It keeps the environment it was
//! started with, which has a mark of ours: whoever bears the mark of a group ends with it (decision 99).

use super::super::failure::Failure;
use super::stdio::Command;
use rustix::process::{Pid, Signal, kill_process_group};
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::process::{Child, ChildStdin};
use tool::Reason;

/// First politely, as after a closed stdin; then by force. The guard itself ignores the polite part. Those that have left
/// the group are found by their mark, which is the guard's first argument.
const GUARD: &str = r#"
trap "" TERM INT HUP
left() {
    for found in /proc/[0-9]*/environ; do
        if grep -qsF "$2" "$found"; then id=${found#/proc/}; kill -s "$1" "${id%/environ}"; fi
    done
}
read _; sleep 1; kill -s TERM 0; left TERM "$1"; sleep 2; left KILL "$1"; kill -s KILL 0"#;

/// The variable that says whose a process is.
const MARK: &str = "MCP_PROCESS_GROUP";

/// How the names of our own variables begin.
const OUR_PREFIX: &str = "MCP_ALL_IN_ONE_";

/// The processes of one child; dropping it ends them all at once.
#[derive(Debug)]
pub(super) struct Group {
    id: Option<Pid>,
    /// What stands in the environment of all its processes.
    mark: String,
    is_ended: AtomicBool,
    /// Held so that the guard stays a zombie, and its id taken, until the group has ended.
    _guard: Child,
    /// Ends with us.
    _lifeline: Option<ChildStdin>,
}

impl Group {
    /// Starts a command in a group of its own.
    pub(super) fn start(command: &Command) -> Result<(Self, Child), Failure> {
        let mark = new_mark();
        let mut guard = tokio::process::Command::new("/bin/sh")
            .args(["-c", GUARD, "guard", &format!("{MARK}={mark}")])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::unreachable(format!("/bin/sh could not be started: {error}")))?;
        let number = guard.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        let lifeline = guard.stdin.take();
        let group = Self {
            id: Pid::from_raw(number),
            mark,
            is_ended: AtomicBool::new(false),
            _guard: guard,
            _lifeline: lifeline,
        };
        let mut child = tokio::process::Command::new(&command.program);
        for name in our_own_variables() {
            child.env_remove(name);
        }
        child
            .args(&command.args)
            .envs(command.env.iter().map(|(name, value)| (name, value.expose())))
            .env(MARK, &group.mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(number)
            .kill_on_drop(true);
        if let Some(folder) = &command.cwd {
            child.current_dir(folder);
        }
        let child = child.spawn().map_err(|error| not_started(command, &error))?;
        Ok((group, child))
    }

    /// Asks every process of the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every process of the group, and those that have left it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
        if !self.is_ended.swap(true, Ordering::Relaxed) {
            end_marked(&format!("{MARK}={}", self.mark));
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id.filter(|_| !self.is_ended.load(Ordering::Relaxed)) {
            // Fails only when nobody is left.
            let _ = kill_process_group(id, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A text that no other group of any process has.
fn new_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // The dot ends it, so that no mark is the beginning of another.
    format!("{}.{}.{count}.", std::process::id(), since.as_nanos())
}

/// Ends the processes with this in their environment. Linux alone tells of those.
#[cfg(target_os = "linux")]
fn end_marked(mark: &str) {
    let found = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in found {
        let id = process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        // Opened before it is looked at: its id may be another's a moment later.
        let Some(open) = id.and_then(|id| pidfd_open(id, PidfdFlags::empty()).ok()) else { continue };
        // Those of other people cannot be read, and are not ours.
        let Ok(environment) = std::fs::read(process.path().join("environ")) else { continue };
        if memchr::memmem::find(&environment, mark.as_bytes()).is_some() {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let (id, name) = (process.file_name(), name.trim_end().to_owned());
            // Fails only when it has just ended.
            if pidfd_send_signal(&open, Signal::KILL).is_ok() {
                tracing::debug!(
                    ?id,
                    name,
                    "ended a process {name} that a service had left in its own session"
                );
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn end_marked(_mark: &str) {}

/// What configures this program is nobody else's affair: the key of its vault and the token of its admin are among
/// it. A service that needs one of them has it in its own `env`.
fn our_own_variables() -> impl Iterator<Item = OsString> {
    let is_ours = |name: &OsString| name.as_encoded_bytes().starts_with(OUR_PREFIX.as_bytes());
    std::env::vars_os().map(|(name, _)| name).filter(is_ours)
}

fn not_started(command: &Command, error: &io::Error) -> Failure {
    let program = &command.program;
    if let Some(folder) = command.cwd.as_ref().filter(|folder| !folder.is_dir()) {
        return Failure::unreachable(format!("the folder '{}' in 'cwd' is not there", folder.display()));
    }
    match error.kind() {
        io::ErrorKind::NotFound => Failure::unreachable_because(
            Reason::ProgramNotFound,
            format!("the command '{program}' was not found; install it, or write its full path"),
        ),
        io::ErrorKind::PermissionDenied => {
            Failure::unreachable(format!("the command '{program}' may not be executed: {error}"))
        }
        _ => Failure::unreachable(format!("the command '{program}' could not be started: {error}")),
    }
}

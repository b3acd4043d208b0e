//! A child in a process group that cannot outlive us.
//!
//! The group is led by a guard, a shell that does nothing but wait for the end of its stdin.
//! We hold the other end of that pipe: however we die, the guard notices and ends the group.
//! While the guard is there its group id cannot be given to others, so that signals to the group
//! never reach strangers.

use super::super::failure::Failure;
use super::stdio::Command;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::process::{Child, ChildStdin};
use tool::Reason;

/// First politely, as after a closed stdin; then by force. The guard itself ignores the polite part.
const GUARD: &str = r#"trap "" TERM INT HUP; read _; sleep 1; kill -s TERM 0; sleep 2; kill -s KILL 0"#;

/// How the names of our own variables begin.
const OUR_PREFIX: &str = "MCP_ALL_IN_ONE_";

/// The processes of one child; dropping it ends them all at once.
#[derive(Debug)]
pub(super) struct Group {
    id: Option<Pid>,
    is_ended: AtomicBool,
    /// Held so that the guard stays a zombie, and its id taken, until the group has ended.
    _guard: Child,
    /// Ends with us.
    _lifeline: Option<ChildStdin>,
}

impl Group {
    /// Starts a command in a group of its own.
    pub(super) fn start(command: &Command) -> Result<(Self, Child), Failure> {
        let mut guard = tokio::process::Command::new("/bin/sh")
            .args(["-c", GUARD])
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

    /// Ends every process of the group.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
        self.is_ended.store(true, Ordering::Relaxed);
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

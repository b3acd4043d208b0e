//! What Linux knows of a process: its memory, its work, its files, its children.

use std::path::Path;
use std::time::Duration;

/// The memory that a process holds now, in KiB; 0 when it has gone.
#[must_use]
pub fn resident_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// How long processors have worked for a process, to a hundredth of a second.
#[must_use]
pub fn worked(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may have spaces, the twelfth and thirteenth field: of its own, and of the system for it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// How many files, pipes and sockets a process has open.
#[must_use]
pub fn open_files(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// There is such a process, and it is no zombie.
#[must_use]
pub fn is_running(process: u32) -> bool {
    stat(process).is_some_and(|(state, _)| state != "Z")
}

/// The processes that a process has started and not buried yet.
#[must_use]
pub fn children(process: u32) -> Vec<u32> {
    all().filter(|id| stat(*id).is_some_and(|(_, parent)| parent == process)).collect()
}

/// The living processes whose command line holds a text.
#[must_use]
pub fn with_argument(text: &str) -> Vec<u32> {
    let has_it = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    all().filter(|id| has_it(id) && is_running(*id)).collect()
}

/// A process in one line: its id, its state, who started it, and its command line.
#[must_use]
pub fn describe(process: u32) -> String {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let (state, parent) = stat(process).unwrap_or_default();
    format!("{process} {state} of {parent}: {line}")
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(Path::new("/proc")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
}

/// The state of a process, and who started it.
fn stat(process: u32) -> Option<(String, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may hold anything, also spaces and brackets.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

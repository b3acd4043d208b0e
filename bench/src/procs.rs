//! CPU time and memory of a process and its descendants, and CPU taken by everything that is not the benchmark.
//! Descendants named `mcpbench` (stdio backends under a gateway) are not counted to the gateway.
use std::collections::HashMap;

#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub cpu_us: f64,
    pub rss_mib: f64,
    pub others_us: f64,
}

const TICK_US: f64 = 10_000.0;

fn numbers(s: &str) -> Vec<f64> {
    s.split_whitespace().map(|x| x.parse().unwrap_or(0.0)).collect()
}

fn stat(pid: u32) -> Option<(bool, u32, f64, f64)> {
    let s = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = s.split_once('(')?.1.rsplit_once(") ")?;
    let f = numbers(rest);
    // ours?, parent, user and system time (own and reaped children's), resident memory
    Some((name == "mcpbench", f[1] as u32, f[11..15].iter().sum::<f64>() * TICK_US, f[21] / 256.0))
}

pub fn usage(root: u32) -> Usage {
    let total =
        numbers(std::fs::read_to_string("/proc/stat").unwrap_or_default().lines().next().unwrap_or(""));
    let busy =
        total.iter().skip(1).take(7).sum::<f64>() - total.get(4..6).map_or(0.0, |idle| idle.iter().sum());
    let mut u = Usage { others_us: busy * TICK_US, ..Usage::default() };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let all: HashMap<u32, _> = pids.filter_map(|p| Some((p, stat(p)?))).collect();
    for (&pid, &(bench, _, cpu, rss)) in &all {
        let mut p = pid;
        while p != root && p > 1 {
            p = all.get(&p).map_or(0, |s| s.1);
        }
        let counted = p == root && root > 0 && (pid == root || !bench);
        if counted {
            u.cpu_us += cpu;
            u.rss_mib += rss;
        }
        if counted || bench {
            u.others_us -= cpu;
        }
    }
    u
}

//! The load client for a server over stdio: one call at a time (window 1), and pipelined.
use crate::load::{ECHO, INIT, READY, Tally, good};
use crate::{Args, Result, procs};
use std::collections::HashMap;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

#[derive(serde::Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    method: Option<&'a str>,
}

struct Pipe {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Pipe {
    /// Reads lines until one is a response; the server's own requests and notifications are skipped.
    async fn response(&mut self) -> Result<u64> {
        loop {
            self.line.clear();
            if timeout(Duration::from_secs(60), self.from.read_until(b'\n', &mut self.line)).await?? == 0 {
                return Err("the server closed its output".into());
            }
            if let Ok(Message { id: Some(id), method: None }) = serde_json::from_slice(&self.line) {
                return Ok(id);
            }
        }
    }
}

pub async fn run(a: &Args) -> Result<()> {
    let (cmd, rest) = a.rest.split_first().ok_or("no command")?;
    let begun = Instant::now();
    let mut cmd = Command::new(cmd);
    cmd.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = cmd.spawn()?;
    let pid = child.id().ok_or("no pid")?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipes".into());
    };
    let mut p = Pipe { to, from: BufReader::with_capacity(1 << 16, from), line: Vec::new() };
    p.to.write_all(format!("{INIT}\n").as_bytes()).await?;
    p.response().await?;
    p.to.write_all(
        format!("{READY}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{}}}}\n")
            .as_bytes(),
    )
    .await?;
    p.response().await?;
    println!("startup_ms={:.0} tools_list_bytes={}", begun.elapsed().as_secs_f64() * 1000.0, p.line.len());
    let (tool, template) = (a.str("tool", "echo"), a.str("args", ECHO));
    let mut n = 10_000_000u64;
    for window in a.list("window", "1,64") {
        let secs = a.num("secs", 5.0);
        let from = Instant::now() + Duration::from_secs_f64(a.num("warmup", 1.0));
        let until = from + Duration::from_secs_f64(secs);
        let (mut flying, mut out, mut tally, mut before) =
            (HashMap::new(), Vec::new(), Tally::default(), None);
        while Instant::now() < until {
            while flying.len() < window {
                n += 1;
                let params =
                    format!(r#"{{"name":"{tool}","arguments":{}}}"#, template.replace("{n}", &n.to_string()));
                out.extend(
                    format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"tools/call\",\"params\":{params}}}\n"
                    )
                    .bytes(),
                );
                flying.insert(n, Instant::now());
            }
            p.to.write_all(&out).await?;
            out.clear();
            // everything that has arrived already, so that writes are batched as reads are
            loop {
                let id = p.response().await?;
                let now = Instant::now();
                match flying.remove(&id) {
                    Some(sent) if good(&p.line, &id.to_string()) => {
                        if sent >= from && now <= until {
                            before.get_or_insert_with(|| procs::usage(pid));
                            tally.ns.push((now - sent).as_nanos() as u64);
                        }
                    }
                    _ => tally.errors += 1,
                }
                if flying.is_empty() || !p.from.buffer().contains(&b'\n') {
                    break;
                }
            }
        }
        tally.finish(secs, before.unwrap_or_default(), procs::usage(pid));
        while !flying.is_empty() {
            flying.remove(&p.response().await?);
        }
        let (rps, errors, us) = (tally.rps, tally.errors, |q| tally.us(q));
        print!(
            "window={window} rps={rps:.0} p50={:.0}us p95={:.0}us p99={:.0}us ",
            us(0.5),
            us(0.95),
            us(0.99)
        );
        println!(
            "p99.9={:.0}us cpu_us={:.1} rss_mib={:.1} errors={errors} others={:.0}%",
            us(0.999),
            tally.cpu_us,
            tally.rss_mib,
            tally.others * 100.0
        );
    }
    drop(p.to);
    let _ = timeout(Duration::from_secs(2), child.wait()).await;
    Ok(())
}

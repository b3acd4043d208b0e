//! The load client for a server over stdio: one call at a time (window 1), and pipelined.
use crate::load::{ECHO, INIT, READY, Tally, good};
use crate::{Args, Result, procs};
use std::collections::HashMap;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

#[derive(serde::Deserialize)]
struct Message<'a> {
    id: Option<u64>,
    method: Option<&'a str>,
}

/// A server that was started, and its standard input and output.
struct Pipe {
    child: Child,
    pid: u32,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Pipe {
    fn open(words: &[String]) -> Result<Self> {
        let (program, arguments) = words.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn()?;
        let pid = child.id().ok_or("no pid")?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        let from = BufReader::with_capacity(1 << 16, from);
        Ok(Self { child, pid, to, from, line: Vec::new() })
    }

    /// Asks for the tools, as a client does first.
    async fn initialize(&mut self) -> Result<()> {
        self.to.write_all(format!("{INIT}\n").as_bytes()).await?;
        self.response().await?;
        self.to.write_all(format!("{READY}\n{LIST}\n").as_bytes()).await?;
        self.response().await?;
        Ok(())
    }

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

    /// Another response has arrived already.
    fn has_line(&self) -> bool {
        self.from.buffer().contains(&b'\n')
    }

    async fn close(mut self) {
        drop(self.to);
        let _ = timeout(Duration::from_secs(2), self.child.wait()).await;
    }
}

/// The calls of one tool, numbered on from one measurement to the next.
struct Calls<'a> {
    tool: &'a str,
    template: &'a str,
    last: u64,
}

impl Calls<'_> {
    /// Appends another call to `out`, and says its id.
    fn push(&mut self, out: &mut Vec<u8>) -> u64 {
        self.last += 1;
        let (tool, n) = (self.tool, self.last);
        let arguments = self.template.replace("{n}", &n.to_string());
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let call =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"tools/call\",\"params\":{params}}}\n");
        out.extend(call.bytes());
        n
    }
}

pub async fn run(a: &Args) -> Result<()> {
    let begun = Instant::now();
    let mut pipe = Pipe::open(&a.rest)?;
    pipe.initialize().await?;
    println!("startup_ms={:.0} tools_list_bytes={}", begun.elapsed().as_secs_f64() * 1000.0, pipe.line.len());
    let (tool, template) = (a.str("tool", "echo"), a.str("args", ECHO));
    let mut calls = Calls { tool, template, last: 10_000_000 };
    for window in a.list("window", "1,64") {
        let tally = measure(&mut pipe, &mut calls, window, a.num("warmup", 1.0), a.num("secs", 5.0)).await?;
        print(window, &tally);
    }
    pipe.close().await;
    Ok(())
}

/// Keeps `window` calls in flight, and counts those that began after the warm-up and ended in time.
async fn measure(
    pipe: &mut Pipe,
    calls: &mut Calls<'_>,
    window: usize,
    warmup: f64,
    secs: f64,
) -> Result<Tally> {
    let from = Instant::now() + Duration::from_secs_f64(warmup);
    let until = from + Duration::from_secs_f64(secs);
    let (mut flying, mut out, mut tally, mut before) = (HashMap::new(), Vec::new(), Tally::default(), None);
    while Instant::now() < until {
        while flying.len() < window {
            flying.insert(calls.push(&mut out), Instant::now());
        }
        pipe.to.write_all(&out).await?;
        out.clear();
        // everything that has arrived already, so that writes are batched as reads are
        loop {
            let id = pipe.response().await?;
            let now = Instant::now();
            match flying.remove(&id) {
                Some(sent) if good(&pipe.line, &id.to_string()) => {
                    if sent >= from && now <= until {
                        before.get_or_insert_with(|| procs::usage(pipe.pid));
                        tally.ns.push((now - sent).as_nanos() as u64);
                    }
                }
                _ => tally.errors += 1,
            }
            if flying.is_empty() || !pipe.has_line() {
                break;
            }
        }
    }
    tally.finish(secs, before.unwrap_or_default(), procs::usage(pipe.pid));
    while !flying.is_empty() {
        flying.remove(&pipe.response().await?);
    }
    Ok(tally)
}

fn print(window: usize, tally: &Tally) {
    let (rps, errors, us) = (tally.rps, tally.errors, |q| tally.us(q));
    print!("window={window} rps={rps:.0} p50={:.0}us p95={:.0}us p99={:.0}us ", us(0.5), us(0.95), us(0.99));
    println!(
        "p99.9={:.0}us cpu_us={:.1} rss_mib={:.1} errors={errors} others={:.0}%",
        us(0.999),
        tally.cpu_us,
        tally.rss_mib,
        tally.others * 100.0
    );
}

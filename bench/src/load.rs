//! The load client: MCP over Streamable HTTP (JSON and SSE answers) and plain HTTP GET.
use crate::http::{Conn, find};
use crate::procs::{self, Usage};
use crate::{Args, Result};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, sleep_until, timeout};

pub const INIT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"mcpbench","version":"0.1.0"}}}"#;
pub const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub const ECHO: &str = r#"{"text":"hello {n}"}"#;

/// What to send where. `{n}` in `args` (for plain HTTP, in the path) becomes a number of the request's own,
/// which the answer must contain.
#[derive(Clone)]
struct Target {
    name: String,
    addr: String,
    path: String,
    pid: u32,
    method: String,
    tool: String,
    args: String,
    header: String,
    one_session: bool,
}

impl Target {
    /// From NAME=URL[,,KEY=VALUE]..
    fn new(a: &Args, word: &str) -> Result<Target> {
        let mut parts = word.split(",,").filter_map(|p| p.split_once('='));
        let (name, url) = parts.next().ok_or("want NAME=URL")?;
        let mut a = a.clone();
        a.opts.extend(parts.map(|(k, v)| (k.into(), v.into())));
        let rest = url.strip_prefix("http://").ok_or("want http://HOST:PORT/PATH")?;
        let (addr, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Target {
            name: name.into(),
            addr: addr.into(),
            path: format!("/{path}"),
            pid: a.num("pid", 0),
            method: a.str("method", "tools/call").into(),
            tool: a.str("tool", "echo").into(),
            args: a.str("args", ECHO).into(),
            header: a.opts.get("header").map_or(String::new(), |h| format!("{h}\r\n")),
            one_session: a.num("one-session", false),
        })
    }

    fn post(&self, extra: &str, body: &str) -> String {
        let Target { addr, path, header, .. } = self;
        let types = "Content-Type: application/json\r\nAccept: application/json, text/event-stream";
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: {addr}\r\n{types}\r\n{header}{extra}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// initialize and initialized; answers the headers that every later POST must have.
    async fn handshake(&self, conn: &mut Conn) -> Result<String> {
        let status = conn.call(self.post("", INIT).as_bytes()).await?;
        let body = String::from_utf8_lossy(&conn.body).into_owned();
        let lines =
            body.lines().map(|l| if conn.head.sse { l.strip_prefix("data:").unwrap_or("") } else { l });
        let Some(json) = lines.filter(|j| status == 200 && j.contains("protocolVersion")).last() else {
            return Err(format!("initialize: {status} {}", clip(&conn.body)).into());
        };
        let answer: serde_json::Value = serde_json::from_str(json)?;
        let version = answer["result"]["protocolVersion"].as_str().unwrap_or("2025-06-18");
        let session = conn.head.session.take().map_or(String::new(), |s| format!("Mcp-Session-Id: {s}\r\n"));
        let extra = format!("{session}MCP-Protocol-Version: {version}\r\n");
        match conn.call(self.post(&extra, READY).as_bytes()).await? {
            200..300 => Ok(extra),
            status => Err(format!("initialized: {status} {}", clip(&conn.body)).into()),
        }
    }

    fn wire(&self, extra: &str, n: &str) -> String {
        let Target { addr, method, tool, header, .. } = self;
        let params = match method.as_str() {
            "http" => {
                return format!(
                    "GET {} HTTP/1.1\r\nHost: {addr}\r\n{header}\r\n",
                    self.path.replace("{n}", n)
                );
            }
            "tools/call" => format!(r#"{{"name":"{tool}","arguments":{}}}"#, self.args.replace("{n}", n)),
            _ => "{}".into(),
        };
        self.post(extra, &format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"{method}","params":{params}}}"#))
    }
}

fn clip(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned()
}

/// Whether the answer has the request's number in it and is no error (looking at its two ends only).
pub fn good(body: &[u8], n: &str) -> bool {
    let (head, tail) =
        (&body[..body.len().min(2048)], &body[body.len().saturating_sub(2048).max(body.len().min(2048))..]);
    let has = |x: &str| find(head, x.as_bytes()).or_else(|| find(tail, x.as_bytes())).is_some();
    has(n) && !has(r#""isError":true"#) && !has(r#""isError": true"#) && !has(r#""error":{"#)
}

#[derive(Default)]
pub struct Tally {
    pub ns: Vec<u64>,
    pub errors: u64,
    pub sample: String,
    pub rps: f64,
    /// CPU per call, memory, and the share of all cores that other programs took meanwhile
    pub cpu_us: f64,
    pub rss_mib: f64,
    pub others: f64,
}

impl Tally {
    pub fn finish(&mut self, secs: f64, before: Usage, after: Usage) {
        self.ns.sort_unstable();
        self.rps = self.ns.len() as f64 / secs;
        self.cpu_us = (after.cpu_us - before.cpu_us) / self.ns.len().max(1) as f64;
        self.rss_mib = after.rss_mib;
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get()) as f64;
        self.others = (after.others_us - before.others_us).max(0.0) / (secs * 1e6 * cores);
    }
    pub fn us(&self, q: f64) -> f64 {
        let at = (self.ns.len().saturating_sub(1) as f64 * q) as usize;
        self.ns.get(at).map_or(f64::NAN, |&x| x as f64 / 1000.0)
    }
}

/// One call after another until the end, reconnecting when the server has closed the connection.
async fn worker(
    t: Target,
    conn: Conn,
    extra: String,
    mut n: u64,
    from: Instant,
    until: Instant,
    tally: Rc<RefCell<Tally>>,
) {
    let mut conn = Some(conn);
    while Instant::now() < until {
        n += 1;
        let num = n.to_string();
        let wire = t.wire(&extra, &num);
        let begun = Instant::now();
        let call = async {
            let mut c = match conn.take() {
                Some(c) => c,
                None => Conn::connect(&t.addr).await?,
            };
            let status = c.call(wire.as_bytes()).await?;
            let fault =
                (status != 200 || !good(&c.body, &num)).then(|| format!("{status} {}", clip(&c.body)));
            conn = (!c.head.close).then_some(c);
            fault.map_or(Ok(()), |f| Err(std::io::Error::other(f)))
        };
        match call.await {
            Err(e) => {
                let known = std::mem::take(&mut tally.borrow_mut().sample);
                tally.borrow_mut().sample = if known.is_empty() { e.to_string() } else { known };
                tally.borrow_mut().errors += 1;
                sleep(Duration::from_millis(5)).await;
            }
            Ok(()) if begun >= from && Instant::now() <= until => {
                tally.borrow_mut().ns.push(begun.elapsed().as_nanos() as u64)
            }
            Ok(()) => {}
        }
    }
}

async fn measure(t: &Target, a: &Args, c: usize) -> Result<Tally> {
    let local = tokio::task::LocalSet::new();
    let tally = Rc::new(RefCell::new(Tally::default()));
    let mut ready: Vec<(Conn, String)> = Vec::new();
    for _ in 0..c {
        let mut conn = Conn::connect(&t.addr).await?;
        let extra = match ready.first() {
            _ if t.method == "http" => String::new(),
            Some((_, extra)) if t.one_session => extra.clone(),
            _ => timeout(Duration::from_secs(30), t.handshake(&mut conn)).await??,
        };
        ready.push((conn, extra));
    }
    let secs = a.num("secs", 5.0);
    let from = Instant::now() + Duration::from_secs_f64(a.num("warmup", 1.0));
    let until = from + Duration::from_secs_f64(secs);
    for (i, (conn, extra)) in ready.into_iter().enumerate() {
        local.spawn_local(worker(
            t.clone(),
            conn,
            extra,
            10_000_000 * (i as u64 + 1),
            from,
            until,
            tally.clone(),
        ));
    }
    let watch = async {
        sleep_until(from.into()).await;
        let before = procs::usage(t.pid);
        sleep_until(until.into()).await;
        (before, procs::usage(t.pid))
    };
    let (before, after) = local.run_until(watch).await;
    let stuck = timeout(Duration::from_secs(10), local).await.is_err();
    let mut tally = tally.take();
    tally.errors += stuck as u64;
    tally.finish(secs, before, after);
    Ok(tally)
}

fn median(v: impl Iterator<Item = f64>) -> f64 {
    let mut v: Vec<f64> = v.filter(|x| !x.is_nan()).collect();
    v.sort_by(f64::total_cmp);
    if v.is_empty() { f64::NAN } else { (v[(v.len() - 1) / 2] + v[v.len() / 2]) / 2.0 }
}

/// Every target in turn, `rounds` times, at each concurrency. The first target is the yardstick; names that
/// begin with "direct" or "null" never count as a peer. Ratios are taken within a round, then their median.
pub async fn run(a: &Args) -> Result<()> {
    let targets = a.words.iter().map(|w| Target::new(a, w)).collect::<Result<Vec<_>>>()?;
    let is_peer = |t: &Target| !t.name.starts_with("direct") && !t.name.starts_with("null");
    println!(
        "| C | target | req/s | best | × first | × null | × best other peer | p50 µs | p95 | p99 | p99.9 | CPU µs/call | RSS MiB | errors | others' CPU |"
    );
    println!("|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for c in a.list("c", "1,16,64") {
        let mut runs: Vec<Vec<Tally>> = targets.iter().map(|_| Vec::new()).collect();
        for round in 0..a.num("rounds", 3) {
            for (t, run) in targets.iter().zip(&mut runs) {
                let failed = |e: &dyn std::fmt::Display| Tally {
                    errors: 1,
                    sample: e.to_string(),
                    ..Tally::default()
                };
                let tally = measure(t, a, c).await.unwrap_or_else(|e| failed(&e));
                if tally.errors > 0 {
                    eprintln!("c={c} round={round} {}: {} errors: {}", t.name, tally.errors, tally.sample);
                }
                run.push(tally);
            }
        }
        for (i, (t, run)) in targets.iter().zip(&runs).enumerate() {
            let ratio = |pick: &dyn Fn(usize) -> bool| {
                let best = |r: usize| {
                    (0..runs.len()).filter(|&j| pick(j)).map(|j| runs[j][r].rps).fold(f64::NAN, f64::max)
                };
                median((0..run.len()).map(|r| run[r].rps / best(r)))
            };
            let med = |f: &dyn Fn(&Tally) -> f64| median(run.iter().map(f));
            let us = |q: f64| med(&|x| x.us(q));
            let (first, peer) = (ratio(&|j| j == 0), ratio(&|j| j != i && is_peer(&targets[j])));
            let null = ratio(&|j| targets[j].name.starts_with("null"));
            let (rps, best) = (med(&|x| x.rps), run.iter().fold(0.0, |h, x| x.rps.max(h)));
            print!("| {c} | {} | {rps:.0} | {best:.0} | {first:.3} | {null:.3} | {peer:.2} ", t.name);
            print!("| {:.0} | {:.0} | {:.0} | {:.0} ", us(0.5), us(0.95), us(0.99), us(0.999));
            let (errors, others) = (run.iter().map(|x| x.errors).sum::<u64>(), 100.0 * med(&|x| x.others));
            println!("| {:.1} | {:.1} | {errors} | {others:.0} % |", med(&|x| x.cpu_us), med(&|x| x.rss_mib));
        }
    }
    Ok(())
}

/// Spawns a server and times it from spawn to the first tools/list that names the tool.
pub async fn startup(a: &Args) -> Result<()> {
    let t =
        Target { method: "tools/list".into(), ..Target::new(a, &format!("target={}", a.str("url", "")))? };
    let (cmd, rest) = a.rest.split_first().ok_or("no command")?;
    let quiet = std::process::Stdio::null;
    let begun = Instant::now();
    let mut child =
        std::process::Command::new(cmd).args(rest).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn()?;
    let attempt = async || -> Result<bool> {
        let mut conn = Conn::connect(&t.addr).await?;
        let extra = t.handshake(&mut conn).await?;
        Ok(conn.call(t.wire(&extra, "1").as_bytes()).await? == 200
            && find(&conn.body, t.tool.as_bytes()).is_some())
    };
    while !matches!(timeout(Duration::from_secs(10), attempt()).await, Ok(Ok(true))) {
        if begun.elapsed() > Duration::from_secs(a.num("limit", 120)) || child.try_wait()?.is_some() {
            let _ = child.kill();
            return Err("never became ready".into());
        }
        sleep(Duration::from_millis(5)).await;
    }
    let (ms, cpu_ms) = (begun.elapsed().as_millis(), procs::usage(child.id()).cpu_us / 1000.0);
    sleep(Duration::from_secs(1)).await;
    println!(
        "startup_ms={ms} startup_cpu_ms={cpu_ms:.0} rss_mib={:.1} pid={}",
        procs::usage(child.id()).rss_mib,
        child.id()
    );
    if !a.num("keep", false) {
        std::process::Command::new("kill").arg(child.id().to_string()).status()?;
        child.wait()?;
    }
    Ok(())
}

/// Opens sessions one after the other and says how much memory each costs the server.
pub async fn sessions(a: &Args) -> Result<()> {
    let t = Target::new(a, &format!("target={}", a.str("url", "")))?;
    let count: usize = a.num("count", 1000);
    let streams = a.num("streams", false);
    let mut open = Vec::new();
    // a few first, so that what is set up once does not count
    for _ in 0..10 {
        t.handshake(&mut Conn::connect(&t.addr).await?).await?;
    }
    let before = procs::usage(t.pid).rss_mib;
    for _ in 0..count {
        let mut conn = Conn::connect(&t.addr).await?;
        let extra = t.handshake(&mut conn).await?;
        if streams {
            let Target { addr, path, header, .. } = &t;
            let get = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nAccept: text/event-stream\r\n{header}{extra}\r\n");
            conn.write(get.as_bytes()).await?;
            open.push(conn);
        }
    }
    sleep(Duration::from_secs(2)).await;
    let after = procs::usage(t.pid).rss_mib;
    let each = (after - before) * 1024.0 / count as f64;
    let kind = if streams { "with its stream open" } else { "idle" };
    println!("- per session, {kind}: {each:.1} KB ({count} sessions, {before:.1} → {after:.1} MiB)");
    Ok(())
}

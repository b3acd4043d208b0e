//! mcpbench: a load client and fast backends for measuring MCP gateways side by side.
//! Every command runs on one thread. See README.md.
mod backend;
mod http;
mod load;
mod procs;
mod stdio;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// `--key value` options (`--key` alone is "true"), other words, and what follows `--`.
#[derive(Clone, Default)]
pub struct Args {
    pub opts: std::collections::HashMap<String, String>,
    pub words: Vec<String>,
    pub rest: Vec<String>,
}

impl Args {
    fn parse(argv: impl Iterator<Item = String>) -> Args {
        let mut argv = argv.peekable();
        let mut args = Args::default();
        while let Some(a) = argv.next() {
            match a.strip_prefix("--") {
                Some("") => args.rest.extend(argv.by_ref()),
                Some(key) => drop(
                    args.opts
                        .insert(key.into(), argv.next_if(|v| !v.starts_with("--")).unwrap_or("true".into())),
                ),
                None => args.words.push(a),
            }
        }
        args
    }
    pub fn str<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.opts.get(key).map_or(default, |s| s)
    }
    pub fn num<T: std::str::FromStr>(&self, key: &str, default: T) -> T {
        self.opts.get(key).and_then(|v| v.parse().ok()).unwrap_or(default)
    }
    pub fn list(&self, key: &str, default: &str) -> Vec<usize> {
        self.str(key, default).split(',').filter_map(|x| x.parse().ok()).collect()
    }
}

const USAGE: &str = "mcpbench COMMAND
  backend-mcp   --port P [--tools N] [--sse]    Streamable HTTP MCP server: echo and N-1 more tools
  backend-stdio [--tools N]                     the same over stdio
  backend-rest  --port P                        GET /users/{id}/orders/{oid}[/full], /openapi.json
  null-proxy    --port P --to HOST:PORT         a gateway that does nothing (TCP relay)
  load          [options] NAME=URL[,,KEY=VALUE]..   targets in turn, --rounds times; Markdown table
  load-stdio    [options] [--window 1,64] -- COMMAND..   spawn a stdio server and load it
  startup       --url U [--keep] -- COMMAND..   time from spawn to the first tools/list with --tool
  sessions      --url U --pid PID --count N [--streams]   open sessions; memory of PID for each, with its stream or without
options, also as KEY=VALUE: --c 1,16,64 --secs 5 --warmup 1 --method tools/call|tools/list|http --tool echo
  --args '{\"text\":\"{n}\"}' --header 'K: V' --one-session --pid PID (its CPU and RSS are then reported)";

fn main() -> Result<()> {
    let mut argv = std::env::args().skip(1);
    let cmd = argv.next().unwrap_or_default();
    let args = Args::parse(argv);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        match cmd.as_str() {
            "backend-stdio" => backend::serve_stdio(&args),
            "backend-mcp" => backend::serve_mcp(&args).await,
            "backend-rest" => backend::serve_rest(&args).await,
            "null-proxy" => backend::null_proxy(&args).await,
            "load" => load::run(&args).await,
            "load-stdio" => stdio::run(&args).await,
            "startup" => load::startup(&args).await,
            "sessions" => load::sessions(&args).await,
            _ => Err(USAGE.into()),
        }
    })
}

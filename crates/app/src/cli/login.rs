//! `login`: somebody agrees in a browser that we may use a service in their name.

use super::McpConfigPath;
use crate::Failure;
use clap::Args;
use connectors::Login as SignIn;
use gateway::ServiceDefinition;
use local::mcp_config::McpConfig;
use reqwest::Url;
use std::io::IsTerminal as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tool::{Caller, Context, Door, Env, TenantId};

/// Preferred, so that an address that was registered once fits again.
const PORT: u16 = 3096;
const PATH: &str = "/callback";
const BEGIN_TIME: Duration = Duration::from_secs(60);
const READ_TIME: Duration = Duration::from_secs(5);
const MAX_LINE: u64 = 16 * 1024;

/// Sign in to a service of an mcp.json with a browser.
#[derive(Args)]
pub(super) struct Login {
    /// The name of the service in the mcp.json
    #[arg(value_name = "SERVICE")]
    service: String,
    #[command(flatten)]
    config: McpConfigPath,
    /// The port on this machine that the browser comes back to [default: 3096, or a free one]
    #[arg(long, env = "MCP_ALL_IN_ONE_PORT", value_name = "PORT")]
    port: Option<u16>,
    /// Only print the address; open no browser
    #[arg(long, env = "MCP_ALL_IN_ONE_NO_BROWSER")]
    no_browser: bool,
    /// How long to wait for the browser, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_LOGIN_TIMEOUT", value_name = "SECONDS", default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    login_timeout: u64,
}

impl Login {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let service = find(&self.config.path()?, &self.service)?;
        let listener = listen(self.port).await?;
        let failed = |error: tool::Error| {
            Failure::new(format!("no sign-in to {}: {}", self.service, error.full_message()))
        };
        let redirect = redirect(&listener)?;
        let cx = Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, BEGIN_TIME);
        // As for `stdio`: the file is its owner's, who may have services at home.
        let env = Env { allow_private_network: true, ..Env::default() };
        let sign_in = SignIn::begin(&cx, service.settings, &env, redirect.clone()).await.map_err(failed)?;
        super::print(&format!("To sign in to {}, open:\n\n  {}\n", self.service, sign_in.address()));
        if !self.no_browser && std::io::stdout().is_terminal() {
            open_browser(sign_in.address().as_str());
        }
        let waiting = Duration::from_secs(self.login_timeout);
        let Ok((answer, stream)) = tokio::time::timeout(waiting, returned(&listener, &redirect)).await else {
            return Err(Failure::new("the browser did not come back from the sign-in in time")
                .advice("run it again; over ssh, forward the port with -L 3096:127.0.0.1:3096"));
        };
        let finished = sign_in.finish(&answer).await;
        let text = match &finished {
            Ok(()) => "You are signed in. This page can be closed.",
            Err(_) => "That did not work; the reason stands in the terminal.",
        };
        reply(stream, "200 OK", text).await;
        finished.map_err(failed)?;
        super::print(&format!("Signed in to {}.", self.service));
        Ok(ExitCode::SUCCESS)
    }
}

fn find(path: &Path, name: &str) -> Result<ServiceDefinition, Failure> {
    let services = McpConfig::open(path)?.services();
    let names = services.iter().map(|service| service.id.as_str()).collect::<Vec<_>>().join(", ");
    let Some(service) = services.into_iter().find(|service| service.id == name) else {
        return Err(Failure::new(format!("{} has no service '{name}'", path.display()))
            .advice(format!("it has: {names}")));
    };
    match service.problem {
        Some(problem) => Err(Failure::new(format!("{name}: {}", problem.message))),
        None => Ok(service),
    }
}

async fn listen(port: Option<u16>) -> Result<TcpListener, Failure> {
    let bind = async |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let bound = match port {
        Some(port) => bind(port).await,
        None => match bind(PORT).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind(0).await,
        },
    };
    bound.map_err(|error| {
        Failure::new("cannot listen for the browser").because(error).advice("choose another --port")
    })
}

fn redirect(listener: &TcpListener) -> Result<Url, Failure> {
    let address = listener.local_addr();
    let address = address.map_err(|error| Failure::new("cannot listen for the browser").because(error))?;
    Url::parse(&format!("http://{address}{PATH}"))
        .map_err(|error| Failure::new("cannot listen for the browser").because(error))
}

/// Waits for the browser; whoever else knocks is sent away.
async fn returned(listener: &TcpListener, redirect: &Url) -> (Url, TcpStream) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(Some(target)) = tokio::time::timeout(READ_TIME, target(&mut stream)).await else { continue };
        match redirect.join(&target) {
            Ok(answer) if target.starts_with('/') && answer.path() == PATH && answer.query().is_some() => {
                return (answer, stream);
            }
            _ => reply(stream, "404 Not Found", "There is nothing here.").await,
        }
    }
}

/// The target of a GET request.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream.take(MAX_LINE));
    let mut first = String::new();
    reader.read_line(&mut first).await.ok()?;
    let mut line = String::new();
    while reader.read_line(&mut line).await.ok()? > 0 && !line.trim_end().is_empty() {
        line.clear();
    }
    let target = first.strip_prefix("GET ")?.split(' ').next()?;
    Some(target.to_owned())
}

async fn reply(mut stream: TcpStream, status: &str, text: &str) {
    let body = format!("<!doctype html><title>mcp-all-in-one</title><p>{text}</p>");
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}");
    let security = "cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close";
    // A browser that has gone away has its code delivered all the same.
    let _ = stream.write_all(format!("{head}\r\n{security}\r\n\r\n{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Where there is none, the printed address is enough.
pub(super) fn open_browser(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = std::process::Command::new(program);
    let _ = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

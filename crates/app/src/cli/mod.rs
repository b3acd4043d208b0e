//! The command line: one file per command.

mod add;
mod ask;
mod ask_agent;
mod backup;
mod call;
mod completions;
mod config;
mod connect;
mod connections;
mod disconnect;
mod doctor;
mod flow;
mod import;
mod import_openapi;
mod input;
mod list;
mod login;
mod open;
mod pipes;
mod remedy;
mod remote;
mod rotate_key;
mod serve;
mod stdio;
mod template;
mod tools;

use crate::Failure;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use local::home;
use local::mcp_config::FILE_NAME;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tool::Secret;

/// One governed door to everything an agent can call.
#[derive(Parser)]
#[command(name = "mcp-all-in-one", version, arg_required_else_help = true, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    logging: Logging,
    #[command(flatten)]
    config: config::ConfigFlags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Args)]
struct Logging {
    /// What to log on stderr: error, warn, info, debug, trace, or a filter like info,gateway=debug
    #[arg(long, global = true, env = "MCP_ALL_IN_ONE_LOG_LEVEL", value_name = "LEVEL")]
    log_level: Option<String>,
    /// Log nothing
    #[arg(long, global = true, env = "MCP_ALL_IN_ONE_SILENT")]
    silent: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Serve all services of an mcp.json to one MCP client over stdin and stdout
    Stdio(stdio::Stdio),
    /// Serve REST and MCP over HTTP
    #[command(visible_alias = "http")]
    Serve(serve::Serve),
    /// Call a tool of a running server by its URI and print the result
    Call(call::Call),
    /// Ask an agent of a running server
    Ask(ask_agent::Ask),
    /// List the tools of a running server
    Tools(tools::Tools),
    /// Open the console of a running server in a browser, signed in
    Open(open::Open),
    /// Check, change, publish and run flows, and look after their runs
    Flow(flow::Flow),
    /// Turn an OpenAPI document into a service: print it, or make it on a server
    ImportOpenapi(import_openapi::ImportOpenapi),
    /// Look at an mcp.json, or replace it: validate, show, schema, set
    Config(config::Config),
    /// Add an MCP server to an mcp.json
    Add(add::Add),
    /// Remove an MCP server from an mcp.json
    Remove(add::Remove),
    /// List the services of an mcp.json
    List(list::List),
    /// Take over the MCP servers of other clients into an mcp.json
    Import(import::Import),
    /// Let another client start `mcp-all-in-one stdio`
    Connect(connect::Connect),
    /// Undo `connect`: give another client back what it had
    Disconnect(disconnect::Disconnect),
    /// Start every service of an mcp.json, ask what it offers, and say what to fix
    Doctor(doctor::Doctor),
    /// Approve that a service of an mcp.json has changed its tools
    Approve(doctor::Approve),
    /// Sign in to a service of an mcp.json with a browser
    Login(login::Login),
    /// Render response templates
    Template(template::Template),
    /// Write everything in the database to a file, while the server runs
    Backup(backup::Backup),
    /// Put a backup into an empty database
    Restore(backup::Restore),
    /// Re-encrypt all secrets with a new master key
    RotateKey(rotate_key::RotateKey),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

/// Where data is kept.
#[derive(Args, Clone)]
struct Data {
    /// Where database, key and logs are kept [default: ~/.mcp-all-in-one]
    #[arg(long, env = "MCP_ALL_IN_ONE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A sqlite: or postgres: URL [default: SQLite in the data dir]
    #[arg(long, env = "MCP_ALL_IN_ONE_DATABASE", hide_env_values = true, value_name = "URL", value_parser = secret)]
    database: Option<Secret>,
    /// Master keys, 32 bytes each in base64 or hex, the first one seals [default: master.key in the data dir]
    #[arg(long, env = "MCP_ALL_IN_ONE_MASTER_KEY", hide_env_values = true, value_name = "KEYS", value_parser = secret)]
    master_key: Option<Secret>,
}

impl Data {
    fn dir(&self) -> Result<PathBuf, Failure> {
        self.data_dir.clone().map_or_else(home, Ok)
    }
}

/// Which mcp.json to use.
#[derive(Args, Clone)]
struct McpConfigPath {
    /// The mcp.json with the services [default: mcp.json in ~/.mcp-all-in-one]
    #[arg(long, env = "MCP_ALL_IN_ONE_MCP_CONFIG", value_name = "PATH")]
    mcp_config: Option<PathBuf>,
}

impl McpConfigPath {
    fn path(&self) -> Result<PathBuf, Failure> {
        self.mcp_config.clone().map_or_else(|| Ok(home()?.join(FILE_NAME)), Ok)
    }

    /// A command of ours about the same file, to paste into a shell.
    fn command(&self, words: &str) -> String {
        let own = match &self.mcp_config {
            Some(path) if path.to_string_lossy().contains(char::is_whitespace) => {
                format!(" --mcp-config '{}'", path.display())
            }
            Some(path) => format!(" --mcp-config {}", path.display()),
            None => String::new(),
        };
        format!("mcp-all-in-one {words}{own}")
    }
}

/// Where it is kept what the services of an mcp.json offered when they were first seen.
fn pins_path() -> Result<PathBuf, Failure> {
    Ok(home()?.join("pins.json"))
}

#[expect(clippy::unnecessary_wraps, reason = "the form clap wants")]
fn secret(text: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(text))
}

/// Runs the program.
pub fn main() -> ExitCode {
    // The other provider is not compiled in, so this fails only if it has been done already.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match add::meant(&error, std::env::args().skip(1)) {
            Some(right) => usage(error.kind(), &right),
            None => error.exit(),
        },
    };
    let command = match (cli.command, cli.config.command()) {
        (Some(command), None) => command,
        (None, Some(config)) => Command::Config(config),
        (Some(_), Some(_)) => usage(ErrorKind::ArgumentConflict, "a command and a flag that stands for one"),
        (None, None) => usage(ErrorKind::MissingSubcommand, "a command is missing; see --help"),
    };
    let code = run(&cli.logging, command).unwrap_or_else(|failure| {
        crate::logging::say(&format!("{:?}", miette::Report::new(failure)));
        ExitCode::FAILURE
    });
    crate::logging::end();
    code
}

fn usage(kind: ErrorKind, message: &str) -> ! {
    Cli::command().error(kind, message).exit()
}

fn run(logging: &Logging, command: Command) -> Result<ExitCode, Failure> {
    let default_level = match &command {
        Command::Serve(_) => "info",
        // They say the same themselves, for people.
        Command::Doctor(_) | Command::Approve(_) => "error",
        _ => "warn",
    };
    let level = logging.log_level.as_deref().unwrap_or(default_level);
    crate::logging::begin(if logging.silent { "off" } else { level })?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // Threads for what blocks keep memory of their own; they are few, and soon made again.
    let runtime = runtime.enable_all().thread_keep_alive(Duration::from_secs(1)).build();
    let runtime = runtime.map_err(|error| Failure::new("the process cannot start threads").because(error))?;
    match command {
        // In a task, so that its messages come and go on the threads that do the work.
        Command::Stdio(command) => match runtime.block_on(runtime.spawn(command.run())) {
            Ok(ended) => ended,
            Err(error) => Err(Failure::new("the process ends after a mistake of ours").because(error)),
        },
        Command::Serve(command) => runtime.block_on(command.run()),
        Command::Call(command) => runtime.block_on(command.run()),
        Command::Ask(command) => runtime.block_on(command.run()),
        Command::Tools(command) => runtime.block_on(command.run()),
        Command::Open(command) => runtime.block_on(command.run()),
        Command::Flow(command) => runtime.block_on(command.run()),
        Command::ImportOpenapi(command) => runtime.block_on(command.run()),
        Command::Backup(command) => runtime.block_on(command.run()),
        Command::Restore(command) => runtime.block_on(command.run()),
        Command::RotateKey(command) => runtime.block_on(command.run()),
        Command::Config(command) => command.run(),
        Command::Add(command) => command.run(),
        Command::Remove(command) => command.run(),
        Command::List(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Connect(command) => command.run(),
        Command::Disconnect(command) => command.run(),
        Command::Approve(command) => runtime.block_on(command.run()),
        Command::Doctor(command) => runtime.block_on(command.run()),
        Command::Login(command) => runtime.block_on(command.run()),
        Command::Template(command) => command.run(),
        Command::Completions(command) => Ok(command.run()),
    }
}

/// What helps a person at a terminal, beside the result.
fn note(text: &str) {
    crate::logging::say(text);
}

/// The same without a line end, for an answer behind it.
#[expect(clippy::print_stderr, reason = "it is said while the program waits for the person")]
fn prompt(text: &str) {
    eprint!("{text}");
}

/// What others have written, in one line, with all of it in sight and nothing that a terminal obeys.
fn one_line(text: &str) -> String {
    tool::sanitize::escaped(text).replace(char::is_control, "\u{fffd}")
}

/// Results go to stdout. A reader that has gone away (`| head`) is no error.
fn print(text: &str) {
    write(format!("{text}\n").as_bytes());
}

/// The same, without a line end.
fn write(bytes: &[u8]) {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

/// Fires at the first SIGTERM or SIGINT; the second ends the process at once.
fn stop_on_signal() -> Result<CancellationToken, Failure> {
    let handler =
        |kind| signal(kind).map_err(|error| Failure::new("signals cannot be handled").because(error));
    let mut terminate = handler(SignalKind::terminate())?;
    let mut interrupt = handler(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let fired = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: calls in flight may end");
        fired.cancel();
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::process::exit(130);
    });
    Ok(stop)
}

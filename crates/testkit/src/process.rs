//! The real binary as a process, killed at the latest when it is dropped.

use crate::client::Client;
use crate::database::Database;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const START: Duration = Duration::from_secs(60);

/// A running `serve`.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    admin_key: Option<String>,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

/// The binary with nothing of this machine's environment that it would take for settings.
#[must_use]
pub fn command(binary: &str) -> Command {
    let mut command = sheltered(binary);
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MCP_ALL_IN_ONE_"))
    {
        command.env_remove(name);
    }
    command.env("MCP_ALL_IN_ONE_HOME", home()).stdin(Stdio::null());
    command
}

/// Any program, in a home of this test's own. What it starts in turn, ourselves for one, may get `HOME` and
/// nothing else from it.
#[must_use]
pub fn sheltered(program: impl AsRef<OsStr>) -> Command {
    let user = user_home();
    let mut command = Command::new(program);
    command.env("HOME", &user).env("MCP_ALL_IN_ONE_HOME", home());
    for (name, folder) in [
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_CACHE_HOME", ".cache"),
    ] {
        command.env(name, user.join(folder));
    }
    command
}

/// The home of the person who runs this test, as its programs see it.
#[must_use]
pub fn user_home() -> PathBuf {
    home().join("user")
}

/// A home for all that this test process starts, so that nothing is left in a real one. Those of
/// earlier runs are deleted.
fn home() -> &'static Path {
    const NAME: &str = "mcp-all-in-one-test-home-";
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let folder = std::env::temp_dir();
        let is_old = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let age = path.metadata().and_then(|about| about.modified()).map(|time| time.elapsed());
            name.starts_with(NAME)
                && age.is_ok_and(|age| age.is_ok_and(|age| age > Duration::from_secs(3600)))
        };
        let found = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        // Another test may be faster.
        found.filter(|path| is_old(path)).for_each(|path| drop(std::fs::remove_dir_all(path)));
        let home = folder.join(format!("{NAME}{}", std::process::id()));
        std::fs::create_dir_all(home.join("user")).expect("a home can be made");
        home
    })
}

/// `serve` on a free port with this database and this data folder.
#[must_use]
pub fn serve(binary: &str, database: &Database, data_dir: &Path) -> Command {
    let mut command = command(binary);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data_dir);
    if let Some(url) = database.url() {
        command.args(["--database", &url]);
    }
    command
}

/// Runs a command to its end.
///
/// # Panics
/// When it cannot be run.
pub fn run(command: &mut Command) -> Output {
    command.output().expect("the program can be run")
}

impl Server {
    /// Starts and waits until it has said what it has to say.
    ///
    /// # Panics
    /// When it does not listen in time.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command.stderr(Stdio::piped());
        Self::try_start(&mut command).unwrap_or_else(|said| panic!("the server did not start: {said}"))
    }

    /// The same with a log that goes somewhere else.
    ///
    /// # Panics
    /// When it does not listen in time.
    #[must_use]
    pub fn start_with_stderr(mut command: Command, stderr: impl Into<Stdio>) -> Self {
        command.stderr(stderr);
        Self::try_start(&mut command).unwrap_or_else(|said| panic!("the server did not start: {said}"))
    }

    fn try_start(command: &mut Command) -> Result<Self, String> {
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let mut readers = vec![collect(child.stdout.take().expect("stdout is piped"), &stdout)];
        readers.extend(child.stderr.take().map(|log| collect(log, &stderr)));
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = Self { child, address, admin_key: None, stdout, stderr, readers };
        let deadline = Instant::now() + START;
        // The last line of the welcome.
        while !server.stdout().contains("/api/docs") {
            let has_ended = server.child.try_wait().ok().flatten().is_some();
            if has_ended || Instant::now() > deadline {
                server.kill();
                return Err(format!("{}{}", server.stdout(), server.stderr()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        server.read_welcome();
        Ok(server)
    }

    fn read_welcome(&mut self) {
        let said = self.stdout();
        let address = said.split_once("listens on http://").and_then(|(_, rest)| rest.lines().next());
        // A path may stand behind it.
        let address = address.and_then(|text| text.trim().split('/').next());
        self.address = address.and_then(|text| text.parse().ok()).expect("it says where it listens");
        let key = said.split_once("Admin key, shown this once:\n").and_then(|(_, rest)| rest.lines().next());
        self.admin_key = key.map(|key| key.trim().to_owned());
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The id of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The admin key, if it said one.
    #[must_use]
    pub fn admin_key(&self) -> Option<&str> {
        self.admin_key.as_deref()
    }

    /// The holder of the admin key that it said.
    ///
    /// # Panics
    /// When it said none.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.client(self.admin_key().expect("this start made an admin key"))
    }

    /// The holder of a key.
    #[must_use]
    pub fn client(&self, key: &str) -> Client {
        Client::new(self.address).as_key(key)
    }

    /// What it has said.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it has logged.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends SIGTERM.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "SIGTERM cannot be sent");
    }

    /// Waits for the end, which somebody has asked for.
    ///
    /// # Panics
    /// When it does not end in time.
    pub fn wait(&mut self, within: Duration) -> ExitStatus {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().expect("the process is ours") {
                self.readers.drain(..).for_each(|reader| drop(reader.join()));
                return status;
            }
            assert!(Instant::now() < deadline, "still running after {within:?}:\n{}", self.stderr());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends SIGKILL and waits for the end.
    pub fn kill(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.readers.drain(..).for_each(|reader| drop(reader.join()));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn collect(stream: impl Read + Send + 'static, into: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let into = into.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut text = into.lock().unwrap_or_else(PoisonError::into_inner);
            text.push_str(&line);
            text.push('\n');
        }
    })
}

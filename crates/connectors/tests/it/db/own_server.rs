//! A database server for one test alone, which may do to it what would disturb others.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that stops when this is dropped.
pub(super) struct OwnServer {
    child: Child,
    /// The address, with a user who may do everything.
    pub(super) url: String,
}

impl OwnServer {
    pub(super) async fn mariadb() -> Self {
        Self::start("servers", &["run", "mariadb", "--"], "MCP_TEST_MARIADB_URL").await
    }

    /// Runs a script of the repository that starts a server and lives until its command ends: until its input does.
    async fn start(script: &str, arguments: &[&str], variable: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(script);
        let mut command = Command::new(path);
        command.args(arguments).args(["sh", "-c", &format!("echo \"${variable}\"; read -r end")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let first = move || output.lines().next().expect("the server starts").unwrap();
        let url = tokio::task::spawn_blocking(first).await.unwrap();
        Self { child, url }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

//! Running the official suite, and saying which scenario and check failed, and why.

use crate::setup::{path_with_node, servers};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How the names of scenarios about signing in begin, and the folder of their results.
const SIGN_IN: &str = "auth/";
/// Each is two or three processes.
const AT_ONCE: usize = 4;

/// How a scenario went.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Each failed check with its reason.
    reasons: Vec<String>,
}

impl Score {
    fn of(checks: &[Value]) -> Self {
        let count = |status: &str| checks.iter().filter(|check| check["status"] == status).count();
        let reasons = checks.iter().filter(|check| check["status"] == "FAILURE").map(reason).collect();
        // A remark is on something that may be done in more than one way, e.g. answering with a stream or without.
        Self { passed: count("SUCCESS") + count("INFO"), failed: count("FAILURE"), reasons }
    }
}

/// What one version of the protocol requires, and what we are known to fail.
pub(super) struct Suite {
    version: String,
    exceptions: Option<PathBuf>,
}

impl Suite {
    /// With the exceptions of the version.
    pub(super) fn new(version: &str) -> Self {
        Self::with_exceptions(version, version)
    }

    /// With the exceptions in `NAME.yml` beside this file.
    pub(super) fn with_exceptions(version: &str, name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/conformance");
        let file = folder.join(format!("{name}.yml"));
        assert!(file.exists(), "{} is missing", file.display());
        Self { version: version.to_owned(), exceptions: Some(file) }
    }

    /// Nothing may fail.
    pub(super) fn without_exceptions(version: &str) -> Self {
        Self { version: version.to_owned(), exceptions: None }
    }

    /// Runs every server scenario of the version; those it does not score cannot fail the run.
    pub(super) async fn run_server(&self, url: &str) -> Result<(), String> {
        let out = TempDir::new().unwrap();
        let mut command = self.command("server", &out);
        command.args(["--url", url, "--requirements", &self.version]);
        let (is_good, said) = run(command).await;
        let unscored = list(&self.requirements(), "not_scored:", "- scenario: ");
        let failures = failures(out.path(), &unscored);
        // A run that checked nothing is no success.
        let ran = std::fs::read_dir(out.path()).map_or(0, Iterator::count);
        let expected = list(&self.requirements(), "server:", "- ").len();
        if is_good && ran >= expected {
            return Ok(());
        }
        // Under its summary the suite says what was expected to fail and did not.
        let verdict = said.rsplit_once("Total: ").map_or(said.as_str(), |(_, verdict)| verdict);
        Err(format!("{ran} scenarios ran, {expected} count\n{failures}\n{}", last_lines(verdict, 60)))
    }

    /// Runs every server scenario of the version, and counts the checks of those that it scores.
    pub(super) async fn score_server(&self, url: &str) -> BTreeMap<String, Score> {
        let out = TempDir::new().unwrap();
        let mut command = self.command("server", &out);
        command.args(["--url", url, "--requirements", &self.version]);
        let (_, said) = run(command).await;
        let scored = list(&self.requirements(), "server:", "- ");
        let checks = checks(out.path()).into_iter().filter(|(name, _)| scored.contains(name));
        let scores: BTreeMap<_, _> = checks.map(|(name, checks)| (name, Score::of(&checks))).collect();
        let missing: Vec<_> = scored.iter().filter(|name| !scores.contains_key(*name)).collect();
        assert!(missing.is_empty(), "{missing:?} did not run: {}", last_lines(&said, 60));
        scores
    }

    /// Runs every client scenario that the version scores, apart from those about signing in.
    pub(super) async fn run_client(&self, client: &str) -> Result<(), String> {
        let scenarios = list(&self.requirements(), "client:", "- ");
        self.run_clients(client, scenarios.into_iter().filter(|name| !name.starts_with(SIGN_IN)), 4).await
    }

    /// Runs every client scenario about signing in that the version scores.
    pub(super) async fn run_sign_in(&self, client: &str) -> Result<(), String> {
        let scenarios = list(&self.requirements(), "client:", "- ");
        self.run_clients(client, scenarios.into_iter().filter(|name| name.starts_with(SIGN_IN)), 14).await
    }

    /// Runs the client scenarios about signing in that belong to extensions, which no version scores.
    pub(super) async fn run_sign_in_extensions(&self, client: &str) -> Result<(), String> {
        let scenarios = list(&self.requirements(), "not_scored:", "- scenario: ");
        self.run_clients(client, scenarios.into_iter().filter(|name| name.starts_with(SIGN_IN)), 6).await
    }

    async fn run_clients(
        &self,
        client: &str,
        scenarios: impl Iterator<Item = String>,
        at_least: usize,
    ) -> Result<(), String> {
        let scenarios: Vec<_> = scenarios.collect();
        assert!(scenarios.len() >= at_least, "the requirements are not where they should be: {scenarios:?}");
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut running = JoinSet::new();
        for scenario in scenarios {
            let (out, places) = (TempDir::new().unwrap(), places.clone());
            let mut command = self.command("client", &out);
            // An extension is on the time line of no version.
            command.args([
                "--command",
                client,
                "--scenario",
                &scenario,
                "--spec-version",
                &self.version,
                "--force",
            ]);
            running.spawn(async move {
                let _place = places.acquire_owned().await.unwrap();
                let (is_good, said) = run(command).await;
                let ran = std::fs::read_dir(out.path()).map_or(0, Iterator::count);
                let folder =
                    if scenario.starts_with(SIGN_IN) { out.path().join(SIGN_IN) } else { out.path().into() };
                let failures = failures(&folder, &BTreeSet::new());
                let words = words_of_the_client(&folder);
                (is_good && ran == 1)
                    .then_some(())
                    .ok_or_else(|| format!("{scenario}\n{failures}{words}{}", last_lines(&said, 15)))
            });
        }
        let results = running.join_all().await;
        let failures: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
    }

    fn command(&self, role: &str, out: &TempDir) -> Command {
        let mut command =
            Command::from(testkit::process::sheltered(servers().join("node_modules/.bin/conformance")));
        command.env("PATH", path_with_node()).kill_on_drop(true).arg(role).arg("-o").arg(out.path());
        if let Some(file) = &self.exceptions {
            command.arg("--expected-failures").arg(file);
        }
        command
    }

    fn requirements(&self) -> String {
        let folder = servers().join("node_modules/@modelcontextprotocol/conformance/requirements");
        let file = folder.join(format!("{}.yaml", self.version));
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }
}

async fn run(mut command: Command) -> (bool, String) {
    let output = command.output().await.expect("the suite can be run; see scripts/mcp-servers");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

/// The entries of one section of a requirements file.
fn list(requirements: &str, section: &str, mark: &str) -> BTreeSet<String> {
    requirements
        .lines()
        .skip_while(|line| *line != section)
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        .filter_map(|line| line.trim().strip_prefix(mark))
        .map(str::to_owned)
        .collect()
}

/// Every check that failed, with its reason: one line each.
fn failures(out: &Path, unscored: &BTreeSet<String>) -> String {
    let mut found = String::new();
    for (name, checks) in checks(out).iter().filter(|(name, _)| !unscored.contains(name)) {
        for check in checks.iter().filter(|check| check["status"] == "FAILURE") {
            let _ = writeln!(found, "✗ {name}: {}", reason(check));
        }
    }
    found
}

/// What a failed check says, in one line.
fn reason(check: &Value) -> String {
    let why = check["errorMessage"].as_str().map_or_else(|| check["details"].to_string(), str::to_owned);
    let why: String = why.lines().next().unwrap_or_default().chars().take(300).collect();
    format!("{}: {why}", check["id"].as_str().unwrap_or_default())
}

/// The checks of every scenario that ran, by its name.
fn checks(out: &Path) -> Vec<(String, Vec<Value>)> {
    let Ok(folders) = std::fs::read_dir(out) else { return Vec::new() };
    let mut folders: Vec<_> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let named = folders.into_iter().map(|folder| {
        // `server-NAME-TIME` or `NAME-TIME`.
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.strip_prefix("server-").unwrap_or(&name);
        let name = name.rfind('T').and_then(|at| name.get(..at - "-2026-07-28".len())).unwrap_or(name);
        let checks = std::fs::read_to_string(folder.join("checks.json")).unwrap_or_default();
        (name.to_owned(), serde_json::from_str(&checks).unwrap_or_default())
    });
    named.collect()
}

/// What the client under test said on stderr.
fn words_of_the_client(out: &Path) -> String {
    let folders = std::fs::read_dir(out).into_iter().flatten().map(|entry| entry.unwrap().path());
    folders
        .filter_map(|folder| std::fs::read_to_string(folder.join("stderr.txt")).ok())
        .map(|text| last_lines(&text, 15))
        .collect()
}

pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].iter().fold(String::new(), |text, line| text + line + "\n")
}

//! `login`: a person signs in to a service in a browser, and every command can use it from then on.

use crate::binary::BINARY;
use serde_json::json;
use std::path::Path;
use std::process::{Output, Stdio};
use testkit::mcp::http::{Behaviour, Server};
use testkit::oauth::{self, Provider};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

/// The program at home in `home`.
fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::from(testkit::process::command(BINARY));
    command.env("MCP_ALL_IN_ONE_HOME", home).args(arguments).kill_on_drop(true);
    command.arg("--mcp-config").arg(home.join("mcp.json"));
    command
}

async fn run(home: &Path, arguments: &[&str]) -> Output {
    command(home, arguments).output().await.unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs `login` and opens the printed address; returns everything that was printed, and whether it went well.
async fn sign_in(home: &Path, change: impl Fn(String) -> String) -> (String, bool) {
    let mut login = command(home, &["login", "my-notes", "--port", "0"]);
    let mut child = login.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.trim().starts_with("http://") {
            let page = reqwest::get(change(line.trim().to_owned())).await.unwrap().text().await.unwrap();
            said.push_str(&page);
        } else {
            said.push_str(&line);
        }
    }
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).await.unwrap();
    (said, child.wait().await.unwrap().success())
}

/// MC-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_and_calls() {
    let provider = Provider::start(oauth::Behaviour::default()).await;
    let server = Server::start(Behaviour { guard: Some(provider.guard()), ..Behaviour::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let service = json!({ "type": "http", "url": server.url() });
    let config = json!({ "mcpServers": { "my-notes": service } });
    std::fs::write(home.join("mcp.json"), config.to_string()).unwrap();

    let doctor = run(home, &["doctor"]).await;
    assert!(text(&doctor).contains("run: mcp-all-in-one login my-notes"), "{}", text(&doctor));
    let fix =
        format!("fix: run `mcp-all-in-one login my-notes --mcp-config {}`", home.join("mcp.json").display());
    assert!(text(&doctor).contains(&fix), "{}", text(&doctor));
    assert!(!doctor.status.success() && !home.join("logins").exists());

    let (said, is_good) = sign_in(home, |address| address).await;
    assert!(
        is_good && said.contains("You are signed in.") && said.contains("Signed in to my-notes."),
        "{said}"
    );
    let doctor = run(home, &["doctor"]).await;
    assert!(doctor.status.success(), "{}", text(&doctor));
    let called = run(home, &["call", "mcp://my-notes/echo", "--args", r#"{"text":"hello"}"#]).await;
    assert_eq!(text(&called), "hello\n");
    assert_eq!(provider.asked(), ["register", "authorization_code read"], "one token for three processes");
    for secret in provider.secrets() {
        assert!(
            ![&said, &text(&doctor), &text(&called)].iter().any(|text| text.contains(&secret)),
            "{secret}"
        );
    }
    let other = run(home, &["login", "nobody"]).await;
    assert!(text(&other).contains("it has: my-notes"), "{}", text(&other));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_another_question_signs_nobody_in() {
    let provider = Provider::start(oauth::Behaviour::default()).await;
    let server = Server::start(Behaviour { guard: Some(provider.guard()), ..Behaviour::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let service = json!({ "type": "http", "url": server.url() });
    let config = json!({ "mcpServers": { "my-notes": service } });
    std::fs::write(folder.path().join("mcp.json"), config.to_string()).unwrap();
    let (said, is_good) = sign_in(folder.path(), |address| address.replace("state=", "state=x")).await;
    assert!(!is_good && said.contains("another question"), "{said}");
    assert!(!folder.path().join("logins/my-notes.json").exists());
}

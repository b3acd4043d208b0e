//! `ask`: a question on the command line, whose answer is written as it comes, and approvals at a terminal.

use crate::world::{agent, count, crm, until};
use serde_json::{Value, json};
use std::process::Output;
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, http, process};

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-all-in-one");

/// Runs a program at a terminal, types this line as soon as it is asked something, and exits as it does.
const TERMINAL: &str = r#"
import os, pty, sys
said = b""
answer = sys.argv[1].encode() + b"\n"
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
while True:
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        break
    if not chunk:
        break
    said += chunk
    if answer and b"[y/N]" in said:
        os.write(terminal, answer)
        answer = None
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

/// An agent that removes what it is asked to remove, fails where it is asked to, and else says what it was told.
async fn world() -> (TestApp, http::Server, Model) {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let model = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        _ if asked.text.contains("fail") => Reply::error(401, "no"),
        false if asked.text.contains("Remove") => {
            Reply::calls(&[("crm__remove", json!({ "text": "it\u{1b}[2J\u{202e}\u{200b}" }))])
        }
        true if asked.text.contains("denied") => Reply::says("It stays."),
        true => Reply::says("It is gone."),
        false if asked.text.contains("from-the-file") => Reply::says("I have read the file."),
        false if asked.text.contains("colour") => Reply::says("red \u{1b}[31m\u{202e}\u{9b}\tend"),
        false => Reply::says("Hello from the model."),
    })
    .await;
    app.post("services", agent("a", &model, json!({}))).await.is(201);
    (app, upstream, model)
}

fn arguments(app: &TestApp, agent: &str, more: &[&str]) -> Vec<String> {
    let server = format!("http://{}", app.address());
    let own = ["ask", agent].into_iter().chain(more.iter().copied());
    own.chain(["--server", &server, "--token", app.key().unwrap()]).map(str::to_owned).collect()
}

async fn ask(app: &TestApp, more: &[&str]) -> Output {
    ask_agent(app, "a", more).await
}

async fn ask_agent(app: &TestApp, agent: &str, more: &[&str]) -> Output {
    let mut command = process::command(BINARY);
    command.args(arguments(app, agent, more));
    tokio::task::spawn_blocking(move || process::run(&mut command)).await.unwrap()
}

async fn ask_at_terminal(app: &TestApp, types: &str, more: &[&str]) -> Output {
    // The program's environment is its parent's.
    let mut command = process::sheltered("python3");
    command.args(["-c", TERMINAL, types, BINARY]).args(arguments(app, "a", more));
    tokio::task::spawn_blocking(move || process::run(&mut command)).await.unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// AG-1, AG-14: the answer is written, with a context from a file, in a conversation, or by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_on_the_command_line() {
    let (app, _upstream, model) = world().await;
    let output = ask(&app, &["Hello?"]).await;
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), "Hello from the model.\n"));
    assert_eq!(model.asked()[0].body["stream"], true, "what is written is told as it comes");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "{\"note\": \"from-the-file\"}").unwrap();
    let context = format!("@{}", file.path().display());
    let output = ask(&app, &["Hello?", "--context", &context]).await;
    assert_eq!(said(&output), "I have read the file.\n");
    let output = ask(&app, &["Hello?", "--conversation", "new"]).await;
    let id = said(&output).split("conversation ").nth(1).unwrap().trim().to_owned();
    ask(&app, &["And now?", "--conversation", &id]).await;
    let read = model.asked().last().unwrap().text.clone();
    assert!(read.contains("Hello?") && read.contains("And now?"), "{read}");
    let output = ask(&app, &["Hello?", "--async"]).await;
    let run = said(&output).trim().to_owned();
    let ended = until(&app, &run, "succeeded").await;
    assert_eq!(
        (output.status.code(), &ended["output"]["answer"]),
        (Some(0), &json!("Hello from the model."))
    );
    let output = ask(&app, &["--run", &run]).await;
    assert_eq!((output.status.code(), said(&output).trim()), (Some(0), "Hello from the model."));
}

/// AG-13, AG-20: a run that fails exits with 1; one that waits for somebody exits with 3 where nobody can be asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_and_waiting_are_told_apart() {
    let (app, upstream, _model) = world().await;
    let output = ask(&app, &["Please fail."]).await;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let output = ask(&app, &["Remove it."]).await;
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("waits for approval"), "{}", said(&output));
    assert_eq!(count(&upstream, "/remove"), 0);
}

/// AG-1: what is refused in the midst of a stream is said as what is refused before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_in_a_stream_is_said() {
    let (app, _upstream, model) = world().await;
    let more = json!({ "instructions": "Serve {{ .context.customer.name }}." });
    app.post("services", agent("b", &model, more)).await.is(201);
    let output = ask_agent(&app, "b", &["Hello."]).await;
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{}", said(&output));
    assert!(said(&output).contains("the instructions of agent 'b' cannot be filled in"), "{}", said(&output));
}

/// AG-13: at a terminal the person is asked, and shown what will be sent in letters that do nothing to the terminal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_at_a_terminal_is_asked() {
    let (app, upstream, _model) = world().await;
    let output = ask_at_terminal(&app, "y", &["Remove it."]).await;
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("api://crm/remove") && text.contains("It is gone."), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.contains(r"it\u001b[2J\u202e\u200b"), "all that is sent is shown: {text:?}");
    assert_eq!(count(&upstream, "/remove"), 1);
    let output = ask_at_terminal(&app, "n", &["Remove it."]).await;
    assert!(said(&output).contains("It stays."), "{}", said(&output));
    assert_eq!((output.status.code(), count(&upstream, "/remove")), (Some(0), 1));
    let left: Value = app.get("approvals").await.is(200).body;
    assert_eq!(left["items"], json!([]), "{left}");
}

/// AG-1, AG-13: what the model says before it asks, what it says behind that, and words about the run each begin a line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_stands_on_lines_of_its_own() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let calls = |name: &str| vec![(name.to_owned(), "{}".to_owned())];
    let model = Model::start(move |_, asked| match asked.text.contains("\"tool_call_id\"") {
        true => Reply::says("It is gone."),
        false if asked.text.contains("Look") => Reply::Says("let me look".into(), calls("crm__echo")),
        false => Reply::Says("thinking aloud".into(), calls("crm__remove")),
    })
    .await;
    app.post("services", agent("a", &model, json!({}))).await.is(201);
    // The model writes in two pieces, between which no line ends.
    let output = ask(&app, &["Look."]).await;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "let me look\nIt is gone.\n");
    let output = ask(&app, &["Remove it."]).await;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("thinking aloud\nThe run "), "{said}");
    assert!(said.contains("waits for approval") && said.ends_with('\n'), "{said}");
    let output = ask_at_terminal(&app, "y", &["Remove it."]).await;
    let shown = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    assert!(shown.contains("thinking aloud\n"), "{shown}");
    assert!(shown.lines().any(|line| line == "It is gone."), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("The run ")), "{shown}");
}

/// AG-1: a terminal shows what the model writes and obeys none of it; a program reads it as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_does_not_obey_the_model() {
    let (app, _upstream, _model) = world().await;
    let output = ask_at_terminal(&app, "", &["In colour?"]).await;
    let text = said(&output);
    assert!(text.contains("red \\u001b[31m\\u202e\\u009b\tend"), "{text:?}");
    let output = ask(&app, &["In colour?"]).await;
    assert_eq!(said(&output), "red \u{1b}[31m\u{202e}\u{9b}\tend\n");
}

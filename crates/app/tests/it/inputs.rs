//! `${input:…}`: asked for once at a terminal, kept in a private file, named where nobody can be asked.

use crate::binary::BINARY;
use crate::mcp_json::Person;
use crate::stdio::service;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::Instant;

/// Runs the binary at a terminal and types these lines, each when its question has come.
fn at_a_terminal(ada: &Person, words: &[&str], answers: &[(&str, &str)]) -> (Option<i32>, String) {
    let controller =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&controller).unwrap();
    rustix::pty::unlockpt(&controller).unwrap();
    let name = rustix::pty::ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let end = || File::options().read(true).write(true).open(&name).unwrap();
    let mut command = ada.command(words);
    assert_eq!(command.get_program(), BINARY);
    command.stdin(Stdio::from(end())).stdout(Stdio::from(end())).stderr(Stdio::from(end()));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut terminal = File::from(controller);
    let mut reader = terminal.try_clone().unwrap();
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // Ends with an error when the last process at the other end has gone.
        while let Ok(count) = reader.read(&mut buffer) {
            let _ = tx.send(String::from_utf8_lossy(&buffer[..count]).into_owned());
        }
    });
    let mut said = String::new();
    let mut seen = 0;
    for (question, answer) in answers {
        let begun = Instant::now();
        while !said[seen..].contains(question) {
            said.push_str(
                &rx.recv_timeout(crate::setup::PATIENCE).unwrap_or_else(|_| panic!("'{question}' in {said}")),
            );
            assert!(begun.elapsed() < crate::setup::PATIENCE);
        }
        seen = said.len();
        writeln!(terminal, "{answer}").unwrap();
    }
    let code = child.wait().unwrap().code();
    while let Ok(more) = rx.recv_timeout(std::time::Duration::from_millis(200)) {
        said.push_str(&more);
    }
    (code, said)
}

fn vscode() -> String {
    json!({
        "inputs": [
            { "type": "promptString", "id": "key", "description": "Your API key", "password": true },
            { "type": "pickString", "id": "where", "description": "Region", "options": ["eu", "us"], "default": "eu" }
        ],
        "servers": { "vs": { "type": "stdio", "command": service(), "args": ["--region=${input:where}"], "env": { "K": "${input:key}" } } }
    })
    .to_string()
}

#[test]
fn an_input_is_asked_for_once_and_kept_as_a_secret() {
    let ada = Person::new();
    ada.has(".config/Code/User/mcp.json", &vscode());
    let (code, said) =
        at_a_terminal(&ada, &["import", "vscode"], &[("Your API key", "s3cret"), ("Region", "")]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("s3cret"), "what is typed is not shown: {said}");
    let kept = ada.home.path().join(".mcp-all-in-one/inputs.json");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&kept).unwrap().contains("s3cret"));
    assert!(!ada.text().contains("s3cret") && ada.text().contains("${input:key}"), "{}", ada.text());
    let root: Value = serde_json::from_str(&ada.text()).unwrap();
    assert_eq!(root["inputs"][0]["id"], "key", "what the question is stays known");
    let said = ada.run(&["config", "validate"]).is(0);
    assert!(!said.stdout.contains("s3cret"));
    ada.run(&["doctor"]).is(0).has("vs ok");
    let (code, said) = at_a_terminal(&ada, &["add", "more", "-e", "K=${input:key}", "--", "x"], &[]);
    assert!(code == Some(0) && !said.contains("Your API key"), "nobody is asked twice: {said}");
    for words in [&["config", "show"][..], &["list"], &["list", "--json"], &["doctor"]] {
        let said = ada.run(words);
        assert!(!said.stdout.contains("s3cret") && !said.stderr.contains("s3cret"), "{words:?}");
    }
}

#[test]
fn an_input_without_a_terminal_is_named_with_its_remedy() {
    let ada = Person::new();
    ada.has(".config/Code/User/mcp.json", &vscode());
    ada.run(&["import"]).is(0).has("`mcp-all-in-one config input key`");
    ada.run(&["config", "validate"])
        .is(1)
        .has("vs: the input 'key' has no value yet")
        .has("`mcp-all-in-one config input key`");
    ada.run(&["doctor"]).is(1).has("the input 'key' has no value yet");
    ada.run_with("s3cret\n", &["config", "input", "key"]).is(0);
    ada.run_with("us\n", &["config", "input", "where"]).is(0);
    ada.run(&["doctor"]).is(0).has("vs ok");
    ada.run_with("xx\n", &["config", "input", "where"]).is(1).has("eu, us");
    ada.run_with("", &["config", "input", "key"]).is(1).has("nothing was given");
    ada.run_with("x\n", &["config", "input", "nope"])
        .is(1)
        .has("no service asks for an input 'nope'")
        .has("key, where");
}

#[test]
fn inputs_of_one_file_are_not_those_of_another() {
    let ada = Person::new();
    let entry =
        json!({ "mcpServers": { "a": { "command": "x", "env": { "K": "${input:key}" } } } }).to_string();
    ada.write(&entry);
    let other = ada.has("other.json", &entry);
    let other = other.to_str().unwrap();
    ada.run_with("s3cret\n", &["config", "input", "key"]).is(0);
    ada.run(&["config", "validate"]).is(0);
    ada.run(&["config", "validate", other]).is(1).has(&format!("`mcp-all-in-one config input key {other}`"));
}

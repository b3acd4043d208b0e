//! Pins without a server: the services of an mcp.json, `doctor` and `approve`.

use crate::mcp_json::Person;
use crate::setup::PATIENCE;
use crate::stdio::{Aggregator, service};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Somebody whose service reads what it offers from a file.
struct Owner {
    person: Person,
    definitions: PathBuf,
}

impl Owner {
    fn new(pin: &str) -> Self {
        let person = Person::new();
        let definitions = person.home.path().join("definitions.json");
        let owner = Self { person, definitions };
        let config = json!({ "mcpServers": { "clock": owner.clock(pin) } });
        owner.person.write(&config.to_string());
        owner.offers("One.");
        owner
    }

    fn clock(&self, pin: &str) -> Value {
        json!({ "command": service(), "args": ["--definitions", self.definitions], "pin": pin })
    }

    fn offers(&self, description: &str) {
        let tool = |name: &str, text: &str| json!({ "name": name, "description": text, "inputSchema": { "type": "object" } });
        let tools = json!([tool("echo", description), tool("change", "Says that tools have changed.")]);
        fs::write(&self.definitions, tools.to_string()).unwrap();
    }
}

#[test]
fn doctor_tells_of_changes_and_approve_ends_them() {
    let owner = Owner::new("enforce");
    let ada = &owner.person;
    let config = ada.file();
    let at = ["--mcp-config", config.to_str().unwrap()];
    ada.run(&["doctor"]).is(0).has("clock ok 2 tools").has("1 work, 0 failed, 0 disabled");
    owner.offers("Two. \u{200b}");
    let said = ada
        .run(&["doctor"])
        .is(0)
        .has("clock ok 2 tools, 1 held back; if you trust what has changed: mcp-all-in-one approve clock");
    let said = said.has("warning: tool 'echo' has changed its description; it is held back until approved");
    said.has("warning: tool 'echo' hides zero-width characters in its definition");
    let tools = ada.run(&[&["tools"][..], &at].concat()).is(0).stdout;
    assert!(!tools.contains("clock__echo") && tools.contains("clock__change"), "{tools}");
    ada.run(&[&["call", "mcp://clock/echo"][..], &at].concat())
        .is(1)
        .has("held back until somebody approves");
    ada.run(&["approve", "nobody"]).is(1).has("there are: clock");
    ada.run(&["approve", "clock"]).is(0).has("approved: echo");
    ada.run(&["approve", "clock"]).is(0).has("there was nothing to approve");
    ada.run(&[&["call", "mcp://clock/echo", "--args", "{\"text\":\"hi\"}"][..], &at].concat())
        .is(0)
        .has("hi");
    owner.offers("Three.");
    ada.run(&["doctor", "--approve"]).is(0).has("clock ok 2 tools");
    let removed = ada.run(&["remove", "clock"]).is(0);
    assert!(removed.stdout.contains("changed "), "{}", removed.stdout);
    owner.offers("Four, another server of the same name.");
    ada.write(&json!({ "mcpServers": { "clock": owner.clock("enforce") } }).to_string());
    let fresh = ada.run(&["doctor"]).is(0).has("clock ok 2 tools");
    assert!(!fresh.stdout.contains("warning"), "{}", fresh.stdout);
}

#[test]
fn doctor_counts_tools_that_are_all_held_back() {
    let owner = Owner::new("enforce");
    let ada = &owner.person;
    let mut clock = owner.clock("enforce");
    clock["includeTools"] = json!(["echo"]);
    let config = ada.home.path().join("my servers.json");
    fs::write(&config, json!({ "mcpServers": { "clock": clock } }).to_string()).unwrap();
    let at = ["--mcp-config", config.to_str().unwrap()];
    let doctor = || ada.run(&[&["doctor"][..], &at].concat()).is(0);
    doctor().has("clock ok 1 tools");
    owner.offers("Two.");
    let approve = format!("mcp-all-in-one approve clock --mcp-config '{}'", config.display());
    doctor().has(&format!("clock ok 1 tools, 1 held back; if you trust what has changed: {approve}"));
}

#[test]
fn only_enforced_pins_need_a_readable_file() {
    for (pin, code, said) in
        [("enforce", 1, "cannot be compared with their pins"), ("warn", 0, "2 tools"), ("off", 0, "2 tools")]
    {
        let owner = Owner::new(pin);
        fs::write(owner.person.home.path().join(".mcp-all-in-one/pins.json"), "{ nonsense").unwrap();
        owner.person.run(&["doctor"]).is(code).has(said);
    }
}

#[test]
fn a_running_process_learns_of_an_approval() {
    let owner = Owner::new("enforce");
    let home = owner.person.home.path().join(".mcp-all-in-one");
    let mut client = Aggregator::start_with(json!({}), |command| {
        command.env("MCP_ALL_IN_ONE_HOME", &home);
    });
    fs::copy(owner.person.file(), client.folder.path().join("mcp.json")).unwrap();
    let path = client.folder.path().join("mcp.json");
    client.hello();
    wait_for(&mut client, &["clock__change", "clock__echo"]);
    owner.offers("Two.");
    client.ask("tools/call", json!({ "name": "clock__change", "arguments": {} }));
    wait_for(&mut client, &["clock__change"]);
    let refused = client.ask("tools/call", json!({ "name": "clock__echo", "arguments": {} }));
    assert!(refused.to_string().contains("held back until somebody approves"), "{refused}");
    owner
        .person
        .run(&["approve", "clock", "--mcp-config", path.to_str().unwrap()])
        .is(0)
        .has("approved: echo");
    wait_for(&mut client, &["clock__change", "clock__echo"]);
    client.ask("tools/call", json!({ "name": "clock__echo", "arguments": {} }));
}

/// Asks for the list until it is this.
fn wait_for(client: &mut Aggregator, names: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = client.names();
        if now == names {
            return;
        }
        assert!(Instant::now() < deadline, "{names:?}, not {now:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

//! A file without anything in it, as editors leave it for a moment: the last good state stays.

use crate::binary::BINARY;
use crate::mcp_json::Person;
use crate::setup::PATIENCE;
use crate::stdio::{Aggregator, good};
use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What a file may hold when it says nothing.
const BLANK: [&str; 6] = ["", " \n\t\n", "null", "// soon\n", "/* soon */", "\u{feff}\n// soon\nnull\n"];

#[test]
fn a_blank_file_keeps_the_last_good_state() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut client = Aggregator::start_with(json!({ "a": good() }), |command| {
        let path = command.get_args().last().unwrap().to_owned();
        *command = testkit::process::command(BINARY);
        command.args(["stdio", "--mcp-config"]).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(&log).unwrap());
    });
    client.hello();
    let before = client.names();
    assert!(!before.is_empty());
    let file = client.folder.path().join("mcp.json");
    let wait = |what: &str, is_so: &mut dyn FnMut() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE, "{what}: {}", std::fs::read_to_string(&log).unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    for (count, blank) in (1..).zip(BLANK) {
        std::fs::write(&file, blank).unwrap();
        let seen = || std::fs::read_to_string(&log).unwrap().matches("the last good state stays").count();
        wait(&format!("{blank:?} is seen"), &mut || seen() >= count);
        assert_eq!(client.names(), before, "{blank:?}");
    }
    std::fs::write(&file, "{}").unwrap();
    wait("an empty object is a state of its own", &mut || client.names().is_empty());
}

#[test]
fn nothing_is_no_configuration_to_set() {
    let ada = Person::new();
    ada.write("{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}");
    let before = ada.text();
    for blank in BLANK {
        ada.run_with(blank, &["config", "set"]).is(1).has("nothing was given");
        assert_eq!(ada.text(), before, "{blank:?}");
    }
    ada.run_with("{}", &["config", "set"]).is(0).has("0 services");
}

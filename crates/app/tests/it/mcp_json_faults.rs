//! Changing an mcp.json when things go wrong: garbage, links, other writers, a kill at any moment.

use crate::mcp_json::{Person, backups};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::thread;
use std::time::Duration;

#[test]
fn never_touches_a_file_it_cannot_read() {
    let ada = Person::new();
    for garbage in ["{\"mcpServers\":", "not json", "{\"mcpServers\":{}}{}", "{\"a\":1}", "\u{0}\u{1}"] {
        ada.write(garbage);
        ada.run(&["add", "a", "--", "x"]).is(1).has("is no mcp.json");
        ada.run(&["remove", "a"]).is(1);
        ada.run(&["doctor"]).is(1).has("is no mcp.json");
        assert_eq!(ada.text(), garbage);
    }
    fs::write(ada.file(), b"{\"mcpServers\":{\"\xff\":{}}}").unwrap();
    ada.run(&["add", "a", "--", "x"]).is(1).has("cannot be read");
    ada.write(&format!("{{\"mcpServers\":{{}}}}{}", " ".repeat(9 * 1024 * 1024)));
    ada.run(&["add", "a", "--", "x"]).is(1).has("more than");
    ada.write("{\"mcpServers\":{\"a\":{\"command\":\"x\"}},\"mcpServers\":{}}");
    ada.run(&["add", "b", "--", "x"]).is(1).has("cannot be changed");
    assert!(backups(&ada.file()).is_empty());
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays_a_mode() {
    let ada = Person::new();
    ada.write("{}");
    let dotfiles = ada.home.path().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    let real = dotfiles.join("servers.json");
    fs::rename(ada.file(), &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, ada.file()).unwrap();
    ada.run(&["add", "a", "--", "x"]).is(0);
    assert!(fs::symlink_metadata(ada.file()).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(ada.services(), json!({ "a": { "command": "x" } }));
    assert_eq!(backups(&real).len(), 1, "the backup stands beside the file itself");
    fs::remove_file(&real).unwrap();
    ada.run(&["add", "b", "--", "x"]).is(1).has("link to a file that does not exist");
}

#[test]
fn says_where_it_cannot_write() {
    let ada = Person::new();
    let at = ["--mcp-config", "/proc/nowhere/mcp.json"];
    ada.run(&[&["add", "a"][..], &at, &["--", "x"]].concat())
        .is(1)
        .has("/proc/nowhere/mcp.json cannot be written");
    // Root may write everywhere, so that the folder must be one that nobody can write to.
    ada.run(&["add", "a", "--mcp-config", "/proc/mcp.json", "--", "x"]).is(1).has("cannot be written");
}

#[test]
fn many_writers_lose_nothing() {
    let ada = Person::new();
    thread::scope(|scope| {
        for number in 0..12 {
            let ada = &ada;
            scope.spawn(move || ada.run(&["add", &format!("s{number}"), "--", "x"]).is(0));
        }
    });
    assert_eq!(ada.services().as_object().unwrap().len(), 12);
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let ada = Person::new();
    let filler = "x".repeat(1024 * 1024);
    let config = |number: u32| {
        json!({ "mcpServers": { "a": { "command": "x" } }, "n": number, "filler": filler }).to_string()
    };
    ada.write(&config(0));
    let mut changes = 0;
    for number in 1..=30 {
        let given = ada.home.path().join("given.json");
        fs::write(&given, config(number)).unwrap();
        let mut child = ada.command(&["--set-mcp-config", &format!("@{}", given.display())]).spawn().unwrap();
        thread::sleep(Duration::from_millis(u64::from(number) * 3));
        let _ = child.kill();
        child.wait().unwrap();
        let text = ada.text();
        let root: serde_json::Value = serde_json::from_str(&text).expect("a whole file");
        assert_eq!(root["filler"], filler.as_str());
        changes += u32::from(root["n"] == number);
    }
    assert!(changes < 30, "some were killed");
    ada.run(&["add", "b", "--", "y"]).is(0);
    assert_eq!(ada.services().as_object().unwrap().len(), 2);
}

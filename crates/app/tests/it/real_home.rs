//! Tests leave nothing in the home of whoever runs them.

use crate::binary::BINARY;
use crate::stdio::service;
use serde_json::json;
use std::process::Command;
use testkit::process;

/// SDKs of MCP start a server with `HOME` and little else of their environment.
#[test]
fn a_client_that_passes_home_alone_starts_us_in_the_tests_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    std::fs::write(&file, json!({ "mcpServers": { "a": { "command": service() } } }).to_string()).unwrap();
    let script = "exec env -i HOME=\"$HOME\" PATH=\"$PATH\" \"$0\" doctor --mcp-config \"$1\"";
    let output = process::run(process::sheltered("sh").args(["-c", script, BINARY]).arg(&file));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 work"), "{said}");
    assert!(
        process::user_home().join(".mcp-all-in-one/pins.json").exists(),
        "what it wrote is in the test's home"
    );
}

/// Tests that start us in every way, run by somebody with a home that is looked at afterwards.
#[test]
fn the_real_home_stays_untouched() {
    let home = tempfile::tempdir().unwrap();
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args([
        "--exact",
        "real_home::a_client_that_passes_home_alone_starts_us_in_the_tests_own",
        "config::doctor_starts_each_service_and_says_what_to_fix",
        "stdio::lists_every_services_tools_and_calls_the_right_one",
        "mcp_json::the_file_at_home_is_made_when_it_is_missing",
        "binary::takes_the_admin_key_from_the_environment",
        "pins_local::doctor_tells_of_changes_and_approve_ends_them",
    ]);
    tests.env("HOME", home.path()).env_remove("MCP_ALL_IN_ONE_HOME");
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        tests.env_remove(name);
    }
    let output = process::run(&mut tests);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

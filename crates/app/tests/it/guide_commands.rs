//! The commands of a guide, run as they stand.

use std::path::Path;
use testkit::{TestApp, process};

/// The shell blocks of a guide, in order.
pub(crate) fn commands(guide: &str) -> Vec<&str> {
    let blocks = guide.split("```sh\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap()).collect()
}

/// Runs the commands of a guide in this folder, as a manager, and gives back what they print.
pub(crate) async fn said_by(guide: &str, app: &TestApp, folder: &Path) -> String {
    let key = app.with_key(serde_json::json!({ "name": "guide", "role": "manager" })).await;
    let blocks = commands(guide);
    assert!(blocks[0].contains("export SERVER="), "the first block is what the reader fills in");
    let script = format!("set -euo pipefail\n{}", blocks[1..].join("\n"));
    let mut shell = process::sheltered("bash");
    shell.arg("-c").arg(script).current_dir(folder);
    shell.env("SERVER", format!("http://{}", app.address())).env("TOKEN", key.key().unwrap());
    let output = tokio::task::spawn_blocking(move || shell.output().unwrap()).await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}

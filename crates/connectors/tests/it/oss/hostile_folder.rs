//! What must not come of hostile keys, links, sizes and disks in a folder of this machine.

use super::support::Store;
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tool::ErrorKind;

/// OS-7
#[tokio::test]
async fn refuses_keys_that_lead_elsewhere_before_anything_happens() {
    let store = Store::in_folder(json!({}));
    let outside = store.folder.as_ref().unwrap().path().join("outside");
    std::fs::write(&outside, "untouched").unwrap();
    let long = "x".repeat(256);
    for key in [
        "../outside",
        "a/../../outside",
        "/etc/passwd",
        "a\\..\\b",
        ".mcp-all-in-one/records/x",
        "a//b",
        "a\u{0}b",
        long.as_str(),
    ] {
        for tool in ["save", "load", "stat", "delete", "copy", "presign"] {
            let error = store.fails(tool, json!({ "key": key, "content": "x", "to": "b" })).await;
            let is_refused = error.kind() == ErrorKind::InvalidInput
                || tool == "presign" && error.kind() == ErrorKind::Unsupported;
            assert!(is_refused, "{tool} {key:?}: {error:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "untouched");
    assert!(!store.root().exists(), "nothing was made");
}

/// OS-7
#[tokio::test]
async fn follows_no_link() {
    let store = Store::in_folder(json!({}));
    store.save("real/a.txt", "mine").await;
    let outside = store.folder.as_ref().unwrap().path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), "secret").unwrap();
    symlink(&outside, store.root().join("folder")).unwrap();
    symlink(outside.join("secret.txt"), store.root().join("file.txt")).unwrap();
    for key in ["folder/secret.txt", "file.txt"] {
        assert_eq!(store.fails("load", json!({ "key": key })).await.kind(), ErrorKind::Missing);
        assert_eq!(store.fails("stat", json!({ "key": key })).await.kind(), ErrorKind::Missing);
    }
    assert_eq!(
        store.fails("save", json!({ "key": "folder/new.txt", "content": "x" })).await.kind(),
        ErrorKind::InvalidInput
    );
    store.call("delete", json!({ "key": "folder/secret.txt" })).await;
    assert_eq!(store.keys(json!({})).await, ["real/a.txt"], "links are no objects");
    // A link is replaced as a name, and what it leads to stays.
    store.save("file.txt", "mine now").await;
    assert_eq!(store.load("file.txt").await, "mine now");
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

/// F12: a folder becomes a link and a folder again, over and over, while others read and write under it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_folder_that_turns_into_a_link_leads_nowhere() {
    let store = Arc::new(Store::in_folder(json!({})));
    store.save("dir/a.txt", "inside").await;
    let outside = store.folder.as_ref().unwrap().path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a.txt"), "OUTSIDE").unwrap();
    let (root, is_over) = (store.root(), Arc::new(AtomicBool::new(false)));
    let swapping = {
        let (outside, is_over) = (outside.clone(), is_over.clone());
        std::thread::spawn(move || {
            let mut swaps = 0;
            while !is_over.load(Ordering::Relaxed) {
                swap(&root, &outside);
                swaps += 1;
            }
            swaps
        })
    };
    for round in 0..400 {
        let cx = testkit::conformance::context(std::time::Duration::from_secs(20));
        if let Ok(tool::Outcome::Done(output)) =
            store.try_call(&cx, "load", json!({ "key": "dir/a.txt" })).await
        {
            assert!(!output.to_result().contains("OUTSIDE"), "it was read in round {round}");
        }
        let _ = store.try_call(&cx, "save", json!({ "key": "dir/new.txt", "content": "x" })).await;
        let _ = store.try_call(&cx, "delete", json!({ "key": "dir/a.txt" })).await;
        let _ = store.try_call(&cx, "save", json!({ "key": "dir/a.txt", "content": "inside" })).await;
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 10, "nothing was swapped");
    assert_eq!(std::fs::read_to_string(outside.join("a.txt")).unwrap(), "OUTSIDE");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "something was written outside");
}

fn swap(root: &Path, outside: &Path) {
    let (folder, aside) = (root.join("dir"), root.join("aside"));
    if std::fs::rename(&folder, &aside).is_err() {
        return;
    }
    let _ = symlink(outside, &folder);
    std::thread::yield_now();
    let _ = std::fs::remove_file(&folder);
    if std::fs::rename(&aside, &folder).is_err() {
        // Somebody has made another one meanwhile.
        let _ = std::fs::remove_dir_all(&aside);
    }
}

/// F11; a disk that is really full: `full_disk.rs` of `app`.
#[tokio::test]
async fn what_cannot_be_written_leaves_the_old_object_whole() {
    let store = Store::in_folder(json!({ "max_object_bytes": 100 }));
    store.save("a.txt", "old").await;
    let error = store.fails("save", json!({ "key": "a.txt", "content": "x".repeat(101) })).await;
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("max_object_bytes"), "{error}");
    assert_eq!(store.load("a.txt").await, "old");
    let nowhere = Store::open(json!({ "root": "/dev/null/objects" }));
    let error = nowhere.fails("save", json!({ "key": "a.txt", "content": "x" })).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    let left = std::fs::read_dir(store.root().join(".mcp-all-in-one/new")).unwrap().count();
    assert_eq!(left, 0, "a file is left half written");
}

/// Other users of the machine see nothing.
#[tokio::test]
async fn files_and_folders_are_private() {
    let store = Store::in_folder(json!({}));
    store.save("a/b.txt", "x").await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let root = store.root();
    for (path, expected) in [
        (root.clone(), 0o700),
        (root.join("a"), 0o700),
        (root.join("a/b.txt"), 0o600),
        (root.join(".mcp-all-in-one"), 0o700),
    ] {
        assert_eq!(mode(&path), expected, "{path:?}");
    }
}

#[tokio::test]
async fn an_object_and_a_folder_of_one_name_do_not_mix() {
    let store = Store::in_folder(json!({}));
    store.save("a/b", "x").await;
    for (key, word) in [("a", "folder"), ("a/b/c", "nothing can lie")] {
        let error = store.fails("save", json!({ "key": key, "content": "x" })).await;
        assert!(
            error.kind() == ErrorKind::InvalidInput && error.message().contains(word),
            "{key}: {error:?}"
        );
    }
    assert_eq!(store.fails("load", json!({ "key": "a" })).await.kind(), ErrorKind::Missing);
    let pipe = std::process::Command::new("mkfifo").arg(store.root().join("pipe")).status().unwrap();
    assert!(pipe.success());
    assert_eq!(
        store.fails("load", json!({ "key": "pipe" })).await.kind(),
        ErrorKind::Missing,
        "a pipe is no object"
    );
}

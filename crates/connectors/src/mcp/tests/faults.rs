//! Servers that break the rules: each error is clear, the rest keeps working, memory stays bounded.

use super::*;

#[tokio::test]
async fn skips_what_is_no_message_on_stdout() {
    let service = stdio(&["--noise"]);
    assert_eq!(text(&*service, "echo", json!({ "text": "heard" })).await, "heard");
}

#[tokio::test]
async fn names_the_command_that_is_not_there() {
    let service = open(json!({ "command": "no-such-command-here" })).unwrap();
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    assert!(error.message().contains("'no-such-command-here' was not found"), "{error}");
    let service = open(json!({ "command": "sh", "cwd": "/no/such/folder" })).unwrap();
    assert!(error_of(&*service, "echo", json!({})).await.message().contains("/no/such/folder"));
}

#[tokio::test]
async fn shows_the_last_words_of_a_process_that_crashes_and_backs_off() {
    let service = stdio_with(&["--crash"], json!({ "env": { "API_KEY": "", "OTHER": "key is missing" } }));
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    assert!(
        error.message().contains("exit status: 3") && error.message().contains("fatal: the ***"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("key is missing"), "{error:?}");
    for _ in 0..2 {
        error_of(&*service, "echo", json!({})).await;
    }
    // By now the pause is longer than a caller waits for.
    let begin = Instant::now();
    let error = error_of(&*service, "echo", json!({})).await;
    assert!(begin.elapsed() < Duration::from_millis(100), "{:?}", begin.elapsed());
    assert!(error.message().contains("it will be tried again in"), "{error}");
    assert!(error.retry_after().is_some());
}

#[tokio::test]
async fn names_empty_variables_when_a_server_wants_a_key() {
    let script = "echo 'Error: API key is required' >&2; exit 1";
    let service =
        open(json!({ "command": "sh", "args": ["-c", script], "env": { "EXA_KEY": "", "B": "x" } })).unwrap();
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!(error.reason(), Some(Reason::CredentialsRejected));
    assert!(error.message().contains("variables in 'env' are empty: EXA_KEY"), "{error}");
}

#[tokio::test]
async fn gives_up_on_a_server_that_does_not_start_in_time() {
    let service = stdio_with(&["--start-ms", "20000"], json!({ "start_timeout": 300 }));
    let begin = Instant::now();
    let error = error_of(&*service, "echo", json!({})).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
    assert!(error.message().contains("within 300 ms") && begin.elapsed() < Duration::from_secs(3), "{error}");
}

#[tokio::test]
async fn ignores_answers_that_come_late_twice_or_to_nobody() {
    let service = stdio_with(&[], json!({ "timeout": 5_000 }));
    assert_eq!(text(&*service, "twice", json!({})).await, "first");
    let late = json!({ "ms": 300 });
    let error = call_within(&*service, "late", late, Duration::from_millis(100)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(text(&*service, "echo", json!({ "text": "fine" })).await, "fine");
}

#[tokio::test]
async fn a_server_that_never_answers_ends_with_the_services_timeout() {
    let service = stdio_with(&[], json!({ "timeout": 300 }));
    let (never, other) = tokio::join!(
        call(&*service, "never", json!({})),
        text(&*service, "echo", json!({ "text": "meanwhile" }))
    );
    assert_eq!(never.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(other, "meanwhile");
}

#[tokio::test]
async fn refuses_a_line_without_end_and_starts_anew() {
    let service = stdio(&[]);
    let pid = text(&*service, "pid", json!({})).await;
    let error = error_of(&*service, "huge", json!({ "n": 100 })).await;
    assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
    assert!(error.message().contains("longer than 67108864 bytes"), "{error}");
    assert!(is_true_soon(|| !is_running(&pid)).await);
    assert_eq!(text(&*service, "echo", json!({ "text": "back" })).await, "back");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 400 * 1024, "the peak was {kib} KiB");
}

#[tokio::test]
async fn survives_depth_bombs_and_storms() {
    let service = stdio(&[]);
    let pid = text(&*service, "pid", json!({})).await;
    let (error, other) = tokio::join!(
        error_of(&*service, "deep", json!({})),
        text(&*service, "echo", json!({ "text": "meanwhile" }))
    );
    assert_eq!((error.kind(), other.as_str()), (ErrorKind::Upstream, "meanwhile"));
    assert!(error.message().contains("nested more than 256 levels deep"), "{error}");
    assert_eq!(text(&*service, "pid", json!({})).await, pid, "the connection goes on");
    assert_eq!(text(&*service, "storm", json!({ "n": 200_000 })).await, "after the storm");
}

#[tokio::test]
async fn takes_ten_thousand_tools_and_no_more() {
    let cx = context(Duration::from_secs(20));
    let service = stdio(&["--tools", "10000"]);
    assert_eq!(service.tools(&cx).await.unwrap().len(), 10_000);
    assert_eq!(text(&*service, "tool_09999", json!({})).await, "tool_09999");
    assert_eq!(stdio(&["--tools", "10001"]).tools(&cx).await.unwrap().len(), 10_000);
    assert_eq!(stdio(&["--loop"]).tools(&cx).await.unwrap().len(), 1);
}

#[tokio::test]
async fn five_hundred_calls_at_once_each_get_their_own_answer() {
    let service = stdio(&[]);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..500 {
        let service = service.clone();
        let (tool, ms) = if number % 2 == 0 { ("slow", 100) } else { ("echo", 0) };
        let said = format!("{number}-{}", "x".repeat(2_000));
        calls.spawn(async move {
            assert_eq!(text(&*service, tool, json!({ "ms": ms, "text": said })).await, said);
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_up_nobody_for_ever() {
    let script = r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'; sleep 60"#;
    let service = open(json!({ "command": "sh", "args": ["-c", script], "timeout": 300 })).unwrap();
    let big = "x".repeat(200_000);
    let begin = Instant::now();
    for _ in 0..3 {
        let error = error_of(&*service, "echo", json!({ "text": big })).await;
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    }
    assert!(begin.elapsed() < Duration::from_secs(3));
}

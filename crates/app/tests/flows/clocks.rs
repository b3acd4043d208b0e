//! Replicas whose clocks are wrong: leases and timers go by the database's. On SQLite there is nothing to test, as the
//! processes on one file are on one machine, and its clock is the database's.

use crate::crashes::BINARY;
use crate::world::{PATIENCE, publish, shop, start, until};
use chrono::{DateTime, Utc};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use testkit::process::{self, Server, sheltered};
use testkit::{Backend, Database, eventually, http};

/// Tells programs that are started with it another time of day.
const SHIFT: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, at);
    const char *shift = getenv("CLOCK_SHIFT");
    if (done == 0 && id == CLOCK_REALTIME && shift) at->tv_sec += atol(shift);
    return done;
}
"#;

fn compiled(folder: &tempfile::TempDir) -> PathBuf {
    let (source, library) = (folder.path().join("shift.c"), folder.path().join("shift.so"));
    std::fs::write(&source, SHIFT).unwrap();
    let made =
        sheltered("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
    assert!(made.unwrap().success(), "cc makes no library");
    library
}

fn serve_shifted(database: &Database, name: &str, library: &PathBuf, seconds: i64) -> Server {
    let mut command = process::serve(BINARY, database, &database.replica_data_dir(name));
    command.arg("--allow-private-network");
    command.env("LD_PRELOAD", library).env("CLOCK_SHIFT", seconds.to_string());
    Server::start(command)
}

/// FL-13, FL-21: a replica whose clock is an hour off takes nobody's run, keeps its own, and wakes runs when it is time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_an_hour_off_moves_neither_leases_nor_timers() {
    let (upstream, folder) = (http::Server::start().await, tempfile::tempdir().unwrap());
    let (library, database) = (compiled(&folder), Database::create(Backend::Postgres).await);
    let right = crate::crashes::serve(&database, None);
    let (admin, key) = (right.admin(), right.admin_key().unwrap().to_owned());
    admin.post("services", shop(&upstream)).await.is(201);
    publish(
        &admin,
        &database,
        "slow",
        "inputs: {ms: int}\nnodes: {s: {exec: 'api://shop/slow', args: {ms: '${ms}'}}}",
    )
    .await;
    publish(
        &admin,
        &database,
        "later",
        "nodes: {w: {wait: 3s, next: e}, e: {wait: {until: \"offset(now(), '+1s')\"}}}",
    )
    .await;
    for (name, seconds) in [("early", 3600), ("late", -3600)] {
        let wrong = serve_shifted(&database, name, &library, seconds);
        let there = wrong.client(&key);
        let told = there.get("/healthz").await.is(200).header("date").unwrap().to_owned();
        let off = DateTime::parse_from_rfc2822(&told).unwrap().to_utc() - Utc::now();
        assert!((off.num_seconds() - seconds).abs() < 60, "the clock is right: {told}");
        // Longer than a claim lasts unless it is renewed, on either side.
        let ms = 20_000 + u64::from(seconds > 0);
        let runs = [
            start(&admin, "slow", json!({ "ms": ms })).await,
            start(&there, "slow", json!({ "ms": ms })).await,
        ];
        let begun = Instant::now();
        let timers = [start(&admin, "later", json!({})).await, start(&there, "later", json!({})).await];
        for timer in &timers {
            until(&admin, timer, &["succeeded"]).await;
        }
        let took = begun.elapsed();
        assert!((Duration::from_secs(4)..Duration::from_secs(14)).contains(&took), "{took:?}");
        for run in &runs {
            until(&there, run, &["succeeded"]).await;
        }
        let path = format!("/slow/{ms}");
        let calls = upstream.requests().iter().filter(|request| request.path == path).count();
        assert_eq!(calls, 2, "nobody takes a run that is somebody's");
    }
}

/// FL-13: a pause of ten minutes between two attempts is as long after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_pause_outlives_a_restart() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
        let mut server = crate::crashes::serve(&database, None);
        let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
        admin.post("services", shop(&upstream)).await.is(201);
        let text = "nodes: {l: {exec: 'api://shop/lost', retry: {attempts: 2, delay: 10m, max_delay: 10m, on: any}}}";
        publish(&admin, &database, "patient", text).await;
        let run = start(&admin, "patient", json!({})).await;
        let before = until(&admin, &run, &["waiting"]).await["waiting_for"][0]["until"].clone();
        let left = DateTime::parse_from_rfc3339(before.as_str().unwrap()).unwrap().to_utc() - Utc::now();
        assert!((540..=610).contains(&left.num_seconds()), "{before}");
        server.kill();
        let server = crate::crashes::serve(&database, None);
        let admin = server.client(&key);
        eventually("it waits as before", PATIENCE, async || {
            let view = admin.get(&format!("runs/{run}")).await.is(200).body;
            view["state"] == "waiting" && view["waiting_for"][0]["until"] == before
        })
        .await;
        assert_eq!(upstream.requests().len(), 1, "the second attempt is not early");
    }
}

//! What a statement calls: found in the text as the server reads it, and judged by the server's own catalog.

use super::support::{Engine, Place, Service};
use serde_json::json;
use tool::ErrorKind;

async fn assert_refused(service: &Service, sql: &str) {
    let error = service.query(sql).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{sql}: {error:?}");
    assert!(error.service_code().is_none(), "the walls refuse it, not the server: {sql}: {error:?}");
}

/// Where a text ends is what the server says, whatever a role has set. DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_texts_as_postgresql_does() {
    let place = Place::make(Engine::Postgres).await;
    let name = place.name();
    place.administer(&format!("ALTER ROLE {name} SET standard_conforming_strings = off")).await;
    let service = place.open(json!({ "pool_size": 1 }));
    for _ in 0..2 {
        let answer = service.query(r"SELECT 'a\' AS x, 'b' AS y").await.unwrap();
        assert_eq!(answer["rows"], json!([{ "x": "a\\", "y": "b" }]));
    }
    for sql in [
        "SELECT E'a'\n'\\'' AS x, pg_try_advisory_lock(9) AS b --'",
        "SELECT E'a' -- c\n'\\'' AS x, pg_try_advisory_lock(9) AS b --'",
        "SELECT 'a'\n'b'",
        "SELECT 1 -- \r, pg_try_advisory_lock(9)",
        "SELECT 1e'\\'', pg_try_advisory_lock(9) --'",
        "SELECT 1$$ x $$, pg_try_advisory_lock(9), $$ y $$",
        "SELECT 1 \0",
    ] {
        assert_refused(&service, sql).await;
    }
    assert_eq!(place.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").await, 0);
}

/// A list of names always lacks one; the catalog has them all. DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_functions_that_may_do_more_than_read() {
    let place = Place::make(Engine::Postgres).await;
    place
        .run(
            "CREATE TABLE t (id int PRIMARY KEY, words tsvector); INSERT INTO t VALUES (1, 'a b'); \
             CREATE INDEX words ON t USING gin (words); CREATE INDEX ids ON t USING brin (id); \
             CREATE FUNCTION quick(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1 + 1'; \
             CREATE FUNCTION volatile_one(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'; \
             CREATE FUNCTION of_row(t) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'; \
             CREATE SCHEMA other; CREATE FUNCTION other.hidden() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
        )
        .await;
    place.administer("CREATE EXTENSION IF NOT EXISTS tablefunc; CREATE EXTENSION IF NOT EXISTS citext").await;
    let service = place.open(json!({ "pool_size": 1 }));
    for sql in [
        "SELECT * FROM ts_stat('SELECT words FROM t')",
        "SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')",
        "SELECT * FROM crosstab('SELECT 1, 2, 3') AS c(a int, b int)",
        "SELECT * FROM connectby('t', 'id', 'id', '1', 0) AS c(a text, b text, c int)",
        "SELECT brin_summarize_new_values('ids')",
        "SELECT brin_desummarize_range('ids', 0)",
        "SELECT gin_clean_pending_list('words')",
        "SELECT pg_logical_emit_message(false, 'a', 'b')",
        "SELECT setseed(0.5)",
        "SELECT \"setseed\" /* x */\n(0.5)",
        "SELECT pg_catalog.setseed(0.5)",
        "SELECT pg_stat_clear_snapshot()",
        "SELECT volatile_one(1)",
        "SELECT VOLATILE_ONE(1)",
        "SELECT other.hidden()",
        "SELECT t.of_row FROM t",
        "SELECT (t).of_row FROM t",
        "SELECT * FROM t WHERE id IN (SELECT volatile_one(1))",
    ] {
        assert_refused(&service, sql).await;
    }
    for sql in [
        "SELECT count(*), max(id), coalesce(sum(id), 0) FROM t",
        "SELECT quick(1), random() < 2, clock_timestamp() > now(), gen_random_uuid()",
        "SELECT CAST(id AS numeric(10, 2)), id::varchar(9), date_trunc('day', now()) FROM t",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT * FROM n",
        "SELECT * FROM generate_series(1, 3) AS g(x) WHERE x IN (1, 2) AND EXISTS (SELECT 1)",
        "SELECT row_number() OVER (PARTITION BY t.id ORDER BY t.id) FROM t TABLESAMPLE bernoulli (50)",
        "SELECT 'A'::citext = 'a'::citext, regexp_matches('a'::citext, 'a'::citext)",
        "SELECT pg_relation_size('t'), to_jsonb(t), json_build_object('a', 1) FROM t",
    ] {
        service.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

/// Who could become more is more. DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gives_no_sql_to_members_of_mighty_roles() {
    for (grant, has_sql) in [
        ("GRANT pg_read_server_files TO $", false),
        ("CREATE ROLE $_boss SUPERUSER; GRANT $_boss TO $", false),
        ("CREATE ROLE $_boss SUPERUSER; GRANT $_boss TO $; ALTER ROLE $ NOINHERIT", false),
        ("CREATE ROLE $_mid; GRANT pg_execute_server_program TO $_mid; GRANT $_mid TO $", false),
        ("ALTER ROLE $ BYPASSRLS", true),
    ] {
        let place = Place::make(Engine::Postgres).await;
        place.administer(&grant.replace('$', place.name())).await;
        let service = place.open(json!({ "read_only": false, "operations": ["execute"] }));
        let names = service.names().await;
        let found = ["query", "execute"].map(|tool| names.iter().any(|name| name == tool));
        assert_eq!(found, [has_sql; 2], "{grant}: {names:?}");
        for role in ["boss", "mid"] {
            place.administer(&format!("DROP ROLE IF EXISTS {}_{role}", place.name())).await;
        }
    }
}

/// DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gives_no_sql_to_those_whose_role_reads_files() {
    let place = Place::make(Engine::Mariadb).await;
    let (name, role) = (place.name(), format!("r{}", &place.name()[20..]));
    assert!(place.open(json!({})).names().await.contains(&"query".to_owned()));
    for sql in [
        format!("CREATE ROLE {role}"),
        format!("GRANT FILE ON *.* TO {role}"),
        format!("GRANT {role} TO '{name}'@'127.0.0.1'"),
        format!("SET DEFAULT ROLE {role} FOR '{name}'@'127.0.0.1'"),
    ] {
        place.administer(&sql).await;
    }
    let names = place.open(json!({})).names().await;
    place.administer(&format!("DROP ROLE {role}")).await;
    assert!(!names.contains(&"query".to_owned()), "{names:?}");
}

/// The server's own mode changes what a text and a name is. DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_texts_as_mariadb_does() {
    let place = Place::make(Engine::Mariadb).await;
    // On the way in, so that no other test meets it.
    let service = place.open(json!({}));
    let answer = service.query("SELECT @@sql_mode AS mode, \"a\" AS x, 'it\\'s' AS y").await.unwrap();
    let mode = answer["rows"][0]["mode"].as_str().unwrap();
    assert!(!mode.contains("ANSI") && !mode.contains("BACKSLASH"), "{mode}");
    assert_eq!(mode, "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION");
    assert_eq!((&answer["rows"][0]["x"], &answer["rows"][0]["y"]), (&json!("a"), &json!("it's")));
}

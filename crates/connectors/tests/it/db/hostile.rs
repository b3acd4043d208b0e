//! Known ways to write through a door that only reads: all are refused or without effect.

use super::hostile_statements::hostile;
use super::support::{Engine, Place, Service};
use crate::on_every_engine;
use serde_json::json;

on_every_engine! {
    stays_read_only_against_hostile_statements
    leaves_nothing_in_the_session
}

async fn prepare(place: &Place) {
    place.run("CREATE TABLE accounts (id INTEGER PRIMARY KEY, amount INTEGER)").await;
    place.run("INSERT INTO accounts VALUES (1, 100), (2, 200)").await;
    match place.engine {
        Engine::Sqlite => {}
        Engine::Postgres => {
            place
                .run(
                    "CREATE SEQUENCE numbers; CREATE TABLE written (id serial); \
                     CREATE FUNCTION writes() RETURNS int LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS \
                     $$ BEGIN INSERT INTO written DEFAULT VALUES; RETURN 1; END $$; \
                     CREATE PROCEDURE writing_procedure() LANGUAGE sql AS 'DELETE FROM accounts'; \
                     CREATE VIEW writing_view AS SELECT writes() AS x",
                )
                .await;
        }
        Engine::Mariadb => {
            place.run("CREATE SEQUENCE numbers").await;
            place.run("CREATE PROCEDURE writing_procedure() DELETE FROM accounts").await;
            place.administer("SET GLOBAL log_bin_trust_function_creators = 1").await;
            place
                .run("CREATE FUNCTION writes() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM accounts; RETURN 1; END")
                .await;
        }
    }
}

/// Numbers that change with everything the statements try.
async fn state(place: &Place) -> Vec<i64> {
    let mut questions = vec!["SELECT count(*) FROM accounts"];
    questions.push(match place.engine {
        Engine::Sqlite => "SELECT sum(amount) FROM accounts",
        Engine::Postgres => "SELECT sum(amount)::bigint FROM accounts",
        Engine::Mariadb => "SELECT CAST(sum(amount) AS SIGNED) FROM accounts",
    });
    questions.extend(match place.engine {
        Engine::Sqlite => &[
            "SELECT count(*) FROM sqlite_schema",
            "PRAGMA user_version",
            "SELECT count(*) FROM pragma_table_info('accounts')",
        ][..],
        Engine::Postgres => &[
            "SELECT count(*) FROM written",
            "SELECT last_value + is_called::int FROM numbers",
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
            "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
            "SELECT count(*) FROM pg_attribute WHERE attrelid = 'accounts'::regclass",
            "SELECT count(*) FROM pg_largeobject_metadata",
            "SELECT count(*) FROM pg_extension",
            "SELECT count(*) FROM pg_roles WHERE rolname = 'intruder'",
            "SELECT count(*) FROM pg_replication_slots",
            "SELECT count(*) FROM pg_description WHERE objoid = 'accounts'::regclass",
        ],
        Engine::Mariadb => &[
            "SELECT next_not_cached_value FROM numbers",
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()",
            "SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE()",
            "SELECT count(*) FROM information_schema.statistics WHERE table_schema = DATABASE()",
            "SELECT count(*) FROM information_schema.events WHERE event_schema = DATABASE()",
            "SELECT count(*) FROM mysql.user WHERE user = 'intruder'",
            "SELECT CAST(@@GLOBAL.max_connections AS SIGNED)",
        ],
    });
    let mut state = Vec::new();
    for question in questions {
        state.push(place.number(question).await);
    }
    state.push(i64::from(std::path::Path::new("/tmp/mcp-hostile").exists()));
    state
}

/// DB-2
async fn stays_read_only_against_hostile_statements(place: Place) {
    prepare(&place).await;
    let statements = hostile(place.engine);
    assert!(statements.len() >= 60);
    // Where one statement's traces would be met by the next.
    let service = place.open(json!({ "pool_size": 1 }));
    let writing = place.open(json!({ "pool_size": 1, "read_only": false, "operations": ["modify"] }));
    let before = state(&place).await;
    for sql in statements {
        for service in [&service, &writing] {
            let outcome = service.query(sql).await;
            assert_eq!(state(&place).await, before, "{sql}: {outcome:?}");
        }
    }
    for service in [&service, &writing] {
        assert_clean(service, place.engine).await;
    }
    assert_eq!(state(&place).await, before);
}

async fn assert_clean(service: &Service, engine: Engine) {
    let questions: &[(&str, serde_json::Value)] = match engine {
        Engine::Sqlite => {
            &[("SELECT count(*) AS v FROM pragma_table_list WHERE schema NOT IN ('main', 'temp')", json!(0))]
        }
        Engine::Postgres => &[
            ("SELECT current_setting('transaction_read_only') AS v", json!("on")),
            ("SELECT current_setting('default_transaction_read_only') AS v", json!("on")),
            ("SELECT count(*) AS v FROM pg_locks WHERE locktype = 'advisory'", json!(0)),
            ("SELECT count(*) AS v FROM pg_prepared_statements WHERE name NOT LIKE 'sqlx%'", json!(0)),
            ("SELECT count(*) AS v FROM pg_listening_channels()", json!(0)),
            ("SELECT current_user = session_user AS v", json!(true)),
        ],
        Engine::Mariadb => &[
            ("SELECT @@session.tx_read_only AS v", json!(1)),
            ("SELECT @x IS NULL AS v", json!(1)),
            ("SELECT IS_USED_LOCK('lock') IS NULL AS v", json!(1)),
        ],
    };
    for (sql, expected) in questions {
        let answer = service.query(sql).await.unwrap();
        assert_eq!(answer["rows"][0]["v"], *expected, "{sql}");
    }
}

/// The walls in text are not all there is: what gets past them meets the engine's own. DB-2
async fn leaves_nothing_in_the_session(place: Place) {
    prepare(&place).await;
    let service = place.open(json!({ "pool_size": 1 }));
    let before = state(&place).await;
    let past_the_text: &[&str] = match place.engine {
        Engine::Sqlite => &["WITH x AS (SELECT 1) DELETE FROM accounts"],
        Engine::Postgres => &[
            "SELECT * FROM writing_view",
            "WITH x AS (DELETE FROM accounts RETURNING *) SELECT * FROM x",
            "EXPLAIN ANALYZE WITH x AS (DELETE FROM accounts RETURNING *) SELECT * FROM x",
            "SELECT * INTO stolen FROM accounts",
            "SELECT * FROM accounts FOR UPDATE",
        ],
        Engine::Mariadb => &["SELECT writes()", "WITH x AS (SELECT 1) DELETE FROM accounts"],
    };
    for sql in past_the_text {
        let error = service.query(sql).await.unwrap_err();
        assert!(error.service_code().is_some(), "the engine itself refuses {sql}: {error:?}");
    }
    assert_eq!(state(&place).await, before);
    assert_clean(&service, place.engine).await;
}

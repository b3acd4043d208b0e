//! Ways to make PostgreSQL call a function that a statement does not seem to call.

use super::support::{Engine, Place};
use serde_json::json;
use tool::ErrorKind;

/// Volatile functions and all that calls them without their names.
const HOSTILE_OBJECTS: &str = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, amount INTEGER, note TEXT); \
     INSERT INTO accounts VALUES (1, 100, 'a'), (2, 200, 'b'); \
     CREATE FUNCTION moves(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_lock(77); RETURN $1; END'; \
     CREATE FUNCTION moves_int(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_lock(77); RETURN $1; END'; \
     CREATE FUNCTION moves_two(int, int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_lock(77); RETURN true; END'; \
     CREATE FUNCTION moves_more(text, wait int DEFAULT 0) RETURNS text LANGUAGE sql AS 'SELECT moves($1)'; \
     CREATE FUNCTION moves_row(accounts) RETURNS text LANGUAGE sql AS 'SELECT moves($1.note)'; \
     CREATE FUNCTION moves_any(anyelement) RETURNS text LANGUAGE sql AS 'SELECT moves(''a'')'; \
     CREATE FUNCTION moves_with_a_name_that_is_exactly_sixty_three_characters_long12(text) RETURNS text \
     LANGUAGE sql AS 'SELECT moves($1)'; \
     CREATE FUNCTION seems_stable(text DEFAULT moves('a')) RETURNS text LANGUAGE sql STABLE AS 'SELECT $1'; \
     CREATE FUNCTION adds(int, int) RETURNS int LANGUAGE sql AS 'SELECT moves_int($1 + $2)'; \
     CREATE AGGREGATE moving_sum(int) (SFUNC = adds, STYPE = int, INITCOND = '0'); \
     CREATE OPERATOR !!! (FUNCTION = moves, RIGHTARG = text); \
     CREATE OPERATOR <#< (FUNCTION = moves_two, LEFTARG = int, RIGHTARG = int); \
     CREATE FUNCTION is_mail(text) RETURNS boolean LANGUAGE sql AS 'SELECT moves($1) IS NOT NULL'; \
     CREATE DOMAIN mail AS text CHECK (is_mail(VALUE)); CREATE DOMAIN work_mail AS mail; \
     CREATE DOMAIN checked AS int CHECK (VALUE <#< 1); \
     CREATE TYPE contact AS (name text, address mail); CREATE TABLE people (id int, address mail); \
     CREATE FUNCTION takes_mail(mail) RETURNS text LANGUAGE sql STABLE AS 'SELECT $1::text'; \
     CREATE TYPE celsius AS (degrees int); \
     CREATE FUNCTION to_int(celsius) RETURNS int LANGUAGE sql AS 'SELECT moves_int($1.degrees)'; \
     CREATE CAST (celsius AS int) WITH FUNCTION to_int(celsius)";

const HOSTILE: &[&str] = &[
    "SELECT ('a'::text).moves",
    "SELECT ('a'::text) . /* here */ \"moves\"",
    "SELECT ('a'::text).MOVES",
    "SELECT a.note.moves FROM accounts a",
    "SELECT (a.note).moves FROM accounts a",
    "SELECT (note).moves FROM accounts",
    "SELECT (id).moves_int FROM accounts",
    "SELECT ('a'::text).moves_more",
    "SELECT (pid).pg_terminate_backend FROM pg_stat_activity",
    "SELECT ('/etc/hostname'::text).pg_read_file",
    "SELECT a.moves_row FROM accounts a",
    "SELECT (a).moves_row FROM accounts a",
    "SELECT accounts.moves_row FROM accounts",
    "SELECT public.accounts.moves_row FROM public.accounts",
    "SELECT (ROW(1, 2, 'a')::accounts).moves_row",
    "SELECT a.moves_any FROM accounts a",
    "SELECT (1).moves_any",
    "SELECT ((SELECT 'a'::text)).moves",
    "SELECT (ARRAY['a'::text])[1].moves",
    "SELECT ((ARRAY['a'::text])[1]).moves",
    "SELECT (:value::text).moves",
    "SELECT coalesce(('a'::text).moves, 'b')",
    "SELECT a.U&\"moves_row\" FROM accounts a",
    "SELECT a.U&\"\\006Doves_row\" FROM accounts a",
    "SELECT (VARIADIC ARRAY['a']).moves",
    "VALUES (('a'::text).moves)",
    "WITH x AS (SELECT 'a'::text AS t) SELECT x.t.moves, (x.t).moves FROM x",
    "EXPLAIN ANALYZE SELECT ('a'::text).moves",
    "SELECT TREAT('a'::text AS moves)",
    "SELECT TREAT(pid AS pg_terminate_backend) FROM pg_stat_activity",
    "SELECT treat /* here */ ('/etc/hostname'::text AS pg_read_file)",
    "SELECT 1.moves",
    "SELECT moves_with_a_name_that_is_exactly_sixty_three_characters_long12345('a')",
    "SELECT seems_stable()",
    "SELECT moving_sum(id) FROM accounts",
    "SELECT moving_sum(id) OVER (ORDER BY id) FROM accounts",
    "SELECT moving_sum(DISTINCT id) FILTER (WHERE true) FROM accounts",
    "SELECT !!! 'a'",
    "SELECT !!!'a'::text",
    "SELECT 1 + length(!!! note) FROM accounts",
    "SELECT OPERATOR(public.!!!) 'a'::text",
    "SELECT OPERATOR(\"public\" . !!!) 'a'::text",
    "SELECT 1<#<2",
    "SELECT 1<#<-2",
    "SELECT 1 <#< ANY (ARRAY[1, 2])",
    "SELECT id FROM accounts ORDER BY id USING <#<",
    "SELECT 'a'::mail",
    "SELECT note::mail FROM accounts",
    "SELECT note::public.\"mail\" FROM accounts",
    "SELECT CAST(note AS mail) FROM accounts",
    "SELECT mail 'a'",
    "SELECT mail(note) FROM accounts",
    "SELECT (note).mail FROM accounts",
    "SELECT '{a}'::mail[]",
    "SELECT '{a}'::_mail",
    "SELECT 'a'::work_mail",
    "SELECT CAST('(a,b)' AS contact)",
    "SELECT contact '(a,b)'",
    "SELECT jsonb_populate_record(NULL::contact, '{\"address\": \"b\"}')",
    "SELECT jsonb_populate_record(p, '{\"address\": \"b\"}') FROM people p",
    "SELECT '(1,b)'::people",
    "SELECT * FROM json_to_record('{\"m\": \"a\"}') AS r(m mail)",
    "SELECT takes_mail('a')",
    "SELECT 3::checked",
    "SELECT ROW(1)::celsius::int",
    "SELECT CAST(ROW(1)::celsius AS integer)",
    "SELECT * FROM moves('a')",
    "SELECT * FROM accounts a, LATERAL moves(a.note)",
    "SELECT * FROM ROWS FROM (moves('a'), generate_series(1, 2))",
    "SELECT DISTINCT ON (moves(note)) * FROM accounts",
    "SELECT count(*) FROM accounts GROUP BY moves(note)",
    "SELECT * FROM accounts TABLESAMPLE system (moves_int(1))",
    "SELECT * FROM accounts LIMIT moves_int(1)",
    "SELECT * FROM XMLTABLE('/a' PASSING moves('<a/>')::xml COLUMNS b text)",
    "SELECT * FROM XMLTABLE('/a' PASSING '<a>x</a>' COLUMNS b mail PATH '.')",
];

/// What looks like them and only reads.
const HARMLESS: &[&str] = &[
    "SELECT a.id, a.note, (a).note FROM accounts a WHERE a.note LIKE 'a%' AND a.id <> 3",
    "SELECT id, address FROM people",
    "SELECT p.address FROM people AS p ORDER BY p.address",
    "SELECT count(*) FROM accounts GROUP BY amount HAVING sum(amount) > 1.5e2",
    "SELECT upper(note) || '!' FROM accounts WHERE NOT id = -1",
    "SELECT random(), now(), 0x1F",
];

/// What a function is called by does not matter. DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_functions_that_are_called_by_other_means() {
    let place = Place::make(Engine::Postgres).await;
    place.run(HOSTILE_OBJECTS).await;
    let service = place.open(json!({ "pool_size": 1 }));
    for sql in HOSTILE {
        let mut arguments = json!({ "sql": sql });
        if sql.contains(":value") {
            arguments["params"] = json!({ "value": "a" });
        }
        let error = service.error("query", arguments).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{sql}: {error:?}");
        assert!(error.service_code().is_none(), "refused before the database runs {sql}: {error:?}");
    }
    for sql in HARMLESS {
        service.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

/// What can be used without a sign of it stops every statement, until its function is declared STABLE. DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_every_statement_where_functions_cannot_be_seen() {
    for (made, mended) in [
        (
            "CREATE TYPE mood AS (m text); CREATE FUNCTION same(mood, mood) RETURNS boolean LANGUAGE sql AS 'SELECT true'; \
             CREATE OPERATOR ~~ (FUNCTION = same, LEFTARG = mood, RIGHTARG = mood)",
            "ALTER FUNCTION same(mood, mood) STABLE",
        ),
        (
            "CREATE TYPE mood AS (m text); CREATE FUNCTION as_number(mood) RETURNS int LANGUAGE sql AS 'SELECT 1'; \
             CREATE CAST (mood AS int) WITH FUNCTION as_number(mood) AS IMPLICIT",
            "ALTER FUNCTION as_number(mood) STABLE",
        ),
        (
            // `to_jsonb` and `row_to_json` look for it, whatever the type.
            "CREATE TYPE mood AS (m text); CREATE FUNCTION as_json(mood) RETURNS json LANGUAGE sql AS 'SELECT to_json(1)'; \
             CREATE CAST (mood AS json) WITH FUNCTION as_json(mood)",
            "ALTER FUNCTION as_json(mood) STABLE",
        ),
    ] {
        let place = Place::make(Engine::Postgres).await;
        place.run(made).await;
        let service = place.open(json!({}));
        let error = service.query("SELECT 1 AS n").await.unwrap_err();
        assert!(error.message().contains("declare it STABLE"), "{error:?}");
        place.run(mended).await;
        service.query("SELECT 1 AS n").await.unwrap();
    }
}

/// Rights may grow after the tools were made. DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_no_sql_for_a_user_who_has_become_a_superuser() {
    let place = Place::make(Engine::Postgres).await;
    let service = place.open(json!({ "pool_size": 1, "tools": [{ "id": "one", "sql": "SELECT 1 AS n" }] }));
    service.query("SELECT 1 AS n").await.unwrap();
    place.administer(&format!("ALTER ROLE {} SUPERUSER", place.name())).await;
    let error = service.query("SELECT 1 AS n").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    assert!(error.message().contains("allow_superuser"), "{error:?}");
    // What the settings say is not the callers'.
    service.call("one", json!({})).await.unwrap();
}

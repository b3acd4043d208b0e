//! What a call of `db` costs over sqlx and serde_json, in one run: one row by its key, and a thousand rows.
//!
//! On a SQLite file, and on the servers at `MCP_TEST_POSTGRES_URL` and `MCP_TEST_MARIADB_URL` where they are set:
//! `scripts/postgres run scripts/servers run -- cargo bench -p connectors --bench db`.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops and says so")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use serde_json::{Map, Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, Row};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Call, Caller, Connector, Context, Door, Env, TenantId};

const ROWS: usize = 1000;
const ROUNDS: usize = 7;
const TAKES: usize = 300;
const LISTS: usize = 20;

#[tokio::main]
async fn main() {
    println!(
        "{:<12} {:<16} {:>10} {:>10} {:>7} {:>7}",
        "engine", "what", "sqlx µs", "db µs", "ratio", "target"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.db").display().to_string();
    let connection = sqlx::SqliteConnection::connect(&format!("sqlite://{file}?mode=rwc")).await.unwrap();
    compare(connection, "sqlite", &file, "?1", 1.3, 1.5).await;
    if let Ok(url) = std::env::var("MCP_TEST_POSTGRES_URL") {
        let connection = sqlx::PgConnection::connect(&url).await.unwrap();
        compare(connection, "postgresql", &url, "$1", 1.3, 1.5).await;
    }
    if let Ok(url) = std::env::var("MCP_TEST_MARIADB_URL") {
        let mut connection = sqlx::MySqlConnection::connect(&url).await.unwrap();
        connection.execute("CREATE DATABASE IF NOT EXISTS bench").await.unwrap();
        connection.execute("USE bench").await.unwrap();
        compare(connection, "mysql", &format!("{url}/bench"), "?", 1.3, 1.5).await;
    }
}

/// A connection that is used as bare as sqlx has it.
trait Bare: Connection + Send {
    async fn fill(&mut self, sql: &str);
    async fn rows(&mut self, sql: &'static str, id: Option<i32>) -> String;
}

macro_rules! bare {
    ($($connection:ty),*) => {
        $(impl Bare for $connection {
            async fn fill(&mut self, sql: &str) {
                self.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
            }

            async fn rows(&mut self, sql: &'static str, id: Option<i32>) -> String {
                let query = sqlx::query(sql);
                let query = match id {
                    Some(id) => query.bind(id),
                    None => query,
                };
                let rows = query.fetch_all(self).await.unwrap();
                let values: Vec<Value> = rows
                    .iter()
                    .map(|row| {
                        json!({
                            "id": row.get::<i32, _>(0), "customer": row.get::<String, _>(1),
                            "status": row.get::<Option<String>, _>(2), "total": row.get::<f64, _>(3),
                        })
                    })
                    .collect();
                serde_json::to_string(&values).unwrap()
            }
        })*
    };
}

bare!(sqlx::SqliteConnection, sqlx::PgConnection, sqlx::MySqlConnection);

async fn compare(
    mut connection: impl Bare,
    db_type: &str,
    url: &str,
    placeholder: &str,
    most_take: f64,
    most_list: f64,
) {
    connection.fill("DROP TABLE IF EXISTS bench_orders").await;
    let columns = "id INTEGER PRIMARY KEY, customer VARCHAR(40), status VARCHAR(20), total DOUBLE PRECISION";
    connection.fill(&format!("CREATE TABLE bench_orders ({columns})")).await;
    let rows: Vec<_> =
        (1..=ROWS).map(|id| format!("({id}, 'customer number {id}', 'open', {id}.25)")).collect();
    connection.fill(&format!("INSERT INTO bench_orders VALUES {}", rows.join(", "))).await;
    let settings = json!({
        "db_type": db_type, "connection_string": url, "tables": ["bench_orders"], "allow_private_network": true,
    });
    let service = connectors::find("db").unwrap().open(settings, &Env::default()).unwrap();
    let take = format!("SELECT id, customer, status, total FROM bench_orders WHERE id = {placeholder}");
    let take: &'static str = Box::leak(take.into_boxed_str());
    let list = "SELECT id, customer, status, total FROM bench_orders ORDER BY id LIMIT 1000";
    let (mut bare_takes, mut our_takes, mut bare_lists, mut our_lists) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        let begin = Instant::now();
        for id in 0..TAKES {
            connection.rows(take, Some(id as i32 + 1)).await;
        }
        let bare = begin.elapsed() / TAKES as u32;
        let begin = Instant::now();
        for id in 0..TAKES {
            call(&service, "bench_orders_take", json!({ "id": id + 1 })).await;
        }
        let ours = begin.elapsed() / TAKES as u32;
        let begin = Instant::now();
        for _ in 0..LISTS {
            connection.rows(list, None).await;
        }
        let bare_list = begin.elapsed() / LISTS as u32;
        let begin = Instant::now();
        for _ in 0..LISTS {
            call(&service, "bench_orders_list", json!({ "limit": ROWS, "orderBy": ["id"] })).await;
        }
        // The first round warms both up.
        if round > 0 {
            bare_takes.push(bare);
            our_takes.push(ours);
            bare_lists.push(bare_list);
            our_lists.push(begin.elapsed() / LISTS as u32);
        }
    }
    print(db_type, "take", median(bare_takes), median(our_takes), most_take);
    print(db_type, "list 1000 rows", median(bare_lists), median(our_lists), most_list);
    connection.fill("DROP TABLE bench_orders").await;
}

async fn call(service: &Arc<dyn Connector>, tool: &str, arguments: Value) {
    let cx = Context::new(
        TenantId::default_tenant(),
        Arc::new(Caller::local()),
        Door::Local,
        Duration::from_secs(60),
    );
    let Value::Object(arguments) = arguments else { unreachable!("arguments are objects") };
    let arguments: Map<String, Value> = arguments;
    let call = Call::new(tool, arguments.into());
    service.call(&cx, call).await.unwrap();
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn print(engine: &str, what: &str, bare: f64, ours: f64, most: f64) {
    let ratio = ours / bare;
    let verdict = if ratio <= most { "met" } else { "MISSED" };
    println!("{engine:<12} {what:<16} {bare:>10.1} {ours:>10.1} {ratio:>7.2} {most:>7.2} {verdict}");
}

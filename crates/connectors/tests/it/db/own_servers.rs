//! What can only be tried on a server of one's own: a failover to read-only.

use super::own_server::OwnServer;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{bind_and_call, call, context};
use tool::{Connector, Env, ErrorKind, Outcome};

fn open(settings: Value) -> Arc<dyn Connector> {
    connectors::find("db").unwrap().open(settings, &Env::default()).unwrap()
}

async fn run(service: &Arc<dyn Connector>, tool: &str, arguments: &Value) -> tool::Result<Value> {
    let arguments = arguments.as_object().unwrap().clone();
    match bind_and_call(&**service, &context(Duration::from_secs(30)), call(tool, arguments)).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("the call must be done, not {other:?}"),
    }
}

/// F24, DB-7: MariaDB becomes a replica that nobody may write to, and ends our sessions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_after_a_failover_of_mariadb_say_so() {
    let server = OwnServer::mariadb().await;
    let mut root =
        MySqlConnection::connect(&format!("{}/mysql?ssl-mode=REQUIRED", server.url)).await.unwrap();
    let mut administer = async |sql: &str| {
        root.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
    };
    administer("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(9))")
        .await;
    administer("INSERT INTO shop.orders VALUES (1, 'a')").await;
    administer("CREATE USER ann@'127.0.0.1' IDENTIFIED BY 's3cr3t'; GRANT ALL ON shop.* TO ann@'127.0.0.1'")
        .await;
    let host = server.url.rsplit_once('@').unwrap().1;
    let service = open(json!({
        "db_type": "mysql", "connection_string": format!("mysql://ann:s3cr3t@{host}/shop"), "allow_private_network": true,
        "read_only": false, "operations": ["modify", "take"],
    }));
    let write = json!({ "id": 1, "status": "b" });
    run(&service, "orders_modify", &write).await.unwrap();
    administer("SET GLOBAL read_only = 1; KILL USER ann@'127.0.0.1'").await;
    let error = run(&service, "orders_modify", &json!({ "id": 1, "status": "c" })).await.unwrap_err();
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("HY000")), "{error:?}");
    assert!(error.message().contains("read-only"), "{error}");
    assert_eq!(run(&service, "orders_take", &json!({ "id": 1 })).await.unwrap()["status"], "b");
    administer("SET GLOBAL read_only = 0").await;
    run(&service, "orders_modify", &json!({ "id": 1, "status": "c" })).await.unwrap();
}

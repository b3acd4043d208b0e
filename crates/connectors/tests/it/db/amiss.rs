//! What is said of a database that is not as its settings say, or that nobody has reached yet.

use super::support::{Engine, ORDERS, Place, Service};
use crate::on_every_engine;
use serde_json::json;
use std::time::Duration;
use testkit::conformance::context;
use testkit::http::dead_address;
use tool::{Env, ErrorKind};

on_every_engine! {
    says_which_tables_are_not_there
}

async fn says_which_tables_are_not_there(place: Place) {
    place.run(ORDERS).await;
    let cx = context(Duration::from_secs(20));
    for (settings, setting) in
        [(json!({ "table": "nopez" }), "'table'"), (json!({ "tables": ["orders", "nopez"] }), "'tables'")]
    {
        let service = place.open(settings);
        service.names().await;
        for why in
            [service.0.health(&cx).await.unwrap_err().message().to_owned(), service.0.trouble().unwrap()]
        {
            assert!(why.contains("no table 'nopez'") && why.contains(setting), "{why}");
        }
        assert!(service.0.absence("list").is_some_and(|why| why.contains("'nopez'")));
    }
    let service = place.open(json!({ "table": "nopez" }));
    assert!(service.0.health(&cx).await.is_err(), "also before anybody has asked for its tools");
    place.run("CREATE TABLE nopez (id INTEGER PRIMARY KEY)").await;
    service.0.health(&cx).await.unwrap();
    assert_eq!(service.0.trouble(), None, "it is looked at again");
    let service = place.open(json!({ "tables": ["no*", "orders"], "exclude": ["orders"] }));
    service.0.health(&cx).await.unwrap();
    let service = place.open(json!({ "table": "orders", "tenant_column": "owner" }));
    let error = service.0.health(&cx).await.unwrap_err();
    assert!(error.message().contains("'orders' has no column 'owner'"), "{error}");
}

/// A database that was never reached is left alone like any other.
#[tokio::test]
async fn a_database_that_was_never_reached_opens_the_breaker() {
    for (db_type, scheme) in [("postgresql", "postgres"), ("mysql", "mysql")] {
        let settings = json!({
            "db_type": db_type, "connection_string": format!("{scheme}://u:p@{}/d", dead_address().await),
            "allow_private_network": true, "retry": { "max_attempts": 1 },
            "circuit_breaker": { "failures": 3, "open_ms": 60_000 },
        });
        let service = Service(connectors::find("db").unwrap().open(settings, &Env::default()).unwrap());
        let cx = context(Duration::from_secs(20));
        for _ in 0..3 {
            assert!(service.0.left_alone().is_none() && service.0.trouble().is_none());
            assert_eq!(service.0.tools(&cx).await.unwrap_err().kind(), ErrorKind::Unavailable);
        }
        let told = service.0.left_alone().unwrap();
        assert!(told.kind() == ErrorKind::CircuitOpen && told.retry_after().is_some(), "{told:?}");
        assert!(service.0.trouble().unwrap().contains("left alone"));
        assert_eq!(service.error("query", json!({ "sql": "SELECT 1" })).await.kind(), ErrorKind::CircuitOpen);
    }
}

/// Who sees no `query` is told why.
#[tokio::test]
async fn says_that_superusers_send_no_sql() {
    let place = Place::make(Engine::Postgres).await;
    let service = place.open(json!({}));
    service.names().await;
    assert_eq!((service.0.notes(), service.0.absence("query")), (Vec::new(), None));
    place.administer(&format!("ALTER ROLE {} SUPERUSER", place.name())).await;
    let service = place.open(json!({}));
    service.0.health(&context(Duration::from_secs(20))).await.unwrap();
    let notes = service.0.notes();
    assert!(notes.len() == 1 && notes[0].contains("allow_superuser"), "{notes:?}");
    assert_eq!(service.0.absence("query").as_deref(), Some(notes[0].as_str()));
    let error = service.error("query", json!({ "sql": "SELECT 1" })).await;
    assert!(error.kind() == ErrorKind::NotFound && error.message().contains("allow_superuser"), "{error}");
    let service = place.open(json!({ "allow_superuser": true }));
    service.names().await;
    assert_eq!(service.0.notes(), Vec::<String>::new());
}

//! Services: settings and tools that come back as they went in.

use crate::backend::{Backend, acme, new_service, other, service_tool};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::{
    ErrorKind, NewService, OnceResults, PageRequest, Queues, ServiceChanges, ServiceFilter, ServiceTool,
};
use tool::queue::{LaterCall, NewMessage};
use tool::{KeyState, Once as _, Queue as _};

const TIMEOUT: Duration = Duration::from_secs(10);

on_both! {
    keeps_a_service_with_its_tools_in_order
    creates_all_or_nothing
    changes_only_what_is_given
    refuses_a_change_of_a_stale_version
    manages_tools_one_by_one
    finds_services_by_type_state_and_text
    keeps_json_of_any_shape
    shows_no_settings_in_debug
    what_a_service_kept_goes_with_it
}

/// Whoever makes a service of the same name later finds nothing of the first one.
async fn what_a_service_kept_goes_with_it(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let (queues, once) = (Queues::new(store.clone(), TIMEOUT), OnceResults::new(store.clone(), TIMEOUT));
    let body = to_raw_value(&json!({ "secret": 1 })).unwrap();
    let of = |id: &str| NewService { scheme: "mq".into(), ..new_service(id) };
    for id in ["orders", "orders2"] {
        store.services().create(&acme(), of(id)).await.unwrap();
        let (key, headers, delay) = Default::default();
        let message = NewMessage { id: "m".into(), body: body.clone(), key, headers, delay };
        queues.publish(&acme(), &format!("{id}/created"), message).await.unwrap();
        let scope = format!("mq/{id}/created");
        assert!(matches!(once.begin(&acme(), &scope, "k", "").await.unwrap(), KeyState::First));
        let (uri, id, delay) = (format!("mq://{id}/created"), format!("{scope}/m"), TIMEOUT);
        queues.call_later(&acme(), LaterCall { id, uri, arguments: body.clone(), delay }).await.unwrap();
    }
    // One of another type with the same id has no part in that.
    store.services().create(&acme(), new_service("orders2")).await.unwrap();
    store.services().delete(&acme(), "api", "orders2").await.unwrap();
    store.services().delete_with_queues(&acme(), "mq", "orders").await.unwrap();
    for (id, left) in [("orders", 0), ("orders2", 1)] {
        assert_eq!(queues.peek(&acme(), &format!("{id}/created"), 0, 9).await.unwrap().len(), left);
        let begun = once.begin(&acme(), &format!("mq/{id}/created"), "k", "").await.unwrap();
        assert_eq!(matches!(begun, KeyState::First), left == 0, "{begun:?}");
    }
    let mut raw = db.raw().await;
    for sql in ["SELECT COUNT(*) FROM later_calls", "SELECT calls FROM later_totals"] {
        let row = sqlx::query(sql).fetch_one(&mut raw).await.unwrap();
        assert_eq!(sqlx::Row::get::<i64, _>(&row, 0), 1, "{sql}");
    }
}

async fn keeps_a_service_with_its_tools_in_order(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let created = store.services().create(&acme(), new_service("crm")).await.unwrap();
    assert_eq!((created.version, created.is_enabled, created.scheme.as_str()), (1, true, "api"));
    assert_eq!(created.tools, [service_tool("zebra"), service_tool("ant")]);
    assert_eq!(created.config, new_service("crm").config);
    assert_eq!(store.services().get(&acme(), "api", "crm").await.unwrap(), created);
    assert_eq!(store.services().all(&acme()).await.unwrap(), [created]);
    let same_id = NewService { scheme: "grpc".into(), ..new_service("crm") };
    store.services().create(&acme(), same_id).await.unwrap();
    store.services().delete(&acme(), "api", "crm").await.unwrap();
    let error = store.services().get(&acme(), "api", "crm").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(store.services().all(&acme()).await.unwrap().len(), 1);
}

async fn creates_all_or_nothing(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let mut broken = new_service("crm");
    broken.tools.push(service_tool("ant"));
    let before = store.revisions().current().await.unwrap();
    let error = store.services().create(&acme(), broken).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("id")));
    assert!(store.services().all(&acme()).await.unwrap().is_empty());
    assert_eq!(store.revisions().current().await.unwrap(), before);
    store.services().create(&acme(), new_service("crm")).await.unwrap();
    let error = store.services().create(&acme(), new_service("crm")).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("id")));
}

async fn changes_only_what_is_given(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let services = store.services();
    let created = services.create(&acme(), new_service("crm")).await.unwrap();
    let changes = ServiceChanges { name: Some("New".into()), ..ServiceChanges::default() };
    let changed = services.update(&acme(), "api", "crm", changes, Some(1)).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.version), ("New", 2));
    assert_eq!(
        (&changed.config, &changed.tools, &changed.description),
        (&created.config, &created.tools, &created.description)
    );
    let changes = ServiceChanges {
        description: Some(None),
        config: Some(json!({ "b": 1, "a": 2 })),
        tools: Some(vec![service_tool("only")]),
        ..ServiceChanges::default()
    };
    let changed = services.update(&acme(), "api", "crm", changes, None).await.unwrap();
    assert_eq!((changed.description, changed.name.as_str()), (None, "New"));
    assert_eq!(changed.config.to_string(), r#"{"b":1,"a":2}"#);
    assert_eq!(changed.tools, [service_tool("only")]);
    let off = services.set_enabled(&acme(), "api", "crm", false).await.unwrap();
    assert!(!off.is_enabled && off.version == 4);
    assert_eq!(services.get(&acme(), "api", "crm").await.unwrap(), off);
}

async fn refuses_a_change_of_a_stale_version(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let services = store.services();
    services.create(&acme(), new_service("crm")).await.unwrap();
    services.set_enabled(&acme(), "api", "crm", false).await.unwrap();
    let change = || ServiceChanges { name: Some("x".into()), ..ServiceChanges::default() };
    let tool = service_tool("new");
    for error in [
        services.update(&acme(), "api", "crm", change(), Some(1)).await.unwrap_err(),
        services.create_tool(&acme(), "api", "crm", tool.clone(), Some(1)).await.unwrap_err(),
        services.update_tool(&acme(), "api", "crm", service_tool("ant"), Some(1)).await.unwrap_err(),
        services.delete_tool(&acme(), "api", "crm", "ant", Some(1)).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Stale);
    }
    let service = services.get(&acme(), "api", "crm").await.unwrap();
    assert_eq!((service.version, service.name.as_str(), service.tools.len()), (2, "Service crm", 2));
    let error = services.update(&acme(), "api", "none", change(), Some(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

async fn manages_tools_one_by_one(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let services = store.services();
    services.create(&acme(), new_service("crm")).await.unwrap();
    services.create_tool(&acme(), "api", "crm", service_tool("bee"), None).await.unwrap();
    let error = services.create_tool(&acme(), "api", "crm", service_tool("bee"), None).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("id")));
    let changed = ServiceTool { id: "zebra".into(), definition: json!({ "new": true }) };
    services.update_tool(&acme(), "api", "crm", changed.clone(), Some(2)).await.unwrap();
    services.delete_tool(&acme(), "api", "crm", "ant", None).await.unwrap();
    assert_eq!(
        services.list_tools(&acme(), "api", "crm").await.unwrap(),
        [changed.clone(), service_tool("bee")]
    );
    assert_eq!(services.get_tool(&acme(), "api", "crm", "zebra").await.unwrap(), changed);
    assert_eq!(services.get(&acme(), "api", "crm").await.unwrap().version, 4);
    for error in [
        services.get_tool(&acme(), "api", "crm", "ant").await.unwrap_err(),
        services.delete_tool(&acme(), "api", "crm", "ant", None).await.unwrap_err(),
        services.update_tool(&acme(), "api", "crm", service_tool("ant"), None).await.unwrap_err(),
        services.create_tool(&acme(), "api", "none", service_tool("ant"), None).await.unwrap_err(),
        services.list_tools(&acme(), "api", "none").await.unwrap_err(),
        services.get(&acme(), "api", "crm\0").await.unwrap_err(),
        services.delete(&acme(), "api\0", "crm").await.unwrap_err(),
        services.delete_tool(&acme(), "api", "crm", "a\0", None).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

async fn finds_services_by_type_state_and_text(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let services = store.services();
    for (scheme, id, name, on) in
        [("api", "one", "Ünit 100%", true), ("api", "two", "x_y", false), ("grpc", "three", "xzy", true)]
    {
        let new = NewService { scheme: scheme.into(), name: name.into(), is_enabled: on, ..new_service(id) };
        services.create(&acme(), new).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let text = |text: &str| ServiceFilter { text: Some(text.into()), ..ServiceFilter::default() };
    let scheme = ServiceFilter { scheme: Some("api".into()), ..ServiceFilter::default() };
    let on = ServiceFilter { is_enabled: Some(true), ..ServiceFilter::default() };
    let both = ServiceFilter { is_enabled: Some(true), scheme: Some("api".into()), text: Some("one".into()) };
    for (filter, expected) in [
        (ServiceFilter::default(), &["one", "two", "three"][..]),
        (scheme, &["one", "two"]),
        (on, &["one", "three"]),
        (both, &["one"]),
        (text("ünIT"), &["one"]),
        (text("100%"), &["one"]),
        (text("%"), &["one"]),
        (text("x_y"), &["two"]),
        (text("FOR TESTS"), &["one", "two", "three"]),
        (text("THREE"), &["three"]),
        (text("' OR 1=1 --"), &[]),
        (text("!"), &[]),
        (text("\0"), &[]),
    ] {
        let page = services.list(&acme(), &filter, PageRequest::default()).await.unwrap();
        let ids: Vec<_> = page.items.iter().map(|service| service.id.as_str()).collect();
        assert_eq!((ids.as_slice(), page.total), (expected, expected.len() as i64), "{filter:?}");
        assert!(page.items.iter().all(|service| service.tools.len() == 2));
    }
    let page =
        services.list(&acme(), &ServiceFilter::default(), PageRequest { page: 2, limit: 2 }).await.unwrap();
    assert_eq!((page.items.len(), page.items[0].id.as_str(), page.total), (1, "three", 3));
    assert_eq!(page.items[0].tools, [service_tool("zebra"), service_tool("ant")]);
    let renamed = ServiceChanges { name: Some("Fresh".into()), ..ServiceChanges::default() };
    services.update(&acme(), "api", "two", renamed, None).await.unwrap();
    let found = |filter| async move {
        store.services().list(&acme(), &filter, PageRequest::default()).await.unwrap().total
    };
    assert_eq!((found.clone()(text("fresh")).await, found(text("x_y")).await), (1, 0));
}

async fn keeps_json_of_any_shape(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!([deep]);
    }
    let text = r#"{"z":1,"a":{"y":2.50,"b":[null,true,-0.0,1e300]},"é \u0000\"":"'; DROP TABLE services; --","":18446744073709551615}"#;
    let odd: Value = serde_json::from_str(text).unwrap();
    let large = json!({ "text": "🦀 text ".repeat(500_000) });
    for (index, config) in [json!(null), json!([]), odd, deep, large].into_iter().enumerate() {
        let id = format!("s{index}");
        let tools = vec![ServiceTool { id: "t".into(), definition: config.clone() }];
        let new = NewService { config: config.clone(), tools, ..new_service(&id) };
        store.services().create(&acme(), new).await.unwrap();
        let read = store.services().get(&acme(), "api", &id).await.unwrap();
        let expected = config.to_string();
        for (what, value) in [("config", &read.config), ("tool", &read.tools[0].definition)] {
            let text = value.to_string();
            assert!(text == expected, "{what} {index} came back otherwise");
        }
    }
    let mut deeper = json!(1);
    for _ in 0..200 {
        deeper = json!([deeper]);
    }
    let error = store
        .services()
        .create(&other(), NewService { config: deeper, ..new_service("deep") })
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Invalid, Some("config")));
}

async fn shows_no_settings_in_debug(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let mut new = new_service("crm");
    new.tools[0].definition = json!({ "headers": { "X-Key": "hunter3" } });
    let service = store.services().create(&acme(), new).await.unwrap();
    let shown = format!("{service:?} {:?} {store:?}", service.tools);
    assert!(!shown.contains("hunter"), "{shown}");
}

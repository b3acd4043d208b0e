//! What settings can be, and what is refused by name.

use super::*;
use tool::{ErrorKind, Settings as _};

pub(super) fn problems(settings: &Value) -> Vec<(String, String)> {
    let error = open(settings.clone()).err().expect("the settings must be refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error.problems().iter().map(|problem| (problem.path.clone(), problem.message.clone())).collect()
}

#[test]
fn refuses_discoveries_that_cannot_work() {
    let consul = json!({ "type": "consul", "address": "http://c:8500", "service_name": "a" });
    for (discovery, path) in [
        (json!({}), "discovery.type"),
        (json!({ "type": "etcd" }), "discovery.type"),
        (json!({ "type": "static" }), "discovery.endpoints"),
        (json!({ "type": "static", "endpoints": ["a"] }), "discovery.endpoints[0]"),
        (
            json!({ "type": "static", "endpoints": [{ "address": "a:1", "weight": 0 }] }),
            "discovery.endpoints[0].weight",
        ),
        (json!({ "type": "static", "endpoints": ["a:1"], "token": "t" }), "discovery.token"),
        (json!({ "type": "consul", "address": "http://c:8500" }), "discovery.service_name"),
        (with(consul.clone(), &json!({ "address": "c:8500" })), "discovery.address"),
        (with(consul.clone(), &json!({ "address": "http://u:p@c" })), "discovery.address"),
        (with(consul.clone(), &json!({ "token": "a\nb" })), "discovery.token"),
        (with(consul, &json!({ "group": "g" })), "discovery.group"),
        (
            json!({ "type": "nacos", "address": "http://n", "service_name": "a", "username": "u" }),
            "discovery.password",
        ),
        (json!({ "type": "kubernetes", "service_name": "a" }), "discovery.api_server"),
        (
            json!({ "type": "kubernetes", "service_name": "a", "in_cluster": true, "token": "t" }),
            "discovery.token",
        ),
        (
            json!({ "type": "kubernetes", "service_name": "a", "api_server": "https://k", "ca": "x" }),
            "discovery.ca",
        ),
        (
            json!({ "type": "kubernetes", "service_name": "a", "api_server": "https://k", "port": 70000 }),
            "discovery.port",
        ),
        (json!({ "type": "dns" }), "discovery.name"),
        (json!({ "type": "dns", "name": "a" }), "discovery.port"),
        (json!({ "type": "dns", "name": "a", "port": "http" }), "discovery.port"),
        (json!({ "type": "dns", "srv": "_a._tcp.b", "port": 1 }), "discovery.port"),
        (json!({ "type": "dns", "name": "a", "port": 0 }), "discovery.port"),
    ] {
        let found = problems(&settings_of(discovery.clone()));
        assert!(found.iter().any(|(found, _)| found == path), "{discovery}: {found:?}");
        let of_port = found.iter().filter(|(found, _)| found == "discovery.port").count();
        assert!(of_port <= 1, "{discovery}: {found:?}");
    }
}

#[test]
fn refuses_settings_that_do_not_fit_together() {
    let good = settings_of(json!({ "type": "static", "endpoints": ["a:1"] }));
    for (more, path) in [
        (json!({ "load_balancer": "fair" }), "load_balancer"),
        (json!({ "refresh_ms": 1 }), "refresh_ms"),
        (json!({ "protocol": "thrift" }), "protocol"),
        (json!({ "schema": { "reflection": true } }), "schema"),
        (json!({ "max_messages": 1 }), "max_messages"),
        (json!({ "tls": { "server_name": "a b" } }), "tls.server_name"),
        (json!({ "tls": { "key": "k" } }), "tls.certificate"),
        (json!({ "auth": { "type": "jwt" } }), "auth.key"),
        (
            json!({ "pass_headers": ["Authorization"], "auth": { "type": "bearer", "token": "t" } }),
            "pass_headers",
        ),
        (json!({ "tools": [{ "id": "it", "rpc": "a.B/C" }] }), "tools[0].rpc"),
        (json!({ "tools": [{ "id": "it", "endpoint": "/x", "no_such": 1 }] }), "tools[0].no_such"),
        (json!({ "tools": [{ "id": "a b", "endpoint": "/x" }] }), "tools[0].id"),
        (json!({ "outlier": { "failures": -1 } }), "outlier.failures"),
    ] {
        let found = problems(&with(good.clone(), &more));
        assert!(found.iter().any(|(found, _)| found == path), "{more}: {found:?}");
    }
}

#[test]
fn only_the_identity_of_the_pod_is_privileged() {
    for (discovery, is_privileged) in [
        (json!({ "type": "kubernetes", "service_name": "a", "in_cluster": true }), true),
        (
            json!({ "type": "kubernetes", "service_name": "a", "in_cluster": false, "api_server": "https://k" }),
            false,
        ),
        (json!({ "type": "static", "endpoints": ["a:1"] }), false),
    ] {
        let settings = settings_of(discovery);
        assert_eq!(Settings::privileged(&settings).is_some(), is_privileged, "{settings}");
        open(settings).unwrap();
    }
}

#[tokio::test]
async fn a_pod_that_is_none_is_told() {
    let settings = settings_of(json!({ "type": "kubernetes", "service_name": "a", "in_cluster": true }));
    let error = error_of(&*open(settings).unwrap()).await;
    assert!(error.in_words().contains("does not run in a pod"), "{}", error.in_words());
}

/// Runs in `make features`, which builds without default features.
#[cfg(not(feature = "grpc"))]
#[test]
fn a_protocol_that_was_left_out_names_its_feature() {
    let settings = settings_of(json!({ "type": "static", "endpoints": ["a:1"] }));
    let found = problems(&with(settings, &json!({ "protocol": "grpc" })));
    assert_eq!(found[0].0, "protocol");
    assert!(found[0].1.contains("build with the feature 'grpc'"), "{found:?}");
}

/// Likewise.
#[cfg(not(feature = "dns-srv"))]
#[test]
fn a_discovery_that_was_left_out_names_its_feature() {
    let found = problems(&settings_of(json!({ "type": "dns", "srv": "_http._tcp.a" })));
    assert_eq!(found[0].0, "discovery.srv");
    assert!(found[0].1.contains("build with the feature 'dns-srv'"), "{found:?}");
}

/// Who gives certificates does not want to send tokens in clear.
#[test]
fn certificates_are_of_no_use_without_https() {
    let server = json!({ "type": "static", "endpoints": ["a:1"] });
    let tls = json!({ "tls": { "server_name": "loyalty.internal" } });
    let error = open(with(settings_of(server.clone()), &tls)).err().expect("it is refused");
    let problem = &error.problems()[0];
    assert_eq!((problem.path.as_str(), problem.code), ("tls", "Unused"));
    assert!(problem.message.contains("'scheme'"), "{}", problem.message);
    open(with(with(settings_of(server), &tls), &json!({ "scheme": "https" }))).unwrap();
}

//! Ways to choose an instance, as settings name them, among real servers.

use super::*;
use testkit::tcp_proxy::TcpProxy;

/// SV-9: whoever is busy is asked no more, as long as somebody else is free.
#[tokio::test]
async fn least_connections_and_p2c_leave_the_busy_one_alone() {
    for load_balancer in ["least_connections", "p2c"] {
        let (busy, free) = (Server::start().await, Server::start().await);
        let silent = TcpProxy::start(busy.address().to_string()).await;
        silent.stall();
        let endpoints = [silent.address().to_string(), free.address().to_string()];
        let settings = settings_of(json!({ "type": "static", "endpoints": endpoints }));
        let service = open(with(settings, &json!({ "load_balancer": load_balancer }))).unwrap();
        // Two at once have one each.
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..2 {
            let service = service.clone();
            calls.spawn(async move { call(&*service).await.map(drop) });
        }
        calls.join_next().await.unwrap().unwrap().unwrap();
        for _ in 0..20 {
            call(&*service).await.unwrap();
        }
        assert_eq!(free.requests().len(), 21, "{load_balancer}");
        assert!(busy.requests().len() <= 1, "{load_balancer}: the one that still waits");
        assert!(calls.try_join_next().is_none(), "{load_balancer}: one still waits for its answer");
    }
}

/// SV-9: chance leaves nobody out, and keeps no order.
#[tokio::test]
async fn random_asks_everybody_in_no_order() {
    let servers = [Server::start().await, Server::start().await, Server::start().await];
    let settings = settings_of(static_of(&servers.each_ref()));
    let service = open(with(settings, &json!({ "load_balancer": "random" }))).unwrap();
    let mut order = Vec::new();
    for _ in 0..90 {
        let before = servers.each_ref().map(|server| server.requests().len());
        call(&*service).await.unwrap();
        let asked = |(server, before): (&Server, &usize)| server.requests().len() > *before;
        order.push(servers.iter().zip(&before).position(asked).unwrap());
    }
    // Each is missed by ninety calls once in 10^15 times.
    let counts = [0, 1, 2].map(|one| order.iter().filter(|asked| **asked == one).count());
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let repeats = order.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(repeats > 0, "taking turns would never ask one twice in a row");
}

/// SV-9: weights that the settings give.
#[tokio::test]
async fn weighted_asks_by_weight() {
    let servers = [Server::start().await, Server::start().await];
    let endpoint =
        |server: &Server, weight: u32| json!({ "address": server.address().to_string(), "weight": weight });
    let endpoints = [endpoint(&servers[0], 3), endpoint(&servers[1], 1)];
    let settings = settings_of(json!({ "type": "static", "endpoints": endpoints }));
    let service = open(with(settings, &json!({ "load_balancer": "weighted" }))).unwrap();
    for _ in 0..40 {
        call(&*service).await.unwrap();
    }
    assert_eq!(servers.each_ref().map(|server| server.requests().len()), [30, 10]);
}

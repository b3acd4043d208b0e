//! Instances that come from a registry.

use super::kubernetes::kubernetes_at;
use super::*;
use testkit::registry::{Consul, ConsulService, Kubernetes, Nacos, NacosVersion};
use testkit::tcp_proxy::TcpProxy;
use tool::ErrorKind;

fn consul_at(url: &str) -> Value {
    json!({ "type": "consul", "address": url, "service_name": "loyalty" })
}

fn service(id: &str, server: &Server) -> ConsulService {
    ConsulService::new(id, "loyalty", server.address())
}

/// SV-3: instances come and go as Consul says, without being asked for.
#[tokio::test]
async fn follows_consul() {
    let (consul, one, two) = (Consul::start().await, Server::start().await, Server::start().await);
    consul.require_token("s3cr3t");
    consul.register(service("one", &one));
    let mut discovery = consul_at(&consul.url());
    discovery["token"] = "s3cr3t".into();
    let connector = open(settings_of(discovery)).unwrap();
    assert_eq!(asked(&*connector, &[&one, &two]).await, [true, false]);
    consul.register(service("two", &two));
    eventually_asks(&*connector, &two).await;
    consul.set_status("one", "critical");
    eventually("one is left out", SOON, async || asked(&*connector, &[&one, &two]).await == [false, true])
        .await;
    consul.set_status("one", "passing");
    eventually_asks(&*connector, &one).await;
    let indexes = consul.indexes();
    assert!(indexes[0].is_empty() && indexes[1..].iter().all(|index| !index.is_empty()), "{indexes:?}");
    connector.health(&context(SOON)).await.unwrap();
}

/// SV-3: the weights of Consul, and those with a tag only.
#[tokio::test]
async fn weighs_and_selects_as_consul_says() {
    let consul = Consul::start().await;
    let servers = [Server::start().await, Server::start().await, Server::start().await];
    for (at, server) in servers.iter().enumerate() {
        let tags = if at < 2 { vec!["v2".to_owned()] } else { Vec::new() };
        let weight = if at == 0 { 3 } else { 1 };
        consul.register(ConsulService { weight, tags, ..service(&format!("s{at}"), server) });
    }
    let mut discovery = consul_at(&consul.url());
    discovery["tag"] = "v2".into();
    let settings = with(settings_of(discovery), &json!({ "load_balancer": "weighted" }));
    let connector = open(settings).unwrap();
    for _ in 0..40 {
        call(&*connector).await.unwrap();
    }
    assert_eq!(servers.each_ref().map(|server| server.requests().len()), [30, 10, 0]);
}

/// A count that goes back belongs to another cluster: it is asked anew, and followed from there.
#[tokio::test]
async fn begins_anew_when_consul_counts_backwards() {
    let (consul, one, two) = (Consul::start().await, Server::start().await, Server::start().await);
    consul.set_index(5000);
    consul.register(service("one", &one));
    let connector = open(settings_of(consul_at(&consul.url()))).unwrap();
    call(&*connector).await.unwrap();
    consul.set_index(3);
    eventually("it is asked without a count", SOON, async || {
        consul.indexes().iter().filter(|index| index.is_empty()).count() > 1
    })
    .await;
    consul.register(service("two", &two));
    eventually_asks(&*connector, &two).await;
}

/// The first look-up is one for all who wait.
#[tokio::test]
async fn looks_up_once_for_all_who_wait() {
    let (consul, server) = (Consul::start().await, Server::start().await);
    consul.register(service("one", &server));
    let connector = open(settings_of(consul_at(&consul.url()))).unwrap();
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let connector = connector.clone();
            tokio::spawn(async move { call(&*connector).await.map(|_| ()) })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(consul.indexes().iter().filter(|index| index.is_empty()).count(), 1);
    assert_eq!(server.requests().len(), 50);
}

/// Cuts the way to a registry after the first look-up, and restores it; `list` says whom the registry knows.
async fn goes_on_while_it_is_away(
    name: &str,
    url: &str,
    discovery_at: impl Fn(&str) -> Value,
    list: impl Fn(&[&Server]),
) {
    let (server, other) = (Server::start().await, Server::start().await);
    list(&[&server]);
    let proxy = TcpProxy::start(url.trim_start_matches("http://")).await;
    let discovery = discovery_at(&format!("http://{}", proxy.address()));
    let connector = open(with(settings_of(discovery), &json!({ "refresh_ms": 300 }))).unwrap();
    call(&*connector).await.unwrap();
    proxy.cut();
    let mut said = String::new();
    eventually("health says so", SOON, async || match connector.health(&context(SOON)).await {
        Err(error) => {
            said = error.to_string();
            true
        }
        Ok(()) => false,
    })
    .await;
    assert!(said.contains(name) && said.contains("'loyalty'") && said.contains("stale since 20"), "{said}");
    for _ in 0..20 {
        call(&*connector).await.unwrap();
    }
    list(&[&server, &other]);
    proxy.restore();
    eventually_asks(&*connector, &other).await;
    eventually("health says so, too", SOON, async || connector.health(&context(SOON)).await.is_ok()).await;
}

/// F1 and SV-10: the registry dies after the first look-up. Calls go on, health says since when, and it comes back by itself.
#[tokio::test]
async fn keeps_calling_the_last_known_while_the_registry_is_away() {
    let consul = Consul::start().await;
    goes_on_while_it_is_away("Consul", &consul.url(), consul_at, |servers| {
        servers.iter().for_each(|server| consul.register(service(&server.address().to_string(), server)));
    })
    .await;
    let nacos = Nacos::start(NacosVersion::V3, None).await;
    let nacos_at = |url: &str| json!({ "type": "nacos", "address": url, "service_name": "loyalty" });
    goes_on_while_it_is_away("Nacos", &nacos.url(), nacos_at, |servers| {
        let host = |server: &&Server| json!({ "ip": "127.0.0.1", "port": server.address().port() });
        nacos.set(servers.iter().map(host).collect());
    })
    .await;
    let kubernetes = Kubernetes::start().await;
    goes_on_while_it_is_away("Kubernetes", &kubernetes.url(), kubernetes_at, |servers| {
        for server in servers {
            let port = server.address().port();
            let endpoints = json!([{ "addresses": ["127.0.0.1"] }]);
            kubernetes.put(&format!("s-{port}"), "loyalty", &endpoints, port);
        }
    })
    .await;
}

/// SV-10: but not for ever.
#[tokio::test]
async fn does_not_believe_a_list_that_is_too_old() {
    let (consul, server) = (Consul::start().await, Server::start().await);
    consul.register(service("one", &server));
    let proxy = TcpProxy::start(consul.address().to_string()).await;
    let discovery = consul_at(&format!("http://{}", proxy.address()));
    let more = json!({ "refresh_ms": 100, "max_stale_ms": 300 });
    let connector = open(with(settings_of(discovery), &more)).unwrap();
    call(&*connector).await.unwrap();
    proxy.cut();
    eventually("calls are refused", SOON, async || call(&*connector).await.is_err()).await;
    let error = error_of(&*connector).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("Consul has not said since"), "{error}");
    proxy.restore();
    eventually("they go through again", SOON, async || call(&*connector).await.is_ok()).await;
}

/// F2: no instance is believed, and said by the names of registry and service. The breaker does not make it last.
#[tokio::test]
async fn believes_that_there_is_nobody() {
    let (consul, server) = (Consul::start().await, Server::start().await);
    let connector = open(settings_of(consul_at(&consul.url()))).unwrap();
    for _ in 0..10 {
        error_of(&*connector).await;
    }
    for error in [error_of(&*connector).await, connector.health(&context(SOON)).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("Consul") && error.to_string().contains("'loyalty'"), "{error}");
    }
    consul.register(service("one", &server));
    eventually("it recovers", SOON, async || call(&*connector).await.is_ok()).await;
    consul.deregister("one");
    eventually("it is believed again", SOON, async || call(&*connector).await.is_err()).await;
}

/// SV-3: each version of Nacos, with and without a login.
#[tokio::test]
async fn follows_nacos_of_every_version() {
    for version in [NacosVersion::V3, NacosVersion::V2, NacosVersion::V1] {
        for login in [None, Some(("nacos", "s3cr3t"))] {
            let nacos = Nacos::start(version, login).await;
            let servers = [Server::start().await, Server::start().await];
            let host = |server: &Server, more: Value| {
                let address = server.address();
                with(
                    json!({ "ip": address.ip().to_string(), "port": address.port(), "weight": 1.0,
                             "healthy": true, "enabled": true, "ephemeral": true, "metadata": {} }),
                    &more,
                )
            };
            nacos.set(vec![
                host(&servers[0], json!({})),
                host(&servers[1], json!({ "healthy": false })),
                host(&servers[1], json!({ "enabled": false, "ip": "127.0.0.9" })),
                host(&servers[1], json!({ "weight": 0.0, "ip": "127.0.0.8" })),
            ]);
            let mut discovery = json!({ "type": "nacos", "address": nacos.url(), "service_name": "loyalty" });
            if let Some((username, password)) = login {
                discovery["username"] = username.into();
                discovery["password"] = password.into();
            }
            let connector = open(with(settings_of(discovery), &json!({ "refresh_ms": 100 }))).unwrap();
            assert_eq!(asked(&*connector, &[&servers[0], &servers[1]]).await, [true, false], "{version:?}");
            nacos.set(vec![host(&servers[1], json!({ "weight": 0.5 }))]);
            eventually_asks(&*connector, &servers[1]).await;
            nacos.forget_tokens();
            nacos.set(vec![host(&servers[0], json!({}))]);
            eventually_asks(&*connector, &servers[0]).await;
        }
    }
}

#[tokio::test]
async fn names_the_setting_when_a_registry_does_not_let_us_ask() {
    let nacos = Nacos::start(NacosVersion::V3, Some(("nacos", "right"))).await;
    let consul = Consul::start().await;
    consul.require_token("right");
    let kubernetes = Kubernetes::start().await;
    kubernetes.require_token("right");
    let of_nacos = json!({ "type": "nacos", "address": nacos.url(), "service_name": "loyalty",
                           "username": "nacos", "password": "wr0ng" });
    let mut of_consul = consul_at(&consul.url());
    of_consul["token"] = "wr0ng".into();
    let mut of_kubernetes = kubernetes_at(&kubernetes.url());
    of_kubernetes["token"] = "wr0ng".into();
    for (discovery, setting) in
        [(of_nacos, "discovery.password"), (of_consul, "discovery.token"), (of_kubernetes, "discovery.token")]
    {
        let error = error_of(&*open(settings_of(discovery)).unwrap()).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Upstream, false));
        assert!(error.message().contains(setting), "{}", error.in_words());
        assert!(error.is_about_credentials() && !error.in_words().contains("wr0ng"), "{error:?}");
    }
}

#[tokio::test]
async fn asks_the_addresses_of_a_name() {
    let server = Server::start().await;
    let discovery = json!({ "type": "dns", "name": "localhost", "port": server.address().port() });
    let more = json!({ "allow_private_network": true });
    let connector = open(with(settings_of(discovery.clone()), &more)).unwrap();
    for _ in 0..3 {
        call(&*connector).await.unwrap();
    }
    assert_eq!(server.requests().len(), 3);
    let error =
        error_of(&*open(with(settings_of(discovery), &json!({ "allow_private_network": false }))).unwrap())
            .await;
    assert_eq!(error.kind(), ErrorKind::Denied);
}

/// SV-10, F2: a name without addresses is "none", which is believed, and no failure of DNS.
#[tokio::test]
async fn believes_that_a_name_has_no_address() {
    let nowhere = json!({ "type": "dns", "name": "no-such-name.invalid", "port": 1 });
    let connector = open(settings_of(nowhere)).unwrap();
    let error = error_of(&*connector).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let words = error.in_words();
    // Where nobody answers for DNS at all, it is not known.
    let is_unknown = words.contains("'no-such-name.invalid' cannot be resolved");
    assert!(words.contains("knows no instance") || is_unknown, "{words}");
    assert_eq!(
        is_unknown,
        std::net::ToSocketAddrs::to_socket_addrs("no-such-name.invalid:1")
            .unwrap_err()
            .to_string()
            .contains("emporary"),
        "{words}"
    );
}

/// F27: an address that was allowed becomes one that is not, between two connections.
#[tokio::test]
async fn refuses_an_instance_that_moves_into_our_network() {
    let (consul, server) = (Consul::start().await, Server::start().await);
    consul.register(service("one", &server));
    let connector = open(settings_of(consul_at(&consul.url()))).unwrap();
    call(&*connector).await.unwrap();
    for hostile in ["127.0.0.2", "169.254.169.254", "0x7f.2", "::1", "[::1]", "a/../b", "u@127.0.0.1"] {
        let moved = ConsulService { address: hostile.to_owned(), ..service("one", &server) };
        consul.register(moved);
        let asked = server.requests().len();
        eventually("it is refused", SOON, async || call(&*connector).await.is_err()).await;
        let error = error_of(&*connector).await;
        let is_dropped =
            error.kind() == ErrorKind::Unavailable && error.to_string().contains("knows no instance");
        assert!(error.kind() == ErrorKind::Denied || is_dropped, "{hostile}: {error:?}");
        consul.register(service("one", &server));
        eventually("it is back", SOON, async || call(&*connector).await.is_ok()).await;
        assert!(server.requests().len() > asked);
    }
}

/// Registries may be wrong or hostile: what they say has bounds.
#[tokio::test]
async fn believes_no_registry_that_says_too_much_or_nonsense() {
    // It answers every question with the question.
    let server = Server::start().await;
    let error = error_of(&*open(settings_of(consul_at(&server.url()))).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.in_words().contains("Consul answered with something that cannot be used"), "{error:?}");
    let error =
        error_of(&*open(settings_of(consul_at(&format!("{}/big/9000000", server.url())))).unwrap()).await;
    assert!(error.in_words().contains("more than 8388608 bytes"), "{error:?}");
    let consul = Consul::start().await;
    for number in 0..1001_u32 {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1 + (number % 60_000) as u16));
        consul.register(ConsulService::new(&number.to_string(), "loyalty", address));
    }
    let error = error_of(&*open(settings_of(consul_at(&consul.url()))).unwrap()).await;
    assert!(error.message().contains("at most 1000 can be used"), "{error}");
    let kubernetes = Kubernetes::start().await;
    for number in 0..201 {
        kubernetes.put(&format!("s-{number}"), "loyalty", &json!([]), 1);
    }
    let error = error_of(&*open(settings_of(kubernetes_at(&kubernetes.url()))).unwrap()).await;
    assert!(error.in_words().contains("more than 200 EndpointSlices"), "{}", error.in_words());
}

/// One entry that cannot be used must not take the others with it, and neither must one that may not be called.
#[tokio::test]
async fn leaves_out_only_what_cannot_be_used() {
    let nacos = Nacos::start(NacosVersion::V3, None).await;
    let server = Server::start().await;
    let good = json!({ "ip": "127.0.0.1", "port": server.address().port() });
    let discovery = json!({ "type": "nacos", "address": nacos.url(), "service_name": "loyalty" });
    for bad in [
        json!({ "ip": "127.0.0.1", "port": 99_999 }),
        json!({ "ip": "127.0.0.1", "port": 80, "weight": "heavy" }),
        json!({ "ip": null, "port": 80 }),
        json!({ "ip": "a/../b", "port": 80 }),
        json!("nonsense"),
        // Only 127.0.0.1 may be called.
        json!({ "ip": "127.0.0.2", "port": 80 }),
    ] {
        nacos.set(vec![bad.clone(), good.clone()]);
        let connector = open(settings_of(discovery.clone())).unwrap();
        for _ in 0..4 {
            call(&*connector).await.unwrap_or_else(|error| panic!("{bad}: {error}"));
        }
    }
    nacos.set(vec![json!({ "ip": null, "port": 80 })]);
    let error = error_of(&*open(settings_of(discovery)).unwrap()).await;
    assert!(error.in_words().contains("something that is no list"), "{}", error.in_words());
}

/// SV-10, F1: what is wrong is known from what happened, without asking anybody.
#[tokio::test]
async fn knows_of_its_troubles() {
    let (consul, server) = (Consul::start().await, Server::start().await);
    consul.register(service("one", &server));
    let proxy = TcpProxy::start(consul.address().to_string()).await;
    let discovery = consul_at(&format!("http://{}", proxy.address()));
    let connector = open(with(settings_of(discovery), &json!({ "refresh_ms": 300 }))).unwrap();
    assert_eq!(connector.trouble(), None, "nobody was asked yet");
    call(&*connector).await.unwrap();
    assert_eq!(connector.trouble(), None);
    proxy.cut();
    eventually("it is stale", SOON, async || {
        connector.trouble().is_some_and(|why| why.contains("stale since 20"))
    })
    .await;
    let dead = dead_address().await.to_string();
    let dead = settings_of(json!({ "type": "static", "endpoints": [dead] }));
    let connector = open(with(dead, &json!({ "circuit_breaker": { "failures": 2 } }))).unwrap();
    connector.health(&context(SOON)).await.unwrap_err();
    assert!(connector.trouble().unwrap().contains("the only instance failed"));
    for _ in 0..2 {
        call(&*connector).await.unwrap_err();
    }
    assert!(connector.trouble().unwrap().contains("left alone"));
}

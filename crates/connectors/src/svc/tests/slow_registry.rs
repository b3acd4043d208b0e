//! Registries that take too long for an answer.

use super::*;
use testkit::registry::{Consul, ConsulService};
use testkit::tcp_proxy::TcpProxy;

/// A registry that says nothing is named itself, within the time of the service.
#[tokio::test]
async fn a_registry_that_hangs_is_named_in_time() {
    let (consul, server) = (Consul::start().await, Server::start().await);
    consul.register(ConsulService::new("one", "loyalty", server.address()));
    let proxy = TcpProxy::start(consul.address().to_string()).await;
    proxy.stall();
    let discovery = json!({ "type": "consul", "address": format!("http://{}", proxy.address()), "service_name": "loyalty" });
    let settings = with(settings_of(discovery), &json!({ "timeout_ms": 1000 }));
    for asks_for_health in [false, true] {
        let connector = open(settings.clone()).unwrap();
        let begun = std::time::Instant::now();
        let error = match asks_for_health {
            true => connector.health(&context(SOON)).await.unwrap_err(),
            false => error_of(&*connector).await,
        };
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        let words = error.in_words();
        assert!(words.contains("Consul did not say in time where 'loyalty' is"), "{words}");
        assert!(!words.contains("instance"), "{words}");
    }
}

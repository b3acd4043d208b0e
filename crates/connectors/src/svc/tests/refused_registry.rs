//! Registries that may not be called.

use super::*;
use testkit::registry::Consul;
use tool::ErrorKind;

/// SV-10: a registry that may not be called is refused like an instance, by the setting that allows it.
#[tokio::test]
async fn refuses_a_registry_at_an_address_that_may_not_be_called() {
    let consul = Consul::start().await;
    let by_name = consul.url().replace("127.0.0.1", "localhost");
    for address in [consul.url(), by_name] {
        let guarded = with(
            settings_of(json!({ "type": "consul", "address": address, "service_name": "loyalty" })),
            &json!({ "allow_private_network": false }),
        );
        let connector = open(guarded).unwrap();
        let error = error_of(&*connector).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error:?}");
        let words = error.message();
        assert!(words.starts_with("Consul") && words.contains("allow_private_network"), "{words}");
    }
}

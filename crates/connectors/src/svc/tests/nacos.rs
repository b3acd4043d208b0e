//! A real Nacos, which `make test-brokers` starts.

use super::*;
use tool::ErrorKind;

/// Registers and removes instances, as other programs do.
struct Registry {
    url: String,
    token: String,
    service: String,
    http: reqwest::Client,
}

impl Registry {
    async fn new() -> Self {
        let url = std::env::var("MCP_TEST_RNACOS_URL")
            .expect("MCP_TEST_RNACOS_URL is not set: use `make test-brokers`");
        let http = reqwest::Client::new();
        let form = query(&[("username", "tester"), ("password", "tester-password")]);
        let sign_in = http.post(format!("{url}/nacos/v1/auth/login?{form}")).send().await.unwrap();
        let granted: Value = serde_json::from_slice(&sign_in.bytes().await.unwrap()).unwrap();
        let token = granted["accessToken"].as_str().unwrap().to_owned();
        Self { url, token, service: format!("loyalty-{}", tool::new_id::<String>()), http }
    }

    async fn tell(&self, method: reqwest::Method, server: &Server, more: &[(&str, &str)]) {
        let (ip, port) = (server.address().ip().to_string(), server.address().port().to_string());
        let mut told = vec![("serviceName", self.service.as_str()), ("ip", &ip), ("port", &port)];
        told.extend([("ephemeral", "true"), ("accessToken", &self.token)]);
        told.extend(more);
        let url = format!("{}/nacos/v1/ns/instance?{}", self.url, query(&told));
        let told = self.http.request(method, url).send().await.unwrap();
        assert!(told.status().is_success(), "{told:?}");
    }

    async fn add(&self, server: &Server, more: &[(&str, &str)]) {
        self.tell(reqwest::Method::POST, server, more).await;
    }

    async fn remove(&self, server: &Server) {
        self.tell(reqwest::Method::DELETE, server, &[]).await;
    }

    fn settings(&self, password: &str) -> Value {
        let discovery = json!({ "type": "nacos", "address": self.url, "service_name": self.service,
            "username": "tester", "password": password });
        with(settings_of(discovery), &json!({ "refresh_ms": 200 }))
    }
}

fn query(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// SV-3: by the newest API that it has, with a login.
#[tokio::test]
async fn brokers_follows_a_real_nacos() {
    let (registry, one, two) = (Registry::new().await, Server::start().await, Server::start().await);
    registry.add(&one, &[]).await;
    registry.add(&two, &[("enabled", "false")]).await;
    let connector = open(registry.settings("tester-password")).unwrap();
    assert_eq!(
        asked(&*connector, &[&one, &two]).await,
        [true, false],
        "those that are disabled are left out"
    );
    registry.add(&two, &[("enabled", "true"), ("weight", "2")]).await;
    eventually_asks(&*connector, &two).await;
    registry.remove(&one).await;
    eventually("one is left out", SOON, async || asked(&*connector, &[&one, &two]).await == [false, true])
        .await;
    connector.health(&context(SOON)).await.unwrap();
    registry.remove(&two).await;
    eventually("nobody is left", SOON, async || call(&*connector).await.is_err()).await;
    let error = error_of(&*connector).await;
    assert!(
        error.kind() == ErrorKind::Unavailable && error.in_words().contains("knows no instance"),
        "{error:?}"
    );
}

#[tokio::test]
async fn brokers_a_real_nacos_refuses_a_wrong_password() {
    let registry = Registry::new().await;
    let error = error_of(&*open(registry.settings("wr0ng")).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert!(error.is_about_credentials() && error.in_words().contains("discovery.password"), "{error:?}");
}

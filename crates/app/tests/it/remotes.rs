//! Services over real servers for objects, mail and short messages, as several tests need them.

use serde_json::{Value, json};

/// A service, the call that shows whether it works, and the server behind it.
pub(crate) struct Remote {
    pub(crate) server: String,
    /// The service at a `host:port`.
    pub(crate) service: fn(&str) -> Value,
    pub(crate) uri: &'static str,
    pub(crate) arguments: Value,
}

/// An address or URL of the servers of the tests.
pub(crate) fn needed(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: use `make test` or `scripts/servers run -- cargo nextest run`")
    })
}

fn address(variable: &str) -> String {
    needed(variable).replace("http://", "")
}

/// The path of a service in the REST API.
pub(crate) fn path(service: &Value) -> String {
    format!("services/{}/{}", service["type"].as_str().unwrap(), service["id"].as_str().unwrap())
}

/// A store, a gateway and a mail server.
pub(crate) fn remotes() -> [Remote; 3] {
    let id = tool::new_id::<String>();
    [
        Remote {
            server: address("MCP_TEST_SEAWEEDFS_URL"),
            service: |address| store(address, "tester-secret"),
            uri: "oss://docs/save",
            arguments: json!({ "key": format!("remotes/{id}"), "content": "x" }),
        },
        Remote {
            server: address("MCP_TEST_SMS_URL"),
            service: |address| sms(address, "twilio"),
            uri: "sms://phone/send",
            arguments: json!({ "to": "13800138001", "content": "hello" }),
        },
        Remote {
            server: needed("MCP_TEST_EXIM_URL"),
            service: |address| {
                let (host, port) = address.rsplit_once(':').unwrap();
                let config = json!({ "smtp_host": host, "smtp_port": port.parse::<u16>().unwrap(), "security": "none",
                    "from_address": "it@tests.example", "retry": { "max_attempts": 1 } });
                json!({ "type": "mail", "id": "post", "config": config })
            },
            uri: "mail://post/send",
            arguments: json!({ "to": format!("{id}@tests.example"), "subject": "s", "body": "b" }),
        },
    ]
}

/// A store that speaks S3.
pub(crate) fn store(address: &str, secret: &str) -> Value {
    let config = json!({ "provider": "minio", "bucket": "tests", "endpoint": format!("http://{address}"),
        "credentials": { "access_key_id": "tester-key", "secret_access_key": secret }, "retry": { "max_attempts": 1 } });
    json!({ "type": "oss", "id": "docs", "config": config })
}

/// A gateway of a vendor of short messages.
pub(crate) fn sms(address: &str, provider: &str) -> Value {
    let config = json!({ "provider": provider, "endpoint": format!("http://{address}"), "api_key": "tester-key",
        "api_secret": "tester-secret", "sign_name": "n", "app_id": "1400000000", "sender": "+15005550006",
        "allow_private_network": true, "retry": { "max_attempts": 1 } });
    json!({ "type": "sms", "id": "phone", "config": config })
}

//! The settings of a discovery: which fields depends on its type.

use crate::svc::instance::MAX_WEIGHT;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use tool::Secret;

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(in crate::svc) enum DiscoveryType {
    Static,
    Consul,
    Nacos,
    Kubernetes,
    Dns,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// Where the instances of the service are looked up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::svc) struct DiscoverySettings {
    /// Who knows the instances: `static` (the settings), `consul`, `nacos`, `kubernetes` or `dns`.
    #[serde(rename = "type")]
    pub(super) discovery_type: DiscoveryType,
    /// For `static`: the instances, each as `"host:port"` or `{"address": "host:port", "weight": 2}`.
    #[serde(default)]
    #[schemars(schema_with = "endpoints_schema")]
    pub(super) endpoints: Option<Vec<Endpoint>>,
    /// For `consul` and `nacos`: where the registry is, e.g. `http://consul:8500`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) address: Option<String>,
    /// For `consul`, `nacos` and `kubernetes`: the name of the service there.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) service_name: Option<String>,
    /// For `consul`: only instances with this tag.
    #[serde(default)]
    pub(super) tag: Option<String>,
    /// For `consul`: the datacenter, where it is not the registry's own.
    #[serde(default)]
    pub(super) datacenter: Option<String>,
    /// For `consul` and `kubernetes`: the token that lets us ask.
    #[serde(default)]
    pub(super) token: Option<Secret>,
    /// For `nacos`: the group of the service, `DEFAULT_GROUP` unless given.
    #[serde(default)]
    pub(super) group: Option<String>,
    /// For `nacos` and `kubernetes`: the namespace, `public` or `default` unless given.
    #[serde(default)]
    pub(super) namespace: Option<String>,
    /// For `nacos`: who asks.
    #[serde(default)]
    pub(super) username: Option<String>,
    /// For `nacos`: the password.
    #[serde(default)]
    pub(super) password: Option<Secret>,
    /// For `kubernetes`: the port's name or number, where the service has several. For `dns`: the number.
    #[serde(default)]
    #[schemars(schema_with = "port_schema")]
    pub(super) port: Option<Value>,
    /// For `kubernetes`: where its API is, e.g. `https://10.0.0.1:6443`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) api_server: Option<String>,
    /// For `kubernetes`: the authority that vouches for its API, in PEM.
    #[serde(default)]
    pub(super) ca: Option<String>,
    /// For `kubernetes`: this program runs in the cluster and signs in as its own pod. Only for admins.
    #[serde(default)]
    pub(super) in_cluster: Option<bool>,
    /// For `dns`: the name whose addresses are the instances; they all listen on `port`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) name: Option<String>,
    /// For `dns`: the name of SRV records, e.g. `_http._tcp.loyalty.example.com`, instead of `name` and `port`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) srv: Option<String>,
}

/// One instance that is written down.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(in crate::svc) enum Endpoint {
    Address(String),
    Weighted {
        address: String,
        #[serde(default)]
        weight: Option<u32>,
    },
}

impl DiscoverySettings {
    /// Each field, the types that use it, and whether it is given.
    pub(super) fn given(&self) -> [(&'static str, &'static [DiscoveryType], bool); 16] {
        use DiscoveryType::{Consul, Dns, Kubernetes, Nacos, Static};
        [
            ("endpoints", &[Static], self.endpoints.is_some()),
            ("address", &[Consul, Nacos], self.address.is_some()),
            ("service_name", &[Consul, Nacos, Kubernetes], self.service_name.is_some()),
            ("tag", &[Consul], self.tag.is_some()),
            ("datacenter", &[Consul], self.datacenter.is_some()),
            ("token", &[Consul, Kubernetes], self.token.is_some()),
            ("group", &[Nacos], self.group.is_some()),
            ("namespace", &[Nacos, Kubernetes], self.namespace.is_some()),
            ("username", &[Nacos], self.username.is_some()),
            ("password", &[Nacos], self.password.is_some()),
            ("port", &[Kubernetes, Dns], self.port.is_some()),
            ("api_server", &[Kubernetes], self.api_server.is_some()),
            ("ca", &[Kubernetes], self.ca.is_some()),
            ("in_cluster", &[Kubernetes], self.in_cluster.is_some()),
            ("name", &[Dns], self.name.is_some()),
            ("srv", &[Dns], self.srv.is_some()),
        ]
    }
}

fn endpoints_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["array", "null"],
        "x-address": true,
        "maxItems": super::MAX_INSTANCES,
        "items": {
            "type": ["string", "object"],
            "properties": {
                "address": { "type": "string", "description": "`host:port`." },
                "weight": {
                    "type": "integer", "minimum": 1, "maximum": MAX_WEIGHT,
                    "description": "Its share of the work beside the others."
                }
            },
            "required": ["address"],
            "additionalProperties": false
        }
    })
}

fn port_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "integer", "null"] })
}

//! What Kubernetes' API tells of itself.

use serde_json::{Value, json};

/// What clients like kubectl ask before anything else: which groups, versions and resources there are.
pub(super) fn discovery(method: &str, path: &[&str]) -> Option<Value> {
    let version = json!({ "groupVersion": "discovery.k8s.io/v1", "version": "v1" });
    let found = match path {
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"] }),
        ["api", "v1"] => {
            json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [] })
        }
        ["apis"] => json!({
            "kind": "APIGroupList", "apiVersion": "v1",
            "groups": [{ "name": "discovery.k8s.io", "versions": [version], "preferredVersion": version }]
        }),
        ["apis", "discovery.k8s.io", "v1"] => json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "discovery.k8s.io/v1",
            "resources": [{
                "name": "endpointslices", "singularName": "endpointslice", "namespaced": true, "kind": "EndpointSlice",
                "verbs": ["create", "delete", "get", "list", "update", "watch"]
            }]
        }),
        _ => return None,
    };
    (method == "GET").then_some(found)
}

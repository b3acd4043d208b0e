//! The settings of a sign-in.

use super::signing_key::Algorithm;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::Secret;

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum AuthType {
    None,
    Apikey,
    Bearer,
    Basic,
    Oauth2,
    Jwt,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Place {
    Header,
    Query,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum ClientAuthMethod {
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// What a sign-in needs; which fields depends on its type.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AuthSettings {
    /// How to sign in: `none`, `apikey`, `bearer`, `basic`, `oauth2` or `jwt`.
    #[serde(rename = "type")]
    pub(super) auth_type: Option<AuthType>,
    /// For `apikey`: the header, or the query parameter, that carries the key. `X-API-Key` unless given.
    #[schemars(extend("x-ui" = {"when": {"type": ["apikey"]}}))]
    pub(super) header: Option<String>,
    /// For `apikey`: the key.
    #[schemars(extend("x-ui" = {"when": {"type": ["apikey"]}}))]
    pub(super) value: Option<Secret>,
    /// For `apikey`: whether the key goes into a `header` (unless given) or the `query` string.
    #[serde(rename = "in")]
    #[schemars(extend("x-ui" = {"when": {"type": ["apikey"]}}))]
    pub(super) place: Option<Place>,
    /// For `bearer`: the token.
    #[schemars(extend("x-ui" = {"when": {"type": ["bearer"]}}))]
    pub(super) token: Option<Secret>,
    /// For `basic`: the user's name.
    #[schemars(extend("x-ui" = {"when": {"type": ["basic"]}}))]
    pub(super) username: Option<String>,
    /// For `basic`: the user's password.
    #[schemars(extend("x-ui" = {"when": {"type": ["basic"]}}))]
    pub(super) password: Option<Secret>,
    /// For `oauth2`: where tokens are asked for, e.g. `https://login.example.com/oauth/token`.
    #[schemars(extend("x-address" = true, "x-secret" = "query", "x-ui" = {"when": {"type": ["oauth2"]}}))]
    pub(super) token_url: Option<String>,
    /// For `oauth2`: who asks.
    #[schemars(extend("x-ui" = {"when": {"type": ["oauth2"]}}))]
    pub(super) client_id: Option<String>,
    /// For `oauth2`: the client's secret.
    #[schemars(extend("x-ui" = {"when": {"type": ["oauth2"]}}))]
    pub(super) client_secret: Option<Secret>,
    /// For `oauth2`: what the token is to be good for, several separated by spaces.
    #[schemars(extend("x-ui" = {"when": {"type": ["oauth2"]}}))]
    pub(super) scope: Option<String>,
    /// For `oauth2` and `jwt`: for whom the token is, where that is asked for.
    #[schemars(extend("x-ui" = {"when": {"type": ["oauth2", "jwt"]}}))]
    pub(super) audience: Option<String>,
    /// For `oauth2`: how the secret is sent, `client_secret_basic` (in a header, unless given) or
    /// `client_secret_post` (in the body).
    #[schemars(extend("x-ui" = {"when": {"type": ["oauth2"]}}))]
    pub(super) token_endpoint_auth_method: Option<ClientAuthMethod>,
    /// For `jwt`: how tokens are signed, `HS256`, `HS384`, `HS512`, `RS256`, `ES256` or `EdDSA`.
    #[schemars(extend("x-ui" = {"when": {"type": ["jwt"]}}))]
    pub(super) algorithm: Option<Algorithm>,
    /// For `jwt`: the secret that the service knows too, or the private key in PEM.
    #[schemars(extend("x-ui" = {"when": {"type": ["jwt"]}}))]
    pub(super) key: Option<Secret>,
    /// For `jwt`: the name of the key, for services that know several.
    #[schemars(extend("x-ui" = {"when": {"type": ["jwt"]}}))]
    pub(super) key_id: Option<String>,
    /// For `jwt`: who signs.
    #[schemars(extend("x-ui" = {"when": {"type": ["jwt"]}}))]
    pub(super) issuer: Option<String>,
    /// For `jwt`: how long a token is good for, in seconds; 300 unless given.
    #[schemars(range(min = 1, max = 86_400))]
    #[schemars(extend("x-ui" = {"when": {"type": ["jwt"]}}))]
    pub(super) ttl_s: Option<u64>,
    /// For `jwt`: what else tokens say, e.g. `{"sub": "gateway"}`.
    #[schemars(schema_with = "claims_schema")]
    #[schemars(extend("x-ui" = {"when": {"type": ["jwt"]}}))]
    pub(super) claims: Option<Map<String, Value>>,
    /// For `jwt`: tokens say for whom the call is, as `tenant_id` and `caller`.
    #[schemars(extend("x-ui" = {"when": {"type": ["jwt"]}}))]
    pub(super) caller_claims: Option<bool>,
}

/// Schemars would write `anyOf` with null, whose complaints name no field.
pub(crate) fn auth_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = AuthSettings::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}

fn claims_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "additionalProperties": true })
}

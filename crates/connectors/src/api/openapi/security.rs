//! How the API is signed in to: the scheme that most operations take, as the connector's settings have it.

use super::document::{Document, Version, list, object};
use super::names::shorten;
use super::notes::Notes;
use super::operations::Operation;
use fetch::Url;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tool::Credential;

/// Nobody asks for more; a hostile document must not make an endless request.
const MAX_SCOPES: usize = 50;
const MAX_SCOPE_BYTES: usize = 200;

/// Schemes that are looked at, and of how many an operation may want one.
const MAX_SCHEMES: usize = 50;

/// The sign-in of the whole service.
#[derive(Debug, Default)]
pub(super) struct SignIn {
    auth_type: Option<&'static str>,
    config: Map<String, Value>,
    credentials: Vec<Credential>,
    /// The header or query key that carries it, which is then no parameter.
    header: Option<String>,
    query: Option<String>,
}

impl SignIn {
    /// Writes the settings, and says what is missing in them.
    pub(super) fn put_into(&self, config: &mut Map<String, Value>) -> Vec<Credential> {
        if let Some(auth_type) = self.auth_type {
            config.insert("auth_type".into(), auth_type.into());
            config.insert("auth_config".into(), self.config.clone().into());
        }
        self.credentials.clone()
    }

    /// Whether a parameter is what the service signs in with.
    pub(super) fn carries(&self, place: &str, name: &str) -> bool {
        match place {
            "header" => self.header.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name)),
            "query" => self.query.as_deref() == Some(name),
            _ => false,
        }
    }

    fn new(auth_type: &'static str, config: &Value) -> Self {
        Self { auth_type: Some(auth_type), config: object(Some(config)).clone(), ..Self::default() }
    }

    fn needs(mut self, field: &str, description: impl Into<String>) -> Self {
        let description = description.into();
        self.credentials.push(Credential { setting: format!("auth_config.{field}"), description });
        self
    }
}

/// Chooses the scheme that most operations take; of several, the one that is named first.
pub(super) fn choose(document: &Document, operations: &[Operation<'_>], notes: &mut Notes) -> SignIn {
    let schemes = match document.version {
        Version::V2 => object(document.root.get("securityDefinitions")),
        Version::V30 | Version::V31 => object(object(document.root.get("components")).get("securitySchemes")),
    };
    let usable: Vec<(&String, SignIn)> = schemes
        .iter()
        .take(MAX_SCHEMES)
        .filter_map(|(name, scheme)| match document.resolve(scheme).map(sign_in) {
            Ok(Ok(sign_in)) => Some((name, sign_in)),
            Ok(Err(why)) => {
                notes.warn(format!("the sign-in '{}' is not used: {why}", shorten(name, 50)));
                None
            }
            Err(unresolved) => {
                notes.warn(unresolved.to_string());
                None
            }
        })
        .collect();
    let demands: Vec<_> = operations.iter().map(|operation| demands(document, operation)).collect();
    let takers =
        |name: &str| demands.iter().filter(|demand| demand.iter().any(|set| set.contains(&name))).count();
    let best = usable.iter().rev().max_by_key(|(name, _)| takers(name)).filter(|(name, _)| takers(name) > 0);
    let Some((name, _)) = best else {
        if !usable.is_empty() {
            let names: Vec<_> = usable.iter().map(|(name, _)| shorten(name, 50)).collect();
            notes.warn(format!(
                "no operation asks for a sign-in, though the document has {}",
                names.join(", ")
            ));
        }
        return SignIn::default();
    };
    let name = (*name).clone();
    explain(&name, operations, &demands, notes);
    let chosen = usable.into_iter().find(|(other, _)| **other == name).map(|(_, sign_in)| sign_in);
    let mut chosen = chosen.unwrap_or_default();
    let scopes = scopes(document, operations, &name);
    if !scopes.is_empty() && chosen.config.contains_key("scope") {
        chosen.config.insert("scope".into(), scopes.join(" ").into());
    }
    chosen
}

/// The scopes that the operations ask for; a token for all there are would be refused to many.
fn scopes<'a>(document: &'a Document, operations: &[Operation<'a>], name: &str) -> Vec<&'a str> {
    let sets = operations.iter().flat_map(|operation| security(document, operation));
    let scopes = sets.flat_map(|set| list(set.get(name)).iter().take(MAX_SCOPES)).filter_map(Value::as_str);
    let each: BTreeSet<_> =
        scopes.filter(|scope| !scope.is_empty() && scope.len() <= MAX_SCOPE_BYTES).collect();
    each.into_iter().take(MAX_SCOPES).collect()
}

/// What an operation says about signing in, or else the document.
fn security<'a>(document: &'a Document, operation: &Operation<'a>) -> impl Iterator<Item = &'a Value> {
    let said = operation.definition.get("security").or_else(|| document.root.get("security"));
    list(said).iter().take(MAX_SCHEMES)
}

/// The sets of schemes of which an operation wants one; none where it wants nothing.
fn demands<'a>(document: &'a Document, operation: &Operation<'a>) -> Vec<Vec<&'a str>> {
    security(document, operation)
        .map(|set| object(Some(set)).keys().take(MAX_SCHEMES).map(String::as_str).collect())
        .collect()
}

/// Says which operations will not be content with the scheme that was chosen.
fn explain(name: &str, operations: &[Operation<'_>], demands: &[Vec<Vec<&str>>], notes: &mut Notes) {
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (operation, sets) in operations.iter().zip(demands) {
        let is_content = |set: &Vec<&str>| set.iter().all(|wanted| *wanted == name);
        if sets.is_empty() || sets.iter().any(is_content) {
            continue;
        }
        let wanted = sets.iter().find(|set| set.contains(&name)).or(sets.first());
        let wanted: Vec<_> =
            wanted.into_iter().flatten().filter(|wanted| **wanted != name).copied().collect();
        others.entry(shorten(&wanted.join(" and "), 100)).or_default().push(operation.label.clone());
    }
    for (wanted, labels) in others {
        let (first, more) = (&labels[0], labels.len() - 1);
        let which = if more == 0 { first.clone() } else { format!("{first} and {more} more") };
        let name = shorten(name, 50);
        notes.warn(format!(
            "{which}: wants the sign-in {wanted}, but the service signs in with '{name}' only"
        ));
    }
}

/// One scheme as settings. `Err` is why it cannot be used.
fn sign_in(scheme: &Value) -> Result<SignIn, String> {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
    let words = Some(shorten(text("description"), 200)).filter(|words| !words.is_empty());
    let described = |what: &str| words.clone().map_or(what.to_owned(), |words| format!("{what}: {words}"));
    let bearer = |what: &str| {
        let mut sign_in = SignIn::new("bearer", &json!({})).needs("token", described(what));
        sign_in.header = Some("Authorization".into());
        sign_in
    };
    let basic = || {
        let mut sign_in = SignIn::new("basic", &json!({}))
            .needs("username", described("The user's name"))
            .needs("password", "The user's password");
        sign_in.header = Some("Authorization".into());
        sign_in
    };
    match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
        ("basic", _) | ("http", "basic") => Ok(basic()),
        ("http", "bearer") => Ok(bearer("The token")),
        ("http", other) => Err(format!("the HTTP scheme '{}' is not known", shorten(other, 30))),
        ("apiKey", _) => api_key(text("in"), text("name"), &described("The key")),
        ("oauth2", _) => {
            Ok(oauth2(scheme, &described("")).unwrap_or_else(|| bearer("An access token of OAuth 2")))
        }
        ("openIdConnect", _) => Ok(bearer("An access token of OpenID Connect")),
        ("mutualTLS", _) => {
            Err("client certificates are not in the document; add them to the service".into())
        }
        (other, _) => Err(format!("its type '{}' is not known", shorten(other, 30))),
    }
}

fn api_key(place: &str, name: &str, words: &str) -> Result<SignIn, String> {
    let config = match place {
        _ if name.is_empty() => return Err("it has no name".into()),
        "header" => json!({ "header": name }),
        "query" => json!({ "header": name, "in": "query" }),
        "cookie" => return Err("it is sent in a cookie".into()),
        _ => return Err("it is in a place that is not known".into()),
    };
    let mut sign_in = SignIn::new("apikey", &config).needs("value", words);
    match place {
        "header" => sign_in.header = Some(name.to_owned()),
        _ => sign_in.query = Some(name.to_owned()),
    }
    Ok(sign_in)
}

fn is_absolute(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// Client credentials, where the document has them and says where tokens are to be had.
fn oauth2(scheme: &Value, words: &str) -> Option<SignIn> {
    let of_version_2 = (scheme.get("flow").and_then(Value::as_str) == Some("application")).then_some(scheme);
    let flow = of_version_2.or_else(|| scheme.get("flows")?.get("clientCredentials"));
    let flow = flow?;
    let token_url = flow.get("tokenUrl").and_then(Value::as_str).filter(|url| is_absolute(url))?;
    let scopes: Vec<_> = object(flow.get("scopes")).keys().take(10).map(String::as_str).collect();
    let mut config = json!({ "token_url": token_url });
    if !scopes.is_empty() {
        config["scope"] = scopes.join(" ").into();
    }
    let mut sign_in = SignIn::new("oauth2", &config)
        .needs("client_id", format!("The client's id{words}"))
        .needs("client_secret", "The client's secret");
    sign_in.header = Some("Authorization".into());
    Some(sign_in)
}

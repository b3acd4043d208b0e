//! Nacos: healthy and enabled instances by the client API of version 3, or by an older one where that is missing.

use super::web::{ANSWER_TIME, Pace, Readable, Web};
use super::{Instance, Watch};
use async_trait::async_trait;
use fetch::Request;
use fetch::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use fetch::http::{Method, StatusCode};
use serde::Deserialize;
use std::time::{Duration, Instant};
use tool::{Error, Result, Secret};

/// Where tokens go; older versions read the usual header.
const ACCESS_TOKEN: HeaderName = HeaderName::from_static("accesstoken");
/// Codes of an answer that says: there is no such service.
const UNKNOWN_SERVICE: [i64; 2] = [20004, 21008];
/// What one weight of Nacos, which has fractions, is here.
const WEIGHT_SCALE: f64 = 100.0;

/// One service in Nacos.
#[derive(Debug)]
pub(super) struct Nacos {
    web: Web,
    place: Place,
    login: Option<Login>,
    token: Option<Token>,
    version: Version,
    refresh: Duration,
    pace: Pace,
}

/// Which service.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) service: String,
    pub(super) group: String,
    pub(super) namespace: String,
}

/// Who asks.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) username: String,
    pub(super) password: Secret,
}

impl Login {
    fn form(&self) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("username", &self.username).append_pair("password", self.password.expose());
        form.finish()
    }
}

#[derive(Debug)]
struct Token {
    headers: HeaderMap,
    until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V3,
    V2,
    V1,
}

impl Version {
    fn list(self) -> &'static [&'static str] {
        match self {
            Self::V3 => &["v3", "client", "ns", "instance", "list"],
            Self::V2 => &["v2", "ns", "instance", "list"],
            Self::V1 => &["v1", "ns", "instance", "list"],
        }
    }

    fn login(self) -> &'static [&'static str] {
        match self {
            Self::V3 => &["v3", "auth", "user", "login"],
            Self::V2 | Self::V1 => &["v1", "auth", "login"],
        }
    }

    fn older(self) -> Option<Self> {
        match self {
            Self::V3 => Some(Self::V2),
            Self::V2 => Some(Self::V1),
            Self::V1 => None,
        }
    }
}

impl Nacos {
    pub(super) fn new(web: Web, place: Place, login: Option<Login>, refresh: Duration) -> Self {
        Self { web, place, login, token: None, version: Version::V3, refresh, pace: Pace::default() }
    }

    async fn ask(&mut self) -> Result<Vec<Instance>> {
        let headers = self.sign_in().await?;
        let mut version = self.version;
        loop {
            if let Some(instances) = self.list(version, headers.clone()).await? {
                self.version = version;
                return Ok(instances);
            }
            let none = || Error::upstream("Nacos has no API of version 3, 2 or 1 at 'discovery.address'");
            version = version.older().ok_or_else(none)?;
        }
    }

    /// The instances, or nothing where the registry does not know the version.
    async fn list(&self, version: Version, headers: HeaderMap) -> Result<Option<Vec<Instance>>> {
        let Place { service, group, namespace } = &self.place;
        let query = [("serviceName", service.as_str()), ("groupName", group), ("namespaceId", namespace)];
        let url = self.web.url(version.list(), &query);
        let response = self.web.get(url, headers, ANSWER_TIME).await?;
        let status = response.status();
        if matches!(status.as_u16(), 404 | 405 | 410 | 501) {
            let body = self.web.bytes(response).await?;
            let answer: Option<Answer> = serde_json::from_slice(&body).ok();
            let is_unknown = |answer: &Answer| UNKNOWN_SERVICE.contains(&answer.code);
            return Ok(answer.filter(is_unknown).map(|_| Vec::new()));
        }
        self.web.check(status)?;
        let body = self.web.bytes(response).await?;
        let hosts = match version {
            Version::V1 => self.web.parse::<Hosts>(&body)?.hosts.0,
            Version::V3 | Version::V2 => self.web.parse::<Answer>(&body)?.into_hosts()?,
        };
        Ok(Some(hosts.into_iter().filter_map(Host::into_instance).collect()))
    }

    /// The headers of a question, with a token where one is needed.
    async fn sign_in(&mut self) -> Result<HeaderMap> {
        let Some(login) = &self.login else { return Ok(HeaderMap::new()) };
        if let Some(token) = self.token.as_ref().filter(|token| Instant::now() < token.until) {
            return Ok(token.headers.clone());
        }
        let body = login.form();
        for version in [Version::V3, Version::V1] {
            let url = self.web.url(version.login(), &[]);
            let mut request = Request { body: body.clone().into(), ..Request::new(Method::POST, url) };
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers.insert(CONTENT_TYPE, form);
            let response = self.web.send(request, ANSWER_TIME).await?;
            if response.status() == StatusCode::NOT_FOUND && version == Version::V3 {
                continue;
            }
            let granted: Granted = self.web.read(response).await?;
            let token = granted.into_token()?;
            let headers = token.headers.clone();
            self.token = Some(token);
            return Ok(headers);
        }
        Err(Error::upstream("Nacos has no login at 'discovery.address'"))
    }
}

#[async_trait]
impl Watch for Nacos {
    async fn next(&mut self) -> Result<Vec<Instance>> {
        self.pace.keep(self.refresh).await;
        let asked = self.ask().await;
        if asked.is_err() {
            // It may have been the token, or another server than before.
            (self.token, self.version) = (None, Version::V3);
            self.pace.forget();
        }
        asked
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Granted {
    access_token: Secret,
    #[serde(default)]
    token_ttl: u64,
}

impl Granted {
    /// Good for four fifths of its life.
    fn into_token(self) -> Result<Token> {
        let life = Duration::from_secs(self.token_ttl.clamp(1, 86_400));
        let unusable = || Error::upstream("Nacos gave a token that no header can carry");
        let bearer = crate::shared::headers::bearer(&self.access_token).ok_or_else(unusable)?;
        let mut plain = HeaderValue::from_str(self.access_token.expose()).map_err(|_| unusable())?;
        plain.set_sensitive(true);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer), (ACCESS_TOKEN, plain)]);
        Ok(Token { headers, until: Instant::now() + life * 4 / 5 })
    }
}

/// An answer of version 2 or 3.
#[derive(Debug, Deserialize)]
struct Answer {
    code: i64,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Data {
    /// Version 3.
    List(Readable<Host>),
    /// Version 2.
    Service(Hosts),
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Default, Deserialize)]
struct Hosts {
    #[serde(default)]
    hosts: Readable<Host>,
}

#[derive(Debug, Deserialize)]
struct Host {
    ip: String,
    port: u16,
    #[serde(default = "whole")]
    weight: f64,
    #[serde(default = "yes")]
    healthy: bool,
    #[serde(default = "yes")]
    enabled: bool,
}

impl Answer {
    fn into_hosts(self) -> Result<Vec<Host>> {
        match (self.code, self.data) {
            (0, Some(Data::List(hosts))) => Ok(hosts.0),
            (0, Some(Data::Service(service))) => Ok(service.hosts.0),
            (0, None) => Ok(Vec::new()),
            (code, _) if UNKNOWN_SERVICE.contains(&code) => Ok(Vec::new()),
            (0, Some(Data::Other(_))) => {
                Err(Error::upstream("Nacos answered with something that is no list"))
            }
            (code, _) => Err(Error::upstream(format!("Nacos refused with code {code}"))),
        }
    }
}

impl Host {
    fn into_instance(self) -> Option<Instance> {
        let is_wanted = self.healthy && self.enabled && self.weight > 0.0;
        // Whatever fraction is left, it counts for something.
        let weight = (self.weight * WEIGHT_SCALE).round().clamp(1.0, f64::from(u16::MAX)) as u32;
        is_wanted.then(|| Instance::new(self.ip, self.port).weighing(weight))
    }
}

fn whole() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

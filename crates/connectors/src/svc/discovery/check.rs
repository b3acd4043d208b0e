//! From the settings of a discovery to one that is ready, or to what is wrong with them.

use super::consul::{self, Consul};
use super::dns::Addresses;
use super::kubernetes::{Account, Kubernetes, Pod, Port};
use super::nacos::{Login, Nacos, Place};
use super::settings::{DiscoverySettings, DiscoveryType, Endpoint};
use super::web::{Web, check_address, secret_header};
use super::{Discovery, Registry, Watch};
use crate::shared::network::Policy;
use crate::shared::tls::TlsSettings;
use crate::svc::instance::Instance;
use fetch::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tool::{Problem, Secret};

/// How registries are reached.
#[derive(Debug)]
pub(in crate::svc) struct RegistryAccess {
    pub(in crate::svc) policy: Arc<Policy>,
    /// How often they are asked again.
    pub(in crate::svc) refresh: Duration,
}

impl DiscoverySettings {
    /// The discovery; of use when there is no problem.
    pub(in crate::svc) fn check(self, way: RegistryAccess, problems: &mut Vec<Problem>) -> Discovery {
        let kind = self.discovery_type;
        for (name, owners, is_given) in self.given() {
            if is_given && kind != DiscoveryType::Unknown && !owners.contains(&kind) {
                let message = format!(
                    "'discovery.{name}' is not used by this discovery; leave it out or change its type"
                );
                problems.push(Problem::new(format!("discovery.{name}"), "Unused", message));
            }
        }
        let mut reader = Reader { way, problems };
        let registry = match kind {
            DiscoveryType::Static => return Discovery::Static(reader.endpoints(self.endpoints)),
            DiscoveryType::Consul => reader.consul(self),
            DiscoveryType::Nacos => reader.nacos(self),
            DiscoveryType::Kubernetes => reader.kubernetes(self),
            DiscoveryType::Dns => reader.dns(self),
            DiscoveryType::Unknown => None,
        };
        registry.map_or(Discovery::Static(Vec::new()), Discovery::Registry)
    }
}

struct Reader<'a> {
    way: RegistryAccess,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn endpoints(&mut self, endpoints: Option<Vec<Endpoint>>) -> Vec<Instance> {
        let endpoints = endpoints.unwrap_or_default();
        if endpoints.is_empty() {
            self.refuse("endpoints", "Required", "is empty; name at least one, e.g. \"10.0.0.1:8080\"");
        }
        let mut instances = Vec::new();
        for (index, endpoint) in endpoints.into_iter().enumerate() {
            let (address, weight) = match endpoint {
                Endpoint::Address(address) => (address, None),
                Endpoint::Weighted { address, weight } => (address, weight),
            };
            match Instance::parse(&address) {
                Some(instance) => instances.push(instance.weighing(weight.unwrap_or(1))),
                None => self.refuse(&format!("endpoints[{index}]"), "InvalidAddress", "must be host:port"),
            }
        }
        instances
    }

    fn consul(&mut self, settings: DiscoverySettings) -> Option<Registry> {
        let address = self.address("address", settings.address);
        let service = self.required("service_name", settings.service_name);
        let token = self.header(consul::TOKEN, settings.token);
        let (address, service) = (address?, service?);
        let web = self.web("Consul", "discovery.token", address, fetch::Tls::default());
        let selection = [("tag", settings.tag), ("dc", settings.datacenter)];
        let selection = selection.map(|(name, value)| (name, value.filter(|value| !value.is_empty())));
        let watch = Consul::new(web, service.clone(), selection, token, self.way.refresh);
        Some(registry("Consul", service, watch))
    }

    fn nacos(&mut self, settings: DiscoverySettings) -> Option<Registry> {
        let address = self.address("address", settings.address);
        let service = self.required("service_name", settings.service_name);
        let login = match (settings.username, settings.password) {
            (Some(username), Some(password)) => Some(Login { username, password }),
            (None, None) => None,
            (Some(_), None) => {
                self.refuse("password", "Required", "is missing beside 'discovery.username'");
                None
            }
            (None, Some(_)) => {
                self.refuse("username", "Required", "is missing beside 'discovery.password'");
                None
            }
        };
        let (mut address, service) = (address?, service?);
        if address.path() == "/" {
            address.set_path("/nacos");
        }
        let web = self.web("Nacos", "discovery.password", address, fetch::Tls::default());
        let place = Place {
            service: service.clone(),
            group: given(settings.group).unwrap_or_else(|| "DEFAULT_GROUP".to_owned()),
            namespace: given(settings.namespace).unwrap_or_else(|| "public".to_owned()),
        };
        Some(registry("Nacos", service, Nacos::new(web, place, login, self.way.refresh)))
    }

    fn kubernetes(&mut self, settings: DiscoverySettings) -> Option<Registry> {
        let service = self.required("service_name", settings.service_name);
        let port = settings.port.and_then(|port| self.port(port));
        let account = match settings.in_cluster.unwrap_or_default() {
            true => {
                let beside = [
                    ("api_server", settings.api_server.is_some()),
                    ("token", settings.token.is_some()),
                    ("ca", settings.ca.is_some()),
                ];
                for (field, _) in beside.into_iter().filter(|(_, is_given)| *is_given) {
                    self.refuse(field, "Unused", "does nothing beside 'discovery.in_cluster'; leave one out");
                }
                Some(Account::Pod(Pod::new(self.way.policy.clone())))
            }
            false => {
                let address = self.address("api_server", settings.api_server);
                let header = self.header(AUTHORIZATION, settings.token);
                let before = self.problems.len();
                let tls = TlsSettings { ca: settings.ca, ..TlsSettings::default() }.check(self.problems);
                for problem in &mut self.problems[before..] {
                    *problem = Problem::new(
                        "discovery.ca",
                        "InvalidPem",
                        "'discovery.ca' holds no certificates in PEM",
                    );
                }
                let web = address.map(|address| self.web("Kubernetes", "discovery.token", address, tls));
                web.map(|web| Account::Given(Arc::new(web), header.into_iter().collect()))
            }
        };
        let namespace = given(settings.namespace).unwrap_or_else(|| "default".to_owned());
        let (account, service) = (account?, service?);
        let watch = Kubernetes::new(account, namespace, service.clone(), port, self.way.refresh);
        Some(registry("Kubernetes", service, watch))
    }

    fn port(&mut self, port: Value) -> Option<Port> {
        let number = port.as_u64().or_else(|| port.as_str()?.parse().ok());
        match (number, port) {
            (Some(number), _) => match u16::try_from(number) {
                Ok(number) if number > 0 => return Some(Port::Number(number)),
                _ => {}
            },
            (None, Value::String(name)) if !name.is_empty() => return Some(Port::Name(name)),
            _ => {}
        }
        self.refuse("port", "InvalidPort", "must be a name, or a number from 1 to 65535");
        None
    }

    fn dns(&mut self, settings: DiscoverySettings) -> Option<Registry> {
        match (given(settings.name), given(settings.srv)) {
            (Some(name), None) => {
                let number = |port: &Value| port.as_u64().or_else(|| port.as_str()?.parse().ok());
                let port = settings.port.as_ref().and_then(number).and_then(|port| u16::try_from(port).ok());
                let Some(port) = port.filter(|port| *port > 0) else {
                    let why = "is needed beside 'discovery.name': the number of the port, from 1 to 65535";
                    self.refuse("port", "Required", why);
                    return None;
                };
                let watch = Addresses::new(name.clone(), port, self.way.refresh);
                Some(registry("DNS", name, watch))
            }
            (None, Some(srv)) => {
                if settings.port.is_some() {
                    self.refuse("port", "Unused", "stands in the SRV records; leave it out");
                }
                self.srv(srv)
            }
            _ => {
                self.refuse("name", "Required", "and a port are needed, or 'discovery.srv' instead");
                None
            }
        }
    }

    #[cfg(feature = "dns-srv")]
    fn srv(&mut self, srv: String) -> Option<Registry> {
        let watch = super::dns_srv::Records::new(srv.clone(), self.way.refresh);
        Some(registry("DNS", srv, watch))
    }

    #[cfg(not(feature = "dns-srv"))]
    fn srv(&mut self, _: String) -> Option<Registry> {
        self.refuse("srv", "NotBuiltIn", "is not built in; build with the feature 'dns-srv'");
        None
    }

    fn web(&self, name: &'static str, credential: &'static str, address: fetch::Url, tls: fetch::Tls) -> Web {
        Web::new(name, credential, address, self.way.policy.clone(), tls)
    }

    fn header(&mut self, name: HeaderName, secret: Option<Secret>) -> Option<(HeaderName, HeaderValue)> {
        let secret = secret.filter(|secret| !secret.expose().is_empty())?;
        secret_header(name, &secret, "discovery.token", self.problems)
    }

    fn address(&mut self, field: &str, text: Option<String>) -> Option<fetch::Url> {
        let text = self.required(field, text)?;
        check_address(&text, &format!("discovery.{field}"), self.problems)
    }

    fn required(&mut self, field: &str, text: Option<String>) -> Option<String> {
        let text = given(text);
        if text.is_none() {
            self.refuse(field, "Required", "is missing");
        }
        text
    }

    fn refuse(&mut self, field: &str, code: &'static str, why: &str) {
        let path = format!("discovery.{field}");
        let message = format!("'{path}' {why}");
        self.problems.push(Problem::new(path, code, message));
    }
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn registry(name: &'static str, service: String, watch: impl Watch + 'static) -> Registry {
    Registry { name, service, watch: Box::new(watch) }
}

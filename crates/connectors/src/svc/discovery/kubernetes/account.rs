//! How we sign in to a cluster: with a token that was given, or as the pod that this program runs in.

use crate::shared::network::Policy;
use crate::shared::tls::TlsSettings;
use crate::svc::discovery::web::{Web, secret_header};
use fetch::Url;
use fetch::http::header::{AUTHORIZATION, HeaderMap};
use std::path::PathBuf;
use std::sync::Arc;
use tool::{Error, Result, Secret};

/// Where a pod finds who it is.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Who asks the API of a cluster.
#[derive(Debug)]
pub(in crate::svc::discovery) enum Account {
    Given(Arc<Web>, HeaderMap),
    Pod(Pod),
}

impl Account {
    pub(super) async fn enter(&mut self) -> Result<(Arc<Web>, HeaderMap)> {
        match self {
            Self::Given(web, headers) => Ok((web.clone(), headers.clone())),
            Self::Pod(pod) => pod.enter().await,
        }
    }
}

/// The pod that this program runs in. What it has is read when it is needed; tokens change every hour.
#[derive(Debug)]
pub(in crate::svc::discovery) struct Pod {
    policy: Arc<Policy>,
    folder: PathBuf,
    host: Option<String>,
    port: Option<String>,
    known: Option<Arc<Web>>,
}

impl Pod {
    pub(in crate::svc::discovery) fn new(policy: Arc<Policy>) -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let (host, port) = (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"));
        Self { policy, folder: FOLDER.into(), host, port, known: None }
    }

    async fn enter(&mut self) -> Result<(Arc<Web>, HeaderMap)> {
        let web = match &self.known {
            Some(web) => web.clone(),
            None => {
                let web = Arc::new(self.web().await?);
                self.known.insert(web).clone()
            }
        };
        let token = Secret::new(self.read("token").await?.trim().to_owned());
        let header = secret_header(AUTHORIZATION, &token, "token", &mut Vec::new());
        let header = header.ok_or_else(|| Error::invalid_config("the pod's token is no header"))?;
        Ok((web, HeaderMap::from_iter([header])))
    }

    async fn web(&self) -> Result<Web> {
        let host = self.host.as_ref().ok_or_else(no_pod)?;
        let port = self.port.as_deref().unwrap_or("443");
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let url = Url::parse(&format!("https://{host}:{port}")).map_err(|_| no_pod())?;
        let ca = Some(self.read("ca.crt").await?);
        let tls = TlsSettings { ca, ..TlsSettings::default() }.check(&mut Vec::new());
        Ok(Web::new("Kubernetes", "discovery.in_cluster", url, self.policy.clone(), tls))
    }

    async fn read(&self, name: &str) -> Result<String> {
        let read = tokio::fs::read_to_string(self.folder.join(name)).await;
        read.map_err(|error| no_pod().caused_by(error))
    }
}

fn no_pod() -> Error {
    Error::invalid_config(
        "this program does not run in a pod with a service account; give 'discovery.api_server'",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svc::discovery::Watch as _;
    use crate::svc::discovery::kubernetes::Kubernetes;
    use serde_json::json;
    use std::time::Duration;
    use testkit::certificates::Authority;
    use testkit::registry;
    use testkit::tls_proxy::TlsProxy;

    /// SV-3: in a pod, over TLS, with the token of the moment. The folder is another than in a cluster, and nothing else is.
    #[tokio::test]
    async fn a_pod_signs_in_with_what_it_has_at_the_moment() {
        let (cluster, authority) = (registry::Kubernetes::start().await, Authority::new());
        let proxy = TlsProxy::start(authority.server(), cluster.address().to_string()).await;
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let put = |name: &str, address: &str| {
            cluster.put(name, "loyalty", &json!([{ "addresses": [address] }]), 8080);
        };
        cluster.require_token("first");
        put("a", "10.0.0.1");
        write("ca.crt", &authority.pem());
        write("token", "first\n");
        let pod = Pod {
            folder: folder.path().to_owned(),
            host: Some(proxy.address().ip().to_string()),
            port: Some(proxy.address().port().to_string()),
            ..Pod::new(Arc::new(Policy::Anywhere))
        };
        let (namespace, refresh) = ("default".to_owned(), Duration::from_millis(100));
        let mut watch = Kubernetes::new(Account::Pod(pod), namespace, "loyalty".to_owned(), None, refresh);
        assert_eq!(watch.next().await.unwrap().len(), 1);
        cluster.require_token("second");
        cluster.cut();
        let refused = watch.next().await.unwrap_err();
        assert!(refused.is_about_credentials() && refused.message().contains("in_cluster"), "{refused:?}");
        write("token", "second");
        put("b", "10.0.0.2");
        // What it knew comes first, if it goes on where it was.
        let both = async { while watch.next().await.unwrap().len() < 2 {} };
        tokio::time::timeout(Duration::from_secs(30), both).await.expect("the pod follows what changes");
    }

    #[tokio::test]
    async fn who_is_in_no_pod_hears_so() {
        let folder = tempfile::tempdir().unwrap();
        let pod = || Pod { folder: folder.path().to_owned(), ..Pod::new(Arc::new(Policy::Anywhere)) };
        for host in [None, Some("10.0.0.1".to_owned())] {
            let error = Account::Pod(Pod { host, ..pod() }).enter().await.unwrap_err();
            assert!(error.message().contains("does not run in a pod"), "{error}");
        }
    }
}

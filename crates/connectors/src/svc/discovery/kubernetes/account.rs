//! How we sign in to a cluster: with a token that was given, or as the pod that this program runs in.

use crate::shared::network::Policy;
use crate::shared::tls::TlsSettings;
use crate::svc::discovery::web::{Web, secret_header};
use fetch::Url;
use fetch::http::header::{AUTHORIZATION, HeaderMap};
use std::path::Path;
use std::sync::Arc;
use tool::{Error, Result, Secret};

/// Where a pod finds who it is.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Who asks the API of a cluster.
#[derive(Debug)]
pub(in crate::svc::discovery) enum Account {
    Given(Arc<Web>, HeaderMap),
    /// What the pod has is read when it is needed; tokens change every hour.
    Pod(Arc<Policy>, Option<Arc<Web>>),
}

impl Account {
    pub(super) async fn enter(&mut self) -> Result<(Arc<Web>, HeaderMap)> {
        match self {
            Self::Given(web, headers) => Ok((web.clone(), headers.clone())),
            Self::Pod(policy, known) => {
                let web = match known {
                    Some(web) => web.clone(),
                    None => known.insert(Arc::new(pod_web(policy.clone()).await?)).clone(),
                };
                let token = Secret::new(read("token").await?.trim().to_owned());
                let header = secret_header(AUTHORIZATION, &token, "token", &mut Vec::new());
                let header = header.ok_or_else(|| Error::invalid_config("the pod's token is no header"))?;
                Ok((web, HeaderMap::from_iter([header])))
            }
        }
    }
}

async fn pod_web(policy: Arc<Policy>) -> Result<Web> {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let host = variable("KUBERNETES_SERVICE_HOST").ok_or_else(no_pod)?;
    let port = variable("KUBERNETES_SERVICE_PORT").unwrap_or_else(|| "443".to_owned());
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let url = Url::parse(&format!("https://{host}:{port}")).map_err(|_| no_pod())?;
    let ca = Some(read("ca.crt").await?);
    let tls = TlsSettings { ca, ..TlsSettings::default() }.check(&mut Vec::new());
    Ok(Web::new("Kubernetes", "discovery.in_cluster", url, policy, tls))
}

async fn read(name: &str) -> Result<String> {
    tokio::fs::read_to_string(Path::new(FOLDER).join(name)).await.map_err(|error| no_pod().caused_by(error))
}

fn no_pod() -> Error {
    Error::invalid_config(
        "this program does not run in a pod with a service account; give 'discovery.api_server'",
    )
}

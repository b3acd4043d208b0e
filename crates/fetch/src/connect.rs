//! New connections: names, addresses, certificates.

use crate::connection::Connection;
use crate::error::{Error, ResolveError};
use crate::pool::Origin;
use futures::future::BoxFuture;
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, MaybeHttpsStream, ResolveServerName,
};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls_platform_verifier::Verifier;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OnceCell;
use tower_service::Service;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The addresses of a name, or why there are none.
pub type Resolving = BoxFuture<'static, Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>>>;

/// Looks up names. Connections go to the addresses it gives and to no others; a host that is
/// written as an address is not asked about.
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// The addresses of `name`; their ports are ignored.
    fn resolve(&self, name: &str) -> Resolving;
}

/// What a client brings to HTTPS beside what this machine knows.
#[derive(Debug, Default)]
pub struct Tls {
    /// Who we are to a server that asks: certificates, ours first, and the key of ours.
    pub identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    /// Who else may vouch for servers.
    pub authorities: Vec<CertificateDer<'static>>,
    /// The name in the certificate of the server, where it is not the host of the URL.
    pub server_name: Option<ServerName<'static>>,
    /// The only host that is called so, as its URL writes it; every host where none is given.
    pub named_host: Option<String>,
}

impl Tls {
    /// The whole for other clients than ours. Reads files.
    ///
    /// # Errors
    /// When the identity is none, or this machine has no authorities.
    pub fn to_config(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = Verifier::new_with_extra_roots(self.authorities.clone(), provider.clone())?;
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        // The verifier is the platform's own.
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        match &self.identity {
            Some((chain, key)) => builder.with_client_auth_cert(chain.clone(), key.clone_key()),
            None => Ok(builder.with_no_client_auth()),
        }
    }
}

pub(crate) struct Connector {
    tcp: HttpConnector<Resolver>,
    tls: Arc<Tls>,
    /// Made when it is first needed: the certificates take a file to read and a megabyte to keep.
    loaded: OnceCell<Arc<ClientConfig>>,
}

impl Connector {
    pub(crate) fn new(resolve: Arc<dyn Resolve>, tls: Tls) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(resolve));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        Self { tcp, tls: Arc::new(tls), loaded: OnceCell::new() }
    }

    pub(crate) async fn connect(&self, origin: Origin) -> Result<Box<Connection>, Error> {
        let uri = origin.to_uri()?;
        let connecting = async {
            if !origin.is_secure() {
                let stream =
                    self.tcp.clone().call(uri).await.map_err(|error| Error::connect(error.into()))?;
                return Ok(MaybeHttpsStream::Http(stream));
            }
            let tls = self.loaded.get_or_try_init(|| load(self.tls.clone())).await?.clone();
            let mut https = HttpsConnector::new(self.tcp.clone(), tls, true, self.server_name(uri.host()));
            https.call(uri).await.map_err(Error::connect)
        };
        // The shake of hands that TLS needs counts, too.
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        let stream = stream.map_err(|late| Error::connect(late.into()))??;
        Ok(Connection::new(stream, origin))
    }

    /// Whoever else is asked on the way, for a token or by a redirect, has a name of its own.
    fn server_name(&self, host: Option<&str>) -> Arc<dyn ResolveServerName + Send + Sync> {
        let is_meant = self.tls.named_host.is_none() || self.tls.named_host.as_deref() == host;
        match &self.tls.server_name {
            Some(name) if is_meant => Arc::new(FixedServerNameResolver::new(name.clone())),
            _ => Arc::new(DefaultServerNameResolver::default()),
        }
    }
}

async fn load(tls: Arc<Tls>) -> Result<Arc<ClientConfig>, Error> {
    let loaded = tokio::task::spawn_blocking(move || tls.to_config()).await;
    let loaded = loaded.map_err(|error| Error::connect(error.into()))?;
    loaded.map(Arc::new).map_err(|error| Error::connect(error.into()))
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Resolver(Arc<dyn Resolve>);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ResolveError;
    type Future = BoxFuture<'static, Result<Self::Response, ResolveError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ResolveError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolving = self.0.resolve(name.as_str());
        Box::pin(async move { resolving.await.map(Vec::into_iter).map_err(ResolveError) })
    }
}

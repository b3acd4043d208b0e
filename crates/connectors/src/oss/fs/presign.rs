//! Links to objects of this machine: addresses of our own, which seal what they are for.

use crate::oss::Settings;
use crate::oss::store::{PresignRequest, Presigned};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tool::{Env, Error, Link, LinkMethod, Links, Result, Settings as _, TenantId};

/// Makes links for one service.
#[derive(Debug)]
pub(super) struct Linker {
    links: Option<Arc<dyn Links>>,
    tenant: TenantId,
    service: Option<String>,
    made_at_ms: Option<i64>,
}

impl Linker {
    pub(super) fn new(env: &Env) -> Self {
        Self {
            links: env.links.clone(),
            tenant: env.tenant.clone(),
            service: env.service.clone(),
            made_at_ms: env.made_at_ms,
        }
    }

    pub(super) fn presign(&self, request: PresignRequest<'_>) -> Result<Presigned> {
        let (Some(links), Some(service)) = (&self.links, &self.service) else {
            return Err(Error::unsupported("links to files of this machine need a server that serves them"));
        };
        let expires_at = SystemTime::now() + request.expires;
        let since = expires_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let link = Link {
            tenant: self.tenant.clone(),
            scheme: Settings::SCHEME.to_owned(),
            service: service.clone(),
            made_at_ms: self.made_at_ms,
            key: request.key.as_str().to_owned(),
            method: request.method,
            expires_at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            filename: request.filename.map(str::to_owned),
            content_type: request.content_type.map(str::to_owned),
        };
        let mut headers = BTreeMap::new();
        if let Some(content_type) = request.content_type.filter(|_| request.method == LinkMethod::Put) {
            headers.insert("Content-Type".to_owned(), content_type.to_owned());
        }
        Ok(Presigned { url: links.url(&link)?, headers, expires_at })
    }
}

//! Webhooks: requests from outside that prove themselves and become runs.

use super::OnInvalidInputs;
use crate::flows::Flows;
use crate::flows::start::{MAX_KEY_BYTES, StartedRun};
use chrono::{DateTime, Utc};
use flow::engine::Clock as _;
use flow::webhook::{Received, verify};
use flow::{Source, WebhookAuth};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use store::Status;
use tool::{Error, Result};

/// What signs a sender in, or is between it and others.
const PRIVATE: [&str; 5] =
    ["authorization", "cookie", "x-api-key", "proxy-authorization", "webhook-signature"];

/// A request to a webhook.
#[derive(Debug)]
pub struct Delivery {
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// What stood behind the question mark.
    pub query: Map<String, Value>,
    /// As it came.
    pub body: Vec<u8>,
}

impl Delivery {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// It is from whom it says.
    fn check(&self, source: &Source, secret: &str, now: DateTime<Utc>) -> Result<()> {
        let header = |name: &str| self.header(name);
        let received = Received { header: &header, body: &self.body };
        verify(source, secret, &received, now).map_err(|refused| Error::unauthenticated(refused.to_string()))
    }

    /// What tells the delivery from others, if its sender says so.
    fn key(&self, auth: WebhookAuth) -> Result<Option<&str>> {
        let headers: &[&str] = match auth {
            WebhookAuth::Standard => &["webhook-id", "idempotency-key"],
            WebhookAuth::Token | WebhookAuth::Hmac => &["idempotency-key"],
        };
        let found = headers.iter().find_map(|name| Some((name, self.header(name)?)));
        let Some((name, key)) = found else { return Ok(None) };
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(Error::invalid_input(format!("the header '{name}' has 1 to {MAX_KEY_BYTES} bytes")));
        }
        Ok(Some(key))
    }

    /// What expressions see as `trigger`.
    fn event(&self, name: &str, signed_by: Option<&str>) -> Value {
        let is_private = |header: &str| {
            PRIVATE.contains(&header) || signed_by.is_some_and(|own| own.eq_ignore_ascii_case(header))
        };
        let headers: Map<String, Value> = self
            .headers
            .iter()
            .filter(|(header, _)| !is_private(header))
            .map(|(header, value)| (header.clone(), value.as_str().into()))
            .collect();
        let text = String::from_utf8_lossy(&self.body);
        let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
        json!({ "type": "webhook", "name": name, "body": body, "headers": headers, "query": self.query })
    }
}

impl Flows {
    /// Starts the run that a request to a webhook asks for.
    ///
    /// # Errors
    /// `NotFound` where nobody listens, `Unauthenticated` where the request does not prove itself, and those of a start.
    pub async fn receive(self: &Arc<Self>, hook: &str, delivery: Delivery) -> Result<StartedRun> {
        let missing = || Error::missing("there is no such webhook");
        let kept = self.store.flows().trigger_of_hook(hook).await?;
        let kept = kept.filter(|kept| kept.is_enabled).ok_or_else(missing)?;
        let is_active = self.store.tenants().get(&kept.tenant).await?.status == Status::Active;
        let is_enabled = self.store.flows().get(&kept.tenant, &kept.flow).await?.is_enabled;
        let secret = kept.secret.clone().filter(|_| is_active && is_enabled).ok_or_else(missing)?;
        let armed = self.armed(kept).await?;
        let Source::Webhook { auth, header, .. } = &armed.trigger.source else { return Err(missing()) };
        delivery.check(&armed.trigger.source, secret.expose(), self.clock.now())?;
        let event = delivery.event(&armed.kept.name, header.as_deref());
        let key = delivery.key(*auth)?.map(str::to_owned);
        self.fire(&armed, event, key, OnInvalidInputs::Refuse, None).await
    }
}

//! The headers of the caller's own request, for services that may be handed some of them.

use http::header::{GetAll, HeaderMap, HeaderName, HeaderValue};
use std::fmt;
use std::sync::Arc;

/// What the caller sent along. Nobody sees it but those who ask for a header by its name, and it
/// never shows in logs, as it may hold keys of the caller.
#[derive(Clone, Default)]
pub struct CallerHeaders(Option<(Arc<HeaderMap>, HeaderName)>);

impl CallerHeaders {
    /// All headers but the one that signed the caller in: that is meant for us, and no service may
    /// collect it.
    #[must_use]
    pub fn new(headers: Arc<HeaderMap>, signed_in_by: HeaderName) -> Self {
        Self(Some((headers, signed_in_by)))
    }

    /// Every value of one header.
    #[must_use]
    pub fn get_all(&self, name: &HeaderName) -> Option<GetAll<'_, HeaderValue>> {
        let (headers, signed_in_by) = self.0.as_ref()?;
        (name != signed_in_by).then(|| headers.get_all(name))
    }
}

impl fmt::Debug for CallerHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} headers", self.0.as_ref().map_or(0, |(headers, _)| headers.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_values_only_to_those_who_ask_by_name() {
        let (name, key) = (HeaderName::from_static("x-user-token"), HeaderName::from_static("x-api-key"));
        let value = HeaderValue::from_static("hunter2");
        let headers = HeaderMap::from_iter([(name.clone(), value.clone()), (key.clone(), value)]);
        let headers = CallerHeaders::new(Arc::new(headers), key.clone());
        assert_eq!(format!("{headers:?}"), "2 headers");
        let found: Vec<_> = headers.get_all(&name).into_iter().flatten().collect();
        assert_eq!(found, ["hunter2"]);
        assert!(headers.get_all(&key).is_none());
        assert!(CallerHeaders::default().get_all(&name).is_none());
    }
}

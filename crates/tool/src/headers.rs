//! The headers of the caller's own request, for services that may be handed some of them.

use http::header::{GetAll, HeaderMap, HeaderValue};
use std::fmt;
use std::sync::Arc;

/// What the caller sent along. Nobody sees it but those who ask for a header by its name, and it
/// never shows in logs, as it may hold keys of the caller.
#[derive(Clone, Default)]
pub struct CallerHeaders(Option<Arc<HeaderMap>>);

impl CallerHeaders {
    /// Takes the headers over. What signed the caller in here must not be among them: it is meant
    /// for us, and no service may collect it.
    #[must_use]
    pub fn new(headers: HeaderMap) -> Self {
        Self(Some(Arc::new(headers)))
    }

    /// Every value of one header.
    #[must_use]
    pub fn get_all(&self, name: &http::HeaderName) -> Option<GetAll<'_, HeaderValue>> {
        self.0.as_ref().map(|headers| headers.get_all(name))
    }
}

impl fmt::Debug for CallerHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} headers", self.0.as_ref().map_or(0, |headers| headers.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_values_only_to_those_who_ask_by_name() {
        let name = http::HeaderName::from_static("x-user-token");
        let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_static("hunter2"))]);
        let headers = CallerHeaders::new(headers);
        assert_eq!(format!("{headers:?}"), "1 headers");
        let found: Vec<_> = headers.get_all(&name).into_iter().flatten().collect();
        assert_eq!(found, ["hunter2"]);
        assert!(CallerHeaders::default().get_all(&name).is_none());
    }
}

//! Where a call went, as its record says.

use super::Subject;
use crate::catalog::Route;
use tool::uri::Options;

/// Where the call went: its address, and the service.
pub(super) fn place_of(
    route: Option<&Route>,
    subject: Option<Subject>,
    options: Options,
) -> (Option<String>, Option<String>) {
    match (route, subject) {
        (Some(route), _) if options.is_empty() => {
            (Some(route.address.clone()), Some(route.service.id.clone()))
        }
        (Some(route), _) => {
            let uri = route.uri.with_options(options).to_string();
            (Some(uri), Some(route.service.id.clone()))
        }
        (None, Some(subject)) => (Some(subject.uri), Some(subject.service)),
        (None, None) => (None, None),
    }
}

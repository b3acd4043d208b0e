//! Listing objects, a page at a time, in the order of their keys.

use super::{Cloud, failure, to_object};
use crate::oss::store::{ListRequest, Listing};
use futures::TryStreamExt as _;
use opendal::options::ListOptions;
use tool::{Error, Result};

/// How many keys are passed over for a store that cannot begin where the last page ended.
const MAX_PASSED: usize = 100_000;

pub(super) async fn list(cloud: &Cloud, request: &ListRequest) -> Result<Listing> {
    let explain = |error| failure::explain(error, &request.prefix);
    let capability = cloud.operator.info().capability();
    let options = ListOptions {
        recursive: !request.is_joined,
        limit: capability.list_with_limit.then(|| (request.limit + 1).min(1000)),
        start_after: request.after.clone().filter(|_| capability.list_with_start_after),
        ..ListOptions::default()
    };
    let mut entries = cloud.operator.lister_options(&request.prefix, options).await.map_err(explain)?;
    let (mut listing, mut passed) = (Listing::default(), 0);
    while let Some(entry) = entries.try_next().await.map_err(explain)? {
        let key = entry.path();
        // What the page before ended with may be a folder, which begins anew with each of its keys.
        let is_seen = request
            .after
            .as_deref()
            .is_some_and(|after| key <= after || after.ends_with('/') && key.starts_with(after));
        if is_seen
            || !key.starts_with(&request.prefix)
            || key == request.prefix && key.ends_with('/')
            || key.is_empty()
        {
            passed += 1;
            if passed > MAX_PASSED {
                let message = format!(
                    "the store cannot begin where the last page ended, and there are more than {MAX_PASSED} keys before; list with a longer prefix"
                );
                return Err(Error::unsupported(message));
            }
            continue;
        }
        if listing.len() >= request.limit {
            listing.is_truncated = true;
            break;
        }
        match entry.metadata().is_dir() {
            true if request.is_joined => listing.prefixes.push(key.to_owned()),
            // A marker of an empty folder is no object that anybody can load.
            true => {}
            false => listing.objects.push(to_object(key, entry.metadata())),
        }
    }
    Ok(listing)
}

//! Listing objects, a page at a time, in the order of their keys.

use super::{Cloud, failure, to_object};
use crate::oss::store::{ListRequest, Listing};
use futures::TryStreamExt as _;
use opendal::Entry;
use opendal::options::ListOptions;
use tool::{Error, Result};

/// How many keys are passed over for a store that cannot begin where the last page ended.
const MAX_PASSED: usize = 100_000;

/// What one request gives at the most.
const MAX_PAGE: usize = 1000;

pub(super) async fn list(cloud: &Cloud, request: &ListRequest) -> Result<Listing> {
    let explain = |error| failure::explain(error, &request.prefix);
    let capability = cloud.operator.info().capability();
    let page = if capability.list_with_limit { (request.limit + 1).min(MAX_PAGE) } else { MAX_PAGE };
    let options = ListOptions {
        recursive: !request.is_joined,
        limit: capability.list_with_limit.then_some(page),
        start_after: request.after.clone().filter(|_| capability.list_with_start_after),
        ..ListOptions::default()
    };
    let mut entries = cloud.operator.lister_options(&request.prefix, options).await.map_err(explain)?;
    let (mut found, mut passed) = (Vec::new(), 0);
    // Folders come before the files of their page, so that it must be there as a whole.
    let enough = request.limit + 1 + if request.is_joined { page } else { 0 };
    while found.len() < enough {
        let Some(entry) = entries.try_next().await.map_err(explain)? else { break };
        // A marker of an empty folder is no object that anybody can load.
        let is_object = request.is_joined || !entry.metadata().is_dir();
        if is_object && is_wanted(request, entry.path()) {
            found.push(entry);
            continue;
        }
        passed += 1;
        if passed > MAX_PASSED {
            let message = format!(
                "the store cannot begin where the last page ended, and there are more than {MAX_PASSED} keys before; list with a longer prefix"
            );
            return Err(Error::unsupported(message));
        }
    }
    found.sort_by(|one, other| one.path().cmp(other.path()));
    Ok(to_listing(request, &found))
}

/// The key is below the prefix, and the page before has not ended with it, or with the folder it is in.
fn is_wanted(request: &ListRequest, key: &str) -> bool {
    let ListRequest { prefix, after, .. } = request;
    let is_seen =
        after.as_deref().is_some_and(|after| key <= after || after.ends_with('/') && key.starts_with(after));
    let is_folder_itself = key == prefix && key.ends_with('/');
    !is_seen && key.starts_with(prefix.as_str()) && !is_folder_itself && !key.is_empty()
}

fn to_listing(request: &ListRequest, found: &[Entry]) -> Listing {
    let mut listing = Listing { is_truncated: found.len() > request.limit, ..Listing::default() };
    for entry in found.iter().take(request.limit) {
        match entry.metadata().is_dir() {
            true => listing.prefixes.push(entry.path().to_owned()),
            false => listing.objects.push(to_object(entry.path(), entry.metadata())),
        }
    }
    listing
}

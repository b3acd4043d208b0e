//! Listing objects, a page at a time, in the order of their keys.

use super::{Cloud, failure, to_object};
use crate::oss::store::{ListRequest, Listing};
use futures::TryStreamExt as _;
use opendal::options::ListOptions;
use opendal::{Entry, HttpTransporter, OperationContext};
use std::collections::HashSet;
use tool::{Error, Object, Result};

/// How many keys are passed over for a store that cannot begin where the last page ended, or cannot join.
const MAX_PASSED: usize = 100_000;

/// What one request gives at the most.
const MAX_PAGE: usize = 1000;

pub(super) async fn list(cloud: &Cloud, request: &ListRequest) -> Result<Listing> {
    let explain = |error| failure::explain(error, &request.prefix);
    let capability = cloud.operator.info().capability();
    // Only '/' is joined by the store; what others join is passed over here, page by page.
    let is_by_folder = request.is_by_folder();
    let is_short = capability.list_with_limit && (is_by_folder || request.delimiter.is_none());
    let page = if is_short { (request.limit + 1).min(MAX_PAGE) } else { MAX_PAGE };
    let options = ListOptions {
        recursive: !is_by_folder,
        limit: capability.list_with_limit.then_some(page),
        start_after: request.after.clone().filter(|_| capability.list_with_start_after),
        ..ListOptions::default()
    };
    let is_in_its_order = request.delimiter.is_none() && capability.list_with_start_after;
    let context =
        OperationContext::new().with_http_transport(HttpTransporter::new(cloud.transport.for_list()));
    let operator = cloud.operator.clone().with_context(context);
    let mut entries = operator.lister_options(&request.prefix, options).await.map_err(explain)?;
    let (mut found, mut passed) = (Found::default(), 0);
    // Folders come before the files of their page, so that it must be there as a whole.
    let enough = request.limit + 1 + if is_by_folder { page } else { 0 };
    while found.entries.len() < enough {
        let Some(entry) = entries.try_next().await.map_err(explain)? else { break };
        let is_seen = match is_in_its_order {
            // The store begins behind it, in an order that may not be that of bytes.
            true => request.after.as_deref() == Some(entry.path()),
            false => request.is_seen(entry.path()),
        };
        if is_seen || !put(request, &entry, &mut found) {
            passed += 1;
        }
        if passed > MAX_PASSED {
            let message = format!(
                "the store cannot pass over what is joined or was listed before, and that is more than {MAX_PASSED} keys; list with a longer prefix"
            );
            return Err(Error::unsupported(message));
        }
    }
    if !is_in_its_order {
        found.entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    }
    Ok(to_listing(request, found))
}

/// Keys and what they are joined to, each once and as they came; what is joined is no object.
#[derive(Default)]
struct Found {
    entries: Vec<(String, Option<Object>)>,
    names: HashSet<String>,
}

impl Found {
    fn insert(&mut self, name: &str, object: Option<Object>) -> bool {
        let is_new = self.names.insert(name.to_owned());
        if is_new {
            self.entries.push((name.to_owned(), object));
        }
        is_new
    }
}

/// Whether the entry brings something that was not there yet.
fn put(request: &ListRequest, entry: &Entry, found: &mut Found) -> bool {
    let (key, is_folder) = (entry.path(), entry.metadata().is_dir());
    // A marker of an empty folder is no object that anybody can load.
    if is_folder && !request.is_by_folder() || !is_wanted(request, key) {
        return false;
    }
    match request.group(key) {
        Some(group) => found.insert(group, None),
        None => found.insert(key, Some(to_object(key, entry.metadata()))),
    }
}

/// The key is below the prefix.
fn is_wanted(request: &ListRequest, key: &str) -> bool {
    let is_folder_itself = key == request.prefix && key.ends_with('/');
    key.starts_with(&request.prefix) && !is_folder_itself && !key.is_empty()
}

fn to_listing(request: &ListRequest, found: Found) -> Listing {
    let mut listing = Listing { is_truncated: found.entries.len() > request.limit, ..Listing::default() };
    for (key, object) in found.entries.into_iter().take(request.limit) {
        listing.last = Some(key.clone());
        match object {
            Some(object) => listing.objects.push(object),
            None => listing.prefixes.push(key),
        }
    }
    listing.objects.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    listing
}

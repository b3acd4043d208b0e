//! Listing objects, a page at a time, in the order of their keys.

use super::page::Page;
use super::transport::Transport;
use super::{Cloud, failure, to_object};
use crate::oss::cursor::Cursor;
use crate::oss::store::{ListRequest, Listing};
use futures::TryStreamExt as _;
use opendal::options::ListOptions;
use opendal::{Entry, HttpTransporter, Lister, OperationContext};
use std::collections::HashSet;
use std::sync::Arc;
use tool::{Error, Object, Result};

/// How many keys are passed over for a store that cannot begin where the last page ended, or cannot join.
const MAX_PASSED: usize = 100_000;

/// What one request gives at the most.
const MAX_PAGE: usize = 1000;

pub(super) async fn list(cloud: &Cloud, request: &ListRequest) -> Result<Listing> {
    let can_begin = cloud.operator.info().capability().list_with_start_after;
    match request.is_by_folder() && can_begin {
        true => list_as_the_store(cloud, request).await,
        false => list_by_key(cloud, request, can_begin).await,
    }
}

/// Page by page as the store cuts them. It has folders apart from files, so that nobody else can tell which of them is the
/// last where its order is not that of bytes.
async fn list_as_the_store(cloud: &Cloud, request: &ListRequest) -> Result<Listing> {
    let (mut mark, mut after) = match request.after.clone() {
        Some(Cursor::Mark(mark)) => (Some(mark), None),
        Some(Cursor::Key(key)) => (None, Some(key)),
        None => (None, None),
    };
    let transport = cloud.transport.for_list();
    loop {
        let options =
            ListOptions { limit: Some(request.limit), start_after: after.clone(), ..ListOptions::default() };
        let page = Arc::new(Page::new(mark));
        let mut entries = lister(cloud, transport.for_page(page.clone()), request, options).await?;
        let mut found = Found::default();
        loop {
            let entry = match entries.try_next().await {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(_) if page.is_over() => break,
                Err(error) => return Err(failure::explain(error, &request.prefix)),
            };
            if !after.as_deref().is_some_and(|after| request.is_end(entry.path(), after)) {
                put(request, &entry, &mut found);
            }
        }
        mark = page.next();
        after = None;
        // A page may hold nothing but the marker of its own folder.
        if !found.entries.is_empty() || mark.is_none() {
            let (is_truncated, end) = (mark.is_some(), mark.map(Cursor::Mark));
            return Ok(Listing { is_truncated, end, ..to_listing(found.entries) });
        }
    }
}

/// From key to key: behind the last one, in whatever order, where the store can begin there, and in the order of bytes where
/// it begins at the beginning. Only '/' is joined by the store; what others join is passed over here, page by page.
async fn list_by_key(cloud: &Cloud, request: &ListRequest, can_begin: bool) -> Result<Listing> {
    let after = request.after_key()?;
    let is_by_folder = request.is_by_folder();
    let can_limit = cloud.operator.info().capability().list_with_limit;
    let is_short = can_limit && (is_by_folder || request.delimiter.is_none());
    let page = if is_short { (request.limit + 1).min(MAX_PAGE) } else { MAX_PAGE };
    let options = ListOptions {
        recursive: !is_by_folder,
        limit: can_limit.then_some(page),
        start_after: after.filter(|_| can_begin).map(str::to_owned),
        ..ListOptions::default()
    };
    let mut entries = lister(cloud, cloud.transport.for_list(), request, options).await?;
    let (mut found, mut passed) = (Found::default(), 0);
    // Folders come before the files of their page, so that it must be there as a whole.
    let enough = request.limit + 1 + if is_by_folder { page } else { 0 };
    while found.entries.len() < enough {
        let entry = entries.try_next().await.map_err(|error| failure::explain(error, &request.prefix))?;
        let Some(entry) = entry else { break };
        let is_seen = after
            .is_some_and(|after| request.is_end(entry.path(), after) || !can_begin && entry.path() <= after);
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
    if !can_begin {
        found.entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    }
    let is_truncated = found.entries.len() > request.limit;
    found.entries.truncate(request.limit);
    let end = found.entries.last().map(|(last, _)| Cursor::Key(last.clone()));
    Ok(Listing { is_truncated, end, ..to_listing(found.entries) })
}

async fn lister(
    cloud: &Cloud,
    transport: Transport,
    request: &ListRequest,
    options: ListOptions,
) -> Result<Lister> {
    let context = OperationContext::new().with_http_transport(HttpTransporter::new(transport));
    let operator = cloud.operator.clone().with_context(context);
    let lister = operator.lister_options(&request.prefix, options).await;
    lister.map_err(|error| failure::explain(error, &request.prefix))
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

fn to_listing(entries: Vec<(String, Option<Object>)>) -> Listing {
    let mut listing = Listing::default();
    for (key, object) in entries {
        match object {
            Some(object) => listing.objects.push(object),
            None => listing.prefixes.push(key),
        }
    }
    listing.objects.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    listing.prefixes.sort_unstable();
    listing
}

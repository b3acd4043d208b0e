//! Reading objects: one request, and others from where it broke. What is short is never taken for whole.

use super::transport::Transport;
use super::{Cloud, failure};
use crate::oss::key::Key;
use crate::oss::store::PresignRequest;
use async_trait::async_trait;
use bytes::Bytes;
use fetch::http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, LAST_MODIFIED, RANGE,
};
use fetch::http::{HeaderMap, HeaderValue, Method, StatusCode};
use fetch::{Response, Url};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use tool::objects::{Chunks, InMemory, Part, Reading};
use tool::{Error, LinkMethod, Object, Result};

/// Long enough for a request to arrive.
const SIGNED_FOR: Duration = Duration::from_secs(900);
/// How often a download goes on without getting anywhere.
const MAX_BREAKS: u32 = 3;
/// The pause before the first of them, a third of it.
const PAUSE: Duration = Duration::from_millis(50);
/// What the notes of objects begin with, in headers.
const NOTES: [&str; 4] = ["x-amz-meta-", "x-oss-meta-", "x-cos-meta-", "x-obs-meta-"];

/// Begins to read an object.
pub(super) async fn load(cloud: &Cloud, key: &Key, part: Part) -> Result<Reading> {
    let (response, object, range) = match part {
        // A range of an object without bytes is an error to some stores.
        Part::From(0, None) => request(cloud, key, None, None).await?,
        part => match request(cloud, key, Some(range_header(part)), None).await {
            Err(error) if error.status() == Some(416) => return behind_the_end(cloud, key).await,
            found => found?,
        },
    };
    // A store that takes no notice of a range, or sends another one, would have us show other bytes than were asked for.
    if range != part.within(object.size) {
        return Err(Error::upstream(format!(
            "the store sent the bytes {} to {} of {}, which are not those that were asked for",
            range.start, range.end, object.size
        )));
    }
    let download = Download {
        cloud: cloud.clone(),
        key: key.clone(),
        etag: object.etag.clone(),
        response,
        next: range.clone(),
        breaks: 0,
    };
    Ok(Reading { object, range, body: Box::new(download) })
}

/// A part that the object does not have.
async fn behind_the_end(cloud: &Cloud, key: &Key) -> Result<Reading> {
    let found =
        cloud.operator.stat(key.as_str()).await.map_err(|error| failure::explain(error, key.as_str()))?;
    let object = super::to_object(key.as_str(), &found);
    Ok(Reading { range: object.size..object.size, object, body: InMemory::body(Bytes::new()) })
}

fn range_header(part: Part) -> String {
    match part {
        Part::From(start, None) => format!("bytes={start}-"),
        Part::From(start, Some(length)) => {
            format!("bytes={start}-{}", start.saturating_add(length.saturating_sub(1)))
        }
        Part::Last(length) => format!("bytes=-{length}"),
    }
}

/// One signed request, and what its answer says of the object and the range that comes.
async fn request(
    cloud: &Cloud,
    key: &Key,
    range: Option<String>,
    etag: Option<&str>,
) -> Result<(Response, Object, Range<u64>)> {
    let wanted = PresignRequest {
        key,
        method: LinkMethod::Get,
        expires: SIGNED_FOR,
        content_type: None,
        filename: None,
    };
    let (url, mut headers) = cloud.signer.presign(&wanted).await?;
    let url = Url::parse(&url).map_err(|_| Error::internal("the store has no address"))?;
    let header =
        |text: &str| HeaderValue::from_str(text).map_err(|_| Error::internal("a header cannot be written"));
    if let Some(range) = &range {
        headers.insert(RANGE, header(range)?);
    }
    if let Some(etag) = etag {
        headers.insert(IF_MATCH, header(&format!("\"{etag}\""))?);
    }
    let mut response = cloud.transport.send(Method::GET, url, headers, Bytes::new()).await?;
    match response.status() {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
        StatusCode::NOT_FOUND => {
            let words = cloud.transport.words(&mut response).await;
            failure::check_bucket(&cloud.transport.bucket, &words)?;
            return Err(failure::missing(key.as_str()));
        }
        StatusCode::PRECONDITION_FAILED => {
            return Err(Error::unavailable("the object was replaced while it was read").retryable());
        }
        status => {
            let words = cloud.transport.words(&mut response).await;
            return Err(failure::refusal(status, response.headers(), &words));
        }
    }
    let is_part = response.status() == StatusCode::PARTIAL_CONTENT;
    let (range, size) = extent(response.headers(), is_part)
        .ok_or_else(|| Error::upstream("the store does not say how large the object is"))?;
    let object = about(key.as_str(), size, response.headers());
    Ok((response, object, range))
}

/// Which bytes come, and how many there are.
fn extent(headers: &HeaderMap, is_part: bool) -> Option<(Range<u64>, u64)> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if !is_part {
        let size = text(CONTENT_LENGTH)?.parse().ok()?;
        return Some((0..size, size));
    }
    let (range, size) = text(CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, size): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, size.parse().ok()?);
    (first <= last && last < size).then(|| (first..last + 1, size))
}

fn about(key: &str, size: u64, headers: &HeaderMap) -> Object {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let notes: BTreeMap<_, _> = headers
        .iter()
        .filter_map(|(name, value)| {
            let note = NOTES.iter().find_map(|prefix| name.as_str().strip_prefix(prefix))?;
            Some((note.to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect();
    Object {
        key: key.to_owned(),
        size,
        content_type: text(CONTENT_TYPE).map(str::to_owned),
        etag: text(ETAG).map(|etag| etag.trim_matches('"').to_owned()),
        last_modified: text(LAST_MODIFIED).and_then(|date| httpdate::parse_http_date(date).ok()),
        metadata: notes,
    }
}

/// An object on its way.
struct Download {
    cloud: Cloud,
    key: Key,
    etag: Option<String>,
    response: Response,
    /// What is still to come.
    next: Range<u64>,
    /// How often it broke since something came.
    breaks: u32,
}

impl Download {
    /// Goes on from where it broke, with the same object.
    async fn resume(&mut self, broken: Error) -> Result<()> {
        self.breaks += 1;
        // Without an etag nobody knows whether it is still the same.
        let (Some(etag), true) = (self.etag.clone(), self.breaks <= MAX_BREAKS) else { return Err(broken) };
        // A store that has just gone away may be back in a moment.
        tokio::time::sleep(PAUSE * 3_u32.pow(self.breaks)).await;
        let range = format!("bytes={}-{}", self.next.start, self.next.end - 1);
        let (response, object, range) = match request(&self.cloud, &self.key, Some(range), Some(&etag)).await
        {
            Err(error) if error.is_retryable() && self.breaks < MAX_BREAKS => {
                return Box::pin(self.resume(error)).await;
            }
            resumed => resumed?,
        };
        if object.etag.as_ref() != Some(&etag) || range != self.next {
            return Err(Error::unavailable("the object was replaced while it was read").retryable());
        }
        self.response = response;
        Ok(())
    }

    fn transport(&self) -> &Transport {
        &self.cloud.transport
    }
}

#[async_trait]
impl Chunks for Download {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        while !self.next.is_empty() {
            let transport = self.transport().clone();
            let broken = match transport.piece(&mut self.response).await {
                Ok(Some(piece)) if piece.len() as u64 <= self.next.end - self.next.start => {
                    self.next.start += piece.len() as u64;
                    self.breaks = 0;
                    return Ok(Some(piece));
                }
                Ok(Some(_)) => return Err(Error::upstream("the store sent more than it said")),
                Ok(None) => Error::unavailable("the object broke off before its end").retryable(),
                Err(error) => error,
            };
            self.resume(broken).await?;
        }
        Ok(None)
    }
}

//! One page of a list as the store cuts it, with the store's own marks of where it begins and ends.

use super::failure;
use fetch::Url;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tool::{Error, Result};

/// A thousand keys of 1024 bytes, each of which may be written with six.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// OpenDAL goes from page to page by itself, and keeps the marks to itself: a second page is refused here.
#[derive(Debug, Default)]
pub(super) struct Page {
    from: Option<String>,
    requests: AtomicUsize,
    next: Mutex<Option<String>>,
}

impl Page {
    pub(super) fn new(from: Option<String>) -> Self {
        Self { from, ..Self::default() }
    }

    /// Lets the request for this page begin at its mark.
    ///
    /// # Errors
    /// Where the request is for another page.
    pub(super) fn begin(&self, url: &mut Url) -> Result<()> {
        if self.requests.fetch_add(1, Ordering::Relaxed) > 0 {
            return Err(Error::internal("the page of the list is over"));
        }
        if let Some(mark) = &self.from {
            let query = url.query().map_or_else(String::new, |query| format!("{query}&"));
            let mark = utf8_percent_encode(mark, NON_ALPHANUMERIC);
            url.set_query(Some(&format!("{query}continuation-token={mark}")));
        }
        Ok(())
    }

    /// Keeps the mark of the next page.
    ///
    /// # Errors
    /// `Upstream` where there is one, and the store does not say its mark.
    pub(super) fn end(&self, list: &[u8]) -> Result<()> {
        let list = String::from_utf8_lossy(list);
        if failure::element(&list, "IsTruncated").as_deref() != Some("true") {
            return Ok(());
        }
        let next = text(&list, "NextContinuationToken").filter(|mark| !mark.is_empty());
        let next = next.ok_or_else(|| {
            Error::upstream("the store's list goes on, and it does not say where (NextContinuationToken)")
        })?;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        Ok(())
    }

    /// All of the page has come.
    pub(super) fn is_over(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 1
    }

    pub(super) fn next(&self) -> Option<String> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The text of an XML element without children.
fn text(xml: &str, name: &str) -> Option<String> {
    let written = xml.split_once(&format!("<{name}>"))?.1.split_once("</")?.0;
    let mut pieces = written.split('&');
    let mut text = pieces.next()?.to_owned();
    for piece in pieces {
        let (entity, rest) = piece.split_once(';')?;
        text.push(character(entity)?);
        text.push_str(rest);
    }
    Some(text)
}

/// What an entity of XML stands for.
fn character(entity: &str) -> Option<char> {
    let number = match entity {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        other => other.strip_prefix('#')?,
    };
    let code = match number.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(more: &str) -> Vec<u8> {
        format!("<ListBucketResult><Contents><Key>a</Key></Contents>{more}</ListBucketResult>").into_bytes()
    }

    /// OS-3
    #[test]
    fn goes_on_where_the_store_says() {
        let page = Page::new(None);
        let marked = "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b &lt;&#x4e2d;&#233;+/=</NextContinuationToken>";
        page.end(&list(marked)).unwrap();
        let next = Page::new(page.next());
        let mut url = Url::parse("https://store.example.com/b?list-type=2").unwrap();
        next.begin(&mut url).unwrap();
        let pairs: Vec<_> = url.query_pairs().collect();
        assert_eq!((pairs.len(), &*pairs[1].0, &*pairs[1].1), (2, "continuation-token", "a&b <中é+/="));
        assert!(!next.is_over() && next.begin(&mut url).is_err() && next.is_over());
        next.end(&list("<IsTruncated>false</IsTruncated>")).unwrap();
        assert_eq!(next.next(), None);
        assert!(Page::new(None).end(&list("<IsTruncated>true</IsTruncated>")).is_err());
    }
}

//! Links to objects: what they are for is sealed in the address itself, so that every replica can serve them and
//! nobody keeps any.

use std::time::{SystemTime, UNIX_EPOCH};
use store::Tokens;
use tool::{Error, Link, Links, Result, Secret};

/// What stands before the token in the path of a link.
const PATH: &str = "/o/";
/// A key of 1024 bytes, sealed, is shorter.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Makes links to this server, and opens them.
#[derive(Debug)]
pub struct SealedLinks {
    tokens: Tokens,
    /// How clients reach us, without a slash at the end.
    base_url: String,
}

impl SealedLinks {
    /// Links that begin with `base_url`; all processes with the same key open them.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn new(key: &Secret, base_url: &str) -> Result<Self> {
        let tokens =
            Tokens::new(key, "link").map_err(|error| Error::internal("no links").caused_by(error))?;
        Ok(Self { tokens, base_url: base_url.trim_end_matches('/').to_owned() })
    }

    /// What a token is for, if it is one of ours and has not ended.
    #[must_use]
    pub fn read(&self, token: &str) -> Option<Link> {
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let link: Link = serde_json::from_str(self.tokens.open(token)?.as_str()).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_millis();
        (now < u128::from(link.expires_at_ms)).then_some(link)
    }
}

impl Links for SealedLinks {
    fn url(&self, link: &Link) -> Result<String> {
        let failed = |error: store::Error| Error::internal("a link cannot be sealed").caused_by(error);
        let text =
            serde_json::to_string(link).map_err(|error| Error::internal("no link").caused_by(error))?;
        Ok(format!("{}{PATH}{}", self.base_url, self.tokens.seal(&text).map_err(failed)?))
    }

    fn open(&self, url: &str) -> Option<Link> {
        self.read(url.strip_prefix(&self.base_url)?.strip_prefix(PATH)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::LinkMethod;

    fn link(expires_at_ms: u64) -> Link {
        Link {
            tenant: "acme".parse().unwrap(),
            scheme: "oss".to_owned(),
            service: "docs".to_owned(),
            made_at_ms: Some(7),
            key: "中文 a+b&c.txt".to_owned(),
            method: LinkMethod::Get,
            expires_at_ms,
            filename: None,
            content_type: Some("text/plain".to_owned()),
        }
    }

    #[test]
    fn a_link_says_what_it_is_for_until_it_ends() {
        let links = SealedLinks::new(&Secret::new("key"), "https://a.test/base/").unwrap();
        let url = links.url(&link(u64::MAX)).unwrap();
        assert!(url.starts_with("https://a.test/base/o/") && !url.contains("acme"), "{url}");
        assert_eq!(links.open(&url), Some(link(u64::MAX)));
        assert!(links.open(&links.url(&link(1)).unwrap()).is_none(), "it has ended");
        assert!(links.open(&url.replace("a.test", "b.test")).is_none(), "it is another's");
        assert!(SealedLinks::new(&Secret::new("other"), "https://a.test/base").unwrap().open(&url).is_none());
        assert!(links.read(&"A".repeat(MAX_TOKEN_BYTES + 1)).is_none());
    }
}

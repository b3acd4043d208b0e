//! Where a broker is, read from its connection string.

use fetch::Url;
use percent_encoding::percent_decode_str;
use tool::{Problem, Secret};

/// A broker, and how to sign in there.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret>,
    /// What stands behind the host, without its slash: a database or a virtual host.
    pub(super) path: String,
    pub(super) is_secure: bool,
}

/// How the addresses of one kind of broker are written.
pub(super) struct Spelling {
    /// Without TLS and with it, each with its port.
    pub(super) schemes: [(&'static str, u16); 2],
    pub(super) example: &'static str,
}

impl Address {
    /// Reads a connection string; problems never quote it, because it holds a password.
    pub(super) fn parse(text: Option<&Secret>, spelling: &Spelling) -> Result<Self, Problem> {
        let example = spelling.example;
        let text = text.ok_or_else(|| {
            let message = format!("the connection_string is missing; write e.g. {example}");
            Problem::new("connection_string", "Required", message)
        })?;
        let url =
            Url::parse(text.expose()).map_err(|_| refused(&format!("is no URL; write e.g. {example}")))?;
        let [plain, secure] = spelling.schemes;
        let scheme = [plain, secure].into_iter().find(|(scheme, _)| *scheme == url.scheme());
        let (scheme, port) =
            scheme.ok_or_else(|| refused(&format!("does not fit 'broker'; write e.g. {example}")))?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refused(&format!("names no host; write e.g. {example}")))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("has options behind '?' or '#'; all options are settings"));
        }
        let username = Some(url.username()).filter(|name| !name.is_empty()).map(decoded).transpose()?;
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(port),
            username,
            password: url.password().map(decoded).transpose()?.map(Secret::new),
            path: decoded(url.path().trim_start_matches('/'))?,
            is_secure: scheme == secure.0,
        })
    }
}

fn decoded(text: &str) -> Result<String, Problem> {
    let decoded = percent_decode_str(text).decode_utf8().ok().filter(|text| !text.contains('\0'));
    decoded.map(Into::into).ok_or_else(|| refused("holds bytes that are no UTF-8"))
}

pub(super) fn refused(why: &str) -> Problem {
    Problem::new("connection_string", "InvalidUrl", format!("the connection_string {why}"))
}

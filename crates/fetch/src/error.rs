//! Why a request got no answer, or not all of it.

use std::error::Error as StdError;
use std::fmt;
use std::io;

type Source = Box<dyn StdError + Send + Sync>;

/// A failed exchange. It never names the address, which may hold a key.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    source: Option<Source>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The request cannot be sent to anybody.
    Unusable,
    Resolve,
    Connect,
    /// The connection broke after something was sent.
    Broken,
    /// What came is no answer.
    Malformed(&'static str),
    /// The body is not packed as it says.
    Encoding,
}

impl Error {
    pub(crate) fn unusable(source: impl Into<Source>) -> Self {
        Self { kind: Kind::Unusable, source: Some(source.into()) }
    }

    pub(crate) fn connect(source: Source) -> Self {
        let kind = if find::<ResolveError>(&*source).is_some() { Kind::Resolve } else { Kind::Connect };
        Self { kind, source: Some(source) }
    }

    pub(crate) fn broken(source: impl Into<Source>) -> Self {
        Self { kind: Kind::Broken, source: Some(source.into()) }
    }

    pub(crate) fn malformed(why: &'static str) -> Self {
        Self { kind: Kind::Malformed(why), source: Some(why.into()) }
    }

    pub(crate) fn malformed_by(why: &'static str, source: impl Into<Source>) -> Self {
        Self { kind: Kind::Malformed(why), source: Some(source.into()) }
    }

    pub(crate) fn encoding(source: impl Into<Source>) -> Self {
        Self { kind: Kind::Encoding, source: Some(source.into()) }
    }

    /// The request cannot be sent: its address or its headers are no good.
    #[must_use]
    pub fn is_unusable(&self) -> bool {
        self.kind == Kind::Unusable
    }

    /// The name was not resolved.
    #[must_use]
    pub fn is_resolve(&self) -> bool {
        self.kind == Kind::Resolve
    }

    /// No connection could be made, so that nothing was sent.
    #[must_use]
    pub fn is_connect(&self) -> bool {
        matches!(self.kind, Kind::Resolve | Kind::Connect)
    }

    /// The body is not packed as it says.
    #[must_use]
    pub fn is_encoding(&self) -> bool {
        self.kind == Kind::Encoding
    }

    /// What came is no answer, for this reason.
    pub(crate) fn malformed_because(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Malformed(why) => Some(why),
            Kind::Unusable | Kind::Resolve | Kind::Connect | Kind::Broken | Kind::Encoding => None,
        }
    }

    /// What came is no proper answer; it would be none the next time.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self.kind, Kind::Malformed(_))
    }

    /// The cause of this type, if there is one.
    #[must_use]
    pub fn find<E: StdError + 'static>(&self) -> Option<&E> {
        find(self.source.as_deref()?)
    }
}

fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // What such an error was made of is not among its causes.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = inner.map(|inner| inner as _).or_else(|| error.source());
    }
    None
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Unusable => "the request cannot be sent",
            Kind::Resolve => "the name cannot be resolved",
            Kind::Connect => "no connection can be made",
            Kind::Broken | Kind::Malformed(_) => "the connection broke",
            Kind::Encoding => "the answer cannot be unpacked",
        })
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Marks what the resolver said among the causes of a failed connection.
#[derive(Debug)]
pub(crate) struct ResolveError(pub(crate) Source);

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for ResolveError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        // Itself, so that whoever looks for its type finds it.
        Some(&*self.0)
    }
}

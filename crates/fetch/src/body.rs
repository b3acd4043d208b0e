//! The body of an answer, read as far as it has come.

use crate::chunked::Chunked;
use crate::error::Error;
use bytes::{Bytes, BytesMut};

/// What is still to come of a body.
#[derive(Debug)]
pub(crate) enum Body {
    Ended,
    /// So many bytes, at least one.
    Length(u64),
    Chunked(Chunked),
    /// Everything until the connection ends.
    UntilClose,
}

impl Body {
    pub(crate) fn of_length(length: u64) -> Self {
        if length == 0 { Self::Ended } else { Self::Length(length) }
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self, Self::Ended)
    }

    /// The next part of the body out of what has arrived. If there is none, the body has ended or
    /// more has to arrive.
    pub(crate) fn take(&mut self, input: &mut BytesMut) -> Result<Option<Bytes>, Error> {
        match self {
            Self::Ended => Ok(None),
            Self::Length(left) => {
                let part = take(input, left);
                if *left == 0 {
                    *self = Self::Ended;
                }
                Ok(part)
            }
            Self::Chunked(chunked) => {
                let part = chunked.take(input)?;
                if chunked.is_ended() {
                    *self = Self::Ended;
                }
                Ok(part)
            }
            Self::UntilClose if input.is_empty() => Ok(None),
            Self::UntilClose => Ok(Some(input.split().freeze())),
        }
    }

    /// The connection has ended: that may be the end of the body or not.
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        match self {
            Self::Ended | Self::UntilClose => {
                *self = Self::Ended;
                Ok(())
            }
            Self::Length(_) | Self::Chunked(_) => Err(Error::broken("it ended within a body")),
        }
    }

    /// How much is known to come.
    pub(crate) fn expected(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Ended | Self::Chunked(_) | Self::UntilClose => 0,
        }
    }
}

/// What there is of the `left` bytes, without a copy.
pub(crate) fn take(input: &mut BytesMut, left: &mut u64) -> Option<Bytes> {
    if input.is_empty() || *left == 0 {
        return None;
    }
    let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left = left.saturating_sub(count as u64);
    Some(input.split_to(count).freeze())
}

#[cfg(test)]
mod tests;

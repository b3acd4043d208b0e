//! Bodies that were packed for the way: gzip, brotli, zstd.

use crate::error::Error;
use crate::response::Flow;
use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZstdDecoder};
use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::io::StreamReader;

/// How much is unpacked at a time.
const PART_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Encoding {
    Gzip,
    Brotli,
    Zstd,
}

/// How the body is packed, if in a way that we undo; then the headers speak of it no more.
pub(crate) fn encoding(headers: &mut HeaderMap) -> Option<Encoding> {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let coding = codings.next()?.as_bytes().trim_ascii().to_ascii_lowercase();
    if codings.next().is_some() {
        return None;
    }
    let encoding = match coding.as_slice() {
        b"gzip" | b"x-gzip" => Encoding::Gzip,
        b"br" => Encoding::Brotli,
        b"zstd" => Encoding::Zstd,
        _ => return None,
    };
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    Some(encoding)
}

pub(crate) enum Decoder {
    /// Nothing has come yet: an empty body is empty, however it is packed.
    Waiting(Encoding, Flow),
    Unpacking(Pin<Box<dyn AsyncRead + Send>>),
}

type Packed = StreamReader<BoxStream<'static, io::Result<Bytes>>, Bytes>;

impl Decoder {
    /// Begins to unpack, with what has come first.
    fn unpack(encoding: Encoding, first: Bytes, mut flow: Flow) -> Pin<Box<dyn AsyncRead + Send>> {
        let rest = stream::poll_fn(move |cx| flow.poll_next(cx)).map(|part| part.map_err(io::Error::other));
        let parts = stream::iter([Ok(first)]).chain(rest);
        let packed: Packed = StreamReader::new(parts.boxed());
        match encoding {
            Encoding::Gzip => {
                let mut decoder = GzipDecoder::new(packed);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
            Encoding::Brotli => Box::pin(BrotliDecoder::new(packed)),
            Encoding::Zstd => Box::pin(ZstdDecoder::new(packed)),
        }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let unpacked = match self {
            Self::Unpacking(unpacked) => unpacked,
            Self::Waiting(encoding, flow) => {
                let encoding = *encoding;
                let Some(first) = poll_fn(|cx| flow.poll_next(cx)).await.transpose()? else {
                    return Ok(None);
                };
                let unpacked = Self::unpack(encoding, first, flow.take());
                *self = Self::Unpacking(unpacked);
                match self {
                    Self::Unpacking(unpacked) => unpacked,
                    Self::Waiting(..) => return Ok(None),
                }
            }
        };
        let mut part = BytesMut::with_capacity(PART_BYTES);
        match unpacked.read_buf(&mut part).await {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(part.freeze())),
            // A broken connection is not the encoding's fault.
            Err(error) => Err(match error.downcast::<Error>() {
                Ok(broken) => broken,
                Err(error) => Error::encoding(error),
            }),
        }
    }
}

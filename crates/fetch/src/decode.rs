//! Bodies that were packed for the way: gzip, brotli, zstd.

use crate::error::Error;
use crate::response::Flow;
use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZstdDecoder};
use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
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
    let encoding = match headers.get(CONTENT_ENCODING)?.as_bytes() {
        b"gzip" | b"x-gzip" => Encoding::Gzip,
        b"br" => Encoding::Brotli,
        b"zstd" => Encoding::Zstd,
        _ => return None,
    };
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    Some(encoding)
}

pub(crate) struct Decoder(Pin<Box<dyn AsyncRead + Send>>);

type Packed = StreamReader<BoxStream<'static, io::Result<Bytes>>, Bytes>;

impl Decoder {
    pub(crate) fn new(encoding: Encoding, mut flow: Flow) -> Self {
        let parts = stream::poll_fn(move |cx| flow.poll_next(cx)).map(|part| part.map_err(io::Error::other));
        let packed: Packed = StreamReader::new(parts.boxed());
        Self(match encoding {
            Encoding::Gzip => {
                let mut decoder = GzipDecoder::new(packed);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
            Encoding::Brotli => Box::pin(BrotliDecoder::new(packed)),
            Encoding::Zstd => Box::pin(ZstdDecoder::new(packed)),
        })
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let mut part = BytesMut::with_capacity(PART_BYTES);
        match self.0.read_buf(&mut part).await {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(part.freeze())),
            // A broken connection is not the packing's fault.
            Err(error) => Err(match error.downcast::<Error>() {
                Ok(broken) => broken,
                Err(error) => Error::packing(error),
            }),
        }
    }
}

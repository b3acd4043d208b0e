//! A request's body as a whole, refused before it is read where it says itself that it is too large.

use crate::error::Problem;
use crate::pace::TooSlow;
use axum::RequestExt as _;
use axum::body::{Bytes, HttpBody as _, to_bytes};
use axum::extract::{FromRequest, Request};
use http::StatusCode;
use http_body_util::LengthLimitError;

/// The bytes of a body.
pub(crate) struct RawBody(pub(crate) Bytes);

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It has more bytes than these.
    TooLarge(u64),
    TooSlow,
    Broken,
}

/// Reads a body up to the limit of its route. One with a larger `Content-Length` is not waited for.
pub(crate) async fn read(request: Request) -> Result<Bytes, BodyError> {
    let declared = request.body().size_hint().lower();
    let body = request.into_limited_body();
    // The limit, unless the body says that it has less.
    let most = body.size_hint().upper().unwrap_or(u64::MAX);
    if declared > most {
        return Err(BodyError::TooLarge(most));
    }
    to_bytes(body, usize::MAX).await.map_err(|error| why(&error, most))
}

fn why(error: &(dyn std::error::Error + 'static), most: u64) -> BodyError {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    match causes.any(|cause| cause.is::<LengthLimitError>()) {
        true => BodyError::TooLarge(most),
        false if TooSlow::is_why(error) => BodyError::TooSlow,
        false => BodyError::Broken,
    }
}

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        Ok(Self(read(request).await?))
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge(most) => {
                let detail = format!(
                    "the body is too large: at most {most} bytes are taken here. Send less, or start the server with a larger \
                     --max-body-bytes; large content need not stand in a call: name its 'source', or PUT it to a link of 'presign'"
                );
                Self::bad_request(detail).with_status(StatusCode::PAYLOAD_TOO_LARGE)
            }
            BodyError::TooSlow => {
                let detail =
                    "nothing more came of the body for too long; send it without pauses (--body-timeout)";
                Self::bad_request(detail).with_status(StatusCode::REQUEST_TIMEOUT)
            }
            BodyError::Broken => Self::bad_request("the body could not be read to its end"),
        }
    }
}

//! `grpc.health.v1`: whether a server says that it serves.

use super::failure::Failure;
use prost::Message;

pub(super) const PATH: &str = "/grpc.health.v1.Health/Check";
const SERVING: i32 = 1;
/// It does not know the service that it was asked about, which was none in particular.
const UNKNOWN: i32 = 0;

#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// Whether an answer to `Check` says that the server serves. One without this method is up.
///
/// # Errors
/// How the exchange failed, or what the server said instead.
pub(super) fn judge(answer: Result<bytes::Bytes, Failure>) -> Result<(), Failure> {
    let answer = match answer {
        Err(failure) if matches!(&failure, Failure::Status(status) if status.code == super::status::Code::Unimplemented) =>
        {
            return Ok(());
        }
        answer => answer?,
    };
    match Response::decode(answer).map_err(|_| Failure::Protocol("it is no HealthCheckResponse"))?.status {
        SERVING | UNKNOWN => Ok(()),
        _ => Err(Failure::NotServing),
    }
}

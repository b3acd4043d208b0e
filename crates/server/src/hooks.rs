//! `POST /hooks/{hook_id}`: requests of others that start flows. The address and a secret say whose they are.

use crate::Shared;
use crate::body::{self, BodyError};
use crate::error::{Problem, Result};
use crate::json::{Path, Query};
use axum::Json as Answer;
use axum::extract::{Request, State};
use flow::limits::VALUE_BYTES;
use http::StatusCode;
use runtime::flows::Delivery;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool::RunId;

/// The most bytes of a body: it becomes one value of a run, and until all of it is read nobody knows who sent it.
pub(crate) const MAX_BODY_BYTES: usize = VALUE_BYTES;

#[derive(Serialize)]
pub(crate) struct Accepted {
    run_id: RunId,
    /// An earlier request with the same key made it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deduplicated: bool,
}

/// Accepts a request that proves itself; the run goes on without its sender.
pub(crate) async fn receive(
    State(state): State<Shared>,
    Path(hook): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    request: Request,
) -> Result<(StatusCode, Answer<Accepted>)> {
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let delivery = Delivery {
        headers: request.headers().iter().filter_map(header).collect(),
        query: query.into_iter().map(|(name, value)| (name, Value::String(value))).collect::<Map<_, _>>(),
        body: body::read(request).await.map_err(refused)?.to_vec(),
    };
    let started = state.flows.receive(&hook, delivery).await?;
    let accepted = Accepted { run_id: started.run.id, deduplicated: started.is_known };
    Ok((StatusCode::ACCEPTED, Answer(accepted)))
}

fn refused(error: BodyError) -> Problem {
    match error {
        BodyError::TooLarge(most) => {
            let detail = format!(
                "the body is too large: a run takes values of at most {most} bytes. Send the address of what is larger"
            );
            Problem::bad_request(detail).with_status(StatusCode::PAYLOAD_TOO_LARGE)
        }
        BodyError::TooSlow | BodyError::Broken => error.into(),
    }
}

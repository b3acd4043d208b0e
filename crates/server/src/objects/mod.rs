//! `/o/{token}`: one object, read or written by whoever holds a link to it. The link is the permission.

mod range;
mod response;

use crate::Shared;
use crate::error::{Code, Problem, Result};
use crate::pace::TooSlow;
use async_trait::async_trait;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Path, Request, State};
use axum::response::Response;
use futures::StreamExt as _;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use tool::objects::{Chunks, Part};
use tool::{Context, Error, Link, LinkMethod};

/// A large object over a slow line takes its time; whoever does not move at all is ended by the pace of the socket.
const MAX_TIME: Duration = Duration::from_secs(6 * 60 * 60);

/// Reads the object.
pub(crate) async fn get(
    State(state): State<Shared>,
    Path(token): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response> {
    let link = open(&state, &token, LinkMethod::Get)?;
    let cx = context(&link);
    let wanted = range::wanted(&headers);
    let part = wanted.unwrap_or(Part::WHOLE);
    let reading = state.gateway.read_object(&cx, &link, part).await?;
    if wanted.is_some() && reading.range.is_empty() {
        return Ok(response::unsatisfiable(reading.object.size));
    }
    Ok(response::of(&link, reading, wanted.is_some(), method == Method::HEAD))
}

/// Writes the object.
pub(crate) async fn put(
    State(state): State<Shared>,
    Path(token): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response> {
    let link = open(&state, &token, LinkMethod::Put)?;
    let said = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if let Some(only) = link.content_type.as_deref().filter(|only| said != Some(*only)) {
        return Err(Problem::bad_request(format!(
            "the link is for content of type {only}; send it as Content-Type"
        )));
    }
    let content_type =
        link.content_type.as_deref().or(said.filter(|said| said.len() <= 200)).map(str::to_owned);
    let body = Box::new(Sent(request.into_body().into_data_stream()));
    let object = state.gateway.write_object(&context(&link), &link, content_type.as_deref(), body).await?;
    Ok(response::written(&object))
}

/// The link, if it is one, leads to something, and is for this. Whoever has none learns nothing of what there is.
fn open(state: &Shared, token: &str, method: LinkMethod) -> Result<Link> {
    let gone = || Problem::new(Code::NotFound, "the link leads nowhere, or has ended");
    let link = state.links.read(token).ok_or_else(gone)?;
    if link.method != method {
        let detail = format!("the link is for {} and nothing else", link.method.as_str());
        return Err(Problem::bad_request(detail).with_status(StatusCode::METHOD_NOT_ALLOWED));
    }
    Ok(link)
}

/// Whoever made the link was allowed to; its holder may be anybody.
fn context(link: &Link) -> Context {
    Context::system(link.tenant.clone(), MAX_TIME)
}

/// A body as a client sends it.
struct Sent(BodyDataStream);

#[async_trait]
impl Chunks for Sent {
    async fn next(&mut self) -> tool::Result<Option<Bytes>> {
        self.0.next().await.transpose().map_err(|error| {
            let why = if TooSlow::is_why(&error) {
                "nothing more came of the body for too long"
            } else {
                "the body could not be read to its end"
            };
            Error::invalid_input(why).caused_by(error)
        })
    }
}

/// Bytes of an object as a body.
fn body_of(chunks: tool::objects::Body) -> Body {
    let next = |mut chunks: tool::objects::Body| async move {
        match chunks.next().await {
            Ok(Some(piece)) => Ok(Some((piece, chunks))),
            Ok(None) => Ok(None),
            // The connection breaks, so that nobody takes half of it for the whole.
            Err(error) => Err(Arc::new(error)),
        }
    };
    Body::from_stream(futures::stream::try_unfold(chunks, next))
}

//! The client of an agent's model: attempts, pauses, the next provider when one is down, and answers of bounded size.

use super::stream::Partial;
use super::{
    Answer, Endpoint, MAX_ANSWER_BYTES, MAX_CALLS, MAX_EVENT_BYTES, ModelRequest, ToolCall, failure, spans,
};
use crate::shared::attempts::{Backoff, Budget, Failure};
use crate::shared::body::{self, BodyError};
use crate::shared::headers::add_trace;
use crate::shared::network::Policy;
use fetch::{Request, Response, SseEvents};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool::{Context, Error, Reason, Result, Trace};

/// How long it may take to look whether the model is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A model, and those that stand in for it.
#[derive(Debug)]
pub(in super::super) struct Client {
    pub(in super::super) http: fetch::Client,
    pub(in super::super) policy: Arc<Policy>,
    /// At least one, in the order in which they are asked.
    pub(in super::super) endpoints: Vec<Endpoint>,
    pub(in super::super) attempts: u32,
    pub(in super::super) backoff: Backoff,
    /// Of one attempt.
    pub(in super::super) timeout: Duration,
}

/// Whoever reads along while the model writes.
pub(in super::super) type TextListener<'a> = Option<&'a (dyn Fn(&str) + Send + Sync)>;

impl Client {
    /// The model's answer, which says or asks for something.
    ///
    /// # Errors
    /// Why there is none, always with a reason; `Timeout` when the run has no time left.
    pub(in super::super) async fn ask(
        &self,
        cx: &Context,
        asked: &ModelRequest<'_>,
        heard: TextListener<'_>,
    ) -> Result<Answer> {
        let was_heard = AtomicBool::new(false);
        let mut last = failure::bad("there is no model");
        for endpoint in &self.endpoints {
            let told = |text: &str| {
                was_heard.store(true, Ordering::Relaxed);
                if let Some(heard) = heard {
                    heard(text);
                }
            };
            let heard = heard.is_some().then_some(&told as &(dyn Fn(&str) + Send + Sync));
            let mut chat = spans::chat(cx, endpoint.asking(), asked);
            let answer = self.ask_one(cx, endpoint, asked, heard, &was_heard, chat.trace()).await;
            spans::end_chat(&mut chat, cx, &answer);
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => last = error,
            }
            let is_down = matches!(last.reason(), Some(Reason::ModelUnreachable | Reason::ModelRateLimited));
            if !is_down || was_heard.load(Ordering::Relaxed) {
                break;
            }
        }
        Err(last)
    }

    async fn ask_one(
        &self,
        cx: &Context,
        endpoint: &Endpoint,
        asked: &ModelRequest<'_>,
        heard: TextListener<'_>,
        was_heard: &AtomicBool,
        chat: Option<&Arc<Trace>>,
    ) -> Result<Answer> {
        let request = endpoint.request(asked, heard.is_some())?;
        self.policy.check(endpoint.url()).map_err(|refusal| failure::refused_address(&refusal))?;
        let budget = Budget {
            deadline: cx.deadline,
            // Each attempt ends itself, as one that was heard must not be made again.
            attempt: Duration::MAX,
            attempts: self.attempts,
            backoff: self.backoff,
        };
        let request = &request;
        let attempt = |trace: Option<Arc<Trace>>| async move {
            let mut request = request.clone();
            if let Some(trace) = trace {
                add_trace(&trace, &mut request.headers);
            }
            let exchange = tokio::time::timeout(self.timeout, self.attempt(endpoint, request, heard));
            let ended = match exchange.await {
                Ok(ended) => ended,
                Err(_) => Err(failure::late(self.timeout.as_millis()).into()),
            };
            match ended {
                Err(failed) if was_heard.load(Ordering::Relaxed) => Err(once(failed)),
                ended => ended,
            }
        };
        let mut answer = budget.run_traced(chat.or(cx.trace.as_ref()), attempt).await?;
        // More of them are none that anybody makes.
        if answer.calls.len() <= MAX_CALLS {
            name_calls(&mut answer.calls);
        }
        Ok(answer)
    }

    async fn attempt(
        &self,
        endpoint: &Endpoint,
        request: Request,
        heard: TextListener<'_>,
    ) -> Result<Answer, Failure> {
        let response = self.http.send(request).await.map_err(failure::unreachable)?;
        if !response.status().is_success() {
            return Err(failure::of_status(endpoint, response).await);
        }
        match heard {
            None => Ok(read_whole(endpoint, response).await?),
            Some(heard) => Ok(read_stream(endpoint, response, heard).await?),
        }
    }

    /// Looks whether the model's provider is there and takes the key, without a model call.
    pub(in super::super) async fn probe(&self, cx: &Context) -> Result<()> {
        let Some(endpoint) = self.endpoints.first() else { return Ok(()) };
        self.policy.check(endpoint.url()).map_err(|refusal| failure::refused_address(&refusal))?;
        let probe = async {
            let response = self.http.send(endpoint.probe()?).await.map_err(failure::unreachable)?;
            match response.status().as_u16() {
                401 | 403 | 408 | 429 | 300..=399 | 500..=599 => {
                    Err(failure::of_status(endpoint, response).await.error)
                }
                // Not every server lists its models.
                _ => Ok(()),
            }
        };
        let cx = cx.for_at_most(PROBE_TIMEOUT);
        cx.within(probe).await.unwrap_or_else(|ended| match ended {
            tool::Ended::Cancelled => Err(ended.error("")),
            tool::Ended::TimedOut => Err(failure::late(PROBE_TIMEOUT.as_millis())),
        })
    }
}

/// The failure of an attempt that was heard: what was told cannot be taken back.
fn once(failed: Failure) -> Failure {
    let error = failed.error;
    let kept = Error::new(error.kind(), error.message()).with_reason_of(&error);
    kept.into()
}

async fn read_whole(endpoint: &Endpoint, response: Response) -> Result<Answer> {
    let bytes = body::read(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
        BodyError::TooLong => failure::bad(&format!("it is longer than {MAX_ANSWER_BYTES} bytes")),
        BodyError::Broken(error) => failure::unreachable(error),
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|_| failure::bad("it is no text"))?;
    endpoint.read(text).ok_or_else(|| failure::bad("it is not what this kind of model answers"))
}

async fn read_stream(
    endpoint: &Endpoint,
    mut response: Response,
    heard: &(dyn Fn(&str) + Send + Sync),
) -> Result<Answer> {
    let mut events = SseEvents::new(MAX_EVENT_BYTES);
    let (mut partial, mut size, mut has_begun) = (Partial::default(), 0, false);
    while let Some(chunk) = response.chunk().await.map_err(failure::unreachable)? {
        has_begun |= size == 0 && begins_stream(&chunk);
        size += chunk.len();
        if size > MAX_ANSWER_BYTES {
            return Err(failure::bad(&format!("it is longer than {MAX_ANSWER_BYTES} bytes")));
        }
        events.push(&chunk);
        let too_long = |_| failure::bad(&format!("an event is longer than {MAX_EVENT_BYTES} bytes"));
        while let Some(event) = events.take().map_err(too_long)? {
            // What stands behind the end is no part of the answer.
            if partial.is_over {
                continue;
            }
            if let Some(error) = failure::of_event(endpoint, &event.data) {
                return Err(error);
            }
            let taken = endpoint.take(&mut partial, &event.data);
            taken.ok_or_else(|| failure::bad("an event is not what this kind of model answers"))?;
            has_begun = true;
        }
        let news = partial.take_news();
        if !news.is_empty() {
            heard(&news);
        }
    }
    if size == 0 {
        return Err(failure::bad("it is empty"));
    }
    if !has_begun {
        return Err(failure::bad("it is no stream of events"));
    }
    if partial.is_whole { Ok(partial.answer) } else { Err(failure::cut_off()) }
}

/// It looks like a stream of events, of which the first ones may be comments.
fn begins_stream(chunk: &[u8]) -> bool {
    let fields: [&[u8]; 5] = [b":", b"data:", b"event:", b"id:", b"retry:"];
    fields.iter().any(|field| chunk.starts_with(field))
}

/// Some servers give their calls no ids; results have to say which call they are of.
fn name_calls(calls: &mut [ToolCall]) {
    for at in 0..calls.len() {
        if !calls[at].id.is_empty() {
            continue;
        }
        let free = (at..).map(|number| format!("call-{number}"));
        let id = free.into_iter().find(|id| calls.iter().all(|call| call.id != *id));
        calls[at].id = id.unwrap_or_default();
    }
}

//! The responses to several messages that were sent at once: worked on at the same time, sent together.

use super::received::BatchEntry;
use super::respond::{Accepted, Output};
use futures::stream::{self, BoxStream, SelectAll};
use futures::{FutureExt, Stream, StreamExt};

/// A batch under way.
pub(super) struct Batch {
    /// What goes out for each of its requests, with its place in the batch.
    running: SelectAll<BoxStream<'static, (usize, Output)>>,
    /// The responses in the order of the batch, as far as they are there.
    responses: Vec<Option<String>>,
}

impl Batch {
    /// Begins to work on all requests.
    pub(super) fn new(entries: Vec<BatchEntry>) -> Self {
        let (mut running, mut responses) = (SelectAll::new(), vec![None; entries.len()]);
        for (place, entry) in entries.into_iter().enumerate() {
            match entry {
                BatchEntry::Refused(refusal) => responses[place] = Some(refusal.response()),
                BatchEntry::Request(accepted) => {
                    running.push(outputs(accepted).map(move |output| (place, output)).boxed());
                }
            }
        }
        Self { running, responses }
    }

    /// What comes up goes out at once; the responses are one message, if there are any.
    pub(super) async fn next(&mut self) -> Option<Output> {
        while let Some((place, output)) = self.running.next().await {
            match output {
                Output::Message(_) => return Some(output),
                Output::Response(text, _) => self.responses[place] = Some(text),
                Output::Cancelled => {}
            }
        }
        let responses: Vec<_> = std::mem::take(&mut self.responses).into_iter().flatten().collect();
        (!responses.is_empty()).then(|| Output::Response(format!("[{}]", responses.join(",")), None))
    }
}

/// What goes out for a request. Each works in a task of its own: none waits until another is read.
fn outputs(accepted: Accepted) -> impl Stream<Item = Output> + Send {
    let response = accepted.respond().map(|mut response| {
        response.detach();
        response
    });
    response.into_stream().flat_map(|response| {
        stream::unfold(response, async |mut response| {
            let output = response.next().await?;
            Some((output, response))
        })
    })
}

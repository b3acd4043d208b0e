//! What comes of a call: an answer, a question back, or work that goes on.

use crate::{InputRequest, Output, RunId};

/// The end of a call, or of its first step.
#[derive(Debug)]
pub enum Outcome {
    /// The tool has answered.
    Done(Output),
    /// The tool needs to know more; the same call is repeated with the answers.
    NeedsInput(InputRequest),
    /// The work goes on in the background under this id; the gateway says later what came of it.
    Started(RunId),
}

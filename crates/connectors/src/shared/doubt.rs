//! What callers are told when an answer was lost: that the call may have happened, and whether it may be made again.

use tool::Error;

/// What a second try would do, if the first one happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// Nothing: it only reads, so that nobody minds whether it happened.
    Reads,
    /// The same once more, which is as if it were done once.
    Idempotent,
    /// The same a second time.
    Doubles,
}

/// The end of a call whose request was sent. What would be done twice is not to be tried again, e.g. by a flow.
pub(crate) fn settle(error: Error, repetition: Repetition) -> Error {
    if !error.is_in_doubt() {
        return error;
    }
    match repetition {
        Repetition::Reads => error,
        Repetition::Idempotent => said(error),
        Repetition::Doubles => said(error).not_retryable(),
    }
}

fn said(error: Error) -> Error {
    error.advising("; it may have happened")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_done_twice_is_not_tried_again() {
        let lost = || Error::unavailable("the connection broke").retryable().in_doubt();
        let told = |error, repetition| {
            let settled = settle(error, repetition);
            (settled.message().to_owned(), settled.is_retryable())
        };
        let doubtful = "the connection broke; it may have happened".to_owned();
        assert_eq!(told(lost(), Repetition::Reads), ("the connection broke".to_owned(), true));
        assert_eq!(told(lost(), Repetition::Idempotent), (doubtful.clone(), true));
        assert_eq!(told(lost(), Repetition::Doubles), (doubtful, false));
        let unsent = Error::unavailable("nobody listens").retryable();
        assert_eq!(told(unsent, Repetition::Doubles), ("nobody listens".to_owned(), true));
    }
}

//! A streamed answer, as far as it has come.

use super::{Answer, MAX_CALLS, ToolCall};

/// What has come of an answer.
#[derive(Default)]
pub(super) struct Partial {
    pub(super) answer: Answer,
    /// The model has said that it is done: without that, the stream was cut.
    pub(super) is_whole: bool,
    /// Which call has which number.
    numbers: Vec<usize>,
    /// What was said since it was last asked.
    news: String,
}

impl Partial {
    /// Adds to the text.
    pub(super) fn say(&mut self, text: &str) {
        self.answer.text.push_str(text);
        self.news.push_str(text);
    }

    /// What was said since it was last asked.
    pub(super) fn take_news(&mut self) -> String {
        std::mem::take(&mut self.news)
    }

    /// The call with this number. Of too many, all that are too many are one.
    pub(super) fn call(&mut self, number: usize) -> Option<&mut ToolCall> {
        let at = match self.numbers.iter().rposition(|known| *known == number) {
            Some(at) => at,
            None if self.numbers.len() > MAX_CALLS => self.numbers.len() - 1,
            None => {
                self.numbers.push(number);
                self.answer.calls.push(ToolCall::default());
                self.numbers.len() - 1
            }
        };
        self.answer.calls.get_mut(at)
    }
}

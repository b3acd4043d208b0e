//! A streamed answer, as far as it has come.

use super::{Answer, MAX_CALLS, ToolCall};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What has come of an answer.
#[derive(Default)]
pub(super) struct Partial {
    pub(super) answer: Answer,
    /// The model has said that it is done: without that, the stream was cut.
    pub(super) is_whole: bool,
    /// The stream has said that nothing follows.
    pub(super) is_over: bool,
    /// Which call has which number.
    numbers: Vec<usize>,
    /// What was thought, by number, as far as it was written.
    thoughts: Vec<(usize, Map<String, Value>)>,
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

    /// A thought begins, which is sent back as it came; nothing where it is none.
    pub(super) fn begin_thought(&mut self, number: usize, begun: &RawValue) -> Option<()> {
        let begun = serde_json::from_str(begun.get()).ok()?;
        if self.thoughts.len() < MAX_CALLS {
            self.thoughts.push((number, begun));
        }
        Some(())
    }

    /// More of one of its texts. Of a number that none has, nothing is kept.
    pub(super) fn think(&mut self, number: usize, field: &str, part: &str) {
        let Some((_, thought)) = self.thoughts.iter_mut().rfind(|(known, _)| *known == number) else {
            return;
        };
        match thought.entry(field).or_insert_with(|| Value::from("")) {
            Value::String(text) => text.push_str(part),
            other => *other = part.into(),
        }
    }

    /// The model has said that it is done.
    pub(super) fn end(&mut self) {
        self.is_whole = true;
        let thoughts = self.thoughts.drain(..).map(|(_, thought)| Value::Object(thought).to_string());
        self.answer.thoughts.extend(thoughts);
    }

    /// The call with this number, the last one where several have it.
    pub(super) fn call(&mut self, number: usize) -> Option<&mut ToolCall> {
        let known = self.numbers.iter().rposition(|known| *known == number);
        self.call_or_new(known, number)
    }

    /// The call with this id, and this number where one was written. Where there is none, that is the one at the number as
    /// long as it has no id, and else a new one: some servers give all calls of an answer the same number.
    pub(super) fn call_of(
        &mut self,
        id: &str,
        written: Option<usize>,
        number: usize,
    ) -> Option<&mut ToolCall> {
        let mut calls = self.numbers.iter().zip(&self.answer.calls);
        let is_same = |(known, call): (&usize, &ToolCall)| {
            call.id == id && written.is_none_or(|number| number == *known)
        };
        let same = calls.rposition(is_same);
        let last = self.numbers.iter().rposition(|known| *known == number);
        let without_id = last.filter(|at| self.answer.calls[*at].id.is_empty());
        let call = self.call_or_new(same.or(without_id), number)?;
        id.clone_into(&mut call.id);
        Some(call)
    }

    /// The call at this place, or one that begins. Of too many, all that are too many are one.
    fn call_or_new(&mut self, known: Option<usize>, number: usize) -> Option<&mut ToolCall> {
        let at = match known {
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

//! Response templates: compiled when the tool is loaded, gone with it when it changes.

use super::{Effort, Tried};
use crate::metrics::TemplateMetrics;
use std::time::Instant;
use tool::{Error, Result};

/// What a template may do at once, on a thread that others wait for: a few milliseconds.
const MAX_WORK_AT_ONCE: usize = 1 << 20;

/// A compiled template with its counters. It lives in the tool's route, which is the cache: a
/// tool that did not change keeps its route, a tool that did gets a new one.
#[derive(Debug)]
pub(super) struct Template {
    template: gotemplate::Template,
    metrics: TemplateMetrics,
}

impl Template {
    /// Compiles the source.
    pub(super) fn compile(source: &str) -> Result<Self> {
        Ok(Self { template: compile(source)?, metrics: TemplateMetrics::compiled() })
    }

    /// The text for an answer in JSON.
    pub(super) fn render(&self, data: &str, effort: Effort) -> Tried<Result<String>> {
        match self.render_if_json(data, effort) {
            Tried::TooMuch => Tried::TooMuch,
            Tried::Done(Some(text)) => Tried::Done(text),
            Tried::Done(None) => Tried::Done(Err(Error::upstream("the answer is no JSON"))),
        }
    }

    /// The text for an answer that may be JSON; nothing when it is none.
    pub(super) fn render_if_json(&self, answer: &str, effort: Effort) -> Tried<Option<Result<String>>> {
        let begun = Instant::now();
        let work = match effort {
            Effort::Little => MAX_WORK_AT_ONCE,
            Effort::Full => usize::MAX,
        };
        Tried::Done(match self.template.render_json_within(answer, work) {
            Err(error) if error.kind() == gotemplate::ErrorKind::Data => None,
            Err(error) if error.kind() == gotemplate::ErrorKind::Limit && effort == Effort::Little => {
                return Tried::TooMuch;
            }
            text => Some(self.finish(begun, text)),
        })
    }

    fn finish(&self, begun: Instant, text: Result<String, gotemplate::Error>) -> Result<String> {
        self.metrics.hits.increment(1);
        self.metrics.render_seconds.record(begun.elapsed());
        text.map_err(|error| {
            tracing::warn!(%error, "a response template failed: {error}");
            Error::upstream(format!("the response template failed: {error}"))
        })
    }
}

/// Whether the source compiles; nothing is kept or counted.
pub(super) fn check(source: &str) -> Result<()> {
    compile(source).map(drop)
}

fn compile(source: &str) -> Result<gotemplate::Template> {
    read_template(source)
        .map_err(|error| Error::invalid_config(format!("the response template is wrong: {error}")))
}

/// The source as a template, or where it is wrong.
pub(crate) fn read_template(source: &str) -> Result<gotemplate::Template, gotemplate::Error> {
    gotemplate::Template::compile("response_template", source, &gotemplate::Options::default())
}

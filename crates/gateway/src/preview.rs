//! What a template or a JMESPath expression makes of a sample, for those who write one.

use crate::Gateway;
use crate::shape::{MAX_STEPS, read_template};
use document::{Budget, Node, Query};
use std::time::{Duration, Instant};
use tool::{Context, Result};

/// The most of a result that is shown.
const MAX_SHOWN_BYTES: usize = 4 * 1024 * 1024;

/// What came of it, and how long it took.
#[derive(Debug)]
pub struct Preview {
    /// Text of a template, JSON of an expression; or what is wrong, and where.
    pub output: std::result::Result<String, Mistake>,
    /// To compile it and run it once.
    pub time: Duration,
}

/// What is wrong with a template, an expression or its sample.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line and column, from 1, where it is at one place.
    pub position: Option<(usize, usize)>,
    /// What is wrong, without the place.
    pub message: String,
}

impl Mistake {
    fn nowhere(message: impl Into<String>) -> Self {
        Self { position: None, message: message.into() }
    }
}

impl Gateway {
    /// Renders a response template over a sample of JSON, as calls do.
    ///
    /// # Errors
    /// When there is no turn for it in time.
    pub async fn preview_template(&self, cx: &Context, template: String, sample: String) -> Result<Preview> {
        self.env.compute.run(cx, move || timed(|| render(&template, &sample))).await
    }

    /// Picks from a document by JMESPath, as calls do.
    ///
    /// # Errors
    /// When there is no turn for it in time.
    pub async fn preview_query(&self, cx: &Context, expression: String, data: Node) -> Result<Preview> {
        self.env.compute.run(cx, move || timed(|| pick(&expression, &data))).await
    }
}

fn timed(work: impl FnOnce() -> std::result::Result<String, Mistake>) -> Preview {
    let begun = Instant::now();
    let output = work().and_then(|text| match text.len() {
        0..=MAX_SHOWN_BYTES => Ok(text),
        _ => Err(too_much()),
    });
    Preview { output, time: begun.elapsed() }
}

fn render(template: &str, sample: &str) -> std::result::Result<String, Mistake> {
    let mistake = |error: gotemplate::Error| Mistake {
        position: Some((error.line(), error.column())),
        message: error.message().to_owned(),
    };
    read_template(template).map_err(mistake)?.render_json(sample).map_err(|error| match error.kind() {
        gotemplate::ErrorKind::Data => Mistake::nowhere("the sample is no JSON"),
        _ => mistake(error),
    })
}

fn pick(expression: &str, data: &Node) -> std::result::Result<String, Mistake> {
    let mistake = |error: document::QueryError| Mistake {
        position: error.position(),
        message: error.message().to_owned(),
    };
    let query = Query::compile(expression).map_err(mistake)?;
    let found = query.run(data, &mut Budget::new(MAX_STEPS, &|| false)).map_err(mistake)?;
    found.to_json_within(MAX_SHOWN_BYTES).ok_or_else(too_much)
}

fn too_much() -> Mistake {
    let megabytes = MAX_SHOWN_BYTES / (1024 * 1024);
    Mistake::nowhere(format!("that is more than {megabytes} MB; take a smaller sample, or pick less"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_comes_of_a_sample_and_where_a_mistake_is() {
        assert_eq!(render("{{ .n }}!", r#"{"n":7}"#), Ok("7!".into()));
        let mistake = render("a\n{{ .n | nope }}", "{}").unwrap_err();
        assert_eq!(mistake.position.map(|(line, _)| line), Some(2));
        assert!(mistake.message.contains("nope") && !mistake.message.contains("line"), "{mistake:?}");
        assert_eq!(render("{{ .n }}", "{").unwrap_err(), Mistake::nowhere("the sample is no JSON"));
        let data = Node::parse(r#"{"a":[1,2]}"#).unwrap();
        assert_eq!(pick("a[1]", &data), Ok("2".into()));
        assert_eq!(pick("a[", &data).unwrap_err().position.map(|(line, _)| line), Some(1));
    }
}

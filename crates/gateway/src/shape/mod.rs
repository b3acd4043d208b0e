//! Shape: what the answer looks like — picked by JMESPath, told by a template, cut to a budget.

mod budget;
mod select;
mod template;

use crate::RESULT_BUDGET_BYTES;
use budget::{OutputSchema, cut};
pub(crate) use select::MAX_STEPS;
use select::Select;
use serde_json::value::RawValue;
use std::sync::Arc;
use template::Template;
pub(crate) use template::read_template;
use tool::{Compute, Content, Context, Error, Outcome, Output, Problem, Result, Tool};

/// Answers up to this size are read at once, on a thread that others wait for: it takes a few milliseconds.
const MAX_BYTES_AT_ONCE: usize = 256 * 1024;

/// The shape of one tool's answers, compiled once.
#[derive(Debug)]
pub(crate) struct Shape {
    select: Option<Select>,
    template: Option<Template>,
    budget_bytes: usize,
    /// The most that a connector is to answer with.
    room_bytes: usize,
    /// What is promised of an answer that is not shaped.
    output_schema: Option<OutputSchema>,
}

impl Shape {
    /// No more than the budget.
    pub(crate) fn plain(tool: &Tool, budget: Option<usize>) -> Self {
        let budget_bytes = budget_of(tool, budget);
        let output_schema = OutputSchema::of(tool);
        Self { select: None, template: None, budget_bytes, room_bytes: budget_bytes, output_schema }
    }

    /// The shape of a tool's answers, within the budget that all have, where there is one.
    pub(crate) fn of_tool(tool: &Tool, budget: Option<usize>) -> Result<Self> {
        let shape = Self::compile(tool.shape(), budget_of(tool, budget))?;
        let is_plain = shape.select.is_none() && shape.template.is_none();
        // What is read is picked from before it is cut, so that there may be more of it. What is taken away must not be.
        let has_own_room = is_plain || !only_reads(tool);
        let room_bytes = if has_own_room { shape.budget_bytes } else { budget_of(tool, budget) };
        Ok(Self { output_schema: OutputSchema::of(tool).filter(|_| is_plain), room_bytes, ..shape })
    }

    /// Compiles the expressions.
    pub(crate) fn compile(settings: &tool::Shape, budget_bytes: usize) -> Result<Self> {
        let select = settings.select.as_deref().map(Select::compile).transpose()?;
        let template = settings.template.as_deref().filter(|source| !source.is_empty());
        let template = template.map(Template::compile).transpose()?;
        let budget_bytes = settings.max_bytes.unwrap_or(budget_bytes).min(budget_bytes);
        Ok(Self { select, template, budget_bytes, room_bytes: budget_bytes, output_schema: None })
    }

    /// The most bytes that a connector is to answer with: it can say that there is more, whoever cuts its answer cannot.
    pub(crate) fn room_bytes(&self) -> usize {
        self.room_bytes
    }

    /// The answer as the caller gets it. Errors of the tool pass as they are, within the budget. What takes long
    /// is done where it holds up nobody else.
    ///
    /// # Errors
    /// When the call ends before that is done.
    pub(crate) async fn apply(
        self: &Arc<Self>,
        cx: &Context,
        compute: &Compute,
        outcome: Outcome,
    ) -> Result<Outcome> {
        let output = match outcome {
            Outcome::Done(output) => output,
            Outcome::NeedsInput(_) | Outcome::Started(_) => return Ok(outcome),
        };
        let output = if output.size_bytes() > MAX_BYTES_AT_ONCE && self.changes(&output) {
            output
        } else {
            match self.finish(output, Effort::Little) {
                Ok(output) => return Ok(Outcome::Done(output)),
                Err(output) => output,
            }
        };
        let shape = self.clone();
        let finished = compute.run(cx, move || shape.finish(output, Effort::Full)).await?;
        Ok(Outcome::Done(finished.unwrap_or_else(|unfinished| unfinished)))
    }

    /// The answer has to be read.
    fn changes(&self, output: &Output) -> bool {
        self.select.is_some() || self.template.is_some() || output.size_bytes() > self.budget_bytes
    }

    /// The shaped answer, or the answer as it was when that takes more than the effort.
    fn finish(&self, output: Output, effort: Effort) -> Result<Output, Output> {
        if output.is_error() || output.is_unshaped() {
            return Ok(cut(output, self.budget_bytes, None));
        }
        if self.select.is_none() && self.template.is_none() {
            return Ok(cut(output, self.budget_bytes, self.output_schema.as_ref()));
        }
        match self.shaped(&output, effort) {
            Tried::Done(shaped) => Ok(cut(shaped.unwrap_or(output), self.budget_bytes, None)),
            Tried::TooMuch => Err(output),
        }
    }

    /// The shaped answer, where there is anything to shape.
    fn shaped(&self, output: &Output, effort: Effort) -> Tried<Option<Output>> {
        // A template finds out by itself whether its data is JSON; what is none is told as a text below.
        if let (None, Some(template), Some(unread)) = (&self.select, &self.template, output.as_unparsed()) {
            match template.render_if_json(unread, effort) {
                Tried::TooMuch => return Tried::TooMuch,
                Tried::Done(Some(text)) => return Tried::Done(Some(told(text, unread))),
                Tried::Done(None) => {}
            }
        }
        let Some(data) = output.data() else { return Tried::Done(None) };
        let picked = match &self.select {
            None => None,
            Some(select) => match select.apply(&data, effort) {
                Tried::TooMuch => return Tried::TooMuch,
                Tried::Done(Ok(picked)) => Some(picked),
                Tried::Done(Err(error)) => return Tried::Done(Some(failed(error, &data))),
            },
        };
        let data = picked.as_deref().map_or(&*data, RawValue::get);
        Tried::Done(match &self.template {
            Some(template) => match template.render(data, effort) {
                Tried::TooMuch => return Tried::TooMuch,
                Tried::Done(text) => Some(told(text, data)),
            },
            None => picked.map(Output::json),
        })
    }
}

/// The answer of a call whose caller wants no more than so many bytes of data, and nothing around it.
///
/// # Errors
/// When the call ends before that is done.
pub(crate) async fn within(cx: &Context, compute: &Compute, outcome: Outcome) -> Result<Outcome> {
    let (Outcome::Done(output), Some(budget)) = (&outcome, cx.result_bytes) else { return Ok(outcome) };
    let Some(data) = output.data().filter(|data| data.len() > budget) else { return Ok(outcome) };
    let (data, is_error) = (data.into_owned(), output.is_error());
    let is_long = data.len() > MAX_BYTES_AT_ONCE;
    let work = move || cut(Output::unparsed(data), budget, None);
    let cut = if is_long { compute.run(cx, work).await? } else { work() };
    Ok(Outcome::Done(if is_error { cut.failed() } else { cut }))
}

/// How much a tool may answer. What belongs to a service is not cut unless somebody says so; how much can come at all
/// is limited where it comes in.
fn budget_of(tool: &Tool, budget: Option<usize>) -> usize {
    budget.unwrap_or(if tool.is_relayed() { usize::MAX } else { RESULT_BUDGET_BYTES })
}

/// Whether the tool says that it changes nothing.
fn only_reads(tool: &Tool) -> bool {
    #[derive(serde::Deserialize)]
    struct Annotations {
        #[serde(rename = "readOnlyHint", default)]
        is_reading: bool,
    }
    let annotations = tool.field("annotations").map(RawValue::get);
    annotations
        .and_then(|text| serde_json::from_str(text).ok())
        .is_some_and(|said: Annotations| said.is_reading)
}

/// How long an attempt may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// So little that nobody who waits for the thread notices.
    Little,
    /// All that is allowed.
    Full,
}

/// How an attempt ended.
enum Tried<T> {
    Done(T),
    /// It takes more than a little effort.
    TooMuch,
}

fn told(text: Result<String>, data: &str) -> Output {
    text.map_or_else(|error| failed(error, data), |text| Output::text(&text))
}

/// What is wrong with a shape, as problems of the tool definition at `path`.
#[must_use]
pub fn check(settings: &tool::Shape, path: &str) -> Vec<Problem> {
    let select = settings.select.as_deref().map(|source| Select::compile(source).map(drop));
    let template = settings.template.as_deref().map(template::check);
    let problem = |compiled: Option<Result<()>>, field: &str, code| {
        let error = compiled?.err()?;
        Some(Problem::new(format!("{path}{field}"), code, error.message()))
    };
    let select = problem(select, "select", "SelectSyntaxError");
    let template = problem(template, "response_template", "TemplateSyntaxError");
    select.into_iter().chain(template).collect()
}

/// The answer could not be shaped: say why, and give what there is.
fn failed(error: Error, data: &str) -> Output {
    let why = Content::text(&format!("{}\nThe answer was:", error.message()));
    Output::blocks(vec![why, Content::text(data)]).failed_because(error)
}

/// Only for text that serde wrote.
fn to_raw(text: String) -> Result<Box<RawValue>> {
    RawValue::from_string(text)
        .map_err(|error| Error::internal("a shaped answer is no JSON").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, whether the answer has been read before or not.
    fn apply(shape: &tool::Shape, data: &str) -> Output {
        let read = apply_to(shape, Output::json(RawValue::from_string(data.into()).unwrap()));
        let unread = apply_to(shape, Output::unparsed(data));
        assert_eq!((read.to_result(), read.is_error()), (unread.to_result(), unread.is_error()));
        read
    }

    fn apply_to(shape: &tool::Shape, output: Output) -> Output {
        let shape = Shape::compile(shape, 1000).unwrap();
        shape.finish(output, Effort::Little).expect("it is little work")
    }

    #[test]
    fn takes_what_only_looks_like_json_as_a_text() {
        let shape = tool::Shape { template: Some("<{{ . }}>".into()), ..Default::default() };
        let output = apply_to(&shape, Output::unparsed("[not JSON"));
        assert_eq!(output.to_result(), Output::text("<[not JSON>").to_result());
        assert!(!output.is_error());
    }

    /// SV-4: the answer in place of a service's is not what the shape was written for.
    #[test]
    fn leaves_an_answer_alone_that_is_not_the_services() {
        let fallback = |text: &str| {
            Output::json_with_remark(RawValue::from_string(text.into()).unwrap(), "fallback").unshaped()
        };
        for shape in [
            tool::Shape { template: Some("Found {{ .total }}".into()), ..Default::default() },
            tool::Shape { select: Some("items".into()), ..Default::default() },
        ] {
            let output = apply_to(&shape, fallback("[]"));
            assert_eq!(output.to_result(), fallback("[]").to_result());
            let long = format!("\"{}\"", "x".repeat(5000));
            assert!(apply_to(&shape, fallback(&long)).size_bytes() < 1200, "the budget counts all the same");
        }
    }

    /// HT-3.5
    #[test]
    fn leaves_an_answer_alone_without_a_shape() {
        let data = r#"{"b": 1.0, "a": 9007199254740993}"#;
        assert_eq!(apply(&tool::Shape::default(), data).data().unwrap(), data);
    }

    #[test]
    fn picks_with_jmespath() {
        let shape = tool::Shape { select: Some("items[?n > `1`].name".into()), ..Default::default() };
        let output = apply(&shape, r#"{"items":[{"n":1,"name":"a"},{"n":2,"name":"b"}]}"#);
        assert_eq!(output.data().unwrap(), r#"["b"]"#);
    }

    /// HT-3.1, HT-3.6
    #[test]
    fn renders_a_template_over_what_was_picked() {
        let shape = tool::Shape {
            select: Some("items[?n > `1`]".into()),
            template: Some("{{ range . }}{{ .name }}: {{ .n }}{{ end }}".into()),
            max_bytes: None,
        };
        let output = apply(&shape, r#"{"items":[{"n":1,"name":"a"},{"n":9007199254740993,"name":"b"}]}"#);
        assert_eq!(output.to_result(), Output::text("b: 9007199254740993").to_result());
    }

    #[test]
    fn leaves_room_for_what_is_picked_from() {
        let tool = |is_reading: bool, select: Option<&str>| {
            let definition = serde_json::json!({
                "name": "t", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": is_reading },
            });
            let definition = RawValue::from_string(definition.to_string()).unwrap();
            let shape = tool::Shape {
                select: select.map(str::to_owned),
                max_bytes: Some(100),
                ..tool::Shape::default()
            };
            Tool::from_raw(&definition).unwrap().shaped(shape)
        };
        for (is_reading, select, room) in [
            (true, None, 100),
            (true, Some("rows[0]"), 1000),
            (false, None, 100),
            (false, Some("rows[0]"), 100),
        ] {
            let shape = Shape::of_tool(&tool(is_reading, select), Some(1000)).unwrap();
            assert_eq!(shape.room_bytes(), room, "{is_reading} {select:?}");
        }
    }

    /// HT-3.7
    #[test]
    fn gives_the_raw_answer_with_the_reason_when_a_template_fails() {
        let shape = tool::Shape { template: Some("{{ index .items 5 }}".into()), ..Default::default() };
        let output = apply(&shape, r#"{"items":[1]}"#);
        assert!(output.is_error());
        let result: serde_json::Value = serde_json::from_str(&output.to_result()).unwrap();
        let reason = result["content"][0]["text"].as_str().unwrap();
        assert!(reason.contains("response_template:1:"), "{reason}");
        assert_eq!(result["content"][1]["text"], r#"{"items":[1]}"#);
    }

    /// HD-5
    #[test]
    fn tells_line_and_column_of_a_syntax_error() {
        let shape = tool::Shape { template: Some("a\n{{ if }}".into()), ..Default::default() };
        let problems = check(&shape, "tools[2].");
        assert_eq!(problems[0].path, "tools[2].response_template");
        assert_eq!(problems[0].code, "TemplateSyntaxError");
        assert!(problems[0].message.contains("response_template:2:"), "{}", problems[0].message);
    }

    #[test]
    fn tells_where_an_expression_is_wrong() {
        let shape = tool::Shape { select: Some("items[".into()), ..Default::default() };
        let problems = check(&shape, "tools[0].");
        assert_eq!((problems[0].path.as_str(), problems[0].code), ("tools[0].select", "SelectSyntaxError"));
        assert!(problems[0].message.contains("line 1, column"), "{}", problems[0].message);
        assert!(check(&tool::Shape::default(), "").is_empty());
    }

    #[test]
    fn survives_an_expression_made_to_break_a_stack() {
        let shape = tool::Shape { select: Some("(".repeat(4000)), ..Default::default() };
        assert_eq!(check(&shape, "").len(), 1);
    }

    #[test]
    fn cuts_what_is_over_the_budget() {
        let data = format!("[{}]", vec!["\"0123456789\""; 500].join(","));
        assert!(apply(&tool::Shape::default(), &data).to_result().contains("of 500 items"));
    }
}

//! Shape: what the answer looks like — picked by JMESPath, told by a template, cut to a budget.

mod budget;
mod select;

use budget::cut;
use select::Select;
use serde_json::value::RawValue;
use tool::{Content, Error, Outcome, Output, Problem, Result};

/// The shape of one tool's answers, compiled once.
#[derive(Debug)]
pub(crate) struct Shape {
    select: Option<Select>,
    budget_bytes: usize,
}

impl Shape {
    /// No more than the budget.
    pub(crate) fn plain(budget_bytes: usize) -> Self {
        Self { select: None, budget_bytes }
    }

    /// Compiles the expressions.
    pub(crate) fn compile(settings: &tool::Shape, budget_bytes: usize) -> Result<Self> {
        let select = settings.select.as_deref().map(Select::compile).transpose()?;
        let budget_bytes = settings.max_bytes.unwrap_or(budget_bytes).min(budget_bytes);
        Ok(Self { select, budget_bytes })
    }

    /// The answer as the caller gets it. Errors of the tool pass as they are, within the budget.
    pub(crate) fn apply(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Done(output) if output.is_error() => Outcome::Done(cut(output, self.budget_bytes)),
            Outcome::Done(output) => Outcome::Done(cut(self.shaped(output), self.budget_bytes)),
            Outcome::NeedsInput(_) | Outcome::Started(_) => outcome,
        }
    }

    fn shaped(&self, output: Output) -> Output {
        let Some(select) = &self.select else { return output };
        let Some(data) = output.data() else { return output };
        match select.apply(&data) {
            Ok(picked) => Output::json(picked),
            Err(error) => failed(&error, &data),
        }
    }
}

/// What is wrong with a shape, as problems of the tool definition at `path`.
#[must_use]
pub fn check(settings: &tool::Shape, path: &str) -> Vec<Problem> {
    let select = settings.select.as_deref().map(Select::compile).and_then(Result::err);
    let select =
        select.map(|error| Problem::new(format!("{path}select"), "SelectSyntaxError", error.message()));
    select.into_iter().collect()
}

/// The answer could not be shaped: say why, and give what there is.
fn failed(error: &Error, data: &str) -> Output {
    Output::blocks(vec![Content::text(error.message()), Content::text(data)]).failed()
}

/// Only for text that serde wrote.
fn to_raw(text: String) -> Result<Box<RawValue>> {
    RawValue::from_string(text)
        .map_err(|error| Error::internal("a shaped answer is no JSON").caused_by(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(shape: &tool::Shape, data: &str) -> Output {
        let output = Output::json(RawValue::from_string(data.into()).unwrap());
        match Shape::compile(shape, 1000).unwrap().apply(Outcome::Done(output)) {
            Outcome::Done(output) => output,
            other => panic!("{other:?}"),
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

    #[test]
    fn tells_where_an_expression_is_wrong() {
        let shape = tool::Shape { select: Some("items[".into()), ..Default::default() };
        let problems = check(&shape, "tools[0].");
        assert_eq!((problems[0].path.as_str(), problems[0].code), ("tools[0].select", "SelectSyntaxError"));
        assert!(check(&tool::Shape::default(), "").is_empty());
    }

    #[test]
    fn cuts_what_is_over_the_budget() {
        let data = format!("[{}]", vec!["\"0123456789\""; 500].join(","));
        assert!(apply(&tool::Shape::default(), &data).to_result().contains("of 500 items"));
    }
}

//! Error templates: what a failed request is told as.

use fetch::http::StatusCode;
use fetch::http::header::{HeaderMap, SET_COOKIE};
use gotemplate::{Options, Template};
use serde_json::{Map, Value, json};
use tool::Problem;

/// What a template may do: the thread that renders it is one that others wait for.
const MAX_WORK: usize = 2 << 20;

/// A Go template over `status`, `reason`, `headers` and `body` of an answer with a bad status.
#[derive(Debug)]
pub(crate) struct ErrorTemplate(Template);

impl ErrorTemplate {
    /// Compiles the source; what is wrong is told with line and column.
    pub(crate) fn check(source: Option<&str>, path: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        let source = source.filter(|source| !source.is_empty())?;
        let mut options = Options::default();
        options.limits.work = MAX_WORK;
        match Template::compile("error_template", source, &options) {
            Ok(template) => Some(Self(template)),
            Err(error) => {
                let message = format!("the error template is wrong: {error}");
                problems.push(Problem::new(format!("{path}.error_template"), "TemplateSyntaxError", message));
                None
            }
        }
    }

    /// The words for an answer.
    ///
    /// # Errors
    /// Where the template failed, and why.
    pub(crate) fn render(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &str,
    ) -> Result<String, gotemplate::Error> {
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| body.into());
        self.0.render(&json!({
            "status": status.as_u16(),
            "reason": status.canonical_reason().unwrap_or_default(),
            "headers": to_json(headers),
            "body": body,
        }))
    }
}

/// Names in lower case; cookies are nobody's business.
pub(crate) fn to_json(headers: &HeaderMap) -> Value {
    let told = headers.keys().filter(|name| *name != SET_COOKIE);
    let joined = |name| {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        values.collect::<Vec<_>>().join(", ")
    };
    Value::Object(told.map(|name| (name.to_string(), joined(name).into())).collect::<Map<_, _>>())
}

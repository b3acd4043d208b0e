//! `flow push`: a file becomes a draft.

use super::source::{Found, Source, counted, segment};
use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Make a file the draft of a flow, which is made if there is none. A draft may have errors; they are printed.
#[derive(Args)]
pub(super) struct Push {
    /// The flow, YAML or JSON: a file, or - for stdin
    #[arg(value_name = "FILE|-")]
    file: String,
    /// The flow's id [default: the document's own, else the file's name]
    #[arg(long)]
    id: Option<String>,
    /// Refuse if the draft has another revision by now
    #[arg(long, value_name = "NUMBER")]
    revision: Option<i64>,
    #[command(flatten)]
    remote: Remote,
}

impl Push {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let source = Source::read(&self.file)?;
        let id = self.id.clone().or_else(|| source.id());
        let id = id.ok_or_else(|| {
            Failure::new("the flow has no id").advice("name one with --id, or write 'id:' into the document")
        })?;
        let known = self.remote.find(&format!("/flows/{}", segment(&id))).await?;
        let answer = self.save(&id, &source.text, known.is_some()).await?;
        let problems = Found::in_answer(&answer, "errors");
        source.lines(&problems).iter().for_each(|line| crate::cli::note(line));
        let verb = if known.is_some() { "changed" } else { "made" };
        crate::cli::print(&format!("{verb} the draft of flow '{id}', revision {}", answer["revision"]));
        match problems.iter().filter(|problem| problem.is_error()).count() {
            0 => crate::cli::note(&format!("publish it with 'mcp-all-in-one flow publish {id}'")),
            errors => {
                crate::cli::note(&format!("it has {} and cannot be published yet", counted(errors, "error")))
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn save(&self, id: &str, text: &str, is_known: bool) -> Result<Value, Failure> {
        if is_known {
            let body = json!({ "source": text, "revision": self.revision });
            return self.remote.put(&format!("/flows/{}/draft", segment(id)), &body).await;
        }
        if self.revision.is_some() {
            return Err(Failure::new(format!("there is no flow '{id}', so --revision cannot fit")));
        }
        self.remote.post("/flows", &json!({ "id": id, "source": text })).await
    }
}

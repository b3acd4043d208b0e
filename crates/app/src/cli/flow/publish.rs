//! `flow publish` and `flow rollback`: what new runs take.

use super::source::{Found, Source, segment};
use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Make a version of the draft, which new runs take from now on. Secrets of webhooks that are new are printed this once.
#[derive(Args)]
pub(super) struct Publish {
    /// The flow
    #[arg(value_name = "ID")]
    id: String,
    /// Refuse if the draft has another revision by now
    #[arg(long, value_name = "NUMBER")]
    revision: Option<i64>,
    #[command(flatten)]
    remote: Remote,
}

/// Publish an older version anew; the draft stays as it is.
#[derive(Args)]
pub(super) struct Rollback {
    /// The flow
    #[arg(value_name = "ID")]
    id: String,
    /// Which version to go back to
    #[arg(value_name = "VERSION")]
    number: u32,
    #[command(flatten)]
    remote: Remote,
}

impl Publish {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let body = json!({ "revision": self.revision });
        let answer = self.remote.post(&format!("/flows/{}/publish", segment(&self.id)), &body).await?;
        tell(&self.id, &answer);
        Ok(ExitCode::SUCCESS)
    }
}

impl Rollback {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let body = json!({ "version": self.number });
        let answer = self.remote.post(&format!("/flows/{}/rollback", segment(&self.id)), &body).await?;
        tell(&self.id, &answer);
        Ok(ExitCode::SUCCESS)
    }
}

fn tell(id: &str, answer: &Value) {
    let source = Source { name: id.to_owned(), text: String::new() };
    let warnings = source.lines(&Found::in_answer(answer, "errors"));
    warnings.iter().for_each(|line| crate::cli::note(line));
    let version = &answer["version"];
    crate::cli::print(&match answer["is_new"] == true {
        true => format!("published flow '{id}' as version {version}"),
        false => format!("version {version} of flow '{id}' has that text already"),
    });
    for webhook in answer["webhooks"].as_array().into_iter().flatten() {
        let [name, path, secret] =
            ["name", "path", "secret"].map(|key| webhook[key].as_str().unwrap_or_default());
        crate::cli::print(&format!("webhook {name}: POST {path} with the secret {secret} (shown this once)"));
    }
}

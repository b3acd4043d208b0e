//! `template`: try a response template without a server.

use crate::Failure;
use clap::{Args, Subcommand};
use gotemplate::{Options, Template as Compiled};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The longest line of a batch.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// Render response templates.
#[derive(Args)]
pub(super) struct Template {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Render one template over one JSON document
    Render {
        /// The template
        #[arg(long, value_name = "FILE")]
        template: PathBuf,
        /// The JSON document
        #[arg(long, value_name = "FILE")]
        data: PathBuf,
    },
    /// Render many: {"name","template","data"} lines in, {"name","output"} or {"name","error"} lines out
    Batch,
}

impl Template {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Render { template, data } => render(&template, &data),
            Command::Batch => batch(),
        }
    }
}

fn render(template: &Path, data: &Path) -> Result<ExitCode, Failure> {
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("{} cannot be read", path.display())).because(error))
    };
    let name = template.file_name().unwrap_or_default().to_string_lossy();
    let source = read(template)?;
    let data = read(data)?;
    let failed = |error: gotemplate::Error| Failure::new(error.report());
    let compiled = Compiled::compile(&name, &source, &Options::default()).map_err(failed)?;
    let output = compiled.render_json(&data).map_err(failed)?;
    super::write(output.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn batch() -> Result<ExitCode, Failure> {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let unreadable = |error| Failure::new(format!("line {number} cannot be read")).because(error);
        let mut limited = std::io::Read::take(&mut input, MAX_LINE_BYTES);
        if limited.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        if !line.trim_ascii().is_empty() {
            super::print(&answer(&line, number).to_string());
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(serde::Deserialize)]
struct Case<'a> {
    #[serde(default)]
    name: Value,
    template: String,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

fn answer(line: &[u8], number: usize) -> Value {
    let case: Case<'_> = match serde_json::from_slice(line) {
        Ok(case) => case,
        Err(error) => return json!({ "name": null, "error": format!("line {number}: {error}") }),
    };
    let data = case.data.map_or("null", RawValue::get);
    let name = case.name.as_str().unwrap_or("template");
    let rendered = Compiled::compile(name, &case.template, &Options::default())
        .and_then(|template| template.render_json(data));
    match rendered {
        Ok(output) => json!({ "name": case.name, "output": output }),
        Err(error) => json!({ "name": case.name, "error": error.to_string() }),
    }
}

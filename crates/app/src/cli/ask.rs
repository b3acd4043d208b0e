//! Questions to a person at a terminal; where there is none, nobody is asked.

use crate::Failure;
use local::mcp_config::McpConfig;
use local::mcp_config::inputs::{self, Question};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{BufRead as _, IsTerminal as _, Read as _, Stdin};
use std::path::Path;

/// The most bytes of an answer.
const MAX_BYTES: u64 = 64 * 1024;
/// How often a question is asked again.
const ATTEMPTS: usize = 3;

/// Whether there is a person who sees what we ask, and can answer.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for the inputs of an mcp.json that have not been given; those of the warnings that are still true.
pub(super) fn for_inputs(path: &Path, warnings: Vec<String>) -> Result<Vec<String>, Failure> {
    if !is_possible() {
        return Ok(warnings);
    }
    let missing = McpConfig::read(path)?.questions().into_iter().filter(|(_, is_given)| !is_given);
    let mut is_asked = false;
    for (question, _) in missing {
        is_asked = true;
        if let Some(answer) = ask(&question)? {
            inputs::keep(path, &question.id, &answer)?;
        }
    }
    if !is_asked {
        return Ok(warnings);
    }
    let now = McpConfig::read(path)?.findings().warnings;
    Ok(warnings.into_iter().filter(|warning| now.contains(warning)).collect())
}

/// Asks a person; nothing if they do not know.
pub(super) fn ask(question: &Question) -> Result<Option<String>, Failure> {
    let mut asked = question.text.clone();
    if !question.options.is_empty() {
        asked.push_str(&format!(" ({})", question.options.join(", ")));
    }
    if let Some(default) = question.default.as_ref().filter(|_| !question.is_secret) {
        asked.push_str(&format!(" [{default}]"));
    }
    for _ in 0..ATTEMPTS {
        let answer = match question.is_secret {
            true => read_secret(&format!("{asked}: "))?,
            false => {
                super::prompt(&format!("{asked}: "));
                read_line()?
            }
        };
        if answer.is_empty() && question.default.is_none() {
            return Ok(None);
        }
        match question.check(&answer) {
            Ok(answer) => return Ok(Some(answer)),
            Err(failure) => super::note(&failure.to_string()),
        }
    }
    Ok(None)
}

/// Asks for a yes; everything else is none.
pub(super) fn confirm(text: &str) -> Result<bool, Failure> {
    super::prompt(&format!("{text} [y/N] "));
    Ok(matches!(read_line()?.to_lowercase().as_str(), "y" | "yes"))
}

/// One line from stdin, whatever it is.
pub(super) fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    let read = std::io::stdin().lock().take(MAX_BYTES).read_line(&mut line);
    read.map_err(|error| Failure::new("the answer cannot be read").because(error))?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// One line that is not shown while it is typed. People type as soon as they are asked, so it is hidden before.
fn read_secret(asked: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let hidden = Hidden::new(&stdin);
    super::prompt(asked);
    let line = read_line();
    if hidden.is_some() {
        drop(hidden);
        super::note("");
    }
    line
}

/// While it lives, what is typed is not shown.
struct Hidden<'a> {
    stdin: &'a Stdin,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn new(stdin: &'a Stdin) -> Option<Self> {
        let before = tcgetattr(stdin).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin, OptionalActions::Now, &silent).ok()?;
        Some(Self { stdin, before })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // A terminal that has gone shows nothing anyway.
        let _ = tcsetattr(self.stdin, OptionalActions::Now, &self.before);
    }
}

//! Regular expressions with Go's meaning, compiled once per template and bounded in cost.

use std::sync::{Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

use crate::budget::Budget;
use crate::error::Fault;

/// The patterns a template has used, kept between renders.
#[derive(Debug, Default)]
pub(crate) struct Regexes(Mutex<Vec<Pattern>>);

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    source: Box<str>,
    pub(crate) regex: Regex,
    /// Roughly how many places in the pattern can be active at once.
    states: usize,
}

/// Patterns kept at once; templates rarely have more than a few.
const KEPT: usize = 16;
/// What compiling a pattern costs of the budget.
const COMPILING: usize = 256 << 10;

impl Regexes {
    /// The pattern, compiled now or before, after paying for running it over `text`.
    pub(crate) fn prepare(
        &self,
        budget: &mut Budget<'_>,
        source: &str,
        text: &str,
    ) -> Result<Pattern, Fault> {
        let known = self.lock().iter().find(|pattern| &*pattern.source == source).cloned();
        let pattern = match known {
            Some(pattern) => pattern,
            None => self.compile(budget, source)?,
        };
        budget.work(text.len().saturating_mul((pattern.states / 2).max(1)))?;
        Ok(pattern)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Pattern>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile(&self, budget: &mut Budget<'_>, source: &str) -> Result<Pattern, Fault> {
        let limits = budget.limits();
        if source.len() > limits.pattern_bytes {
            return Err(Fault::limit("the length of a regular expression", limits.pattern_bytes));
        }
        budget.work(COMPILING)?;
        let translated = translate(source);
        let regex = RegexBuilder::new(&translated.pattern)
            .size_limit(limits.regex_bytes)
            .dfa_size_limit(limits.regex_bytes)
            .nest_limit(32)
            .build()
            .map_err(|error| refused(source, &error, limits.regex_bytes))?;
        let pattern = Pattern { source: source.into(), regex, states: translated.states };
        let mut kept = self.lock();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(pattern.clone());
        Ok(pattern)
    }
}

fn refused(source: &str, error: &regex::Error, limit: usize) -> Fault {
    match error {
        regex::Error::CompiledTooBig(_) => Fault::limit("the size of a regular expression", limit),
        _ => {
            let shown: String = source.chars().take(60).collect();
            Fault::function(format!("{shown:?} is no regular expression"))
        }
    }
}

struct Translated {
    pattern: String,
    states: usize,
}

/// Rewrites Go's syntax into the regex crate's where the two read the same text differently:
/// classes such as `\d` are ASCII, a lone `{` is itself, and a bracket has no set operations.
fn translate(source: &str) -> Translated {
    let mut pattern = String::with_capacity(source.len() + 16);
    let mut states = States { groups: vec![0], atom: 0 };
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '\\' => {
                let (length, piece) = escape(rest, false);
                pattern.push_str(&piece);
                taken = length;
                states.atom(1);
            }
            '[' => {
                taken = bracket(rest, &mut pattern);
                states.atom(1);
            }
            '{' => match repetition(rest) {
                Some((length, most)) => {
                    states.repeat(most);
                    pattern.push_str(&rest[..length]);
                    taken = length;
                }
                None => {
                    pattern.push_str("\\{");
                    states.atom(1);
                }
            },
            _ => {
                states.character(c);
                pattern.push(c);
            }
        }
        rest = &rest[taken..];
    }
    Translated { pattern, states: states.total() }
}

/// Counts the places of a pattern, repetitions multiplied out.
struct States {
    /// Places in each open group, the whole pattern first.
    groups: Vec<usize>,
    /// Places of what a repetition would repeat.
    atom: usize,
}

impl States {
    fn character(&mut self, c: char) {
        match c {
            '(' => self.groups.push(0),
            ')' if self.groups.len() > 1 => {
                let inner = self.groups.pop().unwrap_or(0).max(1);
                self.atom(inner);
            }
            _ => self.atom(1),
        }
    }

    fn atom(&mut self, places: usize) {
        self.atom = places;
        if let Some(group) = self.groups.last_mut() {
            *group = group.saturating_add(places);
        }
    }

    fn repeat(&mut self, most: usize) {
        // The atom itself has been counted once.
        let more = self.atom.saturating_mul(most.saturating_sub(1));
        let whole = self.atom.saturating_add(more);
        self.atom(more);
        self.atom = whole;
    }

    fn total(&self) -> usize {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(*group))
    }
}

/// An escape at the start of `rest`: its length and what it is for the regex crate.
fn escape(rest: &str, in_bracket: bool) -> (usize, String) {
    let letter = rest[1..].chars().next();
    let piece = match letter {
        Some('d') => if in_bracket { "0-9" } else { "[0-9]" }.to_owned(),
        Some('w') => if in_bracket { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }.to_owned(),
        Some('s') => if in_bracket { r"\t\n\x0C\r " } else { r"[\t\n\x0C\r ]" }.to_owned(),
        Some('D') => "[^0-9]".to_owned(),
        Some('W') => "[^0-9A-Za-z_]".to_owned(),
        Some('S') => r"[^\t\n\x0C\r ]".to_owned(),
        Some('b') if !in_bracket => r"(?-u:\b)".to_owned(),
        Some('Q') if !in_bracket => {
            let quoted = &rest[2..];
            let end = quoted.find("\\E").unwrap_or(quoted.len());
            let closing = if end < quoted.len() { 2 } else { 0 };
            return (2 + end + closing, regex::escape(&quoted[..end]));
        }
        Some(other) => format!("\\{other}"),
        None => "\\".to_owned(),
    };
    (1 + letter.map_or(0, char::len_utf8), piece)
}

/// Copies a bracket expression and returns its length.
fn bracket(rest: &str, pattern: &mut String) -> usize {
    let mut at = 1;
    pattern.push('[');
    if rest[at..].starts_with('^') {
        pattern.push('^');
        at += 1;
    }
    if rest[at..].starts_with(']') {
        pattern.push_str("\\]");
        at += 1;
    }
    while let Some(c) = rest[at..].chars().next() {
        match c {
            ']' => {
                pattern.push(']');
                return at + 1;
            }
            '\\' => {
                let (length, piece) = escape(&rest[at..], true);
                pattern.push_str(&piece);
                at += length;
                continue;
            }
            '[' => match rest[at..].find(":]").filter(|_| rest[at..].starts_with("[:")) {
                Some(end) => {
                    pattern.push_str(&rest[at..at + end + 2]);
                    at += end + 2;
                    continue;
                }
                None => pattern.push_str("\\["),
            },
            '&' | '~' => {
                pattern.push('\\');
                pattern.push(c);
            }
            _ => pattern.push(c),
        }
        at += c.len_utf8();
    }
    rest.len()
}

/// A counted repetition at the start of `rest`: its length and the highest count.
fn repetition(rest: &str) -> Option<(usize, usize)> {
    let end = rest.find('}')?;
    let (least, most) = rest[1..end].split_once(',').unwrap_or((&rest[1..end], &rest[1..end]));
    if least.is_empty() || !rest[1..end].bytes().all(|byte| byte.is_ascii_digit() || byte == b',') {
        return None;
    }
    let least: usize = least.parse().ok()?;
    let most = if most.is_empty() { least.max(1) } else { most.parse().ok()? };
    Some((end + 1, most))
}

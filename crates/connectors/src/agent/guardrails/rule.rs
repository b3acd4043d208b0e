//! One rule, compiled.

use super::super::settings::{RunAs, with_rights_to};
use super::links::without_strangers;
use super::settings::{Action, Pii, RuleSettings};
use super::{Guarding, Stage};
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use tool::pii::{self, KEY, Named, PERSONAL};
use tool::{Arguments, Outcome, Pattern, Problem, Request, Step, Target, Uri};

/// The most a compiled expression may take.
const MAX_REGEX_BYTES: usize = 1024 * 1024;
/// Its compiler calls itself for each level, on a stack of any size.
const MAX_REGEX_LEVELS: u32 = 32;

/// Why a text may not go on.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Blocked(pub(in super::super) String);

#[derive(Debug)]
pub(super) enum Rule {
    MaxChars(usize),
    Pattern(Regex, Action),
    Pii(Vec<Named>, Action),
    Links(Vec<String>, Action),
    /// Called on the strength of whoever the settings say, as the agent's own tools are.
    Tool(Uri, RunAs),
}

impl Rule {
    pub(super) fn check(
        given: &RuleSettings,
        run_as: RunAs,
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let mut refuse = |field: &str, code, message: String| {
            problems.push(Problem::new(format!("{path}{field}"), code, message));
            None
        };
        if given.kinds() != 1 {
            let message = "a rule has exactly one of max_chars, pattern, pii, links and tool";
            return refuse("", "InvalidRule", message.to_owned());
        }
        if let Some(message) = given.wrong_action() {
            return refuse(".action", "NotAllowed", message.to_owned());
        }
        let action = given.action.unwrap_or(Action::Block);
        match given {
            RuleSettings { max_chars: Some(max), .. } => Some(Self::MaxChars(*max)),
            RuleSettings { pattern: Some(pattern), .. } => {
                let mut builder = RegexBuilder::new(pattern);
                match builder.size_limit(MAX_REGEX_BYTES).nest_limit(MAX_REGEX_LEVELS).build() {
                    Ok(regex) => Some(Self::Pattern(regex, action)),
                    Err(error) => {
                        refuse(".pattern", "InvalidPattern", format!("no regular expression: {error}"))
                    }
                }
            }
            RuleSettings { pii: Some(kinds), .. } => {
                Some(Self::Pii(kinds.iter().map(|kind| kind_of(*kind)).collect(), action))
            }
            RuleSettings { links: Some(hosts), .. } => {
                let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
                Some(Self::Links(hosts, given.action.unwrap_or(Action::Redact)))
            }
            RuleSettings { tool, .. } => match tool.as_deref().unwrap_or_default().parse::<Uri>() {
                Ok(uri) => Some(Self::Tool(uri, run_as)),
                Err(error) => refuse(".tool", "InvalidUri", error.to_string()),
            },
        }
    }

    /// Digits can break it: a number is no text that a tool judges, or that has links or a length.
    pub(super) fn is_about_numbers(&self) -> bool {
        match self {
            Self::Pattern(..) | Self::Pii(..) => true,
            Self::MaxChars(_) | Self::Links(..) | Self::Tool(..) => false,
        }
    }

    /// A tool judges.
    pub(super) fn is_judging(&self) -> bool {
        matches!(self, Self::Tool(..))
    }

    /// What it finds, the model does not see.
    pub(super) fn is_masking(&self) -> bool {
        matches!(self, Self::Pattern(_, Action::Mask) | Self::Pii(_, Action::Mask))
    }

    /// What hides counts, too, where it is sent on.
    pub(super) fn is_about_length(&self) -> bool {
        matches!(self, Self::MaxChars(_))
    }

    pub(super) async fn apply(
        &self,
        guarding: &Guarding<'_>,
        stage: Stage,
        text: String,
    ) -> Result<String, Blocked> {
        match self {
            Self::MaxChars(max) => match text.chars().nth(*max) {
                None => Ok(text),
                Some(_) => Err(Blocked(format!("it has more than {max} characters"))),
            },
            Self::Pattern(regex, action) => {
                let replaced = regex.replace_all(&text, |found: &regex::Captures<'_>| match action {
                    Action::Mask => guarding.mask("text", &found[0]),
                    Action::Block | Action::Redact => "[redacted]".to_owned(),
                });
                let is_found = matches!(replaced, std::borrow::Cow::Owned(_));
                let replaced = replaced.into_owned();
                judged(replaced, is_found, *action, "it has something that a pattern rules out")
            }
            Self::Pii(kinds, action) => {
                let replaced = pii::replace(&text, kinds.iter().copied(), &mut |name, value| match action {
                    Action::Mask => guarding.mask(name, value),
                    Action::Block | Action::Redact => format!("[{}]", name.to_uppercase()),
                });
                let is_found = replaced.is_some();
                judged(replaced.unwrap_or(text), is_found, *action, "it has personal data")
            }
            Self::Links(hosts, action) => {
                let (replaced, is_found) = without_strangers(&text, hosts);
                judged(replaced, is_found, *action, "it has links to hosts that are not allowed")
            }
            Self::Tool(uri, run_as) => ask(guarding, stage, uri, *run_as, text).await,
        }
    }
}

fn judged(text: String, is_found: bool, action: Action, why: &str) -> Result<String, Blocked> {
    match action {
        Action::Block if is_found => Err(Blocked(why.to_owned())),
        Action::Block | Action::Redact | Action::Mask => Ok(text),
    }
}

fn kind_of(pii: Pii) -> Named {
    let personal = |name: &str| PERSONAL.iter().find(|kind| kind.name == name).unwrap_or(&KEY);
    match pii {
        Pii::Mail => ("mail", personal("email")),
        Pii::Phone => ("phone", personal("phone")),
        Pii::Card => ("card", personal("card")),
        Pii::Id => ("id", personal("ssn")),
        Pii::Bank => ("bank", personal("iban")),
        Pii::Key => ("key", &KEY),
    }
}

/// Lets a tool judge. One that fails, or does not say that the text may pass, blocks.
async fn ask(
    guarding: &Guarding<'_>,
    stage: Stage,
    uri: &Uri,
    run_as: RunAs,
    text: String,
) -> Result<String, Blocked> {
    let failed = |why: &str| Blocked(format!("the guardrail {uri} {why}"));
    let tools = guarding.tools.ok_or_else(|| failed("cannot be called here"))?;
    let arguments = Map::from_iter([
        ("stage".to_owned(), Value::from(stage.as_str())),
        ("text".to_owned(), text.as_str().into()),
        ("agent".to_owned(), guarding.agent.into()),
    ]);
    let path = format!("{}.guardrail.{}", guarding.agent, stage.as_str());
    let nested = guarding.cx.nested(Step { path: Some(path.into()), ..Step::default() });
    let cx = match run_as {
        RunAs::Caller => nested,
        RunAs::Agent => with_rights_to(nested, vec![Pattern(uri.to_string())]),
    };
    let request = Request::new(Target::Uri(uri.clone()), Arguments::from(arguments));
    let Ok(Outcome::Done(output)) = tools.call(&cx, request).await else { return Err(failed("failed")) };
    if output.is_error() {
        return Err(failed("failed"));
    }
    let verdict: Value = output.data().and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default();
    if verdict["allow"] != true {
        let reason = verdict["reason"].as_str().unwrap_or("does not let it pass");
        return Err(Blocked(reason.chars().take(300).collect()));
    }
    Ok(verdict["text"].as_str().map_or(text, str::to_owned))
}

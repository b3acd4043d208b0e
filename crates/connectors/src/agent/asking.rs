//! What a run asks the program that calls, as the outcome of its call: sealed with the run, so that any process takes
//! the answers.

use super::model::{takes_tools, written};
use super::{Agent, approval};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use tool::{
    Ability, Client, Context, Error, Extras, InputRequest, Question, QuestionMode, Result, RunAnswer, RunId,
    RunQuestion, Runs, approving,
};

/// Where a repeated call has what we sealed.
pub(super) const STATE: &str = "requestState";
/// Where it has the answers, each under the name of its question.
const ANSWERS: &str = "inputResponses";
/// What we seal is shorter.
const MAX_STATE_BYTES: usize = 64 * 1024;

/// What is sealed: of whom it is taken back, and for what.
#[derive(Serialize, Deserialize, PartialEq)]
struct State {
    tenant: String,
    caller: String,
    agent: String,
    /// The digest of what the agent was called with.
    arguments: String,
    run: RunId,
    /// The questions that may be answered.
    asked: Vec<String>,
}

impl State {
    fn of(
        agent: &Agent,
        cx: &Context,
        arguments: &Map<String, Value>,
        run: RunId,
        asked: Vec<String>,
    ) -> Self {
        let identity = &cx.caller.identity;
        Self {
            tenant: cx.tenant.to_string(),
            caller: format!("{}/{}", identity.kind(), identity.id()),
            agent: agent.id.clone(),
            arguments: digest_of(arguments),
            run,
            asked,
        }
    }
}

/// What the run asks this very program now, all at once; nothing where it asks others, or nobody.
pub(super) async fn questions(
    agent: &Agent,
    cx: &Context,
    runs: &dyn Runs,
    run: &RunId,
    arguments: &Map<String, Value>,
) -> Result<Option<InputRequest>> {
    let client = cx.client.as_deref().filter(|client| client.question_mode() == QuestionMode::AsOutcome);
    let Some(client) = client else { return Ok(None) };
    let asked = runs.questions(cx, run).await?;
    let questions: Vec<_> = asked.into_iter().filter_map(|asked| question(client, asked)).collect();
    if questions.is_empty() {
        return Ok(None);
    }
    let names = questions.iter().map(|(name, _)| name.clone()).collect();
    let state = written(&State::of(agent, cx, arguments, run.clone(), names))?;
    let state = Some(written(&runs.seal(state.get())?)?);
    Ok(Some(InputRequest { questions, state, original: None }))
}

fn question(client: &dyn Client, asked: RunQuestion) -> Option<(String, Question)> {
    let (ability, params) = match asked.sampling {
        Some(params) => {
            let has_tools = params.get("tools").is_some();
            if has_tools && !takes_tools(client) {
                return None;
            }
            (Ability::Sampling, params)
        }
        None => {
            let params = json!({ "mode": "form", "message": asked.title, "requestedSchema": asked.fields });
            (Ability::Elicitation, params)
        }
    };
    let params = to_raw_value(&params).ok();
    (asked.is_for_caller && client.can(ability)).then_some((asked.id, Question { ability, params }))
}

/// Takes the answers of a call that is repeated with what we sealed, and gives the run that they are for.
///
/// # Errors
/// `InvalidInput` for what we have not sealed, or not for this call of this caller, and for answers that are none.
pub(super) async fn answered(
    agent: &Agent,
    cx: &Context,
    runs: &dyn Runs,
    arguments: &Map<String, Value>,
    state: &RawValue,
    extras: &Extras,
) -> Result<RunId> {
    let state = opened(agent, cx, runs, arguments, state)?;
    let answers: BTreeMap<String, Box<RawValue>> = match extras.get(ANSWERS) {
        Some(raw) => serde_json::from_str(raw.get()).map_err(|_| unfit("is no object"))?,
        None => BTreeMap::new(),
    };
    let read = |written: &RawValue| serde_json::from_str::<Value>(written.get());
    // All of them are looked at before one of them counts.
    for (name, answer) in &answers {
        if !state.asked.contains(name) {
            let name: String = name.chars().take(100).collect();
            return Err(unfit(&format!("answers '{name}', which was not asked")));
        }
        if !read(answer).is_ok_and(|answer| answer.is_object()) {
            return Err(unfit(&format!("has no object for '{name}'")));
        }
    }
    let asked = runs.questions(cx, &state.run).await?;
    let form = approving::form();
    for question in asked.iter().filter(|question| question.fields.as_ref() == Some(&form)) {
        let Some(answer) = answers.get(&question.id).and_then(|answer| read(answer).ok()) else { continue };
        if approval::is_approved(&answer) && !approving::is_clear(&answer["content"]) {
            let name = &question.id;
            return Err(unfit(&format!(
                "has a 'decision' for '{name}' that is neither 'approve' nor 'reject'"
            )));
        }
    }
    for (name, answer) in answers {
        // What is not asked any more was answered, or is over.
        let Some(question) = asked.iter().find(|question| question.id == name) else { continue };
        let answer = match question.sampling {
            // A model's answer goes on as it was written: its calls keep their digits.
            Some(_) => RunAnswer { is_approved: true, data: answer.get().into() },
            None => {
                let answer = read(&answer).unwrap_or_default();
                RunAnswer { is_approved: approval::is_approved(&answer), data: answer["content"].clone() }
            }
        };
        runs.answer(cx, &state.run, &name, answer).await?;
    }
    Ok(state.run)
}

fn opened(
    agent: &Agent,
    cx: &Context,
    runs: &dyn Runs,
    arguments: &Map<String, Value>,
    state: &RawValue,
) -> Result<State> {
    let sealed: Option<String> = serde_json::from_str(state.get()).ok();
    let sealed = sealed.filter(|sealed| sealed.len() <= MAX_STATE_BYTES);
    let opened = sealed.and_then(|sealed| runs.open(&sealed));
    let opened = opened.and_then(|text| serde_json::from_str::<State>(&text).ok());
    let is_theirs =
        |opened: &State| *opened == State::of(agent, cx, arguments, opened.run.clone(), opened.asked.clone());
    opened.filter(is_theirs).ok_or_else(|| {
        let message = "'requestState' was not given to this caller for this call; repeat the call with the same arguments \
                       and the state as it was given, or begin anew without it";
        Error::invalid_input(message).of_parameter(STATE)
    })
}

fn unfit(what: &str) -> Error {
    let message = format!("'{ANSWERS}' {what}; give each question its answer, under its name");
    Error::invalid_input(message).of_parameter(ANSWERS)
}

/// The same for all ways to write the same arguments.
fn digest_of(arguments: &Map<String, Value>) -> String {
    let mut sorted = Value::Object(arguments.clone());
    sorted.sort_all_objects();
    let digest = Sha256::digest(sorted.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! The conversation that a run is a part of: whose it is, what was said before, and what the run adds.

use super::super::Flows;
use flow::engine::Ending;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use store::ErrorKind;
use store::conversations::NewTurn;
use store::runs::Run;
use tool::journal::Said;
use tool::{Context, Error, NewWork, Result};

/// As much of what was said before as a model is told.
const HISTORY_BYTES: usize = 256 * 1024;

/// The conversation of a run, with what its agent says of conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Talk {
    pub(in super::super) id: String,
    seconds: u64,
    turns: u32,
}

impl Flows {
    /// The conversation that the work wants to be a part of: a new one, or one of the same caller with the same agent.
    pub(super) async fn talk(&self, cx: &Context, work: &NewWork) -> Result<Option<Talk>> {
        let Some(wanted) = &work.conversation else { return Ok(None) };
        let identity = &cx.caller.identity;
        let caller = format!("{}/{}", identity.kind(), identity.id());
        let conversations = self.store.conversations();
        let id = match &wanted.id {
            None => {
                conversations.create(&cx.tenant, &work.agent, &caller, &cx.caller.name, wanted.time).await?
            }
            Some(id) => match conversations.own(&cx.tenant, id, &work.agent, &caller).await {
                Ok(()) => id.clone(),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let message = format!(
                        "there is no conversation '{id}' with the agent '{}'; begin one with \"new\"",
                        work.agent
                    );
                    return Err(Error::not_found(message).of_parameter("conversation"));
                }
                Err(error) => return Err(error.into()),
            },
        };
        Ok(Some(Talk { id, seconds: wanted.time.as_secs(), turns: wanted.turns }))
    }

    /// What was said before, as far as it is not too much, and how many turns are left out.
    pub(super) async fn history(&self, run: &Run, talk: Option<&Talk>) -> Result<(Vec<Said>, usize)> {
        let Some(talk) = talk else { return Ok(Default::default()) };
        let turns = self.store.conversations().turns(&run.tenant, &talk.id, HISTORY_BYTES);
        let (turns, left_out) = self.answered(turns).await?;
        let said = turns.into_iter().map(|turn| Said { prompt: turn.prompt, answer: turn.answer });
        Ok((said.collect(), left_out))
    }

    /// A run that went well is a turn of its conversation. It is added before the run ends, and once.
    pub(super) async fn add_turn(
        &self,
        run: &Run,
        talk: Option<&Talk>,
        prompt: Option<&Value>,
        ending: &Ending,
    ) -> Result<()> {
        let (Some(talk), Ending::Succeeded { output }) = (talk, ending) else { return Ok(()) };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let turn = NewTurn { run: run.id.clone(), prompt: text(prompt), answer: text(output.get("answer")) };
        let time = Duration::from_secs(talk.seconds);
        let added = self.store.conversations().add(&run.tenant, &talk.id, &turn, talk.turns, time);
        Ok(self.answered(added).await?)
    }
}

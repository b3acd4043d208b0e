//! The conversation that a run is a part of: whose it is, what was said before, and what the run adds.

use super::super::Flows;
use super::journal::AgentJournal;
use flow::engine::Ending;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use store::ErrorKind;
use store::conversations::{NewConversation, NewTurn};
use store::runs::Run;
use tool::journal::Said;
use tool::{Context, Error, NewWork, Result, new_id};

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
    /// The conversation that the work wants to be a part of: one of the same caller with the same agent, or one that begins
    /// with the run.
    pub(super) async fn talk(
        &self,
        cx: &Context,
        work: &NewWork,
    ) -> Result<(Option<Talk>, Option<NewConversation>)> {
        let Some(wanted) = &work.conversation else { return Ok((None, None)) };
        let identity = &cx.caller.identity;
        let caller = format!("{}/{}", identity.kind(), identity.id());
        let talk = |id: &str| Talk { id: id.to_owned(), seconds: wanted.time.as_secs(), turns: wanted.turns };
        let Some(id) = &wanted.id else {
            let (agent, caller_name) = (work.agent.clone(), cx.caller.name.clone());
            let new = NewConversation { id: new_id(), agent, caller, caller_name, time: wanted.time };
            return Ok((Some(talk(&new.id)), Some(new)));
        };
        match self.store.conversations().own(&cx.tenant, id, &work.agent, &caller).await {
            Ok(()) => Ok((Some(talk(id)), None)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message = format!(
                    "there is no conversation '{id}' with the agent '{}'; begin one with \"new\"",
                    work.agent
                );
                Err(Error::not_found(message).of_parameter("conversation"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was said before, as far as it is not too much, and how many turns are left out.
    pub(super) async fn history(&self, run: &Run, talk: Option<&Talk>) -> Result<(Vec<Said>, usize)> {
        let Some(talk) = talk else { return Ok(Default::default()) };
        let turns = self.store.conversations().turns(&run.tenant, &talk.id, HISTORY_BYTES);
        let (turns, left_out) = self.answered(turns).await?;
        let said = turns.into_iter().map(|turn| {
            let store::conversations::Turn { prompt, answer, is_untrusted, .. } = turn;
            Said { prompt, answer, is_untrusted }
        });
        Ok((said.collect(), left_out))
    }

    /// A run that went well is a turn of its conversation. It is added before the run ends, and once.
    pub(super) async fn add_turn(
        &self,
        kept: &AgentJournal,
        talk: Option<&Talk>,
        prompt: Option<&Value>,
        ending: &Ending,
    ) -> Result<()> {
        let (Some(talk), Ending::Succeeded { output }) = (talk, ending) else { return Ok(()) };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let run = &kept.journal.run;
        let turn = NewTurn {
            run: run.id.clone(),
            prompt: text(prompt),
            answer: text(output.get("answer")),
            is_untrusted: kept.has_untrusted(),
        };
        let time = Duration::from_secs(talk.seconds);
        let added = self.store.conversations().add(&run.tenant, &talk.id, &turn, talk.turns, time);
        Ok(self.answered(added).await?)
    }
}

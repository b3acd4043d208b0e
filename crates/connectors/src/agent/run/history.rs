//! What was said in a conversation before, as the model is told of it.

use super::super::Agent;
use super::super::guardrails::{Guarding, Stage};
use super::super::model::Turn;
use super::work::AtWork;
use tool::Context;

/// The turns before the one that is asked now. What guardrails do not let in any more is left out.
pub(super) async fn told(agent: &Agent, cx: &Context, work: &AtWork) -> Vec<Turn> {
    if work.is_inside {
        return Vec::new();
    }
    let tools = agent.tools.upgrade();
    let guarding = Guarding { cx, agent: &agent.id, tools: tools.as_deref(), masks: &work.run.masks };
    let (mut turns, mut left_out) = (Vec::new(), work.run.left_out);
    'turns: for said in &work.run.history {
        let (mut prompt, mut answer) = (said.prompt.clone(), said.answer.clone());
        for guards in &work.guards {
            for text in [&mut prompt, &mut answer] {
                match guards.apply(&guarding, Stage::Input, std::mem::take(text)).await {
                    Ok(guarded) => *text = guarded,
                    Err(_) => {
                        left_out += 1;
                        continue 'turns;
                    }
                }
            }
        }
        turns.push(Turn::User(prompt));
        turns.push(Turn::Model { text: answer, calls: Vec::new(), thoughts: Vec::new() });
    }
    work.run.spent().left_out = left_out;
    turns
}

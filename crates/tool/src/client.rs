//! The program that calls us: what it can do for a service, and how a service asks it.

use crate::{Context, Result};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::fmt;

/// What a service may ask the program that calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ability {
    /// To let its model write something.
    Sampling,
    /// To let the person in front of it fill in a form.
    Elicitation,
    /// To send that person to a page.
    UrlElicitation,
    /// To say which folders it works on.
    Roots,
}

impl Ability {
    /// The ability as programs declare it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::UrlElicitation => "elicitation.url",
            Self::Roots => "roots",
        }
    }
}

/// A question of a service.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub ability: Ability,
    /// The question, as the service wrote it.
    pub params: Option<Box<RawValue>>,
}

/// How a program wants to hear the questions of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionMode {
    /// While its call runs.
    DuringCall,
    /// As the outcome of its call, which it then repeats with the answers.
    AsOutcome,
}

/// The program on the other side of a door, as long as its call runs.
#[async_trait]
pub trait Client: fmt::Debug + Send + Sync {
    /// What it says it can do: a JSON object in the words of its protocol.
    fn capabilities(&self) -> &RawValue;

    /// The name of the session that it calls in: calls of one caller in sessions of one name come from one program.
    fn session(&self) -> &str;

    /// It has declared this ability.
    fn can(&self, ability: Ability) -> bool;

    /// How it wants to hear questions that a service has for it.
    fn question_mode(&self) -> QuestionMode;

    /// Its model answers what it is asked as the outcome of its call: any process can ask, as often as it comes back.
    fn samples_as_outcome(&self) -> bool {
        self.can(Ability::Sampling) && self.question_mode() == QuestionMode::AsOutcome
    }

    /// Asks, and waits for the answer as long as `cx` allows.
    ///
    /// # Errors
    /// When it cannot, will not, or does not answer in time.
    async fn ask(&self, cx: &Context, question: Question) -> Result<Box<RawValue>>;
}

//! The program behind a request: what it can do, and the way to ask it.

use super::conversation::Asker;
use super::questions::Questions;
use async_trait::async_trait;
use mcp::{Era, Version, envelope};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tool::{Ability, Client, Context, Error, Fields, Manner, Question, Result};

/// What comes up for a client while its request is worked on.
pub(super) enum Heard {
    /// A message to be sent as it is.
    Line(String),
    /// A question that is to be the outcome of the request.
    Question(Posed),
}

/// How programs of a version hear what comes up for them.
pub(super) fn manner_of(version: Version) -> Option<Manner> {
    Some(match version.era() {
        Era::Legacy => Manner::Meanwhile,
        Era::Modern => Manner::AsOutcome,
    })
}

/// A question, and where its answer goes.
pub(super) struct Posed {
    pub(super) question: Question,
    pub(super) reply: oneshot::Sender<Result<Box<RawValue>>>,
}

/// The client of one request.
pub(super) struct Program {
    capabilities: Box<RawValue>,
    /// By name, as it has declared them.
    abilities: Vec<String>,
    /// Whose answers are taken.
    owner: String,
    tx: mpsc::Sender<Heard>,
    way: Way,
}

enum Way {
    /// A request to the client, whose answer comes as a message of its own.
    Request(Arc<Questions>),
    /// The outcome of its request.
    Outcome,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("abilities", &self.abilities).finish_non_exhaustive()
    }
}

impl Program {
    /// What the program can do, if it can do anything that a service may ask for.
    pub(super) fn abilities(capabilities: Option<&RawValue>) -> Option<Fields<'_>> {
        let fields: Fields<'_> = serde_json::from_str(capabilities?.get()).ok()?;
        (!fields.0.is_empty()).then_some(fields)
    }

    /// A program that can do this, and is asked through `tx`.
    pub(super) fn client(
        abilities: &Fields<'_>,
        asker: &Asker<'_>,
        tx: mpsc::Sender<Heard>,
    ) -> Arc<dyn Client> {
        Arc::new(Self {
            abilities: abilities.0.iter().map(|(name, _)| name.to_string()).collect(),
            capabilities: asker.capabilities.map(ToOwned::to_owned).unwrap_or_default(),
            owner: asker.owner.to_owned(),
            tx,
            way: match asker.version.era() {
                Era::Legacy => Way::Request(asker.questions.clone()),
                Era::Modern => Way::Outcome,
            },
        })
    }
}

#[async_trait]
impl Client for Program {
    fn capabilities(&self) -> &RawValue {
        &self.capabilities
    }

    fn can(&self, ability: Ability) -> bool {
        self.abilities.iter().any(|name| name == ability.as_str())
    }

    fn manner(&self) -> Manner {
        match self.way {
            Way::Request(_) => Manner::Meanwhile,
            Way::Outcome => Manner::AsOutcome,
        }
    }

    async fn ask(&self, cx: &Context, question: Question) -> Result<Box<RawValue>> {
        let gone = || Error::unavailable("the calling program has gone");
        let (heard, answer, _forget) = match &self.way {
            Way::Outcome => {
                let (reply, answer) = oneshot::channel();
                (Heard::Question(Posed { question, reply }), answer, None)
            }
            Way::Request(questions) => {
                let (id, answer, forget) = questions.expect(&self.owner)?;
                let method = mcp::client::method_of(question.ability);
                let line = envelope::request(&id, method, question.params.as_deref());
                (Heard::Line(line), answer, Some(forget))
            }
        };
        let asked = async {
            self.tx.send(heard).await.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())?
        };
        let answer = cx.within(asked).await;
        answer.unwrap_or_else(|ended| Err(ended.error("the calling program did not answer in time")))
    }
}

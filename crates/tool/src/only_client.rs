//! The one client of a process that serves no other: services may ask it also while none of its calls runs.

use crate::{Ability, Client, Context, Error, Question, QuestionMode, Result};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a question waits for a client that has not said hello; services start before it does.
const HELLO: Duration = Duration::from_secs(60);

/// Who the client is, as soon as that is known.
#[derive(Debug)]
pub struct OnlyClient {
    state: watch::Sender<State>,
    /// Counts the times that its roots have changed.
    roots: watch::Sender<u64>,
    nothing: Box<RawValue>,
}

#[derive(Debug, Clone)]
enum State {
    /// It has not said hello.
    Awaited,
    Here(Arc<dyn Client>),
    /// It has gone, or cannot be asked anything.
    Away,
}

impl Default for OnlyClient {
    fn default() -> Self {
        let nothing = serde_json::value::to_raw_value(&serde_json::Map::new()).unwrap_or_default();
        Self { state: watch::Sender::new(State::Awaited), roots: watch::Sender::new(0), nothing }
    }
}

impl OnlyClient {
    /// The client has said hello, and can be asked this way.
    pub fn connected(&self, client: Arc<dyn Client>) {
        self.state.send_replace(State::Here(client));
    }

    /// The client has gone, or cannot be asked anything.
    pub fn disconnected(&self) {
        self.state.send_replace(State::Away);
    }

    /// The client has not said hello.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        matches!(*self.state.borrow(), State::Awaited)
    }

    /// The client says that its roots are others now.
    pub fn change_roots(&self) {
        self.roots.send_modify(|count| *count += 1);
    }

    /// Ticks when the client's roots are others.
    #[must_use]
    pub fn roots(&self) -> watch::Receiver<u64> {
        self.roots.subscribe()
    }
}

#[async_trait]
impl Client for OnlyClient {
    fn capabilities(&self) -> &RawValue {
        &self.nothing
    }

    fn session(&self) -> &'static str {
        ""
    }

    fn can(&self, ability: Ability) -> bool {
        match &*self.state.borrow() {
            // That is known when it has said hello.
            State::Awaited => true,
            State::Here(client) => client.can(ability),
            State::Away => false,
        }
    }

    fn question_mode(&self) -> QuestionMode {
        QuestionMode::DuringCall
    }

    async fn ask(&self, cx: &Context, question: Question) -> Result<Box<RawValue>> {
        let mut state = self.state.subscribe();
        let hello = state.wait_for(|state| !matches!(state, State::Awaited));
        let time = HELLO.min(cx.remaining());
        let client = match tokio::time::timeout(time, hello).await {
            Ok(Ok(state)) => match &*state {
                State::Here(client) => Some(client.clone()),
                State::Awaited | State::Away => None,
            },
            Ok(Err(_)) | Err(_) => None,
        };
        match client.filter(|client| client.can(question.ability)) {
            Some(client) => client.ask(cx, question).await,
            None => {
                let what = question.ability.as_str();
                Err(Error::unsupported(format!("the client does not support '{what}'")))
            }
        }
    }
}

//! The client behind a request: what it can do, and how it is asked.

use super::server_requests::ServerRequests;
use async_trait::async_trait;
use mcp::{Era, Version, envelope};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tool::{Ability, Client, Context, Error, Fields, Question, QuestionMode, Result};

/// What may wait for a client that reads slowly.
const QUEUE: usize = 64;

/// What a client can say it can do, and which parts of that there are, as far as anybody asks for them.
const READ: [(&str, &[&str]); 4] = [
    ("sampling", &["tools", "context"]),
    ("elicitation", &["form", "url"]),
    ("roots", &["listChanged"]),
    ("extensions", &[super::tasks::EXTENSION]),
];

/// What comes up for a client while its request runs.
pub(super) enum ForClient {
    /// A request to it, to be sent as it is.
    Message(String),
    /// What it is to give as the outcome of its request.
    Input(InputRequest),
}

/// What a request needs of its client to go on, and where the response goes.
pub(super) struct InputRequest {
    pub(super) question: Question,
    pub(super) response: oneshot::Sender<Result<Box<RawValue>>>,
}

/// How clients of a version hear what comes up for them.
pub(super) fn question_mode_of(version: Version) -> QuestionMode {
    match version.era() {
        Era::Legacy => QuestionMode::DuringCall,
        Era::Modern => QuestionMode::AsOutcome,
    }
}

/// The capabilities that a client has declared.
pub(super) struct Capabilities {
    names: Vec<String>,
    declared: Box<RawValue>,
}

impl Capabilities {
    /// Of what a client has declared in its handshake the parts that are read here: however much it says beside them,
    /// they fit into the token of a session.
    pub(super) fn kept(declared: &Map<String, Value>) -> Option<Box<RawValue>> {
        let mut kept = Map::new();
        for (ability, parts) in READ {
            let Some(said) = declared.get(ability) else { continue };
            let is_said = |part: &&&str| said.get(**part).is_some_and(|value| !value.is_null());
            let parts = parts.iter().filter(is_said).map(|part| ((*part).to_owned(), json!({})));
            kept.insert(ability.to_owned(), Value::Object(parts.collect()));
        }
        to_raw_value(&kept).ok()
    }

    /// Those of a client that can do anything that a service may ask for.
    pub(super) fn read(declared: Option<&RawValue>) -> Option<Self> {
        let declared = declared?;
        let fields: Fields<'_> = serde_json::from_str(declared.get()).ok()?;
        let names: Vec<_> = fields.0.iter().map(|(name, _)| name.to_string()).collect();
        (!names.is_empty()).then(|| Self { names, declared: declared.to_owned() })
    }

    /// The client has declared it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The client can be asked for it. Of elicitation, an empty object means forms, as before there were pages.
    pub(super) fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Sampling | Ability::Roots => self.has(ability.as_str()),
            Ability::Elicitation => self.elicits("form") || self.has("elicitation") && !self.elicits("url"),
            Ability::UrlElicitation => self.elicits("url"),
        }
    }

    fn elicits(&self, mode: &str) -> bool {
        #[derive(serde::Deserialize)]
        struct Declared<'a> {
            #[serde(borrow, default)]
            elicitation: Fields<'a>,
        }
        self.has("elicitation")
            && serde_json::from_str::<Declared<'_>>(self.declared.get())
                .is_ok_and(|declared| declared.elicitation.0.iter().any(|(name, _)| *name == mode))
    }

    /// The client knows what to do with work that goes on as a task.
    pub(super) fn speaks_of_tasks(&self) -> bool {
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Declared {
            extensions: serde_json::Map<String, serde_json::Value>,
        }
        self.has("extensions")
            && serde_json::from_str::<Declared>(self.declared.get())
                .is_ok_and(|declared| declared.extensions.contains_key(super::tasks::EXTENSION))
    }
}

/// The client of one request.
pub(super) struct CallingClient {
    capabilities: Capabilities,
    /// Whose responses are taken.
    owner: String,
    session: String,
    tx: mpsc::Sender<ForClient>,
    asking: Asking,
}

enum Asking {
    /// By a request to the client, whose response comes as a message of its own.
    ServerRequest(Arc<ServerRequests>),
    /// By the result of its own request.
    InputRequired,
}

impl fmt::Debug for CallingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallingClient")
            .field("capabilities", &self.capabilities.names)
            .finish_non_exhaustive()
    }
}

impl CallingClient {
    /// A client that can be asked, and where what is asked comes out.
    pub(super) fn open(
        capabilities: Capabilities,
        version: Version,
        owner: &str,
        session: &str,
        requests: &Arc<ServerRequests>,
    ) -> (Arc<dyn Client>, mpsc::Receiver<ForClient>) {
        let (tx, rx) = mpsc::channel(QUEUE);
        let asking = match version.era() {
            Era::Legacy => Asking::ServerRequest(requests.clone()),
            Era::Modern => Asking::InputRequired,
        };
        let (owner, session) = (owner.to_owned(), session.to_owned());
        (Arc::new(Self { capabilities, owner, session, tx, asking }), rx)
    }
}

#[async_trait]
impl Client for CallingClient {
    fn capabilities(&self) -> &RawValue {
        &self.capabilities.declared
    }

    fn session(&self) -> &str {
        &self.session
    }

    fn can(&self, ability: Ability) -> bool {
        self.capabilities.can(ability)
    }

    fn question_mode(&self) -> QuestionMode {
        match self.asking {
            Asking::ServerRequest(_) => QuestionMode::DuringCall,
            Asking::InputRequired => QuestionMode::AsOutcome,
        }
    }

    async fn ask(&self, cx: &Context, question: Question) -> Result<Box<RawValue>> {
        let gone = || Error::unavailable("the client is not connected any more");
        let (asked, rx, _forget) = match &self.asking {
            Asking::InputRequired => {
                let (response, rx) = oneshot::channel();
                (ForClient::Input(InputRequest { question, response }), rx, None)
            }
            Asking::ServerRequest(requests) => {
                let (id, rx, forget) = requests.expect(&self.owner)?;
                let method = mcp::client::method_of(question.ability);
                let message = envelope::request(&id, method, question.params.as_deref());
                (ForClient::Message(message), rx, Some(forget))
            }
        };
        let response = async {
            self.tx.send(asked).await.map_err(|_| gone())?;
            rx.await.map_err(|_| gone())?
        };
        let response = cx.within(response).await;
        response.unwrap_or_else(|ended| Err(ended.error("the client did not answer in time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A form is no page: a client is asked only in the ways it has declared.
    #[test]
    fn tells_forms_from_pages() {
        let modes = |declared: &str| {
            let declared = RawValue::from_string(declared.to_owned()).unwrap();
            let capabilities = Capabilities::read(Some(&declared)).unwrap();
            (capabilities.can(Ability::Elicitation), capabilities.can(Ability::UrlElicitation))
        };
        assert_eq!(modes(r#"{"elicitation":{}}"#), (true, false));
        assert_eq!(modes(r#"{"elicitation":{"form":{}}}"#), (true, false));
        assert_eq!(modes(r#"{"elicitation":{"url":{}}}"#), (false, true));
        assert_eq!(modes(r#"{"elicitation":{"form":{},"url":{}}}"#), (true, true));
        assert_eq!(modes(r#"{"elicitation":true}"#), (true, false));
        assert_eq!(modes(r#"{"sampling":{}}"#), (false, false));
    }

    /// Whoever declares much is asked like everybody else, on every transport.
    #[test]
    fn keeps_what_is_read_of_many_words() {
        let declared = json!({
            "experimental": { "vendor/x": { "note": "y".repeat(100_000) } },
            "elicitation": { "url": { "note": "y".repeat(100_000) }, "vendor": {} },
            "sampling": { "tools": {} }, "roots": { "listChanged": true },
            "extensions": { super::super::tasks::EXTENSION: {}, "vendor/y": { "note": "y".repeat(100_000) } },
        });
        let kept = Capabilities::kept(declared.as_object().unwrap()).unwrap();
        assert!(kept.get().len() < 300, "{kept}");
        let capabilities = Capabilities::read(Some(&kept)).unwrap();
        for (ability, expected) in [
            (Ability::Sampling, true),
            (Ability::Roots, true),
            (Ability::UrlElicitation, true),
            (Ability::Elicitation, false),
        ] {
            assert_eq!(capabilities.can(ability), expected, "{ability:?}");
        }
        assert!(capabilities.speaks_of_tasks());
        assert!(kept.get().contains(r#""sampling":{"tools":{}}"#), "{kept}");
        let nothing = Capabilities::kept(json!({ "experimental": {} }).as_object().unwrap()).unwrap();
        assert!(Capabilities::read(Some(&nothing)).is_none());
        let forms = Capabilities::kept(json!({ "elicitation": {} }).as_object().unwrap()).unwrap();
        assert!(Capabilities::read(Some(&forms)).unwrap().can(Ability::Elicitation));
    }
}

//! What a server says about itself: server reflection, v1 and its elder v1alpha, whose messages are the same.

use super::bounds::{MAX_BYTES, MAX_FILES, check, refused};
use super::connection::Connection;
use super::exchange::Message as Call;
use super::failure::Failure;
use super::frame::{Answer, framed};
use super::schema::{Schema, is_of_infrastructure};
use super::wire::Wire;
use bytes::Bytes;
use fetch::http::header::HeaderMap;
use fetch::http::uri::PathAndQuery;
use futures::channel::mpsc::UnboundedSender;
use prost::{Message, Oneof};
use prost_reflect::DescriptorPool;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tool::secret::Redactor;
use tool::{Error, Result};

pub(super) const V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
pub(super) const V1ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
/// Questions that are under way at once.
const MAX_OPEN: usize = 64;
/// Answers repeat files; so much is listened to in all.
const MAX_HEARD_BYTES: usize = 16 * MAX_BYTES;
/// An answer has a little more than its files.
const MAX_ANSWER_BYTES: usize = MAX_BYTES + 64 * 1024;
const MAX_SERVICES: usize = 1_000;

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    question: Option<Question>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    FileByName(String),
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    #[prost(string, tag = "7")]
    ListServices(String),
}

#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(oneof = "Reply", tags = "4, 6, 7")]
    reply: Option<Reply>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Reply {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Refusal(Refusal),
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    files: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    services: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Refusal {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Why a server told nothing of use.
#[derive(Debug)]
pub(super) enum Silence {
    /// How the exchange ended.
    Failed(Failure),
    /// What it told cannot be used.
    Unusable(Error),
}

impl From<Failure> for Silence {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TooLarge { .. } => match check(usize::MAX, MAX_BYTES, "bytes") {
                Err(error) => Self::Unusable(error),
                Ok(()) => Self::Failed(failure),
            },
            failure => Self::Failed(failure),
        }
    }
}

impl From<Error> for Silence {
    fn from(error: Error) -> Self {
        Self::Unusable(error)
    }
}

/// What a server said: its services, and the files that describe them, by name.
#[derive(Debug)]
pub(super) struct ServerDescription {
    services: Vec<String>,
    files: BTreeMap<String, Bytes>,
}

impl ServerDescription {
    /// Makes types of it, which takes its time.
    ///
    /// # Errors
    /// `InvalidInput` for files that are too much, or do not fit together.
    pub(super) fn into_schema(self) -> Result<Schema> {
        let schema = Schema::from_files(self.files.values().map(AsRef::as_ref))?;
        Ok(schema.of_services(self.services))
    }
}

/// Asks a server for its services and for the files that describe them.
pub(super) async fn ask(
    connection: &Connection,
    headers: &HeaderMap,
    left: Duration,
) -> Result<ServerDescription, Silence> {
    match ask_version(V1, connection, headers, left).await {
        Err(Silence::Failed(failure)) if failure.is_unimplemented() => {
            ask_version(V1ALPHA, connection, headers, left).await
        }
        told => told,
    }
}

/// The words for a server that has no reflection at all.
pub(super) fn explain(failure: Failure, redactor: &Redactor<'_>) -> Error {
    if failure.is_unimplemented() {
        let message =
            "the service has no server reflection; give its types in schema.descriptor_set or schema.protos";
        let failure = failure.explain(redactor);
        return Error::upstream(message).caused_by(failure);
    }
    failure.explain(redactor)
}

async fn ask_version(
    path: &'static str,
    connection: &Connection,
    headers: &HeaderMap,
    left: Duration,
) -> Result<ServerDescription, Silence> {
    let first = request(Question::ListServices(String::new()));
    let call = Call::new(PathAndQuery::from_static(path), headers.clone(), &first, MAX_ANSWER_BYTES);
    let (sender, answer) = call.converse(connection.clone(), left).await?;
    let mut asking =
        Asking { sender, answer, heard_bytes: 0, files: BTreeMap::new(), bytes: 0, new: Vec::new() };
    let mut services = asking.services().await?;
    services.retain(|name| !is_of_infrastructure(name));
    check(services.len(), MAX_SERVICES, "services")?;
    let questions = services.iter().map(|name| Question::FileContainingSymbol(name.clone()));
    asking.fetch(questions.collect()).await?;
    asking.fetch_imports().await?;
    Ok(ServerDescription { services, files: asking.files })
}

/// A conversation with a server about itself.
struct Asking {
    sender: UnboundedSender<Bytes>,
    answer: Answer,
    heard_bytes: usize,
    /// By name, as they came.
    files: BTreeMap<String, Bytes>,
    /// Of all files.
    bytes: usize,
    /// Those whose imports were not looked at yet.
    new: Vec<Bytes>,
}

impl Asking {
    /// The answer to the question that opened the conversation.
    async fn services(&mut self) -> Result<Vec<String>, Silence> {
        match self.hear().await? {
            Reply::Services(listed) => Ok(listed.services.into_iter().map(|service| service.name).collect()),
            Reply::Refusal(refusal) => Err(refusal_of(&refusal).into()),
            Reply::Files(_) => Err(Failure::Protocol("it answers another question").into()),
        }
    }

    /// Asks many questions and keeps the files; what a server does not find is found missing later, if it is needed.
    async fn fetch(&mut self, questions: Vec<Question>) -> Result<(), Silence> {
        let mut waiting = questions.into_iter();
        let mut open = 0;
        loop {
            for question in waiting.by_ref().take(MAX_OPEN - open) {
                let sent = self.sender.unbounded_send(framed(&request(question)));
                sent.map_err(|_| Failure::Cut)?;
                open += 1;
            }
            if open == 0 {
                return Ok(());
            }
            match self.hear().await? {
                Reply::Files(Files { files }) => self.keep(files)?,
                Reply::Refusal(refusal) => {
                    tracing::debug!(code = refusal.code, "a file is not to be had by reflection")
                }
                Reply::Services(_) => return Err(Failure::Protocol("it answers another question").into()),
            }
            open -= 1;
        }
    }

    async fn fetch_imports(&mut self) -> Result<(), Silence> {
        let known = DescriptorPool::global();
        let mut asked = BTreeSet::new();
        loop {
            // Only files that are new can have imports that are.
            let mut wanted = BTreeSet::new();
            for import in std::mem::take(&mut self.new).iter().flat_map(|file| strings(file, 3)) {
                let is_there = self.files.contains_key(&import) || known.get_file_by_name(&import).is_some();
                if !is_there && asked.insert(import.clone()) {
                    wanted.insert(import);
                }
            }
            if wanted.is_empty() {
                return Ok(());
            }
            check(asked.len(), MAX_FILES, "files")?;
            self.fetch(wanted.into_iter().map(Question::FileByName).collect()).await?;
        }
    }

    fn keep(&mut self, files: Vec<Bytes>) -> Result<()> {
        for file in files {
            let Some(name) = strings(&file, 1).pop() else { continue };
            if self.files.contains_key(&name) {
                continue;
            }
            // As a part of the answer it would keep all of the answer in memory.
            let file = Bytes::copy_from_slice(&file);
            self.bytes += file.len();
            self.new.push(file.clone());
            self.files.insert(name, file);
        }
        check(self.files.len(), MAX_FILES, "files")?;
        check(self.bytes, MAX_BYTES, "bytes")
    }

    async fn hear(&mut self) -> Result<Reply, Silence> {
        let Some(message) = self.answer.message().await? else {
            return Err(Failure::Cut.into());
        };
        self.heard_bytes += message.len();
        check(self.heard_bytes, MAX_HEARD_BYTES, "bytes of answers by reflection")?;
        let response = Response::decode(message)
            .map_err(|_| Failure::Protocol("it is no answer of server reflection"))?;
        response.reply.ok_or_else(|| Failure::Protocol("it is no answer of server reflection").into())
    }
}

fn request(question: Question) -> Vec<u8> {
    Request { host: String::new(), question: Some(question) }.encode_to_vec()
}

fn refusal_of(refusal: &Refusal) -> Error {
    let message: String = refusal.message.chars().take(500).collect();
    refused("Refused", format!("the service does not list its services by reflection: {message}"))
}

/// The texts in the fields with this number.
fn strings(message: &[u8], number: u32) -> Vec<String> {
    let fields = Wire(message).flatten().filter(|field| field.number == number);
    fields.filter_map(|field| String::from_utf8(field.content?.to_vec()).ok()).collect()
}

//! Publishing: from arguments to a message, once where that is asked for, later where the broker cannot wait.

use super::message::{
    ATTEMPT_HEADER, ID_HEADER, KEY_HEADER, MESSAGE_FIELD, Outgoing, Receipt, refused, time,
};
use super::tools::{MAX_HEADER_CHARACTERS, MAX_HEADERS, MAX_KEY, QueueTool};
use super::{Mq, output};
use crate::shared::arguments::text;
use crate::shared::sending::once::{Keyed, Reach, Words, digest, raw, surely_not_sent};
use document::{Budget, Node};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool::once::MAX_KEY_CHARACTERS;
use tool::queue::{DEAD_REASON, LaterCall, OnceKey};
use tool::{Arguments, Call, Context, Door, Error, ErrorKind, Output, Result};

/// How much work the expression of a key may do.
const KEY_STEPS: u64 = 100_000;
/// What is said when nobody knows.
const LATE: &str = "the broker did not confirm in time; the message may have been published";
/// What is said when the message never left.
const NOT_REACHED: &str = "the broker was not reached in time; the message was not published";

impl Mq {
    pub(super) async fn publish(&self, cx: &Context, tool: &QueueTool, call: &Call) -> Result<Output> {
        let (arguments, options) = (call.arguments.as_map()?, &call.options);
        let mut message = self.outgoing(cx, tool, &call.arguments)?;
        let scope = format!("mq/{}/{}", self.service.as_deref().unwrap_or_default(), tool.id);
        let words = Words { parameter: "messageId", done: "published", reach: Reach::Scope };
        let keyed = Keyed::of(cx, arguments, &self.keys, scope, words)?;
        let keyed = match keyed {
            Some(keyed) if self.broker.ends_keys() => {
                let (scope, key) = keyed.place();
                let result = Map::from_iter(named(&message, tool));
                message.once = Some(OnceKey { scope: scope.to_owned(), key: key.to_owned(), result });
                Some(keyed.atomic())
            }
            keyed => keyed,
        };
        let sending = async {
            let sent = self.bounds.within(cx, options, LATE, self.send(cx, tool, &message)).await;
            sent.map_err(|error| match (error.kind(), message.is_here.load(Ordering::Relaxed)) {
                (ErrorKind::Timeout, true) => error.restated(NOT_REACHED.to_owned()),
                _ => error,
            })
        };
        let Some(keyed) = keyed else { return output(&sending.await?) };
        let is_here = || message.is_here.load(Ordering::Relaxed);
        let surely_not =
            |end: &Result<Value>| end.as_ref().is_err_and(|error| is_here() || surely_not_sent(error));
        output(&keyed.run(cx, sending, surely_not).await?)
    }

    async fn send(&self, cx: &Context, tool: &QueueTool, message: &Outgoing) -> Result<Value> {
        let receipt = match message.delay.is_zero() || self.broker.delays(&tool.destination) {
            true => self.broker.publish(&tool.destination, message).await?,
            false => self.send_later(cx, tool, message).await?,
        };
        let mut result = Value::Object(Map::from_iter(named(message, tool)));
        if let Some(position) = receipt.position {
            result["position"] = position.into();
        }
        if let Some(available_at) = receipt.available_at.and_then(time) {
            result["availableAt"] = available_at.into();
        }
        if let Some(receivers) = receipt.receivers {
            result["receivers"] = receivers.into();
        }
        Ok(result)
    }

    /// Keeps the call until its time has come; the id then travels as a header, since publishing it again is no repetition.
    async fn send_later(&self, cx: &Context, tool: &QueueTool, message: &Outgoing) -> Result<Receipt> {
        let (Some(queue), Some(service)) = (&self.queue, &self.service) else {
            return Err(Error::unsupported("nothing can be held back without a server; leave delay out"));
        };
        if let Err(error) = self.broker.find(&tool.destination).await
            && error.kind() == ErrorKind::Missing
        {
            return Err(error);
        }
        let mut headers = message.headers.clone();
        headers.insert(ID_HEADER.to_owned(), message.id.clone());
        // An expression finds the key again.
        let key = message.key.as_deref().filter(|_| tool.key.is_none());
        let arguments = KeptArguments { message: &message.json, headers: &headers, key };
        let id = format!("mq/{service}/{}/{}", tool.id, message.id);
        let is_of_step = step_id(cx).is_some_and(|step| step == message.id);
        // A step is kept once, however often it is tried. Ids that callers give come again, e.g. after a day, while an
        // earlier message under one still waits.
        let id = if is_of_step { id } else { format!("{id}/{}", tool::new_id::<String>()) };
        let uri = format!("mq://{service}/{}", tool.id);
        let call = LaterCall { id, uri, arguments: arguments.raw()?, delay: message.delay };
        let kept = queue.call_later(&cx.tenant, call).await;
        let available_at = kept.map_err(|error| match error.kind() {
            // Kept, it is published, though the database could not say so.
            ErrorKind::Unavailable if !is_of_step => {
                Error::unavailable(format!("{error}; the message may be published later"))
            }
            _ => error,
        })?;
        Ok(Receipt { available_at: Some(available_at), ..Receipt::default() })
    }

    /// The message that the arguments say, checked as a whole before anything is sent.
    fn outgoing(&self, cx: &Context, tool: &QueueTool, given: &Arguments) -> Result<Outgoing> {
        let arguments = given.as_map()?;
        let message = arguments.get("message").ok_or_else(|| refused("is missing"))?;
        let json = as_written(given, message)?;
        let bytes = tool.format.encode(message, &json)?;
        if bytes.len() > self.max_message_bytes {
            let (size, most) = (bytes.len(), self.max_message_bytes);
            return Err(refused(&format!("has {size} bytes; 'max_message_bytes' allows {most}")));
        }
        let mut headers = headers(arguments, cx.door)?;
        // Only we ourselves send it, with what was held back.
        let carried = headers.remove(ID_HEADER);
        if carried.is_some() && cx.door != Door::System {
            return Err(own_parameter(ID_HEADER));
        }
        let id = match text(arguments, "messageId", MAX_KEY_CHARACTERS)? {
            Some(given) => given.to_owned(),
            None => carried.or_else(|| step_id(cx)).unwrap_or_else(tool::new_id),
        };
        let key = match &tool.key {
            Some(query) => key_of(cx, query, message)?,
            None => text(arguments, "key", MAX_KEY)?.map(str::to_owned),
        };
        let delay = self.delay(arguments)?;
        Ok(Outgoing { id, json, bytes, key, headers, delay, is_here: Default::default(), once: None })
    }

    fn delay(&self, arguments: &Map<String, Value>) -> Result<Duration> {
        let most = u64::try_from(self.max_delay.as_millis()).unwrap_or(u64::MAX);
        let delay = super::whole(arguments, "delay", 0, 0, most)?;
        Ok(Duration::from_millis(u64::try_from(delay).unwrap_or(most)))
    }
}

/// A call that is made later, with the message as it was written.
#[derive(Serialize)]
struct KeptArguments<'a> {
    message: &'a RawValue,
    headers: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

impl KeptArguments<'_> {
    fn raw(&self) -> Result<Box<RawValue>> {
        to_raw_value(self).map_err(|error| Error::internal("a call cannot be written").caused_by(error))
    }
}

/// The message as its caller wrote it: a number has more digits than `Value` keeps.
fn as_written(given: &Arguments, message: &Value) -> Result<Box<RawValue>> {
    let fields: Option<HashMap<Cow<'_, str>, &RawValue>> =
        given.raw().and_then(|raw| serde_json::from_str(raw.get()).ok());
    match fields.and_then(|fields| fields.get("message").map(|json| (*json).to_owned())) {
        Some(json) => Ok(json),
        None => raw(message),
    }
}

/// The id of the message that a step of a flow publishes: the step's own key, so that whoever reads the message again, or
/// one that an attempt before has left, sees that it is the same.
fn step_id(cx: &Context) -> Option<String> {
    let key = cx.idempotency_key()?;
    Some(match key.chars().count() {
        0..=MAX_KEY_CHARACTERS => key.to_owned(),
        _ => digest(key),
    })
}

/// What every result of a message says.
fn named(message: &Outgoing, tool: &QueueTool) -> [(String, Value); 2] {
    let destination = tool.destination.to_string();
    [("messageId".to_owned(), message.id.as_str().into()), ("destination".to_owned(), destination.into())]
}

/// The key that the tool's expression finds; nothing is no key.
fn key_of(cx: &Context, query: &document::Query, message: &Value) -> Result<Option<String>> {
    let is_over = || cx.cancel.is_cancelled();
    let found = query
        .run(&Node::from(message), &mut Budget::new(KEY_STEPS, &is_over))
        .map_err(|error| refused(&format!("has no key: {error}")))?;
    let key = match (found.as_text(), found.type_name()) {
        (Some(text), _) => text.to_owned(),
        (None, "null") => return Ok(None),
        (None, "number" | "boolean") => found.to_json(),
        (None, other) => return Err(refused(&format!("has {other} as its key; a key is a text"))),
    };
    match key.chars().count() {
        0 => Ok(None),
        1..=MAX_KEY => Ok(Some(key)),
        _ => Err(refused(&format!("has a key of more than {MAX_KEY} characters"))),
    }
}

fn own_parameter(header: &str) -> Error {
    let message = format!("parameter 'headers' has '{header}', which is a parameter of its own");
    Error::invalid_input(message).of_parameter("headers")
}

fn headers(arguments: &Map<String, Value>, door: Door) -> Result<BTreeMap<String, String>> {
    let wrong =
        |why: String| Err(Error::invalid_input(format!("parameter 'headers' {why}")).of_parameter("headers"));
    let given = match arguments.get("headers") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(given)) => given,
        Some(_) => return wrong("must be an object".to_owned()),
    };
    // What was held back carries its id beside what its caller gave.
    let ours = usize::from(door == Door::System && given.contains_key(ID_HEADER));
    if given.len() - ours > MAX_HEADERS {
        return wrong(format!("has more than {MAX_HEADERS} entries"));
    }
    let mut headers = BTreeMap::new();
    for (name, value) in given {
        let is_name = (1..=100).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_graphic() && !b":\"'".contains(&byte));
        let Some(text) = value.as_str().filter(|text| text.chars().count() <= MAX_HEADER_CHARACTERS) else {
            return wrong(format!("must have texts of at most {MAX_HEADER_CHARACTERS} characters"));
        };
        if [MESSAGE_FIELD, KEY_HEADER].contains(&name.to_ascii_lowercase().as_str()) {
            return Err(own_parameter(name));
        }
        if !is_name || text.chars().any(char::is_control) {
            return wrong("has a name or text with characters that no header can have".to_owned());
        }
        // Names differ by more than their case with no broker we know.
        if headers.insert(name.to_ascii_lowercase(), text.to_owned()).is_some() {
            return wrong(format!("has '{}' twice, in two cases", tool::plain(name)));
        }
    }
    // A dead letter that is published again begins anew.
    headers.retain(|name, _| ![ATTEMPT_HEADER, DEAD_REASON].contains(&name.as_str()));
    Ok(headers)
}

//! Messages as RocketMQ carries them: what travels beside their bytes.

use super::failure;
use super::proto::{DELAY, FIFO, GZIP, IDENTITY, Message, NORMAL, Resource, SystemProperties, Timestamp};
use super::route::Route;
use crate::mq::message::{ID_HEADER, Incoming, KEY_HEADER, Outgoing, Payload};
use flate2::read::GzDecoder;
use std::io::Read as _;
use std::time::SystemTime;
use tool::Result;

/// The most bytes that a message has once it is unpacked.
const MAX_BODY_BYTES: u64 = 32 * 1024 * 1024;

/// A message as RocketMQ takes it for a topic of this route.
///
/// # Errors
/// `InvalidInput` where RocketMQ cannot carry it.
pub(super) fn of(topic: &str, message: &Outgoing, route: &Route) -> Result<Message> {
    if message.bytes.is_empty() {
        return Err(failure::of_parameter("message", "is empty, which RocketMQ does not carry"));
    }
    let (message_type, message_group) = type_of(topic, message, route)?;
    let mut user_properties = message.headers.clone();
    // RocketMQ knows messages by plain ids, and lists keys with blanks between.
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let message_id = if is_plain(&message.id) { message.id.clone() } else { tool::new_id() };
    if message_id != message.id {
        user_properties.insert(ID_HEADER.to_owned(), message.id.clone());
    }
    let key = message.key.as_deref();
    if let Some(key) = key {
        user_properties.insert(KEY_HEADER.to_owned(), key.to_owned());
    }
    let now = SystemTime::now();
    Ok(Message {
        topic: Resource::named(topic),
        user_properties,
        system_properties: Some(SystemProperties {
            keys: key.filter(|key| is_plain(key)).map(str::to_owned).into_iter().collect(),
            message_id,
            body_encoding: IDENTITY,
            message_type,
            born_timestamp: Some(Timestamp::at(now)),
            born_host: "mcp-all-in-one".to_owned(),
            delivery_timestamp: (message_type == DELAY).then(|| Timestamp::at(now + message.delay)),
            message_group,
            ..SystemProperties::default()
        }),
        body: message.bytes.clone(),
    })
}

/// Topics have a type; messages are of one that theirs takes. In a topic that keeps order, those of one key stay in theirs.
fn type_of(topic: &str, message: &Outgoing, route: &Route) -> Result<(i32, Option<String>)> {
    let is_delayed = !message.delay.is_zero();
    match (is_delayed, &message.key) {
        (true, _) if route.takes(DELAY) => Ok((DELAY, None)),
        (true, _) => Err(failure::of_parameter(
            "delay",
            &format!(
                "is of no use: the topic '{topic}' takes no delayed messages (its attribute message.type)"
            ),
        )),
        (false, _) if route.takes(NORMAL) => Ok((NORMAL, None)),
        (false, Some(key)) if route.takes(FIFO) => Ok((FIFO, Some(key.clone()))),
        (false, None) if route.takes(FIFO) => Err(failure::of_parameter(
            "key",
            &format!("is missing: the topic '{topic}' keeps messages of one key in order"),
        )),
        // At once.
        (false, _) if route.takes(DELAY) => Ok((DELAY, None)),
        (false, _) => Err(failure::other_type(topic)),
    }
}

/// What was read.
pub(super) fn read(message: Message) -> Incoming {
    let Message { mut user_properties, system_properties, body, .. } = message;
    let system = system_properties.unwrap_or_default();
    let id = user_properties.remove(ID_HEADER).filter(|id| !id.is_empty());
    let key = user_properties.remove(KEY_HEADER).or_else(|| system.keys.first().cloned());
    let headers = user_properties.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let attempt = system.delivery_attempt.and_then(|attempt| u32::try_from(attempt).ok());
    let (queue, offset) = (system.queue_id.unwrap_or_default(), system.queue_offset.unwrap_or_default());
    Incoming {
        id: id.unwrap_or(system.message_id),
        payload: Payload::Bytes(if system.body_encoding == GZIP { unpacked(body) } else { body }),
        key,
        headers: headers.collect(),
        published_at: system.born_timestamp.and_then(|time| time.to_milliseconds()),
        position: format!("{queue}-{offset}"),
        attempt: attempt.unwrap_or(1).max(1),
    }
}

/// Some clients pack what they send. What cannot be unpacked, or grows too large, stays as it is, and is no message of its
/// format.
fn unpacked(body: Vec<u8>) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let read = GzDecoder::new(body.as_slice()).take(MAX_BODY_BYTES + 1).read_to_end(&mut unpacked);
    let is_whole = read.is_ok() && u64::try_from(unpacked.len()).is_ok_and(|length| length <= MAX_BODY_BYTES);
    if is_whole { unpacked } else { body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::time::Duration;
    use tool::ErrorKind;

    fn route(types: &[i32]) -> Route {
        Route { writable: Vec::new(), readable: Vec::new(), types: types.iter().copied().collect() }
    }

    fn outgoing(id: &str, key: Option<&str>, delay: u64) -> Outgoing {
        Outgoing {
            is_here: Default::default(),
            once: None,
            id: id.to_owned(),
            json: Default::default(),
            bytes: b"1".to_vec(),
            key: key.map(str::to_owned),
            headers: BTreeMap::from([("trace".to_owned(), "t".to_owned())]),
            delay: Duration::from_millis(delay),
        }
    }

    #[test]
    fn ids_keys_and_headers_come_back_as_they_were() {
        for (id, key) in [("m-1", Some("O001")), ("编号 1", Some("two words")), ("m-2", None)] {
            let read = read(of("orders", &outgoing(id, key, 0), &route(&[])).unwrap());
            assert_eq!((read.id.as_str(), read.key.as_deref()), (id, key));
            assert_eq!((read.headers["trace"].as_str(), read.headers.len()), ("t", 1));
        }
    }

    #[test]
    fn a_message_is_of_a_type_that_its_topic_takes() {
        let type_of = |message: &Outgoing, types: &[i32]| {
            let made = of("orders", message, &route(types));
            made.map(|made| made.system_properties.unwrap().message_type)
                .map_err(|error| (error.kind(), error.parameter().map(str::to_owned)))
        };
        let refused = |parameter: &str| Err((ErrorKind::InvalidInput, Some(parameter.to_owned())));
        assert_eq!(type_of(&outgoing("m", None, 0), &[NORMAL, DELAY]), Ok(NORMAL));
        assert_eq!(type_of(&outgoing("m", None, 5), &[NORMAL, DELAY]), Ok(DELAY));
        assert_eq!(type_of(&outgoing("m", None, 5), &[NORMAL]), refused("delay"));
        assert_eq!(type_of(&outgoing("m", None, 0), &[DELAY]), Ok(DELAY));
        assert_eq!(type_of(&outgoing("m", Some("k"), 0), &[FIFO]), Ok(FIFO));
        assert_eq!(type_of(&outgoing("m", None, 0), &[FIFO]), refused("key"));
        assert_eq!(type_of(&outgoing("m", None, 0), &[4]), Err((ErrorKind::Upstream, None)));
        let empty = Outgoing { bytes: Vec::new(), ..outgoing("m", None, 0) };
        assert_eq!(type_of(&empty, &[]), refused("message"));
    }

    #[test]
    fn unpacks_what_is_packed_and_no_bombs() {
        let packed = |bytes: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(unpacked(packed(b"{}")), b"{}");
        assert_eq!(unpacked(b"no gzip".to_vec()), b"no gzip");
        let bomb = packed(&vec![0; 40 * 1024 * 1024]);
        assert_eq!(unpacked(bomb.clone()), bomb);
    }
}

//! How much a message becomes in memory, counted on the wire before it is decoded: two bytes can become hundreds. What an
//! `Any` holds counts to the message around it, its levels as well.

use super::wire::Wire;
use bytes::Bytes;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use std::cell::Cell;

/// Below this size nothing becomes too much.
const SMALL_BYTES: usize = 16 * 1024;
/// Fields and items of lists; a message weighs as much as several of them.
const MAX_WEIGHT: usize = 500_000;
const MESSAGE_WEIGHT: usize = 4;
/// What an `Any` holds is copied, and again with every `Any` around it: so many bytes weigh as much as a field.
const COPIED_BYTES: usize = 64;
/// Messages within messages, groups and `Any`s among them. The decoder goes no deeper, but begins anew in every `Any`.
const MAX_LEVELS: usize = 100;
/// Levels of JSON that cannot become too many of messages: a level of a `Struct` is three of them.
const FEW_LEVELS: usize = 30;

/// What may still become of one message and all that is in it.
#[derive(Debug)]
pub(super) struct Extent {
    left: Cell<usize>,
}

impl Extent {
    pub(super) fn new() -> Self {
        Self { left: Cell::new(MAX_WEIGHT) }
    }

    /// Decodes a message with so many around it.
    ///
    /// # Errors
    /// Why it cannot be: it is no such message, or more than is borne.
    pub(super) fn open(
        &self,
        message: MessageDescriptor,
        bytes: Bytes,
        level: usize,
    ) -> Result<DynamicMessage, String> {
        if level > 0 {
            self.take(bytes.len() / COPIED_BYTES)?;
        }
        if level > 0 || bytes.len() > SMALL_BYTES {
            self.weigh(&message, &bytes, level)?;
        }
        DynamicMessage::decode(message, bytes).map_err(|error| error.to_string())
    }

    fn take(&self, weight: usize) -> Result<(), String> {
        let left = self.left.get().checked_sub(weight);
        self.left.set(left.ok_or("it has more fields and items than can be told")?);
        Ok(())
    }

    /// Looks at a message before it is decoded. Bytes that are none are left to the decoder, which says what is wrong.
    ///
    /// # Errors
    /// When it is more than is borne.
    pub(super) fn weigh(
        &self,
        message: &MessageDescriptor,
        bytes: &[u8],
        level: usize,
    ) -> Result<(), String> {
        check_level(level)?;
        // Groups have no length: what is in them stands between their begin and their end.
        let mut around = vec![Some(message.clone())];
        let mut wire = Wire(bytes);
        while let Some(key) = wire.varint() {
            let number = u32::try_from(key >> 3).unwrap_or_default();
            let field = around.last().and_then(|message| message.as_ref()?.get_field(number));
            self.take(1)?;
            let content = match key & 7 {
                2 => wire.varint().and_then(|length| wire.bytes(usize::try_from(length).ok()?)),
                3 => {
                    self.take(MESSAGE_WEIGHT)?;
                    check_level(level + around.len())?;
                    around.push(field.as_ref().and_then(message_of));
                    continue;
                }
                4 => {
                    around.pop();
                    continue;
                }
                0 => wire.varint().map(|_| &[][..]),
                1 => wire.bytes(8).map(|_| &[][..]),
                5 => wire.bytes(4).map(|_| &[][..]),
                _ => None,
            };
            let Some(content) = content else { break };
            if let Some(field) = field.filter(|_| key & 7 == 2) {
                self.weigh_content(&field, content, level + around.len())?;
            }
        }
        Ok(())
    }

    fn weigh_content(&self, field: &FieldDescriptor, content: &[u8], level: usize) -> Result<(), String> {
        let items = match field.kind() {
            Kind::Message(message) => {
                self.take(MESSAGE_WEIGHT)?;
                return self.weigh(&message, content, level);
            }
            Kind::String | Kind::Bytes => return Ok(()),
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => content.len() / 8,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => content.len() / 4,
            // The last byte of each.
            _ => content.iter().filter(|byte| **byte < 0x80).count(),
        };
        self.take(items)
    }
}

fn check_level(level: usize) -> Result<(), String> {
    match level <= MAX_LEVELS {
        true => Ok(()),
        false => {
            Err(format!("it is nested more deeply than {MAX_LEVELS} levels, those within Any among them"))
        }
    }
}

/// Whether JSON has so many levels that the message that is made of it may have too many.
pub(super) fn may_be_deep(json: &str) -> bool {
    let (mut level, mut is_text, mut is_escaped) = (0_usize, false, false);
    json.bytes().any(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => level += 1,
            b'}' | b']' if !is_text => level = level.saturating_sub(1),
            _ => {}
        }
        level > FEW_LEVELS
    })
}

fn message_of(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    field.kind().as_message().cloned()
}

//! How much a message becomes in memory, counted on the wire before it is decoded: two bytes can become hundreds.

use super::wire::Wire;
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

/// Below this size nothing becomes too much.
const SMALL_BYTES: usize = 16 * 1024;
/// Fields and items of lists; a message weighs as much as several of them.
const MAX_WEIGHT: usize = 500_000;
const MESSAGE_WEIGHT: usize = 4;
/// The decoder goes no deeper.
const MAX_DEPTH: usize = 100;

/// Whether a message can be decoded within reason. Bytes that are none are left to the decoder, which says what is wrong.
pub(super) fn is_bearable(message: &MessageDescriptor, bytes: &[u8]) -> bool {
    bytes.len() <= SMALL_BYTES || Scale { left: MAX_WEIGHT }.weigh(message, bytes, 0).is_some()
}

struct Scale {
    left: usize,
}

impl Scale {
    /// Nothing when it is too much.
    fn weigh(&mut self, message: &MessageDescriptor, bytes: &[u8], depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return Some(());
        }
        if message.full_name() == "google.protobuf.Any" {
            self.weigh_any(message, bytes, depth)?;
        }
        // Groups have no length: what is in them stands between their begin and their end.
        let mut around = vec![Some(message.clone())];
        let mut wire = Wire(bytes);
        while let Some(key) = wire.varint() {
            let number = u32::try_from(key >> 3).unwrap_or_default();
            let field = around.last().and_then(|message| message.as_ref()?.get_field(number));
            self.left = self.left.checked_sub(1)?;
            let content = match key & 7 {
                2 => wire.varint().and_then(|length| wire.bytes(usize::try_from(length).ok()?)),
                3 => {
                    self.left = self.left.checked_sub(MESSAGE_WEIGHT)?;
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
                self.weigh_content(&field, content, depth)?;
            }
        }
        Some(())
    }

    fn weigh_content(&mut self, field: &FieldDescriptor, content: &[u8], depth: usize) -> Option<()> {
        let items = match field.kind() {
            Kind::Message(message) => {
                self.left = self.left.checked_sub(MESSAGE_WEIGHT)?;
                return self.weigh(&message, content, depth + 1);
            }
            Kind::String | Kind::Bytes => return Some(()),
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => content.len() / 8,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => content.len() / 4,
            // The last byte of each.
            _ => content.iter().filter(|byte| **byte < 0x80).count(),
        };
        self.left = self.left.checked_sub(items)?;
        Some(())
    }

    /// What an `Any` holds is decoded, too, when it is written.
    fn weigh_any(&mut self, any: &MessageDescriptor, bytes: &[u8], depth: usize) -> Option<()> {
        let (mut url, mut value): (&[u8], &[u8]) = (&[], &[]);
        for field in Wire(bytes).flatten() {
            match (field.number, field.content) {
                (1, Some(content)) => url = content,
                (2, Some(content)) => value = content,
                _ => {}
            }
        }
        let name = std::str::from_utf8(url).ok().and_then(|url| url.rsplit('/').next());
        match name.and_then(|name| any.parent_pool().get_message_by_name(name)) {
            Some(message) => self.weigh(&message, value, depth + 1),
            None => Some(()),
        }
    }
}

fn message_of(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    field.kind().as_message().cloned()
}

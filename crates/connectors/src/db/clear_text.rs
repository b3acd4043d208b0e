//! Reads along while PostgreSQL signs a driver in: drivers send the password to whoever asks for it, in clear text if told so.

/// What a server has said so far, until the sign-in is over.
#[derive(Debug)]
pub(super) struct SignIn {
    stage: Stage,
    /// The head of a message that has not come whole.
    head: Vec<u8>,
    /// Bytes of the current message that say nothing more.
    rest: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// One byte: whether the connection is to be encrypted.
    Encryption,
    Messages,
    /// Signed in, or encrypted.
    Over,
}

/// A kind, four bytes of length, and the four that say what a request for authentication wants.
const HEAD_BYTES: usize = 9;
const CLEAR_TEXT: [u8; 4] = [0, 0, 0, 3];

impl SignIn {
    /// Of a driver that asks for encryption first, or does not.
    pub(super) fn new(asks_for_encryption: bool) -> Self {
        let stage = if asks_for_encryption { Stage::Encryption } else { Stage::Messages };
        Self { stage, head: Vec::new(), rest: 0 }
    }

    /// Whether the server asks for the password in clear text with these bytes, on a connection that is not encrypted.
    pub(super) fn asks_in_clear(&mut self, bytes: &[u8]) -> bool {
        self.stage != Stage::Over && bytes.iter().any(|byte| self.stage != Stage::Over && self.take(*byte))
    }

    fn take(&mut self, byte: u8) -> bool {
        if self.stage == Stage::Encryption {
            self.stage = if byte == b'S' { Stage::Over } else { Stage::Messages };
            return false;
        }
        if self.rest > 0 {
            self.rest -= 1;
            return false;
        }
        self.head.push(byte);
        let (kind, length) = match self.head.as_slice() {
            [kind, a, b, c, d, ..] => (*kind, u32::from_be_bytes([*a, *b, *c, *d])),
            _ => return false,
        };
        let content = usize::try_from(length).unwrap_or(usize::MAX).saturating_sub(4);
        if kind == b'R' && content >= 4 && self.head.len() < HEAD_BYTES {
            return false;
        }
        let is_asking = kind == b'R' && self.head.ends_with(&CLEAR_TEXT) && self.head.len() == HEAD_BYTES;
        self.rest = content.saturating_sub(self.head.len() - 5);
        self.head.clear();
        if kind == b'Z' {
            self.stage = Stage::Over;
        }
        is_asking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_a_request_for_the_password_however_it_comes() {
        const ASKING: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
        const NOTICE: &[u8] = b"N\0\0\0\x0dR\0\0\0\x08\0\0\0\x03";
        const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
        const READY: &[u8] = b"Z\0\0\0\x05I";
        for (asks_for_encryption, parts, expected) in [
            (false, vec![ASKING], true),
            (true, vec![b"N", ASKING], true),
            (true, vec![b"S", ASKING], false),
            (false, vec![b"S\0\0\0\x08a\0b\0", ASKING], true),
            (false, vec![NOTICE], false),
            (false, vec![NOTICE, ASKING], true),
            (false, vec![SCRAM, READY, ASKING], false),
            (false, vec![SCRAM, b"R\0\0\0\x08\0\0\0\0", ASKING], true),
        ] {
            let bytes = parts.concat();
            let mut whole = SignIn::new(asks_for_encryption);
            assert_eq!(whole.asks_in_clear(&bytes), expected, "{parts:?}");
            let mut slow = SignIn::new(asks_for_encryption);
            assert_eq!(bytes.iter().any(|byte| slow.asks_in_clear(&[*byte])), expected, "{parts:?}");
        }
    }
}

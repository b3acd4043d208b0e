//! Traces: where a call stands among others, in the words of W3C Trace Context.

use crate::Spans;
use std::sync::Arc;

/// The header, and the key in the `_meta` of MCP, that tells a trace.
pub const TRACEPARENT: &str = "traceparent";
/// What vendors add to it.
pub const TRACESTATE: &str = "tracestate";

/// Nobody has to carry more of what vendors add.
const MAX_STATE_BYTES: usize = 512;
/// The flag that says that somebody keeps the trace.
const SAMPLED: u8 = 1;

/// The place of a call in a trace: what it does further on belongs below this span.
#[derive(Debug)]
pub struct Trace {
    /// The same for everything that follows from one request.
    pub id: u128,
    /// The innermost span around it.
    pub span: u64,
    /// That span is of another program.
    pub is_remote: bool,
    flags: u8,
    state: Option<Arc<str>>,
    pub(crate) spans: Option<Arc<dyn Spans>>,
}

impl Trace {
    /// The place that a client names: `00-<32 hex>-<16 hex>-<2 hex>`, and what vendors have added. Nothing where it is
    /// none; whoever sends such a thing has no trace.
    #[must_use]
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let mut parts = parent.trim().split('-');
        let version = hex(parts.next()?, 2)?;
        let (id, span, flags) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?, hex(parts.next()?, 2)?);
        // Later versions may say more; this one does not.
        let is_known = version != 0xff && (version > 0 || parts.next().is_none());
        let is_legal = |state: &&str| {
            let is_plain = state.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
            !state.trim().is_empty() && state.len() <= MAX_STATE_BYTES && is_plain
        };
        (is_known && id != 0 && span != 0).then(|| Self {
            id,
            span: span as u64,
            is_remote: true,
            flags: flags as u8,
            state: state.filter(is_legal).map(Into::into),
            spans: None,
        })
    }

    /// What everything that follows from a request goes by where neither its client nor we have a trace: the id of the
    /// request in other letters, if it is one of ours.
    #[must_use]
    pub fn id_of_request(request_id: &str) -> u128 {
        // FNV-1a, the same on every replica.
        let hash = |text: &str| {
            text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
                (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
            })
        };
        uuid::Uuid::try_parse(request_id).map_or_else(|_| hash(request_id), |id| id.as_u128())
    }

    /// A place below this one, or in a trace of its own.
    pub(crate) fn below(around: Option<&Arc<Self>>, spans: Arc<dyn Spans>) -> Self {
        let (id, flags, state) = match around {
            Some(around) => (around.id, around.flags, around.state.clone()),
            None => (uuid::Uuid::new_v4().as_u128(), SAMPLED, None),
        };
        let span = uuid::Uuid::new_v4().as_u64_pair().1;
        Self { id, span, is_remote: false, flags, state, spans: Some(spans) }
    }

    /// Somebody keeps the spans of this trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The place as the next program is told of it.
    #[must_use]
    pub fn parent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.id, self.span, self.flags)
    }

    /// What vendors have added.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// So many hexadecimal digits, in small letters.
fn hex(text: &str, length: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == length && text.bytes().all(is_digit)).then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn reads_what_clients_send_and_says_it_again() {
        let trace = Trace::parse(PARENT, Some("a=1,b=2")).unwrap();
        assert_eq!(trace.parent(), PARENT);
        assert_eq!((trace.state(), trace.is_sampled(), trace.is_remote), (Some("a=1,b=2"), true, true));
        let later = PARENT.replacen("00", "cc", 1) + "-what-the-future-holds";
        assert_eq!(Trace::parse(&later, None).unwrap().parent(), PARENT);
        assert!(!Trace::parse(&PARENT.replace("-01", "-00"), None).unwrap().is_sampled());
    }

    #[test]
    fn a_request_without_a_trace_goes_by_its_own_id() {
        let id = "01a1f42d-e8ff-7115-b168-45b75512db9b";
        assert_eq!(format!("{:032x}", Trace::id_of_request(id)), id.replace('-', ""));
        assert_eq!(Trace::id_of_request("abc"), Trace::id_of_request("abc"));
        assert_ne!(Trace::id_of_request("abc"), Trace::id_of_request("abd"));
    }

    #[test]
    fn what_is_none_is_no_trace() {
        for text in [
            "",
            "00",
            "zz-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert!(Trace::parse(text, None).is_none(), "{text}");
        }
        for state in ["", "a=\n", &"a".repeat(MAX_STATE_BYTES + 1)] {
            assert_eq!(Trace::parse(PARENT, Some(state)).unwrap().state(), None, "{state}");
        }
    }
}

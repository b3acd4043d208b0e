//! Answers as JSON, each where it disturbs nobody.

use super::message::Form;
use bytes::Bytes;
use serde_json::value::RawValue;
use tool::{Compute, Context, Result};

/// What is larger takes longer than others should wait.
const SMALL_BYTES: usize = 32 * 1024;

/// Decodes small answers at once, and large ones beside the threads that serve calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decoder<'a>(pub(super) &'a Compute);

impl Decoder<'_> {
    /// An answer as JSON text.
    ///
    /// # Errors
    /// When it is no such message, or is not decoded before the call has to end.
    pub(super) async fn decode(self, cx: &Context, form: &Form, bytes: Bytes) -> Result<Box<RawValue>> {
        if bytes.len() <= SMALL_BYTES {
            return form.decode(bytes);
        }
        let form = form.clone();
        let decoding = self.0.run(cx, move || form.decode(bytes));
        cx.within(decoding).await.map_err(|ended| ended.error("the answer could not be read in time"))??
    }
}

//! The parts of a result that count: its data, and its blocks by type.

use serde_json::value::RawValue;

/// The parts of a result that count.
#[derive(Default, serde::Deserialize)]
pub(super) struct Parts<'a> {
    #[serde(borrow, default)]
    pub(super) content: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    pub(super) structured: Option<&'a RawValue>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(result: &'a str) -> Option<Self> {
        serde_json::from_str(result).ok()
    }

    /// The blocks that are no text: half a picture helps nobody, so they are whole or not there.
    pub(super) fn others(&self) -> Vec<&'a RawValue> {
        self.content.iter().copied().filter(|block| kind_of(block) != "text").collect()
    }
}

/// Blocks by type and size.
pub(super) fn described(blocks: &[&RawValue]) -> String {
    let shown =
        blocks.iter().take(10).map(|block| format!("{} of {} bytes", kind_of(block), block.get().len()));
    shown.collect::<Vec<_>>().join(", ")
}

/// The type of a block, e.g. `image`.
fn kind_of(block: &RawValue) -> String {
    #[derive(serde::Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
    }
    let block: Option<Block> = serde_json::from_str(block.get()).ok();
    let kind = block.map(|block| block.kind).unwrap_or_default();
    if kind.len() <= 20 { kind } else { "block".to_owned() }
}

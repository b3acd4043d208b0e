//! How much an evaluation may do and build.

use crate::VALUE_LEVELS;
use crate::error::Fault;

/// The bounds of one evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Parts of the expression run, items looked at, and pieces of 64 bytes of text read.
    pub steps: u64,
    /// Bytes of texts, lists and objects made on the way, and again of the result.
    pub built_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 100_000, built_bytes: 1024 * 1024 }
    }
}

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    steps: u64,
    bytes: usize,
    /// Lists and objects around what is being written.
    level: usize,
}

/// One value in a list or an object, as it counts.
pub(crate) const SLOT_BYTES: usize = 32;
/// Reading so many bytes of a text counts as a step.
const BYTES_PER_STEP: usize = 64;

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, steps: limits.steps, bytes: limits.built_bytes, level: 0 }
    }

    /// One step.
    pub(crate) fn step(&mut self) -> Result<(), Fault> {
        self.steps(1)
    }

    /// So many steps at once.
    pub(crate) fn steps(&mut self, count: usize) -> Result<(), Fault> {
        match self.steps.checked_sub(count as u64) {
            Some(left) => self.steps = left,
            None => {
                return Err(Fault::limit(format!(
                    "the expression takes more than {} steps",
                    self.limits.steps
                )));
            }
        }
        Ok(())
    }

    /// The steps of reading so many bytes.
    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), Fault> {
        self.steps(1 + bytes / BYTES_PER_STEP)
    }

    /// So many bytes are about to be built.
    pub(crate) fn build(&mut self, bytes: usize) -> Result<(), Fault> {
        match self.bytes.checked_sub(bytes) {
            Some(left) => self.bytes = left,
            None => {
                let most = self.limits.built_bytes;
                return Err(Fault::limit(format!("the expression builds more than {most} bytes")));
            }
        }
        Ok(())
    }

    /// A list or an object of so many values is about to be built.
    pub(crate) fn build_slots(&mut self, count: usize) -> Result<(), Fault> {
        self.build(count.saturating_mul(SLOT_BYTES))
    }

    /// Writes what stands in a list or an object, one level further in: values that are written down are read again by
    /// programs that bound how deep they look.
    pub(crate) fn inside<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.level == VALUE_LEVELS {
            return Err(Fault::limit(too_deep()));
        }
        self.level += 1;
        let written = write(self);
        self.level -= 1;
        written
    }

    /// The result is counted by itself: it may be as large as all that was built on the way.
    pub(crate) fn for_result(&mut self) {
        self.bytes = self.limits.built_bytes;
    }
}

/// What is said of a value with too many lists and objects in one another.
#[must_use]
pub fn too_deep() -> String {
    format!("a value has at most {VALUE_LEVELS} levels of lists and objects in one another")
}

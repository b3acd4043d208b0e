//! Tables against a store in memory.

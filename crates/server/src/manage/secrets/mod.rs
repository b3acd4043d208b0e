//! Stored secrets: how they are hidden when settings are shown, and kept when settings are given back.

mod keeping;
mod masking;
mod moving;
mod schemas;
#[cfg(test)]
mod tests;

pub(crate) use masking::{Visibility, empty_masks, masked};
pub(crate) use moving::{AddressChange, shown};

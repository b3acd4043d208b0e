//! Stored secrets: how they are hidden when settings are shown, and kept when settings are given back.

mod address_change;
mod keeping;
mod masking;
mod schemas;
#[cfg(test)]
mod tests;

pub(crate) use address_change::{AddressChange, shown};
pub(crate) use masking::{Visibility, empty_masks, masked};

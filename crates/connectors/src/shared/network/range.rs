//! Ranges of addresses, as settings write them.

use std::net::IpAddr;
use std::str::FromStr;

/// A range of addresses, e.g. `10.0.0.0/8`; a lone address is a range of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    base: IpAddr,
    bits: u8,
}

/// The text is no range of addresses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidRange;

impl FromStr for Range {
    type Err = InvalidRange;

    fn from_str(text: &str) -> Result<Self, InvalidRange> {
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| InvalidRange)?;
        let max = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(max), |bits| bits.parse().map_err(|_| InvalidRange))?;
        if bits > max { Err(InvalidRange) } else { Ok(Self { base, bits }) }
    }
}

impl Range {
    /// Whether the address is one of them.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differing = u32::from(base) ^ u32::from(address);
                differing.leading_zeros() >= self.bits.into()
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differing = u128::from(base) ^ u128::from(address);
                differing.leading_zeros() >= self.bits.into()
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

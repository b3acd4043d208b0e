//! Base64 and SHA-256.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use sha2::{Digest, Sha256};

use super::bytes;
use crate::budget::Budget;
use crate::error::Fault;
use crate::value::Value;

/// Padding is required, stray bits at the end are not minded, as in Go.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

pub(super) fn b64enc<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let plain = bytes(&arguments[0]);
    budget.string(plain.len().div_ceil(3) * 4)?;
    budget.work(plain.len())?;
    Ok(Value::text(BASE64.encode(plain)))
}

/// What is no base64 becomes Sprig's message, not an error.
pub(super) fn b64dec<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let encoded = bytes(&arguments[0]);
    budget.work(encoded.len())?;
    let joined: Vec<u8> = encoded.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    Ok(match BASE64.decode(&joined) {
        Ok(plain) => Value::string(plain),
        Err(error) => {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _) => at,
                _ => joined.len() / 4 * 4,
            };
            Value::text(format!("illegal base64 data at input byte {at}"))
        }
    })
}

pub(super) fn sha256sum<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let plain = bytes(&arguments[0]);
    // Hashing is slower than copying.
    budget.work(plain.len().saturating_mul(2))?;
    let digest = Sha256::digest(plain);
    Ok(Value::text(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

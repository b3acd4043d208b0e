//! The vendors, one file each: how a request looks, how it is signed, and what its answer means.

pub(super) mod aliyun;
mod huawei;
mod tencent;
mod twilio;

pub(super) use aliyun::Aliyun;
pub(super) use huawei::Huawei;
pub(super) use tencent::Tencent;
pub(super) use twilio::Twilio;

use super::wording::{Params, Wording};
use tool::{Error, Result};

/// The template of a message, for vendors that send nothing else.
fn template(wording: &Wording) -> Result<(&str, &Params)> {
    match wording {
        Wording::Template { id, params } => Ok((id, params)),
        Wording::Plain(_) => Err(Error::internal("words reached a vendor that sends templates only")),
    }
}

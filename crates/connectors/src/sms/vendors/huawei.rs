//! Huawei Cloud: `batchSendSms`, signed with SDK-HMAC-SHA256.

use super::super::cause::Cause;
use super::super::gateway::{Account, Answer, NO_CODE, Vendor, Web, put};
use super::super::hidden::Words;
use super::super::number::Number;
use super::super::sign::{Stamp, hex, hmac_sha256, pairs, sha256};
use super::super::wording::Wording;
use super::template;
use crate::shared::sending::{Fate, Status};
use async_trait::async_trait;
use fetch::Request;
use serde_json::{Value, json};
use tool::Result;

const ALGORITHM: &str = "SDK-HMAC-SHA256";
const TYPE: &str = "application/x-www-form-urlencoded";
const PATH: &str = "/sms/batchSendSms/v1";
/// What is signed instead of a body that is no JSON.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
const SUCCESS: &str = "000000";

pub(in crate::sms) struct Huawei {
    pub(in crate::sms) web: Web,
    pub(in crate::sms) account: Account,
    pub(in crate::sms) sign_name: Option<String>,
    pub(in crate::sms) sender: String,
}

#[async_trait]
impl Vendor for Huawei {
    const AT_ONCE: usize = 500;

    fn web(&self) -> &Web {
        &self.web
    }

    fn request(&self, wording: &Wording, numbers: &[Number], stamp: &Stamp) -> Result<Request> {
        let (id, params) = template(wording)?;
        let to = numbers.iter().map(Number::e164).collect::<Vec<_>>().join(",");
        let mut form = vec![("from", self.sender.clone()), ("to", to), ("templateId", id.to_owned())];
        let params = params.ordered()?;
        if !params.is_empty() {
            form.push(("templateParas", json!(params).to_string()));
        }
        form.extend(self.sign_name.clone().map(|name| ("signature", name)));
        self.signed(pairs(&form), stamp)
    }

    fn read(answer: &Answer<'_>, numbers: &[Number]) -> Result<Vec<Fate>> {
        let told = answer.json["result"].as_array().map(Vec::as_slice).unwrap_or_default();
        if told.is_empty() {
            let code = answer.text("/code").or_else(|| answer.text("/error_code")).unwrap_or(NO_CODE);
            let words = answer.words(answer.text("/description").or_else(|| answer.text("/error_msg")));
            return answer.failure(code, &words, cause(code), numbers.len());
        }
        let of = |number: &Number| told.iter().find(|told| told["originTo"] == number.e164());
        Ok(numbers.iter().map(|number| of(number).map_or_else(Fate::unknown, fate)).collect())
    }

    fn suits(wording: &Wording) -> Result<()> {
        template(wording)?.1.ordered().map(drop)
    }
}

impl Huawei {
    fn signed(&self, body: String, stamp: &Stamp) -> Result<Request> {
        let (host, time) = (self.web.host(), stamp.time.format("%Y%m%dT%H%M%SZ").to_string());
        let names = "content-type;host;x-sdk-content-sha256;x-sdk-date";
        let headers =
            format!("content-type:{TYPE}\nhost:{host}\nx-sdk-content-sha256:{UNSIGNED}\nx-sdk-date:{time}\n");
        let whole = format!("POST\n{PATH}/\n\n{headers}\n{names}\n{UNSIGNED}");
        let to_sign = format!("{ALGORITHM}\n{time}\n{}", sha256(whole.as_bytes()));
        let signature = hex(&hmac_sha256(self.account.secret.expose().as_bytes(), &to_sign));
        let key = self.account.key.expose();
        let authorization = format!("{ALGORITHM} Access={key}, SignedHeaders={names}, Signature={signature}");
        let mut request = self.web.post(PATH, TYPE, body)?;
        for (name, value) in
            [("x-sdk-content-sha256", UNSIGNED), ("x-sdk-date", &time), ("authorization", &authorization)]
        {
            put(&mut request.headers, name, value)?;
        }
        Ok(request)
    }
}

fn fate(told: &Value) -> Fate {
    let code = told["status"].as_str().unwrap_or(NO_CODE);
    if code != SUCCESS {
        return cause(code).fate(code, &Words::ours("see the vendor's list of status codes"));
    }
    let id = told["smsMsgId"].as_str().map(str::to_owned);
    Fate { id, ..Fate::new(Status::Taken, Some(code.into()), "Success") }
}

fn cause(code: &str) -> Cause {
    match code {
        "E200015" | "E000623" | "APIG.0308" => Cause::Throttled,
        "E200028" | "E200029" | "E200030" | "E200031" | "E200033" | "E200034" => Cause::Template,
        "E200041" => Cause::Number,
        // It took the request, and does not say of whom; or says nothing.
        SUCCESS | NO_CODE => Cause::Unclear,
        // Frozen, most often since nothing was paid.
        "E000112" => Cause::Balance,
        "E000000" => Cause::Other,
        "E000620" => Cause::Credentials,
        _ if ["E0000", "E0001", "APIG.03"].iter().any(|start| code.starts_with(start)) => Cause::Credentials,
        _ => Cause::Other,
    }
}

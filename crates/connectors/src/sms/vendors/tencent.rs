//! Tencent Cloud: `SendSms` of 2021-01-11, signed with TC3-HMAC-SHA256.

use super::super::cause::Cause;
use super::super::gateway::{Account, Answer, Vendor, Web, put};
use super::super::hidden::Words;
use super::super::number::Number;
use super::super::sign::{Stamp, hex, hmac_sha256, sha256};
use super::super::wording::Wording;
use super::template;
use crate::shared::sending::{Fate, Status};
use async_trait::async_trait;
use fetch::Request;
use serde_json::{Value, json};
use tool::Result;

const ALGORITHM: &str = "TC3-HMAC-SHA256";
const TYPE: &str = "application/json";

pub(in crate::sms) struct Tencent {
    pub(in crate::sms) web: Web,
    pub(in crate::sms) account: Account,
    pub(in crate::sms) sign_name: String,
    pub(in crate::sms) app_id: String,
    pub(in crate::sms) region: String,
}

#[async_trait]
impl Vendor for Tencent {
    const AT_ONCE: usize = 200;

    fn web(&self) -> &Web {
        &self.web
    }

    fn request(&self, wording: &Wording, numbers: &[Number], stamp: &Stamp) -> Result<Request> {
        let (id, params) = template(wording)?;
        let body = json!({
            "PhoneNumberSet": numbers.iter().map(Number::e164).collect::<Vec<_>>(),
            "SmsSdkAppId": self.app_id,
            "SignName": self.sign_name,
            "TemplateId": id,
            "TemplateParamSet": params.ordered()?,
        });
        self.signed(body.to_string(), stamp)
    }

    fn read(answer: &Answer<'_>, numbers: &[Number]) -> Result<Vec<Fate>> {
        if let Some(code) = answer.text("/Response/Error/Code") {
            let words = answer.words(answer.text("/Response/Error/Message"));
            return answer.failure(code, &words, cause(code), numbers.len());
        }
        let told = answer.json.pointer("/Response/SendStatusSet").and_then(Value::as_array);
        let told = told.map(Vec::as_slice).unwrap_or_default();
        let of = |number: &Number| told.iter().find(|told| told["PhoneNumber"] == number.e164());
        let fate = |told: &Value| fate(told, &answer.words(told["Message"].as_str()));
        Ok(numbers.iter().map(|number| of(number).map_or_else(Fate::unknown, fate)).collect())
    }

    fn suits(wording: &Wording) -> Result<()> {
        template(wording)?.1.ordered().map(drop)
    }
}

impl Tencent {
    fn signed(&self, body: String, stamp: &Stamp) -> Result<Request> {
        let (host, date) = (self.web.host(), stamp.time.format("%Y-%m-%d").to_string());
        let time = stamp.time.timestamp().to_string();
        let payload = sha256(body.as_bytes());
        let whole = format!("POST\n/\n\ncontent-type:{TYPE}\nhost:{host}\n\ncontent-type;host\n{payload}");
        let scope = format!("{date}/sms/tc3_request");
        let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{}", sha256(whole.as_bytes()));
        let secret = format!("TC3{}", self.account.secret.expose());
        let steps = [date.as_str(), "sms", "tc3_request", &to_sign];
        let signature = steps.iter().fold(secret.into_bytes(), |key, step| hmac_sha256(&key, step));
        let authorization = format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders=content-type;host, Signature={}",
            self.account.key.expose(),
            hex(&signature)
        );
        let mut request = self.web.post("/", TYPE, body)?;
        for (name, value) in [
            ("x-tc-action", "SendSms"),
            ("x-tc-version", "2021-01-11"),
            ("x-tc-region", &self.region),
            ("x-tc-timestamp", &time),
            ("authorization", &authorization),
        ] {
            put(&mut request.headers, name, value)?;
        }
        Ok(request)
    }
}

fn fate(told: &Value, words: &Words) -> Fate {
    let text = |name: &str| told[name].as_str().unwrap_or_default();
    let code = text("Code");
    if code != "Ok" {
        return cause(code).fate(code, words);
    }
    Fate {
        id: Some(text("SerialNo").to_owned()),
        ..Fate::new(Status::Taken, Some(code.into()), words.as_str())
    }
}

fn cause(code: &str) -> Cause {
    match code {
        "AuthFailure.SignatureExpire" => Cause::Clock,
        "FailedOperation.InsufficientBalanceInSmsPackage" => Cause::Balance,
        _ if code.starts_with("AuthFailure") || code.starts_with("UnauthorizedOperation") => {
            Cause::Credentials
        }
        _ if code.starts_with("LimitExceeded") || code.starts_with("RequestLimitExceeded") => {
            Cause::Throttled
        }
        _ if code.starts_with("InternalError") => Cause::Unclear,
        _ if code.contains("PhoneNumber") => Cause::Number,
        _ if code.contains("Template") || code.contains("Signature") || code.contains("SignName") => {
            Cause::Template
        }
        _ => Cause::Other,
    }
}

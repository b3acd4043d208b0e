//! Aliyun: `SendSms` of 2017-05-25, signed with ACS3-HMAC-SHA256.

use super::super::cause::Cause;
use super::super::gateway::{Account, Answer, NO_CODE, Vendor, Web, put};
use super::super::number::Number;
use super::super::sign::{Stamp, hex, hmac_sha256, pairs, sha256};
use super::super::wording::Wording;
use super::template;
use crate::shared::sending::{Fate, Status};
use async_trait::async_trait;
use fetch::Request;
use fetch::http::Method;
use serde_json::Value;
use tool::Result;

const ALGORITHM: &str = "ACS3-HMAC-SHA256";

/// The gateway of a region, as Aliyun's own SDK knows it: the regions that have none share one.
pub(in crate::sms) fn endpoint(region: Option<&str>) -> &'static str {
    match region {
        Some("ap-southeast-1") => "https://dysmsapi.ap-southeast-1.aliyuncs.com",
        Some("ap-southeast-5") => "https://dysmsapi.ap-southeast-5.aliyuncs.com",
        Some("cn-beijing") => "https://dysmsapi-proxy.cn-beijing.aliyuncs.com",
        Some("cn-hongkong") => "https://dysmsapi-xman.cn-hongkong.aliyuncs.com",
        Some("eu-central-1") => "https://dysmsapi.eu-central-1.aliyuncs.com",
        Some("us-east-1") => "https://dysmsapi.us-east-1.aliyuncs.com",
        Some(_) | None => "https://dysmsapi.aliyuncs.com",
    }
}

pub(in crate::sms) struct Aliyun {
    pub(in crate::sms) web: Web,
    pub(in crate::sms) account: Account,
    pub(in crate::sms) sign_name: String,
}

#[async_trait]
impl Vendor for Aliyun {
    const AT_ONCE: usize = 1000;

    fn web(&self) -> &Web {
        &self.web
    }

    fn request(&self, wording: &Wording, numbers: &[Number], stamp: &Stamp) -> Result<Request> {
        let (id, params) = template(wording)?;
        let numbers: Vec<_> = numbers.iter().map(Number::national_in_china).collect();
        // By name, as the signature wants them.
        let mut query = vec![
            ("PhoneNumbers", numbers.join(",")),
            ("SignName", self.sign_name.clone()),
            ("TemplateCode", id.to_owned()),
        ];
        let params = params.by_name()?;
        if !params.is_empty() {
            query.push(("TemplateParam", Value::Object(params).to_string()));
        }
        self.signed(&pairs(&query), stamp)
    }

    fn read(answer: &Answer<'_>, numbers: &[Number]) -> Result<Vec<Fate>> {
        let (code, words) = (answer.text("/Code").unwrap_or(NO_CODE), answer.words(answer.text("/Message")));
        if code != "OK" {
            return answer.failure(code, &words, cause(code), numbers.len());
        }
        // One id for all of them.
        let id = answer.text("/BizId").map(str::to_owned);
        Ok(vec![Fate { id, ..Fate::new(Status::Taken, Some(code.into()), words.as_str()) }; numbers.len()])
    }

    fn suits(wording: &Wording) -> Result<()> {
        template(wording)?.1.by_name().map(drop)
    }
}

impl Aliyun {
    fn signed(&self, query: &str, stamp: &Stamp) -> Result<Request> {
        let mut request = Request::new(Method::POST, self.web.url(&format!("/?{query}"))?);
        let payload = sha256(b"");
        let headers = [
            ("host", self.web.host()),
            ("x-acs-action", "SendSms".to_owned()),
            ("x-acs-content-sha256", payload.clone()),
            ("x-acs-date", stamp.time.format("%Y-%m-%dT%H:%M:%SZ").to_string()),
            ("x-acs-signature-nonce", stamp.nonce.clone()),
            ("x-acs-version", "2017-05-25".to_owned()),
        ];
        let canonical: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let whole = format!("POST\n/\n{query}\n{canonical}\n{names}\n{payload}");
        let to_sign = format!("{ALGORITHM}\n{}", sha256(whole.as_bytes()));
        let signature = hex(&hmac_sha256(self.account.secret.expose().as_bytes(), &to_sign));
        let key = self.account.key.expose();
        for (name, value) in headers.iter().filter(|(name, _)| *name != "host") {
            put(&mut request.headers, name, value)?;
        }
        let authorization =
            format!("{ALGORITHM} Credential={key},SignedHeaders={names},Signature={signature}");
        put(&mut request.headers, "authorization", &authorization)?;
        Ok(request)
    }
}

fn cause(code: &str) -> Cause {
    match code {
        "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "SignatureNonceUsed"
        | "isp.RAM_PERMISSION_DENY" => Cause::Credentials,
        "isv.BUSINESS_LIMIT_CONTROL" | "isv.DAY_LIMIT_CONTROL" | "isv.MONTH_LIMIT_CONTROL" => {
            Cause::Throttled
        }
        "isv.AMOUNT_NOT_ENOUGH" | "isv.OUT_OF_SERVICE" => Cause::Balance,
        "IllegalTimestamp" => Cause::Clock,
        "isp.SYSTEM_ERROR" => Cause::Unclear,
        _ if ["InternalError", "ServiceUnavailable"].iter().any(|start| code.starts_with(start)) => {
            Cause::Unclear
        }
        _ if code.starts_with("InvalidTimeStamp") => Cause::Clock,
        _ if ["InvalidAccessKeyId", "MissingAccessKeyId", "Forbidden"]
            .iter()
            .any(|start| code.starts_with(start)) =>
        {
            Cause::Credentials
        }
        _ if code.starts_with("Throttling") => Cause::Throttled,
        _ if code.starts_with("isv.MOBILE_") => Cause::Number,
        _ if ["isv.SMS_", "isv.TEMPLATE_", "isv.PARAM_", "isv.INVALID_"]
            .iter()
            .any(|start| code.starts_with(start)) =>
        {
            Cause::Template
        }
        _ => Cause::Other,
    }
}

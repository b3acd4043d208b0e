//! Twilio: one message per request, signed in with Basic authentication.

use super::super::cause::Cause;
use super::super::gateway::{Account, Answer, Vendor, Web, put};
use super::super::number::Number;
use super::super::sign::{Stamp, escaped, pairs};
use super::super::wording::Wording;
use crate::shared::sending::{Fate, Status};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fetch::Request;
use fetch::http::Method;
use serde_json::Value;
use tool::{Error, Result, Secret};

const TYPE: &str = "application/x-www-form-urlencoded";

pub(in crate::sms) struct Twilio {
    pub(in crate::sms) web: Web,
    pub(in crate::sms) account: Account,
    /// A number of ours, or a messaging service (`MG…`).
    pub(in crate::sms) sender: String,
}

#[async_trait]
impl Vendor for Twilio {
    const AT_ONCE: usize = 1;

    fn web(&self) -> &Web {
        &self.web
    }

    fn request(&self, wording: &Wording, numbers: &[Number], _: &Stamp) -> Result<Request> {
        let [number] = numbers else { return Err(Error::internal("Twilio takes one number at a time")) };
        let sender = if self.sender.starts_with("MG") { "MessagingServiceSid" } else { "From" };
        let mut form = vec![("To", number.e164()), (sender, self.sender.clone())];
        match wording {
            Wording::Plain(content) => form.push(("Body", content.clone())),
            Wording::Template { id, params } => {
                form.push(("ContentSid", id.clone()));
                let params = params.by_name_or_number();
                if !params.is_empty() {
                    form.push(("ContentVariables", Value::Object(params).to_string()));
                }
            }
        }
        let path = format!("{}/Messages.json", self.path());
        let mut request = self.web.post(&path, TYPE, pairs(&form))?;
        put(&mut request.headers, "authorization", self.authorization().expose())?;
        Ok(request)
    }

    fn read(answer: &Answer<'_>, _: &[Number]) -> Result<Vec<Fate>> {
        let words = &answer.words(answer.text("/message"));
        let code = answer.json["code"].as_u64().or_else(|| answer.json["error_code"].as_u64());
        if let Some(code) = code {
            return answer.failure(&code.to_string(), words, cause(code, answer.status), 1);
        }
        match answer.text("/sid").filter(|_| (200..300).contains(&answer.status)) {
            Some(sid) => {
                let said = answer.text("/status").unwrap_or("accepted");
                Ok(vec![Fate { id: Some(sid.to_owned()), ..Fate::new(Status::Taken, None, said) }])
            }
            None => answer.failure(&format!("HTTP {}", answer.status), words, cause(0, answer.status), 1),
        }
    }

    fn suits(_: &Wording) -> Result<()> {
        Ok(())
    }

    /// Reads the account, which shows the credentials, too.
    async fn knock(&self) -> Result<()> {
        let mut request = Request::new(Method::GET, self.web.url(&format!("{}.json", self.path()))?);
        put(&mut request.headers, "authorization", self.authorization().expose())?;
        match self.web.ask(request).await? {
            401 | 403 => Err(super::super::cause::credentials("the account cannot be read")),
            500.. => Err(Error::unavailable("the SMS gateway is not able to answer").retryable()),
            _ => Ok(()),
        }
    }
}

impl Twilio {
    fn path(&self) -> String {
        format!("/2010-04-01/Accounts/{}", escaped(self.account.key.expose()))
    }

    fn authorization(&self) -> Secret {
        let pair = Secret::new(format!("{}:{}", self.account.key.expose(), self.account.secret.expose()));
        Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))
    }
}

fn cause(code: u64, status: u16) -> Cause {
    match (code, status) {
        (20003 | 20005 | 20404, _) | (_, 401 | 403) => Cause::Credentials,
        (20429 | 14107 | 30022, _) | (_, 429) => Cause::Throttled,
        (21211 | 21214 | 21217 | 21219 | 21265 | 21408 | 21421 | 21610 | 21612 | 21614, _) => Cause::Number,
        (21212 | 21601..=21609 | 21617 | 21654..=21660 | 21701 | 21703, _) => Cause::Template,
        (30001 | 30002, _) => Cause::Balance,
        (_, 200..300) => Cause::Unclear,
        _ => Cause::Other,
    }
}

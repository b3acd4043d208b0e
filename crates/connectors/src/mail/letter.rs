//! What is to be sent, read from the arguments of a call and checked as a whole before anything leaves us.

use super::Mail;
use super::address::{argument, breaks_lines, is_same};
use super::attachments::{self, Attachment};
use super::settings::ContentType;
use super::tools::{MAX_HEADERS, MAX_LINE, MailTool};
use crate::shared::arguments::{texts, wrong};
use lettre::Address;
use lettre::message::Mailbox;
use serde_json::{Map, Value};
use tool::{Context, Result};

/// Headers that a caller may add: those that steer nothing of ours.
const HEADERS: [&str; 2] = ["in-reply-to", "references"];
const HEADER_PREFIXES: [&str; 2] = ["x-", "list-"];

/// A message before it is written down.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) from: Mailbox,
    pub(super) to: Vec<Mailbox>,
    pub(super) cc: Vec<Mailbox>,
    pub(super) bcc: Vec<Mailbox>,
    /// Everybody in the order of the arguments; some may be named twice.
    pub(super) named: Vec<Address>,
    /// All of `to` stand in one message.
    pub(super) is_together: bool,
    pub(super) subject: String,
    pub(super) body: String,
    pub(super) content_type: ContentType,
    /// Plain text beside HTML.
    pub(super) text: Option<String>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) reply_to: Option<Mailbox>,
    pub(super) headers: Vec<(String, String)>,
}

/// What a message says, before people and files are known.
struct Words {
    subject: String,
    body: String,
    content_type: ContentType,
    text: Option<String>,
}

impl Mail {
    /// The letter that the arguments of a call describe.
    pub(super) async fn letter(
        &self,
        cx: &Context,
        tool: &MailTool,
        arguments: &Map<String, Value>,
    ) -> Result<Letter> {
        let to = match tool.to.as_slice() {
            [] => self.recipients(arguments, "to")?,
            fixed => fixed.to_vec(),
        };
        // Whoever fixes the recipients means them all.
        let (cc, bcc) = match tool.to.is_empty() {
            true => (self.recipients(arguments, "cc")?, self.recipients(arguments, "bcc")?),
            false => (Vec::new(), Vec::new()),
        };
        let named = [&to, &cc, &bcc].into_iter().flatten().map(|mailbox| mailbox.email.clone()).collect();
        let [to, cc, bcc] = [to, cc, bcc].map(each_once);
        if to.is_empty() {
            return Err(wrong("to", "is missing; name somebody to write to"));
        }
        let (people, most) = (to.len() + cc.len() + bcc.len(), self.limits.recipients);
        if people > most {
            let why = format!("and 'cc' and 'bcc' name {people} people; 'max_recipients' allows {most}");
            return Err(wrong("to", &why));
        }
        let is_asked = arguments.get("together").and_then(Value::as_bool).unwrap_or(false);
        let is_together = is_asked || !cc.is_empty() || !bcc.is_empty();
        let words = self.words(tool, arguments)?;
        let reply_to = present(arguments, "replyTo").map(|text| argument(text, "replyTo")).transpose()?;
        let headers = headers(arguments)?;
        let attachments = attachments::read(cx, &self.sources, arguments, self.limits.message_bytes).await?;
        let Words { subject, body, content_type, text } = words;
        let from = tool.from.clone().unwrap_or_else(|| self.from.clone());
        let letter = Letter {
            from,
            to,
            cc,
            bcc,
            named,
            is_together,
            subject,
            body,
            content_type,
            text,
            attachments,
            reply_to,
            headers,
        };
        letter.check_cids()?;
        Ok(letter)
    }

    fn recipients(&self, arguments: &Map<String, Value>, parameter: &str) -> Result<Vec<Mailbox>> {
        let given = texts(arguments, parameter)?;
        let mut found: Vec<Mailbox> = Vec::with_capacity(given.len());
        for text in given {
            let mailbox = argument(text, parameter)?;
            self.allow_list.check(&mailbox, parameter)?;
            found.push(mailbox);
        }
        Ok(found)
    }

    fn words(&self, tool: &MailTool, arguments: &Map<String, Value>) -> Result<Words> {
        let chosen = tool.template.as_deref().or_else(|| present(arguments, "template"));
        let words = match chosen {
            Some(name) => self.rendered(name, tool, arguments)?,
            None if has_variables(arguments) => {
                return Err(wrong(
                    "variables",
                    "are for a template; name one in 'template', or leave them out",
                ));
            }
            None => written(arguments)?,
        };
        // Also what a template made of values.
        check_line(&words.subject, "subject")?;
        check_words(&words.subject, "subject")?;
        check_text(&words.body, "body")?;
        check_text(words.text.as_deref().unwrap_or_default(), "text")?;
        if words.subject.chars().count() > MAX_LINE {
            return Err(wrong("subject", &format!("has more than {MAX_LINE} characters")));
        }
        Ok(words)
    }

    fn rendered(&self, name: &str, tool: &MailTool, arguments: &Map<String, Value>) -> Result<Words> {
        for parameter in ["subject", "body", "text"] {
            if present(arguments, parameter).is_some() && tool.template.is_none() {
                return Err(wrong(parameter, "cannot be given beside 'template', which says it"));
            }
        }
        let Some(template) = self.templates.get(name) else {
            let names: Vec<_> = self.templates.keys().map(String::as_str).collect();
            return Err(wrong("template", &format!("must be one of: {}", names.join(", "))));
        };
        let none = Map::new();
        let variables = arguments.get("variables").and_then(Value::as_object).unwrap_or(&none);
        let rendered = template.render(name, variables)?;
        let (subject, body, text) = (rendered.subject, rendered.body, rendered.text);
        Ok(Words { subject, body, content_type: template.content_type, text })
    }
}

impl Letter {
    /// Pictures within the body need a body that can show them.
    fn check_cids(&self) -> Result<()> {
        let is_shown = self.content_type == ContentType::Html;
        match self.attachments.iter().position(|attachment| attachment.cid.is_some()) {
            Some(index) if !is_shown => Err(wrong(
                &format!("attachments[{index}].cid"),
                "needs a body in HTML, where contentType is html",
            )),
            _ => Ok(()),
        }
    }
}

/// Somebody who stands there twice is written to once.
fn each_once(mailboxes: Vec<Mailbox>) -> Vec<Mailbox> {
    let mut once: Vec<Mailbox> = Vec::with_capacity(mailboxes.len());
    for mailbox in mailboxes {
        if !once.iter().any(|other| is_same(&other.email, &mailbox.email)) {
            once.push(mailbox);
        }
    }
    once
}

fn has_variables(arguments: &Map<String, Value>) -> bool {
    arguments.get("variables").and_then(Value::as_object).is_some_and(|variables| !variables.is_empty())
}

fn written(arguments: &Map<String, Value>) -> Result<Words> {
    let needed =
        |name: &str| present(arguments, name).map(str::to_owned).ok_or_else(|| wrong(name, "is missing"));
    let content_type = match present(arguments, "contentType") {
        None | Some("text") => ContentType::Text,
        Some("html") => ContentType::Html,
        Some(_) => return Err(wrong("contentType", "must be 'text' or 'html'")),
    };
    let text = present(arguments, "text").map(str::to_owned);
    if text.is_some() && content_type == ContentType::Text {
        return Err(wrong("text", "stands beside a body in HTML only; set 'contentType' to 'html'"));
    }
    Ok(Words { subject: needed("subject")?, body: needed("body")?, content_type, text })
}

fn present<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

fn headers(arguments: &Map<String, Value>) -> Result<Vec<(String, String)>> {
    let given = match arguments.get("headers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(given)) if given.len() <= MAX_HEADERS => given,
        Some(Value::Object(_)) => {
            return Err(wrong("headers", &format!("has more than {MAX_HEADERS} entries")));
        }
        Some(_) => return Err(wrong("headers", "must be an object")),
    };
    let mut headers: Vec<(String, String)> = Vec::with_capacity(given.len());
    for (name, value) in given {
        let header = header(name, value)?;
        if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(wrong("headers", &format!("has '{name}' twice, in two cases")));
        }
        headers.push(header);
    }
    Ok(headers)
}

fn header(name: &str, value: &Value) -> Result<(String, String)> {
    let lower = name.to_ascii_lowercase();
    let is_word = (1..=76).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_free = HEADERS.contains(&lower.as_str())
        || HEADER_PREFIXES.iter().any(|prefix| lower.len() > prefix.len() && lower.starts_with(prefix));
    if !is_word || !is_free {
        let shown: String = tool::plain(name).chars().take(80).collect();
        return Err(wrong(
            "headers",
            &format!("has '{shown}'; allowed are X-…, List-…, In-Reply-To and References"),
        ));
    }
    let parameter = format!("headers.{name}");
    let Some(text) = value.as_str().filter(|text| text.chars().count() <= MAX_LINE) else {
        return Err(wrong(&parameter, &format!("must be a text of at most {MAX_LINE} characters")));
    };
    check_line(text, &parameter)?;
    check_words(text, &parameter)?;
    Ok((name.to_owned(), text.to_owned()))
}

/// A line of a header has at most 998 bytes, and is folded between words; others than those of ASCII are encoded in pieces.
fn check_words(text: &str, parameter: &str) -> Result<()> {
    const LONGEST: usize = 900;
    if text.split(' ').any(|word| word.is_ascii() && word.len() > LONGEST) {
        return Err(wrong(
            parameter,
            &format!("has a word of more than {LONGEST} characters; write shorter ones"),
        ));
    }
    Ok(())
}

/// Texts go out as they are, and no server takes this in one.
fn check_text(text: &str, parameter: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(wrong(parameter, "has the character U+0000, which no mail can carry; leave it out"));
    }
    Ok(())
}

/// Whoever can break a line can write headers of his own.
pub(super) fn check_line(text: &str, parameter: &str) -> Result<()> {
    if text.chars().any(breaks_lines) {
        return Err(wrong(parameter, "has a line break or another control character; it must be one line"));
    }
    Ok(())
}

//! A letter as bytes: what all of its messages share is written once.

use super::address::is_same;
use super::attachments::Attachment;
use super::letter::Letter;
use super::settings::ContentType;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use lettre::message::header::{self, ContentTransferEncoding, HeaderName, HeaderValue, Headers};
use lettre::message::{Body, Mailbox, Mailboxes, MultiPart, SinglePart};
use std::time::SystemTime;
use tool::{Error, Result};

/// One message to one or more people.
#[derive(Debug)]
pub(super) struct Message {
    /// As it stands in the header, in angle brackets.
    pub(super) id: String,
    pub(super) from: Mailbox,
    /// Who gets it, whether the message says so or not.
    pub(super) recipients: Vec<Mailbox>,
    /// The headers of this message; what it says follows.
    pub(super) head: String,
    pub(super) body: Bytes,
}

impl Message {
    pub(super) fn size(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// The messages of a letter: one for each, or one for all.
pub(super) fn messages(letter: &Letter) -> Result<Vec<Message>> {
    let body = Bytes::from(body(letter));
    let one = |to: &[Mailbox]| -> Result<Message> {
        let id = format!("<{}@{}>", tool::new_id::<String>(), letter.from.email.domain());
        let head = head(letter, to, &id)?;
        let (cc, bcc) = (letter.cc.iter(), letter.bcc.iter());
        let mut recipients: Vec<Mailbox> = Vec::new();
        for mailbox in to.iter().chain(cc).chain(bcc) {
            if !recipients.iter().any(|other| is_same(&other.email, &mailbox.email)) {
                recipients.push(mailbox.clone());
            }
        }
        Ok(Message { id, from: letter.from.clone(), recipients, head, body: body.clone() })
    };
    if letter.is_together {
        return Ok(vec![one(&letter.to)?]);
    }
    letter.to.iter().map(|mailbox| one(std::slice::from_ref(mailbox))).collect()
}

fn head(letter: &Letter, to: &[Mailbox], id: &str) -> Result<String> {
    let mut headers = Headers::new();
    headers.set(header::MessageId::from(id.to_owned()));
    headers.set(header::Date::new(SystemTime::now()));
    headers.set(header::From::from(Mailboxes::from(letter.from.clone())));
    headers.set(header::To::from(to.iter().cloned().collect::<Mailboxes>()));
    if !letter.cc.is_empty() {
        headers.set(header::Cc::from(letter.cc.iter().cloned().collect::<Mailboxes>()));
    }
    if let Some(reply_to) = &letter.reply_to {
        headers.set(header::ReplyTo::from(Mailboxes::from(reply_to.clone())));
    }
    headers.insert_raw(text_header(HeaderName::new_from_ascii_str("Subject"), &letter.subject));
    for (name, value) in &letter.headers {
        let name = HeaderName::new_from_ascii(name.clone())
            .map_err(|error| Error::internal("a header that was checked is none").caused_by(error))?;
        headers.insert_raw(text_header(name, value));
    }
    headers.set(header::MIME_VERSION_1_0);
    Ok(headers.to_string())
}

/// What the letter says, from the headers that belong to it on.
fn body(letter: &Letter) -> Vec<u8> {
    let (inline, attached): (Vec<_>, Vec<_>) =
        letter.attachments.iter().partition(|attachment| attachment.cid.is_some());
    let shown = enclose(MultiPart::related().build(), words(letter), &inline);
    match enclose(MultiPart::mixed().build(), shown, &attached) {
        Part::Single(part) => part.formatted(),
        Part::Multi(part) => part.formatted(),
    }
}

enum Part {
    Single(SinglePart),
    Multi(MultiPart),
}

/// A part with files beside it, where there are any.
fn enclose(around: MultiPart, first: Part, files: &[&Attachment]) -> Part {
    if files.is_empty() {
        return first;
    }
    let around = match first {
        Part::Single(part) => around.singlepart(part),
        Part::Multi(part) => around.multipart(part),
    };
    Part::Multi(files.iter().fold(around, |around, attachment| around.singlepart(file(attachment))))
}

fn words(letter: &Letter) -> Part {
    let plain = |text: &String| SinglePart::plain(in_lines(text));
    match (letter.content_type, &letter.text) {
        (ContentType::Text, _) => Part::Single(plain(&letter.body)),
        (ContentType::Html, None) => Part::Single(SinglePart::html(in_lines(&letter.body))),
        (ContentType::Html, Some(text)) => {
            let html = SinglePart::html(in_lines(&letter.body));
            Part::Multi(MultiPart::alternative().singlepart(plain(text)).singlepart(html))
        }
    }
}

/// The text with line breaks as mail has them, whichever it came with.
fn in_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

/// A file byte for byte, which only Base64 leaves alone, or a mail.
fn file(attachment: &Attachment) -> SinglePart {
    let body = match attachment.is_message {
        true => as_message(attachment),
        false => in_base64(attachment),
    };
    let part = SinglePart::builder().header(attachment.content_type.clone());
    let part = match &attachment.cid {
        Some(cid) => part
            .header(header::ContentDisposition::inline_with_name(&attachment.name))
            .header(header::ContentId::from(format!("<{cid}>"))),
        None => part.header(header::ContentDisposition::attachment(&attachment.name)),
    };
    part.body(body)
}

fn in_base64(attachment: &Attachment) -> Body {
    let encoded = Body::new_with_encoding(attachment.bytes.to_vec(), ContentTransferEncoding::Base64);
    encoded.unwrap_or_else(Body::new)
}

/// A mail within a mail, which RFC 2046 wants as it is.
fn as_message(attachment: &Attachment) -> Body {
    let text = in_lines(&String::from_utf8_lossy(&attachment.bytes));
    Body::dangerous_pre_encoded(text.into_bytes(), ContentTransferEncoding::SevenBit)
}

/// What readers show as it was given: text that looks like an encoded word to them is encoded itself. Nothing where it needs
/// no help.
fn encoded_words(text: &str) -> Option<String> {
    // A word has at most 75 characters.
    const BYTES: usize = 45;
    if !text.is_ascii() || !text.contains("=?") {
        return None;
    }
    let words =
        text.as_bytes().chunks(BYTES).map(|part| format!("=?utf-8?b?{}?=", BASE64_STANDARD.encode(part)));
    Some(words.collect::<Vec<_>>().join("\r\n "))
}

/// A header of text that somebody gave.
fn text_header(name: HeaderName, text: &str) -> HeaderValue {
    match encoded_words(text) {
        Some(encoded) => HeaderValue::dangerous_new_pre_encoded(name, text.to_owned(), encoded),
        None => HeaderValue::new(name, text.to_owned()),
    }
}

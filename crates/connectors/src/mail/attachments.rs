//! Files that go along: given as they are, fetched, or made by another tool.

use super::letter::check_line;
use super::tools::MAX_ATTACHMENTS;
use crate::shared::arguments::wrong;
use crate::shared::content::{Given, Sources, guess, is_text};
use bytes::Bytes;
use lettre::message::header::ContentType;
use serde_json::{Map, Value};
use tool::objects::read_whole;
use tool::{Context, Error, Result};

/// A file.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) name: String,
    pub(super) content_type: ContentType,
    /// A mail of lines that every server leaves alone.
    pub(super) is_message: bool,
    pub(super) bytes: Bytes,
    /// By what the body in HTML names it.
    pub(super) cid: Option<String>,
}

/// All files of a call, which have no more than so many bytes together.
pub(super) async fn read(
    cx: &Context,
    sources: &Sources,
    arguments: &Map<String, Value>,
    max_bytes: usize,
) -> Result<Vec<Attachment>> {
    let given = match arguments.get("attachments") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(given)) if given.len() <= MAX_ATTACHMENTS => given,
        Some(_) => {
            return Err(wrong("attachments", &format!("must be a list of at most {MAX_ATTACHMENTS} files")));
        }
    };
    let mut left = max_bytes;
    let mut attachments = Vec::with_capacity(given.len());
    for (index, attachment) in given.iter().enumerate() {
        let path = format!("attachments[{index}]");
        let Some(attachment) = attachment.as_object() else {
            return Err(wrong(&path, "must be an object with a name, and content or source"));
        };
        let read = read_one(cx, sources, attachment, &path, left).await?;
        left -= read.bytes.len();
        attachments.push(read);
    }
    Ok(attachments)
}

async fn read_one(
    cx: &Context,
    sources: &Sources,
    attachment: &Map<String, Value>,
    path: &str,
    most: usize,
) -> Result<Attachment> {
    let text = |name: &str| attachment.get(name).and_then(Value::as_str);
    let name = text("name").unwrap_or_default();
    check_name(name, path)?;
    let cid = text("cid").map(|cid| check_cid(cid, path)).transpose()?;
    let said = text("contentType").map(str::to_owned).or_else(|| guess(name));
    if let Some(said) = &said {
        check_type(said, path)?;
    }
    let inside = |error: Error| error.about(&format!("parameter '{path}'"));
    let given = Given::of(attachment).map_err(inside)?;
    let is_inline = matches!(given, Given::Inline { .. });
    let content = given.open(cx, sources, said.as_deref()).await.map_err(inside)?;
    let of_source = content.content_type.filter(|found| check_type(found, path).is_ok());
    let bytes = read_whole(content.body, most as u64).await.map_err(|error| match error.kind() {
        tool::ErrorKind::InvalidInput => {
            wrong(path, "makes the message too large; see the service's setting 'max_message_bytes'")
        }
        _ => inside(error),
    })?;
    let mut content_type = said.or(of_source).unwrap_or_else(|| "application/octet-stream".to_owned());
    let is_called_message = content_type.trim_start().to_ascii_lowercase().starts_with("message/");
    let is_message = is_called_message && is_in_lines(&bytes);
    // Another mail must not be encoded, and cannot go as it is; as a file it is whole.
    if is_called_message && !is_message {
        "application/octet-stream".clone_into(&mut content_type);
    }
    // What stands in the arguments is UTF-8, whatever a reader would guess.
    if is_inline
        && is_text(Some(&content_type))
        && content_type.starts_with("text/")
        && !content_type.contains(';')
    {
        content_type.push_str("; charset=utf-8");
    }
    let content_type = check_type(&content_type, path)?;
    Ok(Attachment { name: name.to_owned(), content_type, is_message, bytes, cid })
}

/// Lines of ASCII of which none is longer than a mail may have (RFC 5322, 2.1.1).
fn is_in_lines(bytes: &[u8]) -> bool {
    const LONGEST: usize = 998;
    let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    bytes.is_ascii() && !bytes.contains(&0) && lines.all(|line| line.len() <= LONGEST)
}

fn check_name(name: &str, path: &str) -> Result<()> {
    let parameter = format!("{path}.name");
    check_line(name, &parameter)?;
    if name.trim().is_empty() || name.len() > 255 || name.contains(['/', '\\', '\t']) {
        return Err(wrong(&parameter, "is no name of a file: 1 to 255 bytes, no slashes"));
    }
    Ok(())
}

fn check_cid(cid: &str, path: &str) -> Result<String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@+".contains(&byte);
    if (1..=100).contains(&cid.len()) && cid.bytes().all(is_word) {
        return Ok(cid.to_owned());
    }
    Err(wrong(&format!("{path}.cid"), "must be 1 to 100 letters, digits, '.', '_', '-', '@' or '+'"))
}

fn check_type(text: &str, path: &str) -> Result<ContentType> {
    let refused = || wrong(&format!("{path}.contentType"), "is no type of a file such as application/pdf");
    let is_plain = text.len() <= 200 && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    // A part of several parts cannot be written as one file is.
    if !is_plain || text.to_ascii_lowercase().trim_start().starts_with("multipart/") {
        return Err(refused());
    }
    ContentType::parse(text).map_err(|_| refused())
}

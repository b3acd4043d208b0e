//! What each tool does.

use super::arguments::{Arguments, is_type, wrong};
use super::cursor::Cursor;
use super::key::Key;
use super::limited::{Limited, too_large};
use super::store::{ListRequest, PresignRequest, SaveOptions};
use super::{Oss, answer};
use crate::shared::content::{Encoding, Given, guess, name_of, show};
use crate::shared::doubt::{Repetition, settle};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tool::objects::{Part, Reading, read_whole};
use tool::{Call, Content, Context, Error, LinkMethod, Output, Result};

/// How long the addresses in answers lead somewhere, where they have to end.
const LINK_TIME: Duration = Duration::from_secs(3600);

impl Oss {
    pub(super) async fn run(&self, cx: &Context, call: &Call) -> Result<Output> {
        let arguments = Arguments(call.arguments.as_map()?);
        // A caller may want less time than there is, never more.
        let cx = &call.options.timeout.map_or_else(|| cx.clone(), |time| cx.for_at_most(time));
        let attempts = call.options.max_attempts;
        match call.tool.as_str() {
            "save" => self.save(cx, arguments, attempts).await,
            "load" => self.load(cx, arguments, attempts).await,
            "list" => self.list(cx, arguments, attempts).await,
            "delete" => self.delete(cx, arguments, attempts).await,
            "presign" => self.presign(cx, arguments).await,
            "stat" => self.stat(cx, arguments, attempts).await,
            "copy" => self.copy(cx, arguments, attempts).await,
            other => Err(Error::not_found(format!("the service has no tool '{other}'"))),
        }
    }

    pub(super) async fn probe(&self, cx: &Context) -> Result<()> {
        let request =
            ListRequest { prefix: self.offer.prefix.clone(), after: None, limit: 1, delimiter: None };
        self.client.once(cx, self.client.store.list(cx, request)).await.map(drop)
    }

    fn key(&self, arguments: Arguments<'_>, name: &str) -> Result<Key> {
        self.offer.key(arguments.needed(name)?, name)
    }

    async fn save(&self, cx: &Context, arguments: Arguments<'_>, attempts: Option<u32>) -> Result<Output> {
        let key = self.key(arguments, "key")?;
        let said = arguments.content_type()?.map(str::to_owned);
        let known = said.clone().or_else(|| guess(key.as_str()));
        let (metadata, if_not_exists) = (arguments.metadata()?, arguments.is_set("ifNotExists"));
        let given = Given::of(arguments.0)?;
        let attempt = || async {
            // A source that fails says nothing about the store.
            let content = match given.open(cx, &self.sources, known.as_deref()).await {
                Ok(content) => content,
                Err(error) => return Ok(Err(error)),
            };
            let most = self.offer.max_object_bytes;
            if content.size.is_some_and(|size| size > most) {
                return Err(too_large(most));
            }
            let options = SaveOptions {
                content_type: known.clone().or(content.content_type.filter(|text| is_type(text))),
                metadata: metadata.clone(),
                if_not_exists,
            };
            self.client.store.save(cx, &key, Limited::body(content.body, most), options).await.map(Ok)
        };
        // The first try may have been the one that made it.
        let (attempts, repetition) = match if_not_exists {
            true => (Some(1), Repetition::Doubles),
            false => (attempts, Repetition::Idempotent),
        };
        let saved = self.client.again(cx, attempts, attempt).await;
        let object = saved.map_err(|error| settle(error, repetition))??;
        let address =
            if self.offer.public_base_url.is_none() { self.client.store.address(&key) } else { None };
        let url = match address {
            Some(address) => Some(address),
            None => self.url(cx, &key).await,
        };
        let mut result = Map::from_iter([("key".to_owned(), json!(self.offer.shown(&object.key)))]);
        answer::put(&mut result, "url", url);
        result.insert("size".to_owned(), json!(object.size));
        answer::put(&mut result, "etag", object.etag);
        answer::put(&mut result, "contentType", object.content_type);
        answer::output(result, Vec::new())
    }

    async fn load(&self, cx: &Context, arguments: Arguments<'_>, attempts: Option<u32>) -> Result<Output> {
        let key = self.key(arguments, "key")?;
        let wanted = Encoding::of(arguments.0)?;
        let (offset, length) = (arguments.number("offset").unwrap_or(0), arguments.number("length"));
        let most = self.offer.max_inline_bytes;
        if length.is_some_and(|length| length > most) {
            return Err(wrong(
                "length",
                &format!("is more than {most}, the most that an answer holds (max_inline_bytes)"),
            ));
        }
        let attempt = || async {
            let reading = self.client.store.load(cx, &key, Part::From(offset, length)).await?;
            let Reading { object, range, body } = reading;
            let bytes = match range.end - range.start <= most {
                true => Some(read_whole(body, most).await?),
                false => None,
            };
            Ok((object, range, bytes))
        };
        let (object, range, bytes) = self.client.again(cx, attempts, attempt).await?;
        if offset > object.size {
            return Err(wrong("offset", &format!("is behind the end: the object has {} bytes", object.size)));
        }
        let mut result = answer::of_object(&object, self.offer.shown(&object.key));
        let content_type = object.content_type.as_deref();
        let Some(bytes) = bytes else { return self.link_to(cx, &key, content_type, result).await };
        let uri = format!("oss://{}/{}", self.offer.service, answer::escaped(self.offer.shown(&object.key)));
        let shown = show(&bytes, content_type, wanted, &uri)?;
        result.insert("content".to_owned(), Value::from(shown.content));
        result.insert("encoding".to_owned(), Value::from(shown.encoding.as_str()));
        if range.start > 0 || range.end < object.size {
            result.insert("offset".to_owned(), json!(range.start));
        }
        answer::output(result, shown.block.into_iter().collect())
    }

    /// An object that is too large for an answer.
    async fn link_to(
        &self,
        cx: &Context,
        key: &Key,
        content_type: Option<&str>,
        mut result: Map<String, Value>,
    ) -> Result<Output> {
        let most = self.offer.max_inline_bytes;
        let remark =
            format!("The object is larger than {most} bytes; read parts of it with offset and length.");
        let mut blocks = vec![Content::text(&remark)];
        if let Some(url) = self.url(cx, key).await {
            blocks.push(Content::link(
                &url,
                name_of(key.as_str()),
                content_type.unwrap_or("application/octet-stream"),
            ));
            result.insert("url".to_owned(), Value::from(url));
        }
        answer::output(result, blocks)
    }

    /// Where an object can be read: by everybody, or with a link that ends, or nowhere.
    async fn url(&self, cx: &Context, key: &Key) -> Option<String> {
        if let Some(base) = &self.offer.public_base_url {
            return Some(format!("{base}/{}", answer::escaped(self.offer.shown(key.as_str()))));
        }
        let request = PresignRequest {
            key,
            method: LinkMethod::Get,
            expires: LINK_TIME,
            content_type: None,
            filename: None,
        };
        self.client.store.presign(cx, request).await.ok().map(|link| link.url)
    }

    async fn list(&self, cx: &Context, arguments: Arguments<'_>, attempts: Option<u32>) -> Result<Output> {
        let prefix =
            Key::prefix_of(arguments.text("prefix").unwrap_or_default(), "prefix", &self.offer.prefix)?;
        let after = match arguments.text("cursor") {
            Some(cursor) => Some(Cursor::parse(cursor, &self.offer.prefix)?),
            None => None,
        };
        let limit = arguments.number("maxKeys").unwrap_or(100).clamp(1, 1000);
        let request = ListRequest {
            prefix: prefix.as_str().to_owned(),
            after,
            limit: usize::try_from(limit).unwrap_or(1000),
            delimiter: arguments.delimiter()?.map(str::to_owned),
        };
        let attempt = || async { self.client.store.list(cx, request.clone()).await };
        let listing = self.client.again(cx, attempts, attempt).await?;
        let objects: Vec<_> = listing
            .objects
            .iter()
            .map(|object| {
                let mut listed = answer::of_object(object, self.offer.shown(&object.key));
                listed.retain(|name, _| matches!(name.as_str(), "key" | "size" | "lastModified" | "etag"));
                Value::Object(listed)
            })
            .collect();
        let prefixes: Vec<_> = listing.prefixes.iter().map(|prefix| self.offer.shown(prefix)).collect();
        let cursor = listing.cursor().map(|cursor| cursor.written(&self.offer.prefix));
        let result = json!({
            "objects": objects, "prefixes": prefixes, "cursor": cursor, "truncated": listing.is_truncated,
        });
        answer::output(result.as_object().cloned().unwrap_or_default(), Vec::new())
    }

    async fn delete(&self, cx: &Context, arguments: Arguments<'_>, attempts: Option<u32>) -> Result<Output> {
        let key = self.key(arguments, "key")?;
        let deleted = self.client.again(cx, attempts, || self.client.store.delete(cx, &key)).await;
        deleted.map_err(|error| settle(error, Repetition::Idempotent))?;
        let result =
            [("key".to_owned(), json!(self.offer.shown(key.as_str()))), ("deleted".to_owned(), json!(true))];
        answer::output(Map::from_iter(result), Vec::new())
    }

    async fn presign(&self, cx: &Context, arguments: Arguments<'_>) -> Result<Output> {
        let key = self.key(arguments, "key")?;
        let method = arguments.method();
        if method == LinkMethod::Put && self.offer.is_read_only {
            return Err(Error::denied("the service is read-only; see its setting 'read_only'"));
        }
        let request = PresignRequest {
            key: &key,
            method,
            expires: Duration::from_secs(arguments.number("expires").unwrap_or(3600).clamp(1, 604_800)),
            content_type: arguments.content_type()?,
            filename: arguments.filename()?,
        };
        let link = self.client.store.presign(cx, request).await?;
        let result = json!({
            "url": link.url, "method": method.as_str(), "headers": link.headers,
            "expiresAt": answer::time(link.expires_at),
        });
        answer::output(result.as_object().cloned().unwrap_or_default(), Vec::new())
    }

    async fn stat(&self, cx: &Context, arguments: Arguments<'_>, attempts: Option<u32>) -> Result<Output> {
        let key = self.key(arguments, "key")?;
        let object = self.client.again(cx, attempts, || self.client.store.stat(cx, &key)).await?;
        answer::output(answer::of_object(&object, self.offer.shown(&object.key)), Vec::new())
    }

    async fn copy(&self, cx: &Context, arguments: Arguments<'_>, attempts: Option<u32>) -> Result<Output> {
        let (from, to) = (self.key(arguments, "key")?, self.key(arguments, "to")?);
        let copied = self.client.again(cx, attempts, || self.client.store.copy(cx, &from, &to)).await;
        let object = copied.map_err(|error| settle(error, Repetition::Idempotent))?;
        let mut result = Map::from_iter([("key".to_owned(), json!(self.offer.shown(&object.key)))]);
        answer::put(&mut result, "etag", object.etag);
        answer::output(result, Vec::new())
    }
}

//! Content from somewhere else: an address, or another tool that the caller may call.

use super::given::{Encoding, decode};
use super::{Content, web};
use crate::shared::network::{Policy, Resolver, Setting};
use fetch::{Tls, Url};
use serde_json::{Map, Value};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tool::objects::{InMemory, Part};
use tool::{
    Arguments, CallTools, Context, Env, Error, Links, Outcome, Output, Request, Result, Step, Target, Uri,
};

/// How many sources may stand inside one another.
const MAX_DEPTH: usize = 3;
/// How a call is named that fetches a source, in the path of its step.
const STEP: &str = "source";
/// The type of the services whose answers name addresses that they have made themselves.
const STORES: &str = "oss";

/// Where the content of one service's calls may come from.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    tools: Weak<dyn CallTools>,
    links: Option<Arc<dyn Links>>,
    /// To addresses that callers, or tools of any kind, have written.
    guarded: Fetcher,
    /// To those that a store has made itself, which may be as private as the service's own remote.
    own: Fetcher,
    /// How long an address may say nothing.
    timeout: Duration,
}

/// How addresses are fetched.
#[derive(Debug, Clone)]
struct Fetcher {
    policy: Arc<Policy>,
    http: fetch::Client,
}

impl Fetcher {
    fn new(policy: Arc<Policy>) -> Self {
        let http = fetch::Client::new(Arc::new(Resolver(policy.clone())), Tls::default());
        Self { policy, http }
    }
}

impl Sources {
    /// Sources of a service with this policy. It is none of its callers': what they write is fetched from public addresses.
    pub(crate) fn new(env: &Env, policy: Arc<Policy>, timeout: Duration) -> Self {
        let guarded = Fetcher::new(Arc::new(Policy::of_callers(env)));
        let own = Arc::new(Arc::unwrap_or_clone(policy).set_in(Setting::Fetching));
        let (tools, links) = (env.tools.clone(), env.links.clone());
        Self { tools, links, guarded, own: Fetcher::new(own), timeout }
    }

    /// The content that a `source` leads to.
    pub(super) async fn open(&self, cx: &Context, source: &Map<String, Value>) -> Result<Content> {
        let text = |name: &str| source.get(name).and_then(Value::as_str);
        match (text("url"), text("uri")) {
            (Some(url), None) => self.open_url(cx, &self.guarded, url).await,
            (None, Some(uri)) => {
                let arguments = source.get("arguments").and_then(Value::as_object).cloned();
                self.open_tool(cx, uri, arguments.unwrap_or_default()).await
            }
            _ => Err(wrong("parameter 'source' must have either 'url', or 'uri' with 'arguments'")),
        }
    }

    async fn open_url(&self, cx: &Context, fetcher: &Fetcher, url: &str) -> Result<Content> {
        // One of our own need not go over the network, which may not even lead here.
        if let (Some(link), Some(tools)) =
            (self.links.as_ref().and_then(|links| links.open(url)), self.tools.upgrade())
        {
            let reading = tools.read_object(cx, &link, Part::WHOLE).await?;
            return Ok(Content {
                size: Some(reading.object.size),
                content_type: reading.object.content_type,
                body: reading.body,
            });
        }
        let url = Url::parse(url).map_err(|_| wrong("parameter 'source.url' is no address"))?;
        web::get(&fetcher.http, &fetcher.policy, url, self.timeout).await
    }

    async fn open_tool(&self, cx: &Context, uri: &str, arguments: Map<String, Value>) -> Result<Content> {
        let outer = cx.nested.as_ref().and_then(|nested| nested.step.path.clone()).unwrap_or_default();
        let depth = outer.split('.').rev().take_while(|part| *part == STEP).count();
        if depth >= MAX_DEPTH {
            let message = format!("sources stand more than {MAX_DEPTH} deep inside one another");
            return Err(wrong(&message));
        }
        let Some(tools) = self.tools.upgrade() else {
            return Err(Error::unsupported("content of other tools is to be had from a server only"));
        };
        let uri: Uri = uri
            .parse()
            .map_err(|error| wrong(&format!("parameter 'source.uri' is no address of a tool: {error}")))?;
        let path = if outer.is_empty() { STEP.to_owned() } else { format!("{outer}.{STEP}") };
        let nested = cx.nested(Step { path: Some(path.into()), ..Step::default() });
        // Options may put an address of the caller's into the answer.
        let is_of_store = uri.scheme() == STORES && uri.options().is_empty();
        let fetcher = if is_of_store { &self.own } else { &self.guarded };
        let request = Request::new(Target::Uri(uri), Arguments::from(arguments));
        let called =
            Box::pin(tools.call(&nested, request)).await.map_err(|error| error.about("the source failed"))?;
        match called {
            Outcome::Done(output) => self.read(cx, fetcher, &output).await,
            Outcome::NeedsInput(_) => {
                Err(Error::unsupported("the source asks a question, which nobody can answer here"))
            }
            Outcome::Started(_) => {
                Err(Error::unsupported("the source goes on in the background; it has no content yet"))
            }
        }
    }

    /// The content of an answer: what a `load` gives as such, a picture or an attachment, or else all of it.
    async fn read(&self, cx: &Context, fetcher: &Fetcher, output: &Output) -> Result<Content> {
        if output.is_error() {
            let words: String = output.data().unwrap_or_default().chars().take(500).collect();
            return Err(Error::upstream(format!("the source failed: {words}")));
        }
        let data = output.data();
        let loaded: Option<Value> = data.as_deref().and_then(|data| serde_json::from_str(data).ok());
        if let Some(Value::Object(loaded)) = &loaded
            && let Some(content) = self.read_loaded(cx, fetcher, loaded).await?
        {
            return Ok(content);
        }
        if let Some(content) = attached(output)? {
            return Ok(content);
        }
        match (loaded, data) {
            (Some(Value::String(text)), _) => whole(text.into_bytes(), Some("text/plain".to_owned())),
            (_, Some(json)) => whole(json.into_owned().into_bytes(), Some("application/json".to_owned())),
            (_, None) => Err(Error::upstream("the source has answered without content")),
        }
    }

    async fn read_loaded(
        &self,
        cx: &Context,
        fetcher: &Fetcher,
        loaded: &Map<String, Value>,
    ) -> Result<Option<Content>> {
        let text = |name: &str| loaded.get(name).and_then(Value::as_str);
        let content_type = text("contentType").map(str::to_owned);
        if let (Some(content), Some(_)) = (text("content"), text("encoding")) {
            let bytes = decode(content, Encoding::of(loaded)?, content_type.as_deref())?;
            return whole(bytes, content_type).map(Some);
        }
        match (text("key"), text("url"), loaded.get("size")) {
            (Some(_), Some(url), Some(_)) => {
                let content = self.open_url(cx, fetcher, url).await?;
                Ok(Some(Content { content_type: content_type.or(content.content_type), ..content }))
            }
            _ => Ok(None),
        }
    }
}

/// The first block of an answer that is no text.
fn attached(output: &Output) -> Result<Option<Content>> {
    if !output.has_blocks() {
        return Ok(None);
    }
    let result: Value = serde_json::from_str(&output.to_result()).unwrap_or_default();
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = blocks.iter().find_map(|block| {
        let (holder, name) = match block["type"].as_str()? {
            "image" | "audio" => (block, "data"),
            "resource" => (&block["resource"], "blob"),
            _ => return None,
        };
        Some((holder[name].as_str()?, holder["mimeType"].as_str().map(str::to_owned)))
    });
    let Some((data, content_type)) = found else { return Ok(None) };
    whole(decode(data, Some(Encoding::Base64), content_type.as_deref())?, content_type).map(Some)
}

fn whole(bytes: Vec<u8>, content_type: Option<String>) -> Result<Content> {
    let size = Some(bytes.len() as u64);
    Ok(Content { body: InMemory::body(bytes), content_type, size })
}

fn wrong(message: &str) -> Error {
    Error::invalid_input(message).of_parameter("source")
}

//! Aliyun, COS and OBS against a store that lets the vendors' own SDKs sign every request again. Their buckets stand
//! before the host, so names lead to this machine here. S3 is tried in `tests/it/oss` on a real server.

use super::super::settings::{Provider, Settings};
use super::transport::Route;
use super::{Cloud, build};
use crate::oss::key::Key;
use crate::oss::store::{ListRequest, PresignRequest, SaveOptions, Store};
use crate::shared::network::Policy;
use bytes::Bytes;
use fetch::{Resolve, Resolving, Tls};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::context;
use tokio_util::task::TaskTracker;
use tool::objects::{Chunks, Part, Whole, read_whole};
use tool::{Error, ErrorKind, LinkMethod, Result};

/// Every name is this machine.
#[derive(Debug)]
struct Here;

impl Resolve for Here {
    fn resolve(&self, _: &str) -> Resolving {
        Box::pin(async { Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))]) })
    }
}

fn http() -> fetch::Client {
    fetch::Client::new(Arc::new(Here), Tls::default())
}

fn cloud(provider: &str, secret: &str) -> Cloud {
    let url = std::env::var("MCP_TEST_CLOUDS_URL").expect(
        "MCP_TEST_CLOUDS_URL is set: use `make test` or `scripts/servers run clouds -- cargo nextest run`",
    );
    let port = url.rsplit_once(':').unwrap().1;
    let bucket = format!("{provider}-{}", tool::new_id::<String>());
    let settings: Settings = serde_json::from_value(json!({
        "provider": provider, "bucket": bucket, "region": "cn-hangzhou", "endpoint": format!("http://store.test:{port}"),
        "credentials": { "access_key_id": "tester-key", "secret_access_key": secret },
    }))
    .unwrap();
    assert_ne!(settings.provider, Provider::Fs);
    let route = Route { http: http(), policy: Arc::new(Policy::Anywhere), timeout: Duration::from_secs(20) };
    let mut problems = Vec::new();
    build::build(&settings, route, TaskTracker::new(), &mut problems)
        .unwrap_or_else(|| panic!("{problems:?}"))
}

fn key(text: &str) -> Key {
    Key::of(text, "key", "").unwrap()
}

async fn save(store: &Cloud, name: &str, content: impl Into<Bytes>) -> Result<tool::Object> {
    let options = SaveOptions {
        content_type: Some("text/x-test".to_owned()),
        metadata: [("owner".to_owned(), "it dept".to_owned())].into(),
        if_not_exists: false,
    };
    store.save(&context(Duration::from_secs(60)), &key(name), Whole::body(content), options).await
}

async fn load(store: &Cloud, name: &str, part: Part) -> Bytes {
    let reading = store.load(&context(Duration::from_secs(60)), &key(name), part).await.unwrap();
    read_whole(reading.body, u64::MAX).await.unwrap()
}

/// OS-6, OS-11: everything that a store does, with keys that are hard to sign.
async fn does_everything(provider: &str) {
    let (store, cx) = (cloud(provider, "tester-secret"), context(Duration::from_secs(60)));
    let names = ["plain.txt", "中文 a+b&c.txt", "dir/with space/(x)'!*~=@:,;.txt", "100%/é#?.txt"];
    for name in names {
        save(&store, name, format!("content of {name}"))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(load(&store, name, Part::WHOLE).await, format!("content of {name}"), "{name}");
        let stat = store.stat(&cx, &key(name)).await.unwrap();
        assert_eq!(
            (stat.content_type.as_deref(), stat.metadata["owner"].as_str()),
            (Some("text/x-test"), "it dept")
        );
    }
    assert_eq!(load(&store, "plain.txt", Part::From(8, Some(2))).await, "of");
    let reading = store.load(&cx, &key("plain.txt"), Part::From(999, None)).await.unwrap();
    assert_eq!(reading.range, 20..20);
    store.copy(&cx, &key("中文 a+b&c.txt"), &key("副本 b.txt")).await.unwrap();
    assert_eq!(load(&store, "副本 b.txt", Part::WHOLE).await, "content of 中文 a+b&c.txt");
    store.delete(&cx, &key("副本 b.txt")).await.unwrap();
    store.delete(&cx, &key("副本 b.txt")).await.unwrap();
    let error = store.load(&cx, &key("副本 b.txt"), Part::WHOLE).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Missing, "{error:?}");

    let mut sorted = names.map(str::to_owned);
    sorted.sort();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let request = ListRequest { prefix: String::new(), after, limit: 3, is_joined: false };
        let page = store.list(&cx, request).await.unwrap();
        after = page.last().map(str::to_owned);
        found.extend(page.objects.into_iter().map(|object| object.key));
        if !page.is_truncated {
            break;
        }
    }
    assert_eq!(found, sorted);
    let request = ListRequest { prefix: String::new(), after: None, limit: 100, is_joined: true };
    let page = store.list(&cx, request).await.unwrap();
    assert_eq!(page.prefixes, ["100%/", "dir/"]);

    let parts: Vec<u8> = (0..20 * 1024 * 1024_u32).map(|number| (number >> 12) as u8).collect();
    save(&store, "large", parts.clone()).await.unwrap();
    assert!(load(&store, "large", Part::WHOLE).await == parts, "an object in parts is another");
}

/// Links that a browser would use, made for others.
async fn presigns(provider: &str) {
    let (store, cx) = (cloud(provider, "tester-secret"), context(Duration::from_secs(60)));
    let name = key("中文 a+b&c.txt");
    let request = |method, content_type| PresignRequest {
        key: &name,
        method,
        expires: Duration::from_secs(60),
        content_type,
        filename: None,
    };
    let link = store.presign(&cx, request(LinkMethod::Put, Some("text/csv"))).await.unwrap();
    let mut put = fetch::Request::new(fetch::http::Method::PUT, link.url.parse().unwrap());
    for (name, value) in &link.headers {
        put.headers
            .insert(fetch::http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    put.body = "a,b".into();
    assert_eq!(http().send(put).await.unwrap().status(), 200, "{link:?}");
    let link = store.presign(&cx, request(LinkMethod::Get, None)).await.unwrap();
    let get = |url: String| async move {
        http()
            .send(fetch::Request::new(fetch::http::Method::GET, url.parse().unwrap()))
            .await
            .unwrap()
            .status()
    };
    assert_eq!(get(link.url.clone()).await, 200);
    assert_eq!(get(link.url.replace(".txt?", ".tyt?")).await, 403, "another object");
    assert_eq!(load(&store, "中文 a+b&c.txt", Part::WHOLE).await, "a,b");
}

/// OS-12: nothing takes the place of credentials that are wrong.
async fn refuses_other_keys(provider: &str) {
    let store = cloud(provider, "wrong-secret");
    let error = save(&store, "a", "x").await.unwrap_err();
    assert!(error.is_about_credentials() && error.message().contains("'credentials'"), "{error:?}");
    assert!(!format!("{error:?}").contains("wrong-secret"), "{error:?}");
}

/// A body that breaks in its third part.
struct Breaking(u32);

#[async_trait::async_trait]
impl Chunks for Breaking {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        self.0 += 1;
        if self.0 > 20 { Err(Error::unavailable("it broke")) } else { Ok(Some(vec![0; 1024 * 1024].into())) }
    }
}

/// OS-9
async fn leaves_nothing_behind(provider: &str) {
    let store = cloud(provider, "tester-secret");
    let cx = context(Duration::from_secs(60));
    let error = store.save(&cx, &key("a"), Box::new(Breaking(0)), SaveOptions::default()).await.unwrap_err();
    assert_eq!(error.message(), "it broke");
    // What is left to do is done by then.
    store.tasks.close();
    store.tasks.wait().await;
    assert_eq!(store.stat(&cx, &key("a")).await.unwrap_err().kind(), ErrorKind::Missing);
}

macro_rules! for_each_vendor {
    ($($test:ident)*) => {
        mod aliyun { $(#[tokio::test] async fn $test() { Box::pin(super::$test("aliyun")).await; })* }
        mod cos { $(#[tokio::test] async fn $test() { Box::pin(super::$test("cos")).await; })* }
        mod obs { $(#[tokio::test] async fn $test() { Box::pin(super::$test("obs")).await; })* }
    };
}

for_each_vendor! { does_everything presigns refuses_other_keys leaves_nothing_behind }

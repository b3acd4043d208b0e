//! Aliyun, COS and OBS against a store that lets the vendors' own SDKs sign every request again. Their buckets stand
//! before the host, so names lead to this machine here. S3 is tried in `tests/it/oss` on a real server.

use super::super::settings::{Provider, Settings};
use super::transport::Route;
use super::{Cloud, build};
use crate::oss::cursor::Cursor;
use crate::oss::key::Key;
use crate::oss::store::{ListRequest, PresignRequest, SaveOptions, Store};
use crate::shared::network::Policy;
use bytes::Bytes;
use fetch::http::HeaderValue;
use fetch::{Resolve, Resolving, Tls};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::{call, context};
use testkit::eventually;
use testkit::tcp_proxy::TcpProxy;
use tokio_util::task::TaskTracker;
use tool::objects::{Chunks, InMemory, Part, read_whole};
use tool::{Connector as _, Error, ErrorKind, LinkMethod, Result};

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

fn server() -> String {
    std::env::var("MCP_TEST_CLOUDS_URL").expect(
        "MCP_TEST_CLOUDS_URL is set: use `make test` or `scripts/servers run clouds -- cargo nextest run`",
    )
}

fn bucket(provider: &str) -> String {
    format!("{provider}-{}", tool::new_id::<String>())
}

fn cloud(provider: &str, secret: &str) -> Cloud {
    let credentials = json!({ "access_key_id": "tester-key", "secret_access_key": secret });
    cloud_at(&server(), provider, &bucket(provider), &credentials)
}

fn cloud_of(provider: &str, account: &str, token: Option<&str>) -> Cloud {
    let credentials =
        json!({ "access_key_id": account, "secret_access_key": "tester-secret", "session_token": token });
    cloud_at(&server(), provider, &bucket(provider), &credentials)
}

fn cloud_at(url: &str, provider: &str, bucket: &str, credentials: &Value) -> Cloud {
    let port = url.rsplit_once(':').unwrap().1;
    let settings: Settings = serde_json::from_value(json!({
        "provider": provider, "bucket": bucket, "region": "cn-hangzhou", "endpoint": format!("http://store.test:{port}"),
        "credentials": credentials,
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
    store.save(&context(Duration::from_secs(60)), &key(name), InMemory::body(content), options).await
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
        let request = ListRequest { prefix: String::new(), after, limit: 3, delimiter: None };
        let page = store.list(&cx, request).await.unwrap();
        after = page.cursor();
        found.extend(page.objects.into_iter().map(|object| object.key));
        if !page.is_truncated {
            break;
        }
    }
    assert_eq!(found, sorted);
    joins(&store, names).await;

    let parts: Vec<u8> = (0..20 * 1024 * 1024_u32).map(|number| (number >> 12) as u8).collect();
    save(&store, "large", parts.clone()).await.unwrap();
    assert!(load(&store, "large", Part::WHOLE).await == parts, "an object in parts is another");
}

async fn joins(store: &Cloud, names: [&str; 4]) {
    let cx = context(Duration::from_secs(60));
    let joined = |delimiter: &str, after: Option<&str>| ListRequest {
        prefix: String::new(),
        after: after.map(|key| Cursor::Key(key.to_owned())),
        limit: 2,
        delimiter: Some(delimiter.to_owned()),
    };
    let page = store.list(&cx, joined("/", None)).await.unwrap();
    assert_eq!(
        (page.prefixes.as_slice(), page.is_truncated),
        (["100%/", "dir/"].map(str::to_owned).as_slice(), true)
    );
    // What the vendor cannot join is joined here.
    let page = store.list(&cx, joined("i", None)).await.unwrap();
    assert_eq!(
        (page.prefixes.as_slice(), page.objects[0].key.as_str()),
        (["di".to_owned()].as_slice(), names[3])
    );
    let page = store.list(&cx, joined("i", Some("di"))).await.unwrap();
    assert_eq!((page.prefixes.as_slice(), page.is_truncated), (["plai".to_owned()].as_slice(), false));
    assert_eq!(page.objects[0].key, names[1]);
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

/// What the store knows of a bucket, told beside all signatures.
async fn told(what: &str, bucket: &str) -> String {
    let url = format!("{}/{what}/{bucket}", server()).parse().unwrap();
    let mut response = http().send(fetch::Request::new(fetch::http::Method::GET, url)).await.unwrap();
    String::from_utf8(response.chunk().await.unwrap().unwrap().to_vec()).unwrap()
}

/// Pieces of an object, and what happens before the twentieth, which is in its third part.
struct Cutting(u32, Arc<TcpProxy>);

#[async_trait::async_trait]
impl Chunks for Cutting {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        self.0 += 1;
        if self.0 == 20 {
            self.1.cut();
        }
        Ok((self.0 <= 60).then(|| vec![7; 1024 * 1024].into()))
    }
}

/// OS-9, F8: the connection is cut in the third of eight parts; nothing is left, neither an object nor parts.
async fn an_upload_that_is_cut_leaves_nothing(provider: &str) {
    let proxy = Arc::new(TcpProxy::start(server().replace("http://", "")).await);
    let (bucket, cx) = (bucket(provider), context(Duration::from_secs(60)));
    let credentials = json!({ "access_key_id": "tester-key", "secret_access_key": "tester-secret" });
    let store = cloud_at(&proxy.address().to_string(), provider, &bucket, &credentials);
    let body = Box::new(Cutting(0, proxy.clone()));
    let error = store.save(&cx, &key("large"), body, SaveOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert_eq!(told("uploads", &bucket).await, "1", "parts are there, which nobody can reach yet");
    proxy.restore();
    store.tasks.close();
    store.tasks.wait().await;
    assert_eq!(told("uploads", &bucket).await, "0");
    assert_eq!(store.stat(&cx, &key("large")).await.unwrap_err().kind(), ErrorKind::Missing);
}

/// F10: the store's clock is an hour ahead of ours.
async fn names_the_clock(provider: &str) {
    let error = save(&cloud_of(provider, "late-key", None), "a", "x").await.unwrap_err();
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("RequestTimeTooSkewed")));
    assert!(error.message().contains("differ by 6") && error.message().contains("set the clock"), "{error}");
}

/// OS-11, OS-12: temporary keys bring their token, which is signed along, in requests and in links.
async fn temporary_keys_bring_their_token(provider: &str) {
    let cx = context(Duration::from_secs(60));
    let store = cloud_of(provider, "temporary-key", Some("tester-token/+="));
    save(&store, "a b.txt", "x").await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(load(&store, "a b.txt", Part::WHOLE).await, "x");
    let name = key("a b.txt");
    let (method, expires) = (LinkMethod::Get, Duration::from_secs(60));
    let request =
        PresignRequest { key: &name, method, expires, content_type: Some("text/csv"), filename: None };
    let link = store.presign(&cx, request).await.unwrap();
    assert_eq!(get(&link.url).await.status(), 200, "{link:?}");
    for token in [None, Some("another")] {
        let error = save(&cloud_of(provider, "temporary-key", token), "a", "x").await.unwrap_err();
        assert!(error.is_about_credentials(), "{error:?}");
        assert!(!format!("{error:?}").contains("another"), "{error:?}");
    }
}

async fn get(url: &str) -> fetch::Response {
    http().send(fetch::Request::new(fetch::http::Method::GET, url.parse().unwrap())).await.unwrap()
}

/// OS-5: a link says what it gives, and ends in time.
async fn links_say_what_they_give_and_end(provider: &str) {
    let (store, cx) = (cloud(provider, "tester-secret"), context(Duration::from_secs(60)));
    save(&store, "a.bin", "a,b").await.unwrap();
    let name = key("a.bin");
    let link = async |seconds| {
        let (method, expires) = (LinkMethod::Get, Duration::from_secs(seconds));
        let (content_type, filename) = (Some("text/csv; charset=utf-8"), Some("表 1&2.csv"));
        let request = PresignRequest { key: &name, method, expires, content_type, filename };
        store.presign(&cx, request).await.unwrap().url
    };
    let response = get(&link(60).await).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &HeaderValue::from_static("text/csv; charset=utf-8"))
    );
    let disposition = response.headers()["content-disposition"].to_str().unwrap();
    assert!(disposition.starts_with("attachment;") && disposition.contains("%E8%A1%A8"), "{disposition}");
    let short = link(1).await;
    eventually("the link has ended", Duration::from_secs(20), async || get(&short).await.status() == 403)
        .await;
}

/// OS-6
async fn saves_only_what_is_new(provider: &str) {
    let (store, cx) = (cloud(provider, "tester-secret"), context(Duration::from_secs(60)));
    for (content, is_new) in [("1", true), ("2", false)] {
        let options = SaveOptions { if_not_exists: true, ..SaveOptions::default() };
        let saved = store.save(&cx, &key("a"), InMemory::body(content), options).await;
        assert_eq!(saved.is_ok(), is_new, "{saved:?}");
        if let Err(error) = saved {
            assert_eq!(
                (error.kind(), error.service_code()),
                (ErrorKind::Upstream, Some("exists")),
                "{error:?}"
            );
        }
    }
    assert_eq!(load(&store, "a", Part::WHOLE).await, "1");
}

/// OS-7: what leads elsewhere is refused before anything is sent.
async fn sends_nothing_for_keys_that_traverse_or_hide(provider: &str) {
    let bucket = bucket(provider);
    let credentials = json!({ "access_key_id": "tester-key", "secret_access_key": "tester-secret" });
    let service = crate::oss::tests::service_over(cloud_at(&server(), provider, &bucket, &credentials));
    let cx = context(Duration::from_secs(60));
    let run = async |tool: &str, arguments: Value| {
        service.call(&cx, call(tool, arguments.as_object().cloned().unwrap())).await
    };
    for (parameter, tool, arguments) in crate::oss::tests::hostile_keys() {
        let error = run(tool, arguments.clone()).await.map(drop).unwrap_err();
        assert_eq!(
            (error.kind(), error.parameter()),
            (ErrorKind::InvalidInput, Some(parameter)),
            "{tool} {arguments}"
        );
    }
    assert_eq!(told("requests", &bucket).await, "0");
    run("delete", json!({ "key": "a" })).await.unwrap();
    assert_eq!(told("requests", &bucket).await, "1", "requests are counted");
}

macro_rules! for_each_vendor {
    ($($test:ident)*) => {
        mod aliyun { $(#[tokio::test] async fn $test() { Box::pin(super::$test("aliyun")).await; })* }
        mod cos { $(#[tokio::test] async fn $test() { Box::pin(super::$test("cos")).await; })* }
        mod obs { $(#[tokio::test] async fn $test() { Box::pin(super::$test("obs")).await; })* }
    };
}

for_each_vendor! {
    does_everything presigns refuses_other_keys leaves_nothing_behind an_upload_that_is_cut_leaves_nothing
    names_the_clock temporary_keys_bring_their_token links_say_what_they_give_and_end saves_only_what_is_new
    sends_nothing_for_keys_that_traverse_or_hide
}

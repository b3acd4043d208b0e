//! Calls that wait for their time: never early, by one process at a time, and not lost with it.

use async_trait::async_trait;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{NewTenant, Options, Queues, Store, Vault};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool::objects::{Part, Reading};
use tool::queue::LaterCall;
use tool::{
    Arguments, CallTools, CallableTool, Context, Error, Finding, Link, Outcome, Output, Pattern, Queue as _,
    Request, Result, Target, TenantId, Uri,
};

const PLENTY: Duration = Duration::from_secs(40);

/// Remembers what was called, and when. Services whose name begins with `bad` fail so many times first.
#[derive(Default)]
struct Tools {
    calls: Mutex<Vec<(String, Instant)>>,
    failures: Mutex<HashMap<String, usize>>,
    under_way: AtomicUsize,
    /// How often the service `away` is looked for before it is there.
    away: AtomicUsize,
    /// What was recorded beside calls.
    refusals: Mutex<Vec<(String, String)>>,
}

#[async_trait]
impl CallTools for Tools {
    async fn call(&self, _: &Context, request: Request) -> Result<Outcome> {
        let address = request.target.to_string();
        if address.starts_with("mq://hangs") {
            self.under_way.fetch_add(1, Ordering::SeqCst);
            return std::future::pending().await;
        }
        if address.starts_with("mq://strict") {
            return Err(Error::invalid_input("the message is not of its schema"));
        }
        let is_there = |left: usize| left.checked_sub(1);
        if address.starts_with("mq://away")
            && self.away.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_there).is_ok()
        {
            return Err(Error::not_found("there is no such service"));
        }
        if let Some(left) = self.failures.lock().unwrap().get_mut(&address).filter(|left| **left > 0) {
            *left -= 1;
            return Err(Error::unavailable("the broker is away").retryable());
        }
        let id = request.arguments.as_map()?["id"].as_str().unwrap().to_owned();
        self.calls.lock().unwrap().push((id, Instant::now()));
        Ok(Outcome::Done(Output::text("done")))
    }

    async fn refuse(&self, _: &Context, called: &str, error: Error) {
        self.refusals.lock().unwrap().push((called.to_owned(), error.message().to_owned()));
    }

    async fn find(&self, _: &Context, _: Arguments, _: &Finding<'_>) -> Result<Outcome> {
        Err(Error::unsupported("nobody looks for tools here"))
    }

    fn tools(&self, _: &Context) -> Vec<CallableTool> {
        Vec::new()
    }

    fn tool(&self, _: &Context, _: &Target) -> Result<CallableTool> {
        Err(Error::not_found("none"))
    }

    fn uses(&self, _: &Context, _: &Uri) -> Result<Vec<Pattern>> {
        Ok(Vec::new())
    }

    async fn read_object(&self, _: &Context, _: &Link, _: Part) -> Result<Reading> {
        Err(Error::not_found("none"))
    }
}

impl Tools {
    fn made(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|(id, _)| id.clone()).collect()
    }

    fn when(&self, id: &str) -> Instant {
        self.calls.lock().unwrap().iter().find(|(made, _)| made == id).unwrap().1
    }
}

struct Home(tempfile::TempDir);

impl Home {
    async fn new() -> (Self, Store) {
        let home = Self(tempfile::tempdir().unwrap());
        let store = home.open().await;
        let (id, name) = (TenantId::default_tenant(), "default".to_owned());
        let (limits, allow_private_network, table_quota_bytes) = Default::default();
        let tenant = NewTenant { id, name, limits, allow_private_network, table_quota_bytes };
        store.tenants().create(tenant).await.unwrap();
        (home, store)
    }

    async fn open(&self) -> Store {
        let url = format!("sqlite:{}", self.0.path().join("data.db").display());
        Store::open(&Options::new(url), Vault::load(self.0.path(), None).unwrap()).await.unwrap()
    }
}

/// A process of its own, as far as the database knows.
fn replica(store: &Store, tools: &Arc<Tools>) -> (Queues, JoinHandle<()>, CancellationToken) {
    let queues = Queues::new(store.clone(), Duration::from_secs(10));
    let stop = CancellationToken::new();
    let tools: Arc<dyn CallTools> = tools.clone();
    let weak = Arc::downgrade(&tools);
    let task = tokio::spawn(runtime::make_later_calls(store.clone(), queues.clone(), weak, stop.clone()));
    (queues, task, stop)
}

async fn later(queues: &Queues, id: &str, uri: &str, delay_ms: u64) {
    later_of(&TenantId::default_tenant(), queues, id, uri, delay_ms).await;
}

async fn later_of(tenant: &TenantId, queues: &Queues, id: &str, uri: &str, delay_ms: u64) {
    let call = LaterCall {
        id: id.to_owned(),
        uri: uri.to_owned(),
        arguments: RawValue::from_string(format!("{{\"id\":\"{id}\"}}")).unwrap(),
        delay: Duration::from_millis(delay_ms),
    };
    queues.call_later(tenant, call).await.unwrap();
}

/// MQ-2, MQ-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn makes_calls_in_order_never_early_and_not_late() {
    let (_home, store) = Home::new().await;
    let tools = Arc::new(Tools::default());
    let (queues, _task, stop) = replica(&store, &tools);
    let begin = Instant::now();
    for (id, delay) in [("third", 1500), ("first", 500), ("second", 1000)] {
        later(&queues, id, "mq://orders/created", delay).await;
    }
    testkit::eventually("all are made", PLENTY, async || tools.made().len() == 3).await;
    assert_eq!(tools.made(), ["first", "second", "third"]);
    for (id, delay) in [("first", 500), ("second", 1000), ("third", 1500)] {
        let waited = tools.when(id) - begin;
        assert!(waited >= Duration::from_millis(delay), "{id} came early, after {waited:?}");
        assert!(waited < Duration::from_millis(delay + 3000), "{id} came late, after {waited:?}");
    }
    testkit::eventually("all are crossed off", PLENTY, async || {
        queues.later().next_in().await.unwrap().is_none()
    })
    .await;
    stop.cancel();
}

/// MQ-5: F18, the process that holds the lease is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_makes_the_calls_of_one_that_was_killed() {
    let (home, store) = Home::new().await;
    let tools = Arc::new(Tools::default());
    let (queues, killed, _) = replica(&store, &tools);
    later(&queues, "now", "mq://orders/created", 0).await;
    testkit::eventually("the first one works", PLENTY, async || tools.made() == ["now"]).await;
    let (_, _task, stop) = replica(&home.open().await, &tools);
    let begin = Instant::now();
    later(&queues, "later", "mq://orders/created", 1000).await;
    killed.abort();
    testkit::eventually("the other one does it", PLENTY, async || tools.made().len() == 2).await;
    let waited = tools.when("later") - begin;
    assert!(waited >= Duration::from_secs(1), "early, after {waited:?}");
    assert!(waited < Duration::from_secs(30), "too late, after {waited:?}");
    assert_eq!(tools.made(), ["now", "later"], "each under its one id");
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_fails_or_hangs_keeps_nobody_else_waiting() {
    let (_home, store) = Home::new().await;
    let tools = Arc::new(Tools::default());
    tools.failures.lock().unwrap().insert("mq://bad/created".to_owned(), 2);
    let (queues, _task, stop) = replica(&store, &tools);
    later(&queues, "hangs", "mq://hangs/created", 0).await;
    later(&queues, "bad", "mq://bad/created", 0).await;
    later(&queues, "behind", "mq://bad/created", 1).await;
    later(&queues, "good", "mq://good/created", 0).await;
    testkit::eventually("all but one are made", PLENTY, async || tools.made().len() == 3).await;
    assert_eq!(tools.made(), ["good", "bad", "behind"]);
    assert_eq!(tools.under_way.load(Ordering::SeqCst), 1);
    stop.cancel();
}

/// MQ-5: what does not fit is given up, and that is recorded; nobody waits behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gives_up_what_is_refused_for_good_and_says_so() {
    let (_home, store) = Home::new().await;
    let tools = Arc::new(Tools::default());
    let (queues, _task, stop) = replica(&store, &tools);
    later(&queues, "wrong", "mq://strict/created", 0).await;
    later(&queues, "good", "mq://good/created", 0).await;
    testkit::eventually("nothing waits any more", PLENTY, async || {
        queues.later().next_in().await.unwrap().is_none()
    })
    .await;
    assert_eq!(tools.made(), ["good"]);
    let said = "given up after 5 tries ('wrong'): the message is not of its schema";
    assert_eq!(*tools.refusals.lock().unwrap(), [("mq://strict/created".to_owned(), said.to_owned())]);
    stop.cancel();
}

/// MQ-5: a service that is away for longer than a reload takes is waited for, and what comes after it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_for_a_service_that_comes_back() {
    let (_home, store) = Home::new().await;
    let tools = Arc::new(Tools { away: 6.into(), ..Tools::default() });
    let (queues, _task, stop) = replica(&store, &tools);
    later(&queues, "first", "mq://away/created", 0).await;
    testkit::eventually("all are made", PLENTY, async || tools.made() == ["first"]).await;
    assert_eq!(tools.away.load(Ordering::SeqCst), 0, "it was looked for six times in vain");
    assert!(tools.refusals.lock().unwrap().is_empty());
    stop.cancel();
}

/// MQ-5: services that fail or hang, however many a tenant has, keep neither its others nor other tenants waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_services_that_are_away_stop_no_other() {
    let (_home, store) = Home::new().await;
    let tools = Arc::new(Tools::default());
    let (queues, _task, stop) = replica(&store, &tools);
    for number in 0..100 {
        let uri = format!("mq://bad-{number}/created");
        tools.failures.lock().unwrap().insert(uri.clone(), usize::MAX);
        later(&queues, &format!("bad-{number}"), &uri, 0).await;
    }
    testkit::eventually("all have failed more than once", PLENTY, async || {
        tools.failures.lock().unwrap().values().all(|left| *left < usize::MAX - 1)
    })
    .await;
    let begin = Instant::now();
    later(&queues, "own", "mq://good/created", 0).await;
    testkit::eventually("the tenant's other service is called", PLENTY, async || tools.made() == ["own"])
        .await;
    for number in 0..100 {
        later(&queues, &format!("hangs-{number}"), &format!("mq://hangs-{number}/created"), 0).await;
    }
    testkit::eventually("many hang", PLENTY, async || tools.under_way.load(Ordering::SeqCst) >= 16).await;
    let other: TenantId = "other".parse().unwrap();
    let (limits, allow_private_network, table_quota_bytes) = Default::default();
    let name = "other".to_owned();
    let tenant = NewTenant { id: other.clone(), name, limits, allow_private_network, table_quota_bytes };
    store.tenants().create(tenant).await.unwrap();
    later_of(&other, &queues, "theirs", "mq://good/created", 0).await;
    testkit::eventually("the other tenant's is called", PLENTY, async || tools.made() == ["own", "theirs"])
        .await;
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    assert_eq!(tools.under_way.load(Ordering::SeqCst), 16, "no more than its share");
    stop.cancel();
}

//! Indexing and searching 100,000 chunks by words on SQLite, English and Chinese.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on stops and says so"
)]

use document::{Node, Pointer};
use search::{Finder, Options};
use serde_json::json;
use std::time::{Duration, Instant};
use store::{Documents, IndexStatus, NewTable, NewTenant, NewTool, Store, ToolStatus, Vault};
use tokio_util::sync::CancellationToken;
use tool::{Limits, Search as _, SearchRequest, TableId, TenantId, ToolId};

const CHUNKS: u64 = 100_000;
const ROUNDS: usize = 200;
const HAN: &str =
    "退货政策订单快递送达客户服务价格优惠商品质量保证支付方式发票地址电话时间验收原路返回工作日";

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Small numbers are commoner, as words are in a language.
    fn word(&mut self) -> String {
        let sides = 1 + self.roll(20_000);
        format!("word{}", self.roll(sides))
    }
}

/// Texts of one chunk each: three quarters English, a quarter Chinese.
fn texts() -> Vec<String> {
    let mut dice = Dice(7);
    let han: Vec<char> = HAN.chars().collect();
    let text = |n: u64| {
        if n.is_multiple_of(4) {
            let count = han.len() as u64;
            (0..150).map(|_| han[usize::try_from(dice.roll(count)).unwrap()]).collect::<String>()
                + &n.to_string()
        } else {
            let words: Vec<String> = (0..60).map(|_| dice.word()).collect();
            format!("{} unique{n}", words.join(" "))
        }
    };
    (0..CHUNKS).map(text).collect()
}

async fn index(store: &Store, documents: &Documents) -> (TableId, ToolId, Node) {
    let tenant = TenantId::default_tenant();
    let new = NewTenant {
        id: tenant.clone(),
        name: "default".into(),
        limits: Limits::default(),
        allow_private_network: None,
        table_quota_bytes: None,
    };
    store.tenants().create(new).await.unwrap();
    let document = Node::from(&json!(texts()));
    let new = NewTable {
        name: "texts".into(),
        description: None,
        owner: "bench".into(),
        document: document.clone(),
    };
    let table = documents.create(&tenant, new).await.unwrap();
    let begun = Instant::now();
    let new = NewTool {
        name: "find".into(),
        alias: None,
        kind: "search".into(),
        description: None,
        status: ToolStatus::Active,
        owner: "bench".into(),
        definition: json!({ "table_id": table.id.as_str(), "json_path": "" }),
    };
    let tool = store.tools().create(&tenant, new).await.unwrap().id;
    loop {
        let index = store.search().get(&tenant, &tool).await.unwrap();
        match index.status {
            IndexStatus::Ready => break,
            IndexStatus::Error => panic!("{:?}", index.last_error),
            IndexStatus::Pending | IndexStatus::Indexing => {
                tokio::time::sleep(Duration::from_millis(20)).await
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "search/indexing             {CHUNKS} chunks in {seconds:.1} s: {:.0} chunks/s",
        CHUNKS as f64 / seconds
    );
    (table.id, tool, document)
}

async fn measure(
    finder: &Finder,
    table: &TableId,
    document: &Node,
    name: &str,
    query: impl Fn(usize) -> String,
) {
    let mut times = Vec::with_capacity(ROUNDS);
    let mut found = 0;
    for round in 0..ROUNDS {
        let request = SearchRequest {
            table: table.clone(),
            document: document.clone(),
            mount: Pointer::default(),
            query: query(round),
            limit: 5,
        };
        let begun = Instant::now();
        found += finder.search(&TenantId::default_tenant(), request).await.unwrap().hits.len();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let (p50, p99) = (ms(times[ROUNDS / 2]), ms(times[ROUNDS * 99 / 100]));
    println!(
        "search/{name:<20} p50 {p50:>8.3} ms   p99 {p99:>8.3} ms   {:.1} hits",
        found as f64 / ROUNDS as f64
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("data.db").display());
        let vault = Vault::load(folder.path(), None).unwrap();
        let store = Store::open(&store::Options::new(url), vault).await.unwrap();
        let documents = Documents::new(store.clone(), Duration::from_secs(60));
        let stop = CancellationToken::new();
        let worker = search::run(store.clone(), documents.clone(), None, Options::default(), stop.clone());
        let worker = tokio::spawn(worker);
        let (table, _, document) = index(&store, &documents).await;
        let finder = Finder::new(store, None, Duration::from_secs(60));
        measure(&finder, &table, &document, "rare word", |n| format!("unique{}", n * 4 + 1)).await;
        measure(&finder, &table, &document, "two words", |n| format!("word{} word{}", 900 + n, 5000 + n))
            .await;
        measure(&finder, &table, &document, "question", |n| {
            format!("What is the word{} of word{} and unique{}?", 300 + n, 2000 + n, n * 4 + 1)
        })
        .await;
        let han: Vec<char> = HAN.chars().collect();
        measure(&finder, &table, &document, "chinese, 2 pairs", |n| han[n % 40..n % 40 + 3].iter().collect())
            .await;
        stop.cancel();
        worker.await.unwrap();
    });
}

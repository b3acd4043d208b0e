//! How well tools are found, and how fast: recall@5 of the public sets in the folder `TOOL_SETS` beside plain TF-IDF and
//! against what is promised, and the time and memory of 10,000 tools. It fails where a promise is not kept.
//! `scripts/tool-sets` says how to get the sets.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark that cannot go on stops and says so"
)]

#[path = "tools/anchor.rs"]
mod anchor;

use anchor::Anchor;
use ranking::{Description, Find, Index, Listed, VisibleTools};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const SETS: [&str; 5] = ["livemcpbench", "golden", "metatool", "bfcl", "sealtools"];
const MANY: usize = 10_000;
const FOUND: usize = 5;

#[derive(Deserialize)]
struct Set {
    tools: Vec<Tool>,
    questions: BTreeMap<String, Vec<Question>>,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
struct Tool {
    service: String,
    name: String,
    description: String,
    #[serde(default)]
    input_schema: Value,
}

#[derive(Deserialize, Clone)]
struct Question {
    query: String,
    tools: Vec<String>,
    /// One of them is enough.
    #[serde(default)]
    any: bool,
}

impl Tool {
    fn id(&self) -> String {
        format!("{}/{}", self.service, self.name)
    }

    fn described(&self) -> Description<'_> {
        let about = format!("{}\n{}", self.service, self.description);
        let mut description = Description::new(self.name.as_str(), about);
        description.read(&self.input_schema);
        description
    }
}

fn main() -> ExitCode {
    let Some(folder) = std::env::var_os("TOOL_SETS") else {
        eprintln!("TOOL_SETS is not set: see scripts/tool-sets for the sets that this measures with");
        return ExitCode::FAILURE;
    };
    let sets: HashMap<&str, Set> =
        SETS.iter().filter_map(|name| Some((*name, read(Path::new(&folder), name)?))).collect();
    if sets.is_empty() {
        eprintln!("TOOL_SETS has none of the sets that this measures with: see scripts/tool-sets");
        return ExitCode::FAILURE;
    }
    let is_kept = recall(&sets) & speed_of(&sets);
    if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether everything is found as well as promised.
fn recall(sets: &HashMap<&str, Set>) -> bool {
    println!("| set | tools | questions | TF-IDF | recall@5 | target |\n|---|---|---|---|---|---|");
    let mut is_kept = true;
    for (set, kind, target) in [
        ("livemcpbench", "steps", 0.70),
        ("livemcpbench", "model", 0.50),
        ("golden", "golden", 0.80),
        ("metatool", "metatool", 0.62),
        ("bfcl", "bfcl", 0.75),
        ("sealtools", "seal", 0.98),
    ] {
        if let Some(set) = sets.get(set) {
            is_kept &= report(kind, &set.tools, &set.questions[kind], target);
        }
    }
    if let Some(set) = sets.get("livemcpbench") {
        is_kept &= report("steps among all", &all(sets), &set.questions["steps"], 0.58);
    }
    let chinese: Vec<Question> = serde_json::from_str(include_str!("chinese.json")).unwrap();
    if let Some(golden) = sets.get("golden") {
        is_kept &= report("Chinese", &golden.tools, &chinese, 0.75);
        if let Some(live) = sets.get("livemcpbench") {
            let both: Vec<Tool> = golden.tools.iter().chain(&live.tools).cloned().collect();
            is_kept &= report("Chinese", &both, &chinese, 0.50);
        }
    }
    is_kept
}

/// The tools of all sets.
fn all(sets: &HashMap<&str, Set>) -> Vec<Tool> {
    SETS.iter().filter_map(|name| sets.get(name)).flat_map(|set| set.tools.clone()).collect()
}

/// Whether it is as fast as promised, as far as there is anything to measure with.
fn speed_of(sets: &HashMap<&str, Set>) -> bool {
    let all = all(sets);
    all.is_empty() || speed(&all, sets)
}

fn read(folder: &Path, name: &str) -> Option<Set> {
    let file = folder.join(format!("{name}.json"));
    match std::fs::read(&file) {
        Ok(text) => Some(serde_json::from_slice(&text).unwrap()),
        Err(error) => {
            eprintln!(
                "\n!!! THE SET {name} IS MISSING ({}: {error}): see scripts/tool-sets !!!\n",
                file.display()
            );
            None
        }
    }
}

/// Prints how much of what is wanted is among the first five, and of plain TF-IDF the same; whether that is enough.
fn report(kind: &str, tools: &[Tool], questions: &[Question], target: f64) -> bool {
    let index = Index::of(tools.iter().map(Tool::described));
    let names: Vec<String> = tools.iter().map(Tool::id).collect();
    let anchor = Anchor::of(tools.iter().map(|tool| format!("{} {}", tool.name, tool.description)));
    let recall = recall_of(questions, |query| best(&index, &names, query));
    let beside = recall_of(questions, |query| {
        anchor.best(query, &names, FOUND).into_iter().map(|place| names[place].clone()).collect()
    });
    let is_kept = recall >= target;
    let verdict = if is_kept { "" } else { " — MISSED" };
    let (tools, questions) = (tools.len(), questions.len());
    println!("| {kind} | {tools} | {questions} | {beside:.3} | {recall:.3} | ≥ {target:.2}{verdict} |");
    is_kept
}

fn recall_of(questions: &[Question], find: impl Fn(&str) -> Vec<String>) -> f64 {
    let recalls = questions.iter().map(|question| {
        let found = find(&question.query);
        let right = question.tools.iter().filter(|wanted| found.contains(wanted)).count();
        let wanted = if question.any { 1 } else { question.tools.len() };
        right.min(wanted) as f64 / wanted as f64
    });
    recalls.sum::<f64>() / questions.len() as f64
}

fn best(index: &Index, names: &[String], query: &str) -> Vec<String> {
    let mut hits = index.matches(query);
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| names[a.place].cmp(&names[b.place])));
    hits.iter().take(FOUND).map(|hit| names[hit.place].clone()).collect()
}

/// Time and memory with copies of the tools, as many as are promised for; whether the promises are kept.
fn speed(all: &[Tool], sets: &HashMap<&str, Set>) -> bool {
    let tools: Vec<Tool> = all.iter().cycle().take(MANY).cloned().collect();
    let described: Vec<_> = tools.iter().map(Tool::described).collect();
    let before = resident_kb();
    let index = Index::of(described.iter().cloned());
    let memory = resident_kb().saturating_sub(before);
    let mut times: Vec<Duration> = (0..5).map(|_| timed(|| Index::of(described.iter().cloned())).1).collect();
    times.sort_unstable();
    let index_time = times[2];
    println!("\nindex of {MANY} tools: {index_time:?} (≤ 300 ms), {} MB (≤ 60 MB)", memory / 1024);
    let definitions: Vec<String> = tools.iter().map(|tool| {
        serde_json::json!({ "name": tool.id(), "description": tool.description, "inputSchema": tool.input_schema }).to_string()
    }).collect();
    let names: Vec<String> = tools.iter().map(Tool::id).collect();
    let visible = |place: usize| {
        Some(Listed {
            name: &names[place],
            service: &tools[place].service,
            definition: definitions[place].as_bytes(),
        })
    };
    let shelf = VisibleTools { index: &index, visible: &visible, about_service: &|_| None };
    let queries =
        sets.values().flat_map(|set| set.questions.values().flatten()).map(|question| question.query.clone());
    let (mut times, mut sizes): (Vec<Duration>, Vec<usize>) = queries
        .map(|query| {
            let find = Find { query: Some(query), limit: FOUND, ..Find::default() };
            let (answer, time) = timed(|| shelf.find(&find, &[]));
            (time, answer.get().chars().count())
        })
        .unzip();
    times.sort_unstable();
    sizes.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("find_tools: p50 {:?} (≤ 1 ms), p99 {:?} (≤ 5 ms), {} queries", at(0.5), at(0.99), times.len());
    println!("an answer of five: median {} characters (≤ 4,000)", sizes[sizes.len() / 2]);
    let is_fast = at(0.5) <= Duration::from_millis(1) && at(0.99) <= Duration::from_millis(5);
    let is_small = memory <= 60 * 1024 && sizes[sizes.len() / 2] <= 4_000;
    is_fast && is_small && index_time <= Duration::from_millis(300)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}

fn resident_kb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}

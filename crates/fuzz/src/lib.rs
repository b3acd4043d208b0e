//! Inputs that nobody would write, by the million: made of good ones by a seed that is printed, each within a budget of
//! time and memory.
//!
//! Whoever has a parser writes a test `fuzz_…` with a [`Target`]. In `make test` it tries a few inputs, in `make fuzz`
//! as many as `N` says. The inputs depend on seed and number alone, so that any of them can be made again.

mod mutate;
mod random;
mod report;

use mutate::Corpus;
use random::Random;
use report::{Report, Violation};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Without `N`: enough to see that the target works.
const FEW: u64 = 500;
/// More of them say nothing new.
const MAX_VIOLATIONS: usize = 10;
/// What a worker thread of an asynchronous runtime has.
const STACK_BYTES: usize = 2 << 20;
/// How often the number of the input is written down, for those that end the process.
const NOTE_EVERY: u64 = 1_024;

/// A parser, what it is fed with, and what it may use for one input.
#[derive(Debug)]
pub struct Target<'a> {
    /// What is parsed.
    pub name: &'a str,
    /// Good inputs, of which the others are made.
    pub seeds: Vec<Vec<u8>>,
    /// For one input, the best of four attempts: other programs may keep the processor busy.
    pub time: Duration,
    /// Of memory at a time.
    pub bytes: u64,
}

impl<'a> Target<'a> {
    /// A target with the budget that most have: a second and 64 MiB.
    pub fn new(name: &'a str, seeds: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        let seeds = seeds.into_iter().map(Into::into).collect();
        Self { name, seeds, time: Duration::from_secs(1), bytes: 64 << 20 }
    }

    /// Feeds `parse` with as many inputs as `N` says; it tells whether it took one.
    ///
    /// # Panics
    /// When it panicked, or went over its budget, with any of them.
    pub fn run(&self, parse: impl Fn(&[u8]) -> bool + Sync) {
        let report = self.try_inputs(setting("N").unwrap_or(FEW), setting("SEED").unwrap_or(1), &parse);
        report.save();
        assert!(report.violations.is_empty(), "{report}");
        assert!(report.accepted > 0, "{report}\nno input was good: the seeds are wrong");
    }

    fn try_inputs(&self, inputs: u64, seed: u64, parse: &(impl Fn(&[u8]) -> bool + Sync)) -> Report {
        std::thread::scope(|scope| {
            let work = || self.try_all(inputs, seed, parse);
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
            thread.expect("a thread can be started").join().expect("panics of parsers are caught")
        })
    }

    fn try_all(&self, inputs: u64, seed: u64, parse: &impl Fn(&[u8]) -> bool) -> Report {
        let corpus = Corpus::new(&self.seeds);
        let mut report = Report::new(self.name, seed);
        let begun = Instant::now();
        // Whoever looks for an input that ended the process begins where that was, and finds it kept.
        let from = setting("FROM");
        for number in from.unwrap_or(0)..inputs {
            if number.is_multiple_of(NOTE_EVERY) {
                report.note_progress(number);
            }
            let input = corpus.input(&mut Random::new(seed, number));
            if from.is_some() {
                report.keep("last", &input);
            }
            if let Err(what) = self.try_one(&input, parse, &mut report) {
                report.violations.push(Violation { number, what, input });
                if report.violations.len() == MAX_VIOLATIONS {
                    break;
                }
            }
        }
        report.time = begun.elapsed();
        report
    }

    /// Parses one input, and looks at what that cost.
    fn try_one(
        &self,
        input: &[u8],
        parse: &impl Fn(&[u8]) -> bool,
        report: &mut Report,
    ) -> Result<(), String> {
        let mut best = Duration::MAX;
        for attempt in 0..4 {
            let begun = Instant::now();
            let mut outcome = Ok(false);
            let spent = allocation_counter::measure(|| {
                outcome = catch_unwind(AssertUnwindSafe(|| parse(input)));
            });
            best = best.min(begun.elapsed());
            let is_taken = outcome.map_err(|_| "it panicked".to_owned())?;
            if attempt == 0 {
                report.inputs += 1;
                report.accepted += u64::from(is_taken);
            }
            report.most_bytes = report.most_bytes.max(spent.bytes_max);
            if spent.bytes_max > self.bytes {
                return Err(format!("it took {} bytes of memory, of {}", spent.bytes_max, self.bytes));
            }
            if best <= self.time {
                break;
            }
        }
        report.longest = report.longest.max(best);
        if best > self.time { Err(format!("it took {best:?}, of {:?}", self.time)) } else { Ok(()) }
    }
}

/// A number that the environment gives.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The contents of the files in a folder of this repository whose names end like this, small ones only.
///
/// # Panics
/// When there is none: the folder has moved.
#[must_use]
pub fn files(folder: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    const LARGEST: u64 = 16 * 1024;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let (mut found, mut folders) = (Vec::new(), vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_small = entry.metadata().is_ok_and(|about| about.len() <= LARGEST);
            if path.is_dir() {
                folders.push(path);
            } else if is_small && endings.iter().any(|end| path.to_string_lossy().ends_with(end)) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "there are no seeds in {folder}");
    // The order of a folder is its file system's.
    found.sort();
    found.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUTS: u64 = 2_000;
    const SEEDS: [&str; 2] = ["{\"a\": [1, 2]}", "x: \"y\""];

    #[test]
    fn finds_a_panic_and_says_with_which_input() {
        let target = Target::new("planted panic", SEEDS);
        let parse = |input: &[u8]| {
            assert!(!input.windows(3).any(|part| part == b"[[["), "planted");
            true
        };
        let report = target.try_inputs(INPUTS, 1, &parse);
        let found = report.violations.first().expect("one nests brackets");
        let again = Corpus::new(&target.seeds).input(&mut Random::new(1, found.number));
        assert_eq!(again, found.input, "seed and number make it again");
        assert!(report.to_string().contains("it panicked"), "{report}");
    }

    #[test]
    fn finds_inputs_that_take_too_much() {
        let mut target = Target::new("planted hog", SEEDS);
        target.bytes = 1 << 20;
        target.time = Duration::from_millis(5);
        let greedy = |input: &[u8]| vec![0_u8; if input.len() > 40 { 2 << 20 } else { 10 }].len() > 5;
        assert!(target.try_inputs(INPUTS, 1, &greedy).violations[0].what.contains("bytes of memory"));
        let slow = |input: &[u8]| {
            std::thread::sleep(Duration::from_millis(if input.len() > 40 { 10 } else { 0 }));
            true
        };
        assert!(target.try_inputs(INPUTS, 1, &slow).violations[0].what.contains("it took"));
    }

    #[test]
    fn lets_those_pass_that_take_everything() {
        let report = Target::new("harmless", SEEDS).try_inputs(INPUTS, 2, &|input: &[u8]| !input.is_empty());
        assert!(
            report.violations.is_empty() && report.inputs == INPUTS && report.accepted > INPUTS / 2,
            "{report}"
        );
    }
}

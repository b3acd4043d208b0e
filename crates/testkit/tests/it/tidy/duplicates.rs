//! Lines that stand in two places: the same ten or more, without what every file has.

use std::collections::HashMap;
use std::fmt;

/// How many lines in a row make a run.
const LINES: usize = 10;

/// The same lines in two places.
pub(super) struct Run {
    first: (String, usize),
    second: (String, usize),
    lines: usize,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second, lines } = self;
        write!(f, "{lines} lines: {}:{} and {}:{}", first.0, first.1, second.0, second.1)
    }
}

/// A line that counts, with its number in the file.
struct Line<'a> {
    number: usize,
    text: &'a str,
}

/// Every run that stands twice, as long as it is, unless it is a list.
pub(super) fn find(sources: &[(String, String)]) -> Vec<Run> {
    let files: Vec<Vec<Line<'_>>> = sources.iter().map(|(_, text)| telling(text)).collect();
    let mut first_places: HashMap<Vec<&str>, (usize, usize)> = HashMap::new();
    let mut runs = Vec::new();
    for (file, lines) in files.iter().enumerate() {
        let mut covered = 0;
        for (at, window) in lines.windows(LINES).enumerate() {
            let key: Vec<_> = window.iter().map(|line| line.text).collect();
            let Some(&(other, place)) = first_places.get(&key) else {
                first_places.insert(key, (file, at));
                continue;
            };
            if at < covered || is_list(&key) {
                continue;
            }
            let pairs = lines[at..].iter().zip(&files[other][place..]);
            let count = pairs.take_while(|(here, there)| here.text == there.text).count();
            covered = at + count;
            runs.push(Run {
                first: (sources[other].0.clone(), files[other][place].number),
                second: (sources[file].0.clone(), window[0].number),
                lines: count,
            });
        }
    }
    runs
}

/// The lines that say something: no imports, no comments, no lone punctuation.
fn telling(text: &str) -> Vec<Line<'_>> {
    let lines = text.lines().enumerate().map(|(at, line)| Line { number: at + 1, text: line.trim() });
    let is_import =
        |text: &str| ["use ", "pub use ", "mod ", "#["].iter().any(|start| text.starts_with(start));
    lines
        .filter(|line| line.text.contains(char::is_alphanumeric))
        .filter(|line| !line.text.starts_with("//") && !is_import(line.text))
        .collect()
}

/// Entries one below the other, as of a table, a struct or its making: nothing happens in them.
fn is_list(lines: &[&str]) -> bool {
    let is_entry = |line: &&&str| {
        line.ends_with([',', '{', '[', '(']) && !line.contains(" => ") && !line.starts_with("fn ")
    };
    lines.iter().filter(is_entry).count() * 10 >= lines.len() * 9
}

#[test]
fn sees_what_stands_twice_and_passes_over_lists() {
    let code: String = (0..10).map(|step| format!("    step({step});\n\n    // again\n")).collect();
    let list: String = (0..20).map(|entry| format!("    entry_{entry},\n")).collect();
    let named = |name: &str, text: String| (name.to_owned(), text);
    let sources =
        [named("a.rs", format!("fn a() {{\n{code}}}\n{list}")), named("b.rs", format!("{list}\n{code}"))];
    let found: Vec<_> = find(&sources).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["10 lines: a.rs:2 and b.rs:22"]);
    assert!(find(&sources[..1]).is_empty());
}

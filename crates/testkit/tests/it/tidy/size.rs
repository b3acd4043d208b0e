//! How large files and functions are, and what is written twice: a file grows out of a reader's head one harmless
//! line at a time.

use super::duplicates::{self, Run};
use super::{sources, without_unit_tests};

/// A number that must not be larger.
struct Limit {
    of: &'static str,
    at_most: usize,
}

const LIMITS: [Limit; 5] = [
    Limit { of: "lines of the median file", at_most: 130 },
    Limit { of: "files over 400 lines without their unit tests", at_most: 0 },
    Limit { of: "lines of the longest function of the shorter 90 %", at_most: 25 },
    Limit { of: "functions over 60 lines", at_most: 0 },
    Limit { of: "runs of ten lines or more that stand twice and are no list", at_most: 0 },
];

const LONG_FILE: usize = 400;
const LONG_FUNCTION: usize = 60;

/// What was measured, and which places a number counts.
struct Measured {
    value: usize,
    places: Vec<String>,
}

#[test]
fn files_and_functions_fit_in_a_readers_head() {
    let measured = measure();
    let mut offenders = Vec::new();
    for (Limit { of, at_most }, Measured { value, places }) in LIMITS.iter().zip(measured) {
        println!("{value:>4} (at most {at_most})  {of}");
        places.iter().for_each(|place| println!("        {place}"));
        if value > *at_most {
            offenders.push(format!("{value} {of}, at most {at_most}\n    {}", places.join("\n    ")));
        }
    }
    super::none(&offenders, "cut at a change of subject, or share what is the same");
}

/// In the order of `LIMITS`.
fn measure() -> [Measured; 5] {
    let sources = sources();
    let mut files: Vec<_> =
        sources.iter().map(|(name, text)| (without_unit_tests(text).lines().count(), name.clone())).collect();
    let mut functions: Vec<_> = sources.iter().flat_map(|(name, text)| functions(name, text)).collect();
    files.sort_unstable();
    functions.sort_unstable();
    let listed = |of: &[(usize, String)], limit: usize| {
        let places = of.iter().rev().take_while(|(lines, _)| *lines > limit);
        counted(places.map(|(lines, place)| format!("{lines} lines: {place}")).collect())
    };
    let number = |value: usize| Measured { value, places: Vec::new() };
    [
        number(files[files.len() / 2].0),
        listed(&files, LONG_FILE),
        number(functions[functions.len() * 9 / 10].0),
        listed(&functions, LONG_FUNCTION),
        counted(duplicates::find(&sources).iter().map(Run::to_string).collect()),
    ]
}

fn counted(places: Vec<String>) -> Measured {
    Measured { value: places.len(), places }
}

/// Every function with its lines, from its name to its closing brace. Formatted code closes a function in the
/// column in which it began.
fn functions(name: &str, text: &str) -> Vec<(usize, String)> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(function) = function_name(line) else { continue };
        let place = format!("{name}:{}: {function}", at + 1);
        if line.ends_with('}') {
            found.push((1, place));
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = lines[at..].iter().position(|line| line.strip_prefix(indent).is_some_and(is_end));
        match end {
            Some(end) if lines[at + end].ends_with('}') => found.push((end + 1, place)),
            _ => {} // it is declared only
        }
    }
    found
}

/// The end of a function, or of the declaration of one.
fn is_end(line: &str) -> bool {
    line == "}" || !line.starts_with(' ') && line.ends_with(';')
}

/// The name of the function that begins in this line.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_modifier = |word: &str| {
        word.starts_with("pub") || matches!(word, "const" | "async" | "default" | "in" | "super)")
    };
    let name = after.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    (before.split_whitespace().all(is_modifier) && !name.is_empty()).then_some(name)
}

#[test]
fn counts_functions_and_not_their_declarations() {
    let text = "pub(crate) async fn long(\n    a: u8,\n) {\n    inner(|| {\n    });\n}\n\ntrait T {\n    fn told(\n        &self,\n    );\n    fn short() {}\n}\n// the fn of it\n";
    assert_eq!(functions("x.rs", text), [(6, "x.rs:1: long".to_owned()), (1, "x.rs:12: short".to_owned())]);
}

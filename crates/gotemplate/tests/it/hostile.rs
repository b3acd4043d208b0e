//! Templates that try to hang or exhaust the process: each ends in an error, soon and small.

use std::time::{Duration, Instant};

use gotemplate::{Error, ErrorKind, Options, Template};
use serde_json::{Value, json};

/// The time the engine may take; builds without optimisation are slower by more than ten times.
const ALLOWED: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5000 } else { 50 });
const ALLOWED_BYTES: u64 = 64 << 20;
/// What a worker thread of an asynchronous runtime has.
const STACK_BYTES: usize = 2 << 20;

/// Compiles and renders on a small stack, checking time and memory.
fn run(source: &str, data: Value) -> Result<String, Error> {
    let source = source.to_owned();
    let work = move || {
        let shown: String = source.chars().take(100).collect();
        // The best of a few attempts: other programs may keep the processor busy.
        let mut elapsed = Duration::MAX;
        let mut outcome = None;
        for _ in 0..4 {
            let started = Instant::now();
            let spent = allocation_counter::measure(|| outcome = Some(attempt(&source, &data)));
            elapsed = elapsed.min(started.elapsed());
            assert!(spent.bytes_max < ALLOWED_BYTES, "{shown} took {} bytes", spent.bytes_max);
            if elapsed < ALLOWED {
                break;
            }
        }
        assert!(elapsed < ALLOWED, "{shown} took {elapsed:?}");
        outcome.unwrap()
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap()
}

fn attempt(source: &str, data: &Value) -> Result<String, Error> {
    Template::compile("hostile", source, &Options::default())?.render(data)
}

#[track_caller]
fn passes_a_limit(source: &str, data: Value) {
    let shown: String = source.chars().take(100).collect();
    match run(source, data) {
        Ok(output) => panic!("{shown} rendered {} bytes", output.len()),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{shown}: {error}"),
    }
}

/// HD-4
#[test]
fn refuses_a_source_that_is_too_long() {
    passes_a_limit(&"a".repeat((64 << 10) + 1), json!({}));
    assert!(run(&"a".repeat(64 << 10), json!({})).is_ok());
}

/// HD-4
#[test]
fn refuses_blocks_nested_too_deep() {
    for block in ["{{if .}}", "{{with .}}", "{{range .}}"] {
        passes_a_limit(&format!("{}{}", block.repeat(65), "{{end}}".repeat(65)), json!({}));
        assert!(run(&format!("{}{}", block.repeat(64), "{{end}}".repeat(64)), json!({ "a": 1 })).is_ok());
    }
    passes_a_limit(&"{{if .}}".repeat(8000), json!({}));
    passes_a_limit(&format!("{{{{block \"a\" .}}}}{}", "{{if .}}".repeat(70)), json!({}));
}

/// HD-4
#[test]
fn refuses_parentheses_nested_too_deep() {
    passes_a_limit(&format!("{{{{{}.{}}}}}", "(".repeat(65), ")".repeat(65)), json!({}));
    passes_a_limit(&format!("{{{{{}", "(".repeat(60_000)), json!({}));
    assert!(run(&format!("{{{{{}.{}}}}}", "(".repeat(64), ")".repeat(64)), json!(1)).is_ok());
    passes_a_limit(&format!("{{{{{}1{}}}}}", "print (not ".repeat(5000), ")".repeat(5000)), json!({}));
}

/// HD-4
#[test]
fn refuses_chains_that_are_too_long() {
    passes_a_limit(&format!("{{{{{}}}}}", ".a".repeat(66)), json!({}));
    passes_a_limit(&format!("{{{{$x := 1}}}}{{{{$x{}}}}}", ".a".repeat(30_000)), json!({}));
    passes_a_limit(&format!("{{{{(.a){}}}}}", ".a".repeat(65)), json!({}));
    passes_a_limit(&format!("{{{{.{}}}}}", " | print".repeat(64)), json!({}));
}

/// HD-4
#[test]
fn survives_a_long_run_of_else_if() {
    let source = format!("{{{{if .}}}}{}{{{{end}}}}", "{{else if .}}".repeat(4500));
    assert_eq!(run(&source, json!(null)).unwrap(), "");
}

/// HD-4
#[test]
fn stops_strings_that_double() {
    let print = "{{$x = print $x $x}}".repeat(40);
    passes_a_limit(&format!("{{{{$x := \"aaaaaaaa\"}}}}{print}"), json!({}));
    passes_a_limit("{{$x := \"aaaaaaaa\"}}{{range 100000}}{{$x = print $x $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := \"a\"}}{{range 100000}}{{$x = printf \"%s%s\" $x $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := \"a\"}}{{range 100000}}{{$x = cat $x $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := \"\\n\"}}{{range 100000}}{{$x = quote $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := \"<\"}}{{range 100000}}{{$x = html $x $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := \"a\"}}{{range 100000}}{{$x = b64enc $x}}{{end}}", json!({}));
}

/// HD-4
#[test]
fn stops_strings_that_are_made_again_and_again() {
    let big = json!({ "s": "ab cd ".repeat(100_000) });
    for function in
        ["upper", "lower", "title", "nospace", "sha256sum", "b64enc", "quote", "js", "html", "toJson"]
    {
        passes_a_limit(&format!("{{{{range 100000}}}}{{{{$x := {function} $.s}}}}{{{{end}}}}"), big.clone());
    }
    passes_a_limit("{{range 100000}}{{if contains \"zz\" $.s}}{{end}}{{end}}", big.clone());
    passes_a_limit("{{range 100000}}{{if eq $.s (print $.s \"\")}}{{end}}{{end}}", big.clone());
    passes_a_limit("{{range 100000}}{{$x := splitList \" \" $.s}}{{end}}", big.clone());
    passes_a_limit("{{range 100000}}{{$x := splitList \"\" $.s}}{{end}}", big.clone());
    passes_a_limit("{{$x := splitList \"\" .s}}{{range 100000}}{{$y := reverse $x}}{{end}}", big.clone());
    passes_a_limit("{{range 100000}}{{$x := regexFind \"b+c\" $.s}}{{end}}", big);
}

/// HD-4
#[test]
fn stops_lists_that_double() {
    passes_a_limit("{{$x := list 1 2}}{{range 100000}}{{$x = concat $x $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := list 1}}{{range 100000}}{{$x = append $x $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := list 1}}{{range 100000}}{{$x = prepend $x 1}}{{end}}", json!({}));
    passes_a_limit("{{$x := list 1}}{{range 100000}}{{$x = list $x $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := list 1}}{{range 40}}{{$x = list $x $x}}{{end}}{{$x}}", json!({}));
    passes_a_limit("{{$x := list 1}}{{range 40}}{{$x = list $x $x}}{{end}}{{toJson $x}}", json!({}));
    passes_a_limit("{{$x := list}}{{range 40}}{{$x = list $x $x}}{{end}}{{has $x (list $x)}}", json!({}));
    passes_a_limit("{{$x := list 1}}{{range 40}}{{$x = list $x $x}}{{end}}{{printf \"%d\" $x}}", json!({}));
    for until in ["until 1000000000", "until 9223372036854775807", "untilStep -9223372036854775807 9 1"] {
        passes_a_limit(&format!("{{{{len ({until})}}}}"), json!({}));
    }
    passes_a_limit("{{range 100000}}{{$x := until 100000}}{{end}}", json!({}));
    passes_a_limit("{{$x := until 20000}}{{range 100000}}{{$y := chunk 1 $x}}{{end}}", json!({}));
}

/// HD-4
#[test]
fn stops_maps_that_double() {
    passes_a_limit("{{$x := dict \"a\" 1}}{{range 100000}}{{$x = dict \"a\" $x \"b\" $x}}{{end}}", json!({}));
    passes_a_limit(
        "{{$x := dict}}{{range 60}}{{$x = dict \"a\" $x \"b\" $x}}{{end}}{{toJson $x}}",
        json!({}),
    );
    passes_a_limit(
        "{{$x := dict}}{{range 60}}{{$x = dict \"a\" $x \"b\" $x}}{{end}}{{has $x (list $x)}}",
        json!({}),
    );
    let wide: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("k{}", n * 7919 % 20_000), json!(n))).collect();
    passes_a_limit("{{range 100000}}{{$x := keys $.m}}{{end}}", json!({ "m": &wide }));
    passes_a_limit("{{range 100000}}{{$x := omit $.m \"a\"}}{{end}}", json!({ "m": &wide }));
    passes_a_limit("{{range 100000}}{{range $.m}}{{break}}{{end}}{{end}}", json!({ "m": wide }));
}

/// HD-4
#[test]
fn stops_templates_that_call_themselves() {
    passes_a_limit("{{define \"r\"}}{{template \"r\"}}{{end}}{{template \"r\"}}", json!({}));
    passes_a_limit("{{template \"hostile\"}}", json!({}));
    passes_a_limit(
        "{{define \"a\"}}{{template \"b\" .}}{{end}}{{define \"b\"}}{{template \"a\" .}}{{end}}{{template \"a\" .}}",
        json!({}),
    );
    let twice = "{{define \"r\"}}{{if .}}{{template \"r\" (rest .)}}{{template \"r\" (rest .)}}{{end}}{{end}}{{template \"r\" .}}";
    passes_a_limit(twice, json!(vec![1; 60]));
}

/// HD-4
#[test]
fn runs_the_deepest_program_on_a_small_stack() {
    let (open, close) = ("{{range .}}".repeat(63), "{{end}}".repeat(63));
    let inner = "{{template \"r\" $}}";
    passes_a_limit(
        &format!("{{{{define \"r\"}}}}{open}{inner}{close}{{{{end}}}}{{{{template \"r\" .}}}}"),
        nested(63),
    );
}

fn chained(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| Value::Object([("a".to_owned(), inner)].into_iter().collect()))
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| Value::Array(vec![inner]))
}

/// HD-4
#[test]
fn stops_loops_that_never_seem_to_end() {
    passes_a_limit("{{range 100001}}{{end}}", json!({}));
    passes_a_limit("{{range 1000}}{{range 1000}}{{end}}{{end}}", json!({}));
    passes_a_limit("{{range 9223372036854775807}}{{end}}", json!({}));
    passes_a_limit("{{range .n}}{{end}}", json!({ "n": u64::MAX }));
    passes_a_limit(&format!("{{{{range 100000}}}}{}{{{{end}}}}", "{{if .}}{{end}}".repeat(4000)), json!({}));
    passes_a_limit(
        &format!("{{{{range 100000}}}}{{{{$x := or{}}}}}{{{{end}}}}", " 0".repeat(30_000)),
        json!({}),
    );
    passes_a_limit(
        &format!("{{{{range 100000}}}}{{{{$x := list{}}}}}{{{{end}}}}", " 0".repeat(30_000)),
        json!({}),
    );
    assert!(run("{{range 99999}}{{end}}", json!({})).is_ok());
    let deep = format!("{{{{if $x{}}}}}{{{{end}}}}", ".a".repeat(64));
    passes_a_limit(
        &format!("{{{{$x := .}}}}{{{{range 100000}}}}{}{{{{end}}}}", deep.repeat(400)),
        chained(64),
    );
    let slots: String = (0..4000).map(|n| format!(" ($v{n} := 1)")).collect();
    let slots = format!("{{{{define \"t\"}}}}{{{{if .}}}}{{{{list{slots}}}}}{{{{end}}}}{{{{end}}}}");
    passes_a_limit(&format!("{slots}{{{{range 100000}}}}{{{{template \"t\"}}}}{{{{end}}}}"), json!({}));
}

/// HD-4
#[test]
fn stops_an_output_that_is_too_long() {
    passes_a_limit("{{range 100000}}aaaaaaaaaaaaaaa{{end}}", json!({}));
    passes_a_limit("{{range 100}}{{$.s}}{{end}}", json!({ "s": "a".repeat(100_000) }));
    passes_a_limit("{{range 100}}{{$}}{{end}}", json!({ "s": "a".repeat(100_000) }));
}

/// HD-4
#[test]
fn stops_repetition_and_padding() {
    passes_a_limit("{{repeat 1000000000 \"a\"}}", json!({}));
    passes_a_limit("{{repeat 9223372036854775807 \"ab\"}}", json!({}));
    passes_a_limit("{{range 1000}}{{$x := repeat 1000000 \"a\"}}{{end}}", json!({}));
    passes_a_limit("{{indent 1000000000 \"a\"}}", json!({}));
    passes_a_limit("{{nindent 9223372036854775807 \"a\"}}", json!({}));
    passes_a_limit("{{indent 1000 (repeat 10000 \"\\n\")}}", json!({}));
    passes_a_limit("{{replace \"a\" (repeat 10000 \"b\") (repeat 10000 \"a\")}}", json!({}));
    passes_a_limit("{{replace \"\" (repeat 10000 \"b\") (repeat 10000 \"a\")}}", json!({}));
    passes_a_limit("{{join (repeat 10000 \",\") (until 10000)}}", json!({}));
    passes_a_limit("{{toPrettyJson (until 200000)}}", json!({}));
}

/// HD-4
#[test]
fn stops_printf_widths() {
    for verb in ["%10001d", "%.10001f", "%99999999999999999999d", "%010001d", "%-10001s", "%.99999999x"] {
        passes_a_limit(&format!("{{{{printf \"{verb}\" 1}}}}"), json!({}));
    }
    passes_a_limit("{{printf \"%*d\" 10001 1}}", json!({}));
    passes_a_limit("{{printf \"%.*f\" 10001 1.5}}", json!({}));
    let many = "%10000d".repeat(200);
    passes_a_limit(&format!("{{{{printf \"{many}\" {}}}}}", "1 ".repeat(200)), json!({}));
    assert_eq!(run("{{printf \"%10000d\" 1 | len}}", json!({})).unwrap(), "10000");
}

/// HD-4
#[test]
fn stops_regular_expression_bombs() {
    let data = json!({ "s": "ab".repeat(100_000) });
    passes_a_limit("{{regexMatch \"((a{100}){100}){100}\" .s}}", data.clone());
    passes_a_limit("{{regexMatch \"[ab]*a[ab]{200}c\" .s}}", data.clone());
    let exponential = format!("{{{{regexFind \"(?:a|b)*a{}c\" .s}}}}", "(?:a|b)".repeat(40));
    passes_a_limit(&exponential, data.clone());
    let barely_allowed = format!("{{{{regexFind \"(?:a|b)*a{}c\" .s}}}}", "(?:a|b)".repeat(28));
    assert!(run(&barely_allowed, data.clone()).is_ok());
    passes_a_limit("{{regexReplaceAll \"a\" .s (repeat 10000 \"$0\")}}", data.clone());
    passes_a_limit("{{regexReplaceAll \"\" .s (repeat 10000 \"${x}\")}}", data);
    passes_a_limit("{{regexMatch (repeat 5000 \"a\") \"a\"}}", json!({}));
    passes_a_limit("{{range 100000}}{{$x := regexMatch (print \"a\" .) \"a\"}}{{end}}", json!({}));
    assert!(run(&format!("{{{{regexMatch `{}` \"a\"}}}}", "(".repeat(4000)), json!({})).is_ok());
}

/// HD-4
#[test]
fn stops_values_that_are_too_deep() {
    passes_a_limit("{{$x := list}}{{range 100000}}{{$x = list $x}}{{end}}", json!({}));
    passes_a_limit("{{$x := dict}}{{range 100000}}{{$x = dict \"a\" $x}}{{end}}", json!({}));
    passes_a_limit("{{fromJson (repeat 100000 \"[\")}}", json!({}));
    for action in
        ["{{.}}", "{{toJson .}}", "{{printf \"%d\" .}}", "{{has . (list .)}}", "{{print .}}", "{{html .}}"]
    {
        let deep = Deep::new(20_000);
        let outcome = Template::compile("deep", action, &Options::default()).unwrap().render(&deep.0);
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Limit, "{action}");
    }
}

/// A value too deep to be dropped by recursion.
struct Deep(Value);

impl Deep {
    fn new(depth: usize) -> Self {
        Self(nested(depth))
    }
}

impl Drop for Deep {
    fn drop(&mut self) {
        while let Value::Array(items) = &mut self.0 {
            let inner = items.pop().unwrap_or(Value::Null);
            self.0 = inner;
        }
    }
}

/// HD-4
#[test]
fn limits_can_be_set() {
    let mut options = Options::default();
    options.limits.steps = 3;
    options.limits.output_bytes = 10;
    options.limits.nesting = 2;
    options.limits.source_bytes = 60;
    let kind = |source: &str| {
        let rendered =
            Template::compile("t", source, &options).and_then(|template| template.render(&json!({})));
        rendered.map_err(|error| error.kind())
    };
    assert_eq!(kind("{{range 3}}{{.}}{{end}}").as_deref(), Ok("012"));
    assert_eq!(kind("{{range 4}}{{.}}{{end}}"), Err(ErrorKind::Limit));
    assert_eq!(kind("0123456789"), Ok("0123456789".to_owned()));
    assert_eq!(kind("0123456789a"), Err(ErrorKind::Limit));
    assert_eq!(kind("{{if 1}}{{if 1}}{{if 1}}{{end}}{{end}}{{end}}"), Err(ErrorKind::Limit));
    assert_eq!(kind(&"a".repeat(61)), Err(ErrorKind::Limit));
    options.limits.nesting = usize::MAX;
    options.limits.source_bytes = usize::MAX;
    let bottomless = "(".repeat(1_000_000);
    let error = Template::compile("t", &format!("{{{{{bottomless}"), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

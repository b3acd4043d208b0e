//! What errors say: kind, place, source line and expectation.

use gotemplate::{Error, ErrorKind, Missing, Options, Template};
use serde_json::json;

fn compile_error(source: &str) -> Error {
    Template::compile("order", source, &Options::default()).unwrap_err()
}

fn render_error(source: &str) -> Error {
    let data = json!({ "name": "Ada", "items": [1, 2], "user": { "id": 7 } });
    Template::compile("order", source, &Options::default()).unwrap().render(&data).unwrap_err()
}

fn place(error: &Error) -> (ErrorKind, usize, usize) {
    (error.kind(), error.line(), error.column())
}

/// HD-5
#[test]
fn a_syntax_error_names_line_and_column() {
    assert_eq!(place(&compile_error("line one\n  {{ if .a }}x{{ else }")), (ErrorKind::Syntax, 2, 23));
    assert_eq!(place(&compile_error("中文 {{ .a | }x")), (ErrorKind::Syntax, 1, 12));
    assert_eq!(place(&compile_error("{{ end }}")), (ErrorKind::Syntax, 1, 4));
    assert_eq!(place(&compile_error("a\nb\n{{ nofunc .x }}")), (ErrorKind::UnknownFunction, 3, 4));
    assert_eq!(place(&compile_error("{{ .a }}\n{{ $b }}")), (ErrorKind::UnknownVariable, 2, 4));
    assert_eq!(place(&compile_error("{{ \"open }}")), (ErrorKind::Syntax, 1, 4));
    assert_eq!(place(&compile_error("{{ if .a }}\n\n")), (ErrorKind::Syntax, 3, 1));
}

/// HT-3.7
#[test]
fn a_failed_rendering_says_what_failed_and_where() {
    assert_eq!(place(&render_error("{{ .name }}\n{{ .name.first }}")), (ErrorKind::Type, 2, 4));
    assert_eq!(place(&render_error("{{ index .items 9 }}")), (ErrorKind::Index, 1, 4));
    assert_eq!(place(&render_error("{{ if true }}{{ upper 5 }}{{ end }}")), (ErrorKind::Type, 1, 17));
    assert_eq!(place(&render_error("{{ upper }}")), (ErrorKind::Arity, 1, 4));
    assert_eq!(place(&render_error("{{ template \"row\" . }}")), (ErrorKind::UnknownTemplate, 1, 4));
    assert_eq!(place(&render_error("{{ fail \"no stock\" }}")), (ErrorKind::Function, 1, 4));
    assert_eq!(place(&render_error("{{ range .name }}{{ end }}")), (ErrorKind::Type, 1, 10));
    assert_eq!(place(&render_error("{{ range 3 }}\n{{ lt . \"a\" }}{{ end }}")), (ErrorKind::Type, 2, 4));
    assert_eq!(render_error("{{ fail \"no stock\" }}").message(), "no stock");
}

/// HT-3.7 HD-5
#[test]
fn the_report_shows_the_line_with_a_caret() {
    let error = compile_error("Dear {{ .name }},\n{{ uper .name }} — 您好\n");
    let report = "error: function \"uper\" is not defined\n \
        --> order:2:4\n  |\n2 | {{ uper .name }} — 您好\n  |    ^\n  = expected perhaps \"upper\"\n";
    assert_eq!(error.report(), report);
    assert_eq!(error.to_string(), "order:2:4: function \"uper\" is not defined (expected perhaps \"upper\")");
    assert_eq!(error.source_line(), "{{ uper .name }} — 您好");
    assert_eq!(error.template(), "order");
}

#[test]
fn the_report_shows_a_part_of_a_very_long_line() {
    let source = format!("{}{{{{ nofunc }}}}{}", "x".repeat(5000), "y".repeat(5000));
    let report = compile_error(&source).report();
    assert!(report.len() < 500, "{report}");
    assert!(report.contains("{{ nofunc }}"), "{report}");
}

#[test]
fn errors_say_what_was_expected() {
    assert_eq!(compile_error("{{ .a").expected(), Some("\"}}\""));
    assert_eq!(compile_error("{{ if }}{{ end }}").expected(), Some("a value for if"));
    assert_eq!(render_error("{{ upper 5 }}").expected(), Some("a string"));
    assert_eq!(render_error("{{ substr 1 }}").expected(), Some("3: start end text"));
    assert_eq!(render_error("{{ .name.first }}").expected(), Some("an object"));
}

#[test]
fn every_kind_has_a_word() {
    assert_eq!(ErrorKind::UnknownFunction.as_str(), "unknown_function");
    assert_eq!(ErrorKind::Limit.as_str(), "limit");
}

#[test]
fn text_that_is_no_json_is_refused_with_its_place() {
    let template = Template::compile("order", "{{ . }}", &Options::default()).unwrap();
    for text in ["", "{", "[1,]", "{\"a\":}", "01", "\"\\x\"", "nul", "[1] 2", "{1:2}", "\"open", "-"] {
        assert_eq!(template.render_json(text).unwrap_err().kind(), ErrorKind::Data, "{text}");
    }
    assert_eq!(template.render_json(" [ 1 , -0 , \"\\u00e9\" ] ").unwrap(), "[1 -0 é]");
}

#[test]
fn missing_keys_are_shown_as_the_options_say() {
    let render = |missing, source: &str| {
        let options = Options { missing, ..Options::default() };
        Template::compile("t", source, &options).unwrap().render(&json!({ "null": null, "a": {} }))
    };
    let source = "[{{ .nope }}][{{ .null }}][{{ .a.b.c }}][{{ html .nope }}]";
    assert_eq!(
        render(Missing::NoValue, source).unwrap(),
        "[<no value>][<no value>][<no value>][&lt;no value&gt;]"
    );
    assert_eq!(render(Missing::Empty, source).unwrap(), "[][][][]");
    assert_eq!(render(Missing::Error, "[{{ .null }}]").unwrap(), "[<no value>]");
    assert_eq!(render(Missing::Error, "{{ .nope }}").unwrap_err().kind(), ErrorKind::Missing);
    assert_eq!(render(Missing::Error, "{{ .null.x }}").unwrap_err().kind(), ErrorKind::Missing);
    for source in
        ["{{ .nope }}", "{{ .null }}", "{{ .null.x }}", "{{ html .null }}", "{{ .a | len }}{{ .null }}"]
    {
        assert_eq!(render(Missing::Strict, source).unwrap_err().kind(), ErrorKind::Missing, "{source}");
    }
    let guarded = "{{ if .null }}{{ .null }}{{ end }}{{ default 1 .null }}{{ \"<no value>\" }}";
    assert_eq!(render(Missing::Strict, guarded).unwrap(), "1<no value>");
}

#[test]
fn nothing_is_written_when_rendering_fails() {
    let template = Template::compile("t", "before {{ fail \"x\" }}", &Options::default()).unwrap();
    let mut written = String::new();
    assert!(template.render_into(&mut written, &json!({})).is_err());
    assert_eq!(written, "");
    let template = Template::compile("t", "{{ .a }}", &Options::default()).unwrap();
    template.render_into(&mut written, &json!({ "a": 1 })).unwrap();
    assert_eq!(written, "1");
}

struct Full;

impl std::fmt::Write for Full {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Err(std::fmt::Error)
    }
}

#[test]
fn a_writer_that_refuses_is_an_error() {
    let template = Template::compile("t", "a", &Options::default()).unwrap();
    assert_eq!(template.render_into(&mut Full, &json!({})).unwrap_err().kind(), ErrorKind::Write);
}

//! Go's finer points, and where we differ from it on purpose.

use gotemplate::{Options, Template};
use serde_json::{Value, json};

#[track_caller]
fn check(data: &Value, cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let rendered =
            Template::compile("main", source, &Options::default()).and_then(|template| template.render(data));
        match rendered {
            Ok(output) => assert_eq!(output, *expected, "{source}"),
            Err(error) => panic!("{source}: {error}"),
        }
    }
}

#[track_caller]
fn fails(data: &Value, sources: &[&str]) {
    for source in sources {
        let rendered =
            Template::compile("main", source, &Options::default()).and_then(|template| template.render(data));
        assert!(rendered.is_err(), "{source} renders {rendered:?}");
    }
}

/// HT-3.3
#[test]
fn loops_bind_variables_as_go_does() {
    let data = json!({ "xs": [1, 2], "none": [], "m": { "b": 1, "a": 2 }, "n": 2 });
    check(
        &data,
        &[
            ("{{range $x := .none}}{{else}}{{$x}}{{end}}", "[]"),
            ("{{$v := 9}}{{range $v = .none}}{{else}}{{$v}}{{end}}", "[]"),
            ("{{range $i, $x := .xs}}{{$i}}{{$x}}{{end}}", "0112"),
            ("{{$i := 7}}{{$x := 8}}{{range $i, $x = .xs}}{{end}}{{$i}}{{$x}}", "12"),
            ("{{range $k, $v := .m}}{{$k}}{{$v}}{{end}}", "a2b1"),
            ("{{range .xs}}{{with 5}}{{continue}}{{end}}{{end}}{{.n}}", "2"),
            ("{{range .xs}}{{with 5}}{{break}}{{end}}{{end}}{{.n}}", "2"),
            ("{{range add 1 1}}{{.}}{{end}}", "01"),
            ("{{range .xs}}{{range $.none}}{{else}}{{break}}{{end}}x{{end}}", ""),
            ("{{range $x := .xs}}{{$x = 5}}{{$x}}{{end}}", "55"),
        ],
    );
    fails(&data, &["{{range $i, $x := 0}}{{end}}", "{{range $i, $x := .n}}{{end}}", "{{range 1.5}}{{end}}"]);
}

#[test]
fn variables_live_as_long_as_in_go() {
    let data = json!({ "t": true, "f": false });
    check(
        &data,
        &[
            ("{{$x := 1}}{{if .t}}{{$x := 2}}{{$x = 3}}{{end}}{{$x}}", "1"),
            ("{{$x := 1}}{{$x := add $x 1}}{{$x}}", "2"),
            ("{{if .f}}{{$x = 1}}{{end}}ok", "ok"),
            ("{{($x := 1)}}{{$x}}", "11"),
            ("{{template \"t\" $x := 5}}{{$x}}{{define \"t\"}}{{.}}{{end}}", "55"),
            ("{{with $x := 5}}{{end}}{{if $y := .f}}{{else}}{{$y}}{{end}}", "false"),
        ],
    );
    fails(
        &data,
        &[
            "{{$x := $x}}",
            "{{if .f}}{{$x := 1}}{{else}}{{$x}}{{end}}",
            "{{or .t ($x := 1)}}{{$x}}",
            "{{$x = 1}}{{$x}}",
        ],
    );
}

#[test]
fn blank_definitions_give_way() {
    check(
        &json!({}),
        &[
            ("{{define \"t\"}} {{end}}{{define \"t\"}}x{{end}}{{template \"t\"}}", "x"),
            ("{{define \"t\"}}x{{end}}{{define \"t\"}} {{end}}{{template \"t\"}}", "x"),
            ("{{define \"main\"}}own{{end}}", "own"),
        ],
    );
    fails(
        &json!({}),
        &["{{define \"t\"}}x{{end}}{{define \"t\"}}y{{end}}", "x{{define \"main\"}}own{{end}}"],
    );
}

#[test]
fn literals_are_gos() {
    check(
        &json!({}),
        &[
            ("{{1_000}} {{0x_ff}} {{0b11}} {{0o17}} {{+5}} {{-0}}", "1000 255 3 15 5 0"),
            ("{{1_0.5}} {{.5}} {{1e-7}} {{0x1p-2}} {{1e21}} {{-2.50}}", "10.5 0.5 1e-7 0.25 1e+21 -2.5"),
            ("{{`a\r\nb`}}", "a\nb"),
            ("{{\"\\u00e9\\x41\\101\\U0001F600\"}}", "éAA😀"),
            ("{{'\\xff'}} {{'\\377'}} {{'\"'}}", "255 255 34"),
            ("{{repeat 2.0 \"x\"}}", "xx"),
        ],
    );
    fails(
        &json!({}),
        &[
            "{{1i}}",
            "{{08}}",
            "{{1_}}",
            "{{_1}}",
            "{{0x}}",
            "{{99999999999999999999}}",
            "{{18446744073709551615}}",
            "{{\"\\'\"}}",
            "{{'\\\"'}}",
            "{{''}}",
            "{{\"\\400\"}}",
            "{{\"a\nb\"}}",
            "{{1+2i}}",
            "{{.5.5}}",
            "{{nil}}",
            "{{1.a}}",
            "{{\"a\".b}}",
            "{{..a}}",
        ],
    );
}

#[test]
fn strings_are_bytes_until_they_are_printed() {
    check(
        &json!({ "zh": "中文" }),
        &[
            ("{{len (slice .zh 0 2)}}", "2"),
            ("{{slice .zh 0 1}}{{slice .zh 1 3}}", "中"),
            ("{{print (slice .zh 0 1) (slice .zh 1)}}", "中文"),
            ("{{slice .zh 0 2}}", "\u{fffd}\u{fffd}"),
            ("{{printf \"%x %q\" (slice .zh 0 1) (slice .zh 0 1)}}", "e4 \"\\xe4\""),
            ("{{trunc 3 .zh}}|{{trunc -3 .zh}}|{{substr 0 3 .zh}}", "中|文|中"),
            ("{{\"\\xff\" | b64enc}}", "/w=="),
        ],
    );
}

#[test]
fn printf_follows_go() {
    let data = json!({ "xs": [1, "a", null, 2.5], "m": { "k": [true] } });
    check(
        &data,
        &[
            (
                "{{printf \"%6.2f|%-8d|%+d|% d|%x|%X|%#x\" 3.14159 42 7 7 255 255 255}}",
                "  3.14|42      |+7| 7|ff|FF|0xff",
            ),
            (
                "{{printf \"%08.3f|%+08d|%-08d|%08s\" -3.14159 42 42 \"ab\"}}",
                "-003.142|+0000042|42      |000000ab",
            ),
            (
                "{{printf \"%t|%v|%T|%T|%T\" true nil nil .xs .m}}",
                "true|<nil>|<nil>|[]interface {}|map[string]interface {}",
            ),
            (
                "{{printf \"%c|%U|%#U|%q|%#q|%+q\" 65 0x4e2d 0x4e2d 0x4e2d \"ab\" \"中\"}}",
                "A|U+4E2D|U+4E2D '中'|'中'|`ab`|\"\\u4e2d\"",
            ),
            (
                "{{printf \"%e|%E|%g|%G|%.3g|%g\" 1234.5678 1234.5678 1e-7 1e-7 1234.5678 100000.0}}",
                "1.234568e+03|1.234568E+03|1e-07|1E-07|1.23e+03|100000",
            ),
            (
                "{{printf \"%#v %#v %#v\" .xs .m \"q\"}}",
                "[]interface {}{1, \"a\", interface {}(nil), 2.5} map[string]interface {}{\"k\":[]interface {}{true}} \"q\"",
            ),
            ("{{printf \"%*d|%-*d|%.*f\" 5 42 5 42 2 3.14159}}", "   42|42   |3.14"),
            ("{{printf \"%[2]d %[1]d\" 1 2}}", "2 1"),
            (
                "{{printf \"%d %s\" 1}}|{{printf \"%d\" 1 2}}|{{printf \"%!\"}}|{{printf \"%\"}}",
                "1 %!s(MISSING)|1%!(EXTRA int=2)|%!!(MISSING)|%!(NOVERB)",
            ),
            ("{{printf \"%z %d %5t\" 1 \"a\" true}}", "%!z(int=1) %!d(string=a)  true"),
            (
                "{{printf \"%s|%d|%x\" .xs .xs \"hi\"}}",
                "[%!s(int=1) a <nil> %!s(float64=2.5)]|[1 %!d(string=a) <nil> %!d(float64=2.5)]|6869",
            ),
            (
                "{{printf \"% x|%#x|%.2s|%.0d|%5.3d\" \"abc\" \"abc\" \"héllo\" 0 7}}",
                "61 62 63|0x616263|hé||  007",
            ),
            ("{{printf \"%o %#o %O %b\" 8 8 8 5}}", "10 010 0o10 101"),
            ("{{printf \"%x %b\" 1.5 1.0}}", "0x1.8p+00 4503599627370496p-52"),
            ("{{printf \"%v %d %.1f\" 5.0 5.0 5}}", "5 5 5.0"),
            ("{{printf \"%6.3v|%T|%v\" 3.14159 (add 1 2) (index \"a\" 0)}}", "  3.14|int64|97"),
        ],
    );
}

#[test]
fn numbers_print_and_compare_without_surprises() {
    let data = json!({ "i": 12_345_678, "f": 1_234_567.89, "whole": 5.0, "u": u64::MAX, "js": 9_007_199_254_740_993i64 });
    check(
        &data,
        &[
            ("{{.i}} {{.f}} {{.whole}} {{.u}}", "12345678 1234567.89 5 18446744073709551615"),
            (
                "{{eq .whole 5}} {{lt 4 .whole}} {{gt .u 1.5}} {{eq .js 9007199254740992.0}}",
                "true true true false",
            ),
            ("{{print .f}} {{toString .f}} {{toJson .f}}", "1234567.89 1234567.89 1234567.89"),
            ("{{has 5 (list .whole)}} {{uniq (list 1 1.0 2)}}", "true [1 2]"),
        ],
    );
    fails(&data, &["{{eq .i \"5\"}}", "{{lt .i nil}}", "{{eq true 1}}"]);
    let template =
        Template::compile("t", "{{.x}} {{eq .x .x}} {{gt .x 5}} {{printf \"%d\" .x}}", &Options::default())
            .unwrap();
    let big = template.render_json("{\"x\":123456789012345678901234567890}").unwrap();
    assert_eq!(big, "123456789012345678901234567890 true true 123456789012345678901234567890");
}

fn sample() -> serde_json::Value {
    json!({ "m": { "b": 2, "a": { "x": null } }, "xs": [3, 1, null, ""], "s": "a-b", "null": null })
}

#[test]
fn functions_of_numbers_follow_sprig() {
    check(
        &sample(),
        &[
            (
                "{{addf 0.1 0.2}} {{subf 0.3 0.1}} {{mulf 0.1 3}} {{divf 2 3}} {{divf 10 4}}",
                "0.3 0.2 0.3 0.6666666666666667 2.5",
            ),
            (
                "{{round 2.5 0}} {{round -2.3 0}} {{round 3.14159 2}} {{floor -1.5}} {{ceil 1.2}}",
                "3 -3 3.14 -2 2",
            ),
            (
                "{{int \"0x10\"}} {{int \"010\"}} {{int \"x\"}} {{int true}} {{int nil}} {{float64 \"1e3\"}}",
                "16 8 0 1 0 1000",
            ),
            ("{{add \"1\" 2.9 true}} {{sub 1 2}} {{div -7 2}} {{mod -7 3}} {{max 1 2.9}}", "4 -1 -3 -1 2"),
            ("{{until -3}} {{untilStep 5 0 -2}} {{untilStep 0 5 -1}} {{until 0}}", "[0 -1 -2] [5 3 1] [] []"),
        ],
    );
}

#[test]
fn functions_of_texts_follow_sprig() {
    check(
        &sample(),
        &[
            (
                "{{title \"hello wörld-x_y\"}} {{upper \"straße\"}} {{lower \"ÀB\"}}",
                "Hello Wörld-X_y STRAßE àb",
            ),
            (
                "{{replace \"\" \".\" \"ab\"}} {{splitList \"\" \"ab\"}} {{splitList \"-\" .s}}",
                ".a.b. [a b] [a b]",
            ),
            ("{{quote \"a\\n\" nil 5}} {{squote \"a\" nil}} {{cat nil \"a\" 1}}", "\"a\\n\" \"5\" 'a' a 1"),
            (
                "{{b64dec \"!!\"}} {{b64dec \"aGk\"}}",
                "illegal base64 data at input byte 0 illegal base64 data at input byte 0",
            ),
            (
                "{{regexReplaceAll \"(?P<n>a)\" \"banana\" \"${n}-$n_\"}} {{regexMatch \"(\" \"a\"}}",
                "ba-na-na- false",
            ),
            (
                "{{regexFind `\\d+\\s\\w` \"a١ 12 b\"}} {{regexMatch `{\"a\"}` `{\"a\"}`}} {{regexFind `[[a&&b]+` \"x[&a\"}}",
                "12 b true [&a",
            ),
            (
                "{{trimAll \"ab\" \"abcab\"}} {{trunc 10 \"ab\"}} {{trunc -10 \"ab\"}} {{substr -1 2 \"abc\"}} {{substr 1 -1 \"abc\"}}",
                "c ab ab ab bc",
            ),
            ("{{repeat (sub 4 2) \"-\"}} {{plural \"a\" \"b\" (len \"x\")}}", "-- a"),
        ],
    );
}

#[test]
fn functions_of_maps_and_lists_follow_sprig() {
    check(
        &sample(),
        &[
            (
                "{{join \",\" .xs}} {{compact .xs}} {{without .xs nil \"\"}} {{join \"-\" 5}}",
                "3,1, [3 1] [3 1] 5",
            ),
            ("{{dict \"a\"}} {{dict \"a\" 1 \"a\" 2}} {{dict 1 2}}", "map[a:] map[a:2] map[1:2]"),
            (
                "{{get .m \"zz\" | quote}} {{hasKey .nope \"a\"}} {{values .m}} {{keys .m}}",
                "\"\" false [map[x:<nil>] 2] [a b]",
            ),
            (
                "{{dig \"a\" \"y\" \"d\" .m}} {{dig \"b\" 0 .m}} {{dig \"a\" \"x\" \"d\" .m}}",
                "d 2 <no value>",
            ),
            ("{{safeGet \"a.x.y\" .m}} {{safeGetOr \"a.x\" .m 5}} {{safeGet \"xs.1\" .}}", "<no value> 5 1"),
            (
                "{{fromJson \"{bad\"}} {{fromJson \"null\"}} {{kindOf nil}} {{kindOf (add 1 2)}}",
                "<no value> <no value> invalid int64",
            ),
            (
                "{{first (list)}} {{rest (list)}} {{initial (list 1)}} {{chunk 2 (list)}}",
                "<no value> <no value> [] []",
            ),
            (
                "{{default \"d\"}} {{coalesce}} {{all}} {{any}} {{has 1 nil}} {{atoi \"1x\"}}",
                "d <no value> true false false 0",
            ),
            (
                "{{toJson \"<\\u2028\\b\\u007f>\"}} {{toRawJson \"<>&\"}}",
                "\"\\u003c\\u2028\\b\u{7f}\\u003e\" \"<>&\"",
            ),
            (
                "{{toPrettyJson (dict \"a\" (list) \"b\" (list 1))}}",
                "{\n  \"a\": [],\n  \"b\": [\n    1\n  ]\n}",
            ),
        ],
    );
}

#[test]
fn functions_refuse_what_sprig_refuses() {
    fails(
        &sample(),
        &[
            "{{upper 5}}",
            "{{upper nil}}",
            "{{ternary 1 2 3}}",
            "{{div 1 0}}",
            "{{mod 1 0}}",
            "{{divf 1 0}}",
            "{{first nil}}",
            "{{first \"ab\"}}",
            "{{repeat -1 \"a\"}}",
            "{{dig \"b\" \"c\" \"d\" .m}}",
            "{{regexFind \"(\" \"a\"}}",
            "{{chunk 0 .xs}}",
            "{{substr 2 1 \"abc\"}}",
            "{{hasKey .xs \"a\"}}",
            "{{join 1 .xs}}",
            "{{concat .xs 1}}",
            "{{dig \"a\" .m}}",
        ],
    );
}

#[test]
fn fields_of_nothing_take_arguments_and_stay_nothing() {
    check(&json!({ "a": {} }), &[("{{.nope.x 1}}", "<no value>"), ("{{1 | .nope.x}}", "<no value>")]);
    fails(
        &json!({ "a": {} }),
        &["{{.a 1}}", "{{1 | .a}}", "{{(.a) 1}}", "{{$ 1}}", "{{. 1}}", "{{index nil 0}}"],
    );
}

//! The table of all functions: name, arguments, what runs, what it does, and an example that is tested.

use super::Family::{Access, Encoding, Json, Lists, Logic, Maps, Maths, Output, Strings, Values};
use super::Parameter::{Any, Bool, Int, Map, Str};
use super::{Family, Function, Parameter, Plain, Run};
use super::{access, encoding, escape, json, lists, logic, maps, maths, output, regex, strings, values};

/// A function with exactly these arguments.
const fn fixed(
    family: Family,
    name: &'static str,
    usage: &'static str,
    parameters: &'static [Parameter],
    run: Plain,
    texts: [&'static str; 3],
) -> Function {
    let [doc, example, output] = texts;
    Function { name, family, usage, parameters, variadic: false, run: Run::Plain(run), doc, example, output }
}

/// A function whose last argument may be left out or repeated.
const fn open(
    family: Family,
    name: &'static str,
    usage: &'static str,
    parameters: &'static [Parameter],
    run: Plain,
    texts: [&'static str; 3],
) -> Function {
    let [doc, example, output] = texts;
    Function { name, family, usage, parameters, variadic: true, run: Run::Plain(run), doc, example, output }
}

/// `and` or `or`.
const fn lazy(name: &'static str, run: Run, texts: [&'static str; 3]) -> Function {
    let [doc, example, output] = texts;
    let parameters = &[Any, Any];
    Function { name, family: Logic, usage: "value...", parameters, variadic: true, run, doc, example, output }
}

#[rustfmt::skip]
pub(super) static TABLE: &[Function] = &[
    lazy("and", Run::And, ["The first empty argument, or the last one; what follows is not evaluated.", r#"{{ and 1 "" 2 | quote }}"#, r#""""#]),
    lazy("or", Run::Or, ["The first argument that is not empty, or the last one; what follows is not evaluated.", r#"{{ or "" 0 "x" }}"#, "x"]),
    fixed(Logic, "not", "value", &[Any], logic::not, ["Whether the value is empty.", r#"{{ not "" }}"#, "true"]),
    open(Logic, "eq", "value other...", &[Any, Any], logic::eq, ["Whether the value equals any of the others; numbers compare as numbers.", "{{ eq 5 1 5.0 }}", "true"]),
    fixed(Logic, "ne", "value other", &[Any, Any], logic::ne, ["Whether two values differ.", "{{ ne 1 2 }}", "true"]),
    fixed(Logic, "lt", "left right", &[Any, Any], logic::lt, ["Whether the left is less: two numbers or two strings.", "{{ lt 1 2.5 }}", "true"]),
    fixed(Logic, "le", "left right", &[Any, Any], logic::le, ["Whether the left is less or equal.", "{{ le 2 2 }}", "true"]),
    fixed(Logic, "gt", "left right", &[Any, Any], logic::gt, ["Whether the left is greater.", r#"{{ gt "b" "a" }}"#, "true"]),
    fixed(Logic, "ge", "left right", &[Any, Any], logic::ge, ["Whether the left is greater or equal.", "{{ ge 1 2 }}", "false"]),

    open(Output, "print", "value...", &[Any], output::print, ["The values next to each other; a space where neither is a string.", r#"{{ print 1 2 "a" }}"#, "1 2a"]),
    open(Output, "println", "value...", &[Any], output::println, ["The values with spaces between them and a newline.", r#"{{ println "a" 1 -}}"#, "a 1\n"]),
    open(Output, "printf", "format value...", &[Str, Any], output::printf, ["The values in a format, with all verbs and flags of Go.", r#"{{ printf "%05.1f|%-4s|%q" 3.14159 "ab" "c" }}"#, r#"003.1|ab  |"c""#]),
    open(Output, "html", "value...", &[Any], escape::html, ["The values printed, with HTML's characters escaped.", r#"{{ html "<b>" }}"#, "&lt;b&gt;"]),
    open(Output, "js", "value...", &[Any], escape::js, ["The values printed, escaped for a JavaScript string.", r#"{{ js "it's" }}"#, r"it\'s"]),
    open(Output, "urlquery", "value...", &[Any], escape::urlquery, ["The values printed, escaped for a URL's query.", r#"{{ urlquery "a b&c" }}"#, "a+b%26c"]),

    fixed(Access, "len", "value", &[Any], access::len, ["The number of bytes, items or entries.", r#"{{ len "héllo" }}"#, "6"]),
    open(Access, "index", "value key...", &[Any, Any], access::index, ["The item at a position or key; several keys go deeper. A missing key is nil, a position outside is an error.", r#"{{ index (list "a" "b") 1 }}"#, "b"]),
    open(Access, "slice", "value start end", &[Any, Any], access::slice, ["Items or bytes from a position up to before another.", r#"{{ slice "abcdef" 1 3 }}"#, "bc"]),
    open(Access, "call", "function value...", &[Any, Any], access::call, ["Always an error: JSON data holds no functions.", "{{ if false }}{{ call . }}{{ end }}", ""]),

    open(Values, "default", "fallback value", &[Any, Any], values::default, ["The value, or the fallback when it is empty.", r#"{{ .name | default "nobody" }}"#, "nobody"]),
    fixed(Values, "empty", "value", &[Any], values::empty, ["Whether the value is nil, false, zero or has no length.", "{{ empty 0 }}", "true"]),
    open(Values, "coalesce", "value...", &[Any], values::coalesce, ["The first value that is not empty.", r#"{{ coalesce 0 "" "x" }}"#, "x"]),
    fixed(Values, "ternary", "yes no condition", &[Any, Any, Bool], values::ternary, ["One of two values by a boolean.", r#"{{ ternary "on" "off" true }}"#, "on"]),
    open(Values, "any", "value...", &[Any], values::any, ["Whether any value is not empty.", "{{ any 0 1 }}", "true"]),
    open(Values, "all", "value...", &[Any], values::all, ["Whether no value is empty.", "{{ all 0 1 }}", "false"]),
    fixed(Values, "fail", "message", &[Str], values::fail, ["Stops rendering with this message.", r#"{{ if false }}{{ fail "no data" }}{{ end }}"#, ""]),
    fixed(Values, "kindOf", "value", &[Any], values::kind_of, ["What the value is: int, float64, string, bool, slice, map or invalid.", "{{ kindOf 1.5 }}", "float64"]),
    fixed(Values, "kindIs", "kind value", &[Str, Any], values::kind_is, ["Whether the value is of that kind.", r#"{{ kindIs "string" "a" }}"#, "true"]),
    fixed(Values, "toString", "value", &[Any], values::to_string, ["The value as it prints.", "{{ toString 5 | quote }}", r#""5""#]),
    fixed(Values, "int", "value", &[Any], values::int, ["The value as an integer; 0 when it is no number.", r#"{{ int "42" }}"#, "42"]),
    fixed(Values, "int64", "value", &[Any], values::int64, ["The value as an integer; 0 when it is no number.", "{{ int64 3.9 }}", "3"]),
    fixed(Values, "float64", "value", &[Any], values::float64, ["The value as a float; 0 when it is no number.", r#"{{ float64 "1.5" }}"#, "1.5"]),
    fixed(Values, "atoi", "text", &[Str], values::atoi, ["Decimal digits as an integer; 0 when they are none.", r#"{{ atoi "007" }}"#, "7"]),

    fixed(Json, "toJson", "value", &[Any], json::to_json, ["The value as JSON, keys sorted, HTML's characters escaped.", r#"{{ toJson (dict "a" (list 1 2)) }}"#, r#"{"a":[1,2]}"#]),
    fixed(Json, "toJSON", "value", &[Any], json::to_json, ["The same as `toJson`.", "{{ toJSON (list) }}", "[]"]),
    fixed(Json, "toRawJson", "value", &[Any], json::to_raw_json, ["The value as JSON without HTML escapes.", r#"{{ toRawJson "<b>" }}"#, r#""<b>""#]),
    fixed(Json, "toPrettyJson", "value", &[Any], json::to_pretty_json, ["The value as JSON, indented by two spaces.", r#"{{ toPrettyJson (dict "a" 1) }}"#, "{\n  \"a\": 1\n}"]),
    fixed(Json, "fromJson", "text", &[Str], json::from_json, ["The value that JSON text describes; nil when it is no JSON.", r#"{{ (fromJson "{\"a\":1}").a }}"#, "1"]),
    fixed(Json, "fromJSON", "text", &[Str], json::from_json, ["The same as `fromJson`.", r#"{{ fromJSON "[1]" }}"#, "[1]"]),
    fixed(Json, "safeGet", "path data", &[Str, Any], json::safe_get, ["Follows names and positions separated by dots; nil where the path ends early.", r#"{{ safeGet "a.1" (dict "a" (list 7 8)) }}"#, "8"]),
    fixed(Json, "safeGetOr", "path data fallback", &[Str, Any, Any], json::safe_get_or, ["Like `safeGet`, with a fallback instead of nil.", r#"{{ safeGetOr "a.b" . "none" }}"#, "none"]),
    open(Json, "dig", "key... fallback map", &[Any, Any, Any, Any], json::dig, ["Follows keys into maps; the fallback when one is missing.", r#"{{ dig "a" "b" "none" (dict "a" (dict "b" 1)) }}"#, "1"]),

    open(Maps, "dict", "key value...", &[Any], maps::dict, ["A map of keys and values.", r#"{{ dict "a" 1 "b" 2 }}"#, "map[a:1 b:2]"]),
    fixed(Maps, "get", "map key", &[Map, Str], maps::get, ["The value of a key; an empty string when it is missing.", r#"{{ get (dict "a" 1) "a" }}"#, "1"]),
    fixed(Maps, "hasKey", "map key", &[Map, Str], maps::has_key, ["Whether the map has the key.", r#"{{ hasKey (dict "a" 1) "b" }}"#, "false"]),
    open(Maps, "keys", "map...", &[Map], maps::keys, ["The keys, sorted.", r#"{{ keys (dict "b" 1 "a" 2) }}"#, "[a b]"]),
    fixed(Maps, "values", "map", &[Map], maps::values, ["The values in the order of their keys.", r#"{{ values (dict "b" 1 "a" 2) }}"#, "[2 1]"]),
    open(Maps, "pluck", "key map...", &[Str, Map], maps::pluck, ["The value of one key from each map that has it.", r#"{{ pluck "a" (dict "a" 1) (dict "a" 2) }}"#, "[1 2]"]),
    open(Maps, "pick", "map key...", &[Map, Str], maps::pick, ["The map with these keys only.", r#"{{ pick (dict "a" 1 "b" 2) "a" }}"#, "map[a:1]"]),
    open(Maps, "omit", "map key...", &[Map, Str], maps::omit, ["The map without these keys.", r#"{{ omit (dict "a" 1 "b" 2) "a" }}"#, "map[b:2]"]),

    fixed(Strings, "upper", "text", &[Str], strings::upper, ["The text in upper case.", r#"{{ upper "abc" }}"#, "ABC"]),
    fixed(Strings, "lower", "text", &[Str], strings::lower, ["The text in lower case.", r#"{{ lower "ABC" }}"#, "abc"]),
    fixed(Strings, "title", "text", &[Str], strings::title, ["The text with each word capitalised.", r#"{{ title "ada lovelace" }}"#, "Ada Lovelace"]),
    fixed(Strings, "trim", "text", &[Str], strings::trim, ["The text without white space at its ends.", r#"{{ trim "  a " | quote }}"#, r#""a""#]),
    fixed(Strings, "trimAll", "characters text", &[Str, Str], strings::trim_all, ["The text without these characters at its ends.", r#"{{ trimAll "$" "$5$" }}"#, "5"]),
    fixed(Strings, "trimPrefix", "prefix text", &[Str, Str], strings::trim_prefix, ["The text without the prefix.", r#"{{ trimPrefix "v" "v1.2" }}"#, "1.2"]),
    fixed(Strings, "trimSuffix", "suffix text", &[Str, Str], strings::trim_suffix, ["The text without the suffix.", r#"{{ trimSuffix ".go" "main.go" }}"#, "main"]),
    fixed(Strings, "trunc", "length text", &[Int, Str], strings::trunc, ["The first bytes; with a negative length the last.", r#"{{ trunc 3 "abcdef" }} {{ trunc -2 "abcdef" }}"#, "abc ef"]),
    fixed(Strings, "substr", "start end text", &[Int, Int, Str], strings::substr, ["Bytes from a position up to before another; to the end when that is negative.", r#"{{ substr 1 3 "abcdef" }}"#, "bc"]),
    fixed(Strings, "replace", "old new text", &[Str, Str, Str], strings::replace, ["The text with every occurrence replaced.", r#"{{ replace "-" "+" "a-b-c" }}"#, "a+b+c"]),
    fixed(Strings, "contains", "part text", &[Str, Str], strings::contains, ["Whether the text contains the part.", r#"{{ contains "bc" "abcd" }}"#, "true"]),
    fixed(Strings, "hasPrefix", "prefix text", &[Str, Str], strings::has_prefix, ["Whether the text starts with the prefix.", r#"{{ hasPrefix "ab" "abc" }}"#, "true"]),
    fixed(Strings, "hasSuffix", "suffix text", &[Str, Str], strings::has_suffix, ["Whether the text ends with the suffix.", r#"{{ hasSuffix "ab" "abc" }}"#, "false"]),
    fixed(Strings, "repeat", "count text", &[Int, Str], strings::repeat, ["The text so many times.", r#"{{ repeat 3 "ab" }}"#, "ababab"]),
    open(Strings, "quote", "value...", &[Any], strings::quote, ["The values in double quotes, escaped; nil is left out.", r#"{{ quote "a\"b" 1 }}"#, r#""a\"b" "1""#]),
    open(Strings, "squote", "value...", &[Any], strings::squote, ["The values in single quotes; nil is left out.", r#"{{ squote "a" 1 }}"#, "'a' '1'"]),
    fixed(Strings, "indent", "spaces text", &[Int, Str], strings::indent, ["Every line moved right.", r#"{{ indent 2 "a\nb" }}"#, "  a\n  b"]),
    fixed(Strings, "nindent", "spaces text", &[Int, Str], strings::nindent, ["A newline, then every line moved right.", r#"a:{{ nindent 2 "b" }}"#, "a:\n  b"]),
    fixed(Strings, "nospace", "text", &[Str], strings::nospace, ["The text without any white space.", r#"{{ nospace "a b\tc" }}"#, "abc"]),
    open(Strings, "cat", "value...", &[Any], strings::cat, ["The values with spaces between them; nil is left out.", r#"{{ cat "a" 1 "b" }}"#, "a 1 b"]),
    fixed(Strings, "join", "separator list", &[Str, Any], strings::join, ["The items as text with a separator between them.", r#"{{ list 1 2 "c" | join "-" }}"#, "1-2-c"]),
    fixed(Strings, "splitList", "separator text", &[Str, Str], strings::split_list, ["The parts of the text as a list.", r#"{{ splitList "," "a,b" }}"#, "[a b]"]),
    fixed(Strings, "plural", "one many count", &[Str, Str, Int], strings::plural, ["One of two words by a count.", r#"{{ plural "item" "items" 3 }}"#, "items"]),

    fixed(Encoding, "b64enc", "text", &[Str], encoding::b64enc, ["The text in Base64.", r#"{{ b64enc "hi" }}"#, "aGk="]),
    fixed(Encoding, "b64dec", "text", &[Str], encoding::b64dec, ["The text that Base64 describes, or a message when it is none.", r#"{{ b64dec "aGk=" }}"#, "hi"]),
    fixed(Encoding, "sha256sum", "text", &[Str], encoding::sha256sum, ["The SHA-256 of the text in hexadecimal.", r#"{{ sha256sum "abc" | trunc 16 }}"#, "ba7816bf8f01cfea"]),
    fixed(Encoding, "regexMatch", "pattern text", &[Str, Str], regex::regex_match, ["Whether the pattern occurs in the text.", r#"{{ regexMatch "^[a-z]+$" "abc" }}"#, "true"]),
    fixed(Encoding, "regexFind", "pattern text", &[Str, Str], regex::regex_find, ["The first match, or an empty string.", r#"{{ regexFind "[0-9]+" "a12b3" }}"#, "12"]),
    fixed(Encoding, "regexReplaceAll", "pattern text replacement", &[Str, Str, Str], regex::regex_replace_all, ["Every match replaced; `$1` or `${name}` stands for a group.", r#"{{ regexReplaceAll "a(x*)b" "-axxb-" "<$1>" }}"#, "-<xx>-"]),

    open(Lists, "list", "value...", &[Any], lists::list, ["A list of the values.", r#"{{ list 1 "a" }}"#, "[1 a]"]),
    fixed(Lists, "first", "list", &[Any], lists::first, ["The first item, or nil.", "{{ first (list 1 2) }}", "1"]),
    fixed(Lists, "last", "list", &[Any], lists::last, ["The last item, or nil.", "{{ last (list 1 2) }}", "2"]),
    fixed(Lists, "rest", "list", &[Any], lists::rest, ["All items but the first.", "{{ rest (list 1 2 3) }}", "[2 3]"]),
    fixed(Lists, "initial", "list", &[Any], lists::initial, ["All items but the last.", "{{ initial (list 1 2 3) }}", "[1 2]"]),
    fixed(Lists, "reverse", "list", &[Any], lists::reverse, ["The items from last to first.", "{{ reverse (list 1 2) }}", "[2 1]"]),
    fixed(Lists, "uniq", "list", &[Any], lists::uniq, ["The items without repetitions.", "{{ uniq (list 1 1 2) }}", "[1 2]"]),
    fixed(Lists, "compact", "list", &[Any], lists::compact, ["The items that are not empty.", r#"{{ compact (list 1 "" 2) }}"#, "[1 2]"]),
    fixed(Lists, "has", "value list", &[Any, Any], lists::has, ["Whether the list holds the value.", "{{ has 2 (list 1 2) }}", "true"]),
    open(Lists, "without", "list value...", &[Any, Any], lists::without, ["The items that are none of these values.", "{{ without (list 1 2 3) 2 }}", "[1 3]"]),
    open(Lists, "concat", "list...", &[Any], lists::concat, ["The items of all lists in one.", "{{ concat (list 1) (list 2) }}", "[1 2]"]),
    fixed(Lists, "append", "list value", &[Any, Any], lists::append, ["The list with one more item at its end.", "{{ append (list 1) 2 }}", "[1 2]"]),
    fixed(Lists, "prepend", "list value", &[Any, Any], lists::prepend, ["The list with one more item at its start.", "{{ prepend (list 1) 2 }}", "[2 1]"]),
    fixed(Lists, "sortAlpha", "list", &[Any], lists::sort_alpha, ["The items as text, in order.", r#"{{ sortAlpha (list "b" "a") }}"#, "[a b]"]),
    fixed(Lists, "chunk", "size list", &[Int, Any], lists::chunk, ["The items in lists of a size.", "{{ chunk 2 (list 1 2 3) }}", "[[1 2] [3]]"]),
    fixed(Lists, "until", "stop", &[Int], lists::until, ["The numbers from 0 to before the stop.", "{{ until 3 }}", "[0 1 2]"]),
    fixed(Lists, "untilStep", "start stop step", &[Int, Int, Int], lists::until_step, ["The numbers from a start to before a stop by a step.", "{{ untilStep 3 9 3 }}", "[3 6]"]),

    open(Maths, "add", "number...", &[Any], maths::add, ["The sum of integers.", "{{ add 1 2 3 }}", "6"]),
    fixed(Maths, "add1", "number", &[Any], maths::add1, ["One more.", "{{ add1 2 }}", "3"]),
    fixed(Maths, "sub", "left right", &[Any, Any], maths::sub, ["The difference of integers.", "{{ sub 5 2 }}", "3"]),
    open(Maths, "mul", "number number...", &[Any, Any], maths::mul, ["The product of integers.", "{{ mul 2 3 4 }}", "24"]),
    fixed(Maths, "div", "left right", &[Any, Any], maths::div, ["The quotient of integers, cut.", "{{ div 7 2 }}", "3"]),
    fixed(Maths, "mod", "left right", &[Any, Any], maths::modulo, ["The remainder of integers.", "{{ mod 7 3 }}", "1"]),
    open(Maths, "max", "number number...", &[Any, Any], maths::max, ["The greatest integer.", "{{ max 1 5 3 }}", "5"]),
    open(Maths, "min", "number number...", &[Any, Any], maths::min, ["The least integer.", "{{ min 4 2 8 }}", "2"]),
    open(Maths, "addf", "number...", &[Any], maths::addf, ["The sum, calculated in decimal.", "{{ addf 0.1 0.2 }}", "0.3"]),
    open(Maths, "subf", "left right...", &[Any, Any], maths::subf, ["The difference, calculated in decimal.", "{{ subf 5.5 2 }}", "3.5"]),
    open(Maths, "mulf", "number number...", &[Any, Any], maths::mulf, ["The product, calculated in decimal.", "{{ mulf 19.99 3 }}", "59.97"]),
    open(Maths, "divf", "left right...", &[Any, Any], maths::divf, ["The quotient, calculated in decimal.", "{{ divf 1 8 }}", "0.125"]),
    open(Maths, "round", "number decimals from", &[Any, Int, Any], maths::round, ["The number rounded to decimals, up from .5 on.", "{{ round 2.567 2 }}", "2.57"]),
    fixed(Maths, "floor", "number", &[Any], maths::floor, ["The next whole number below.", "{{ floor 2.7 }}", "2"]),
    fixed(Maths, "ceil", "number", &[Any], maths::ceil, ["The next whole number above.", "{{ ceil 2.1 }}", "3"]),
];

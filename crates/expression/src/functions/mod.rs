//! All functions, in the order in which they are documented.

mod convert;
pub(crate) mod data;
mod lists;
mod macros;
mod maths;
mod objects;
pub(crate) mod texts;
mod times;

use crate::error::Fault;
use crate::eval::Run;
use crate::tree::{Lambda, Node};
use crate::value::{List, Val};

/// A function of the language. Every one can be called as a method of its first argument, too.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub usage: &'static str,
    /// What it gives.
    pub about: &'static str,
    pub(crate) least: usize,
    pub(crate) most: usize,
    pub(crate) body: Body,
}

pub(crate) type Found<'a> = Result<Val<'a>, Fault>;
type Plain = for<'a> fn(&mut Run<'a>, &[Val<'a>]) -> Found<'a>;
type Either = for<'a> fn(&mut Run<'a>, &[Val<'a>], Option<&'a Lambda>) -> Found<'a>;
type Macro = for<'a> fn(&mut Run<'a>, &Val<'a>, &'a Lambda, Option<&'a Node>) -> Found<'a>;

/// What a function takes besides values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    /// Nothing.
    Plain(Plain),
    /// A lambda or not.
    Either(Either),
    /// A list or an object, and a lambda.
    Lambda(Macro),
}

const fn plain(
    name: &'static str,
    (least, most): (usize, usize),
    usage: &'static str,
    about: &'static str,
    body: Plain,
) -> Function {
    Function { name, usage, about, least, most, body: Body::Plain(body) }
}

const fn either(
    name: &'static str,
    (least, most): (usize, usize),
    usage: &'static str,
    about: &'static str,
    body: Either,
) -> Function {
    Function { name, usage, about, least, most, body: Body::Either(body) }
}

const fn lambda(name: &'static str, usage: &'static str, about: &'static str, body: Macro) -> Function {
    Function { name, usage, about, least: 1, most: 1, body: Body::Lambda(body) }
}

/// Any number of arguments.
const MANY: usize = 1000;

/// The functions. `has` and `default` are no functions: they look at a value that may not be there.
pub static FUNCTIONS: &[Function] = &[
    lambda("all", "list.all(x, condition)", "whether the condition holds for every item", macros::all),
    lambda("every", "list.every(x => condition)", "the same as all", macros::all),
    lambda(
        "exists",
        "list.exists(x, condition)",
        "whether the condition holds for one item or more",
        macros::exists,
    ),
    lambda("some", "list.some(x => condition)", "the same as exists", macros::exists),
    lambda(
        "exists_one",
        "list.exists_one(x, condition)",
        "whether it holds for exactly one item",
        macros::exists_one,
    ),
    lambda("filter", "list.filter(x, condition)", "the items for which the condition holds", macros::filter),
    lambda("map", "list.map(x, e) or list.map(x, condition, e)", "e for every item", macros::map),
    plain(
        "size",
        (1, 1),
        "size(value)",
        "characters of a text, items of a list, fields of an object",
        lists::size,
    ),
    plain("length", (1, 1), "length(value)", "the same as size", lists::size),
    either(
        "count",
        (1, 1),
        "count(list) or count(list, x => condition)",
        "how many items there are, or hold",
        lists::count,
    ),
    either(
        "sum",
        (1, MANY),
        "sum(list) or sum(list, x => number)",
        "all added up; 0 for an empty list",
        maths::sum,
    ),
    either(
        "avg",
        (1, MANY),
        "avg(list) or avg(list, x => number)",
        "the mean; null for an empty list",
        maths::avg,
    ),
    either(
        "med",
        (1, MANY),
        "med(list) or med(list, x => number)",
        "the median; null for an empty list",
        maths::med,
    ),
    either(
        "min",
        (1, MANY),
        "min(list), min(a, b …) or min(list, x => key)",
        "the smallest; null for an empty list",
        maths::min,
    ),
    either(
        "max",
        (1, MANY),
        "max(list), max(a, b …) or max(list, x => key)",
        "the largest; null for an empty list",
        maths::max,
    ),
    plain(
        "round",
        (1, 2),
        "round(number, places?)",
        "rounded, half away from zero; whole without places",
        maths::round,
    ),
    either(
        "sort",
        (1, 1),
        "sort(list) or sort(list, x => key)",
        "in ascending order; equal ones stay in theirs",
        lists::sort,
    ),
    either(
        "distinct",
        (1, 1),
        "distinct(list) or distinct(list, x => key)",
        "the first of all that are equal",
        lists::distinct,
    ),
    either(
        "group",
        (1, 2),
        "group(list, x => key) or group(list, 'field')",
        "an object with a list for every key",
        lists::group,
    ),
    plain("flat", (1, 1), "flat(list)", "the items of the lists in a list, one level", lists::flat),
    plain("chunk", (2, 2), "chunk(list, size)", "lists of so many items", lists::chunk),
    plain("add", (2, 2), "add(list, item)", "the list with one item more", lists::add),
    plain("addAll", (2, 2), "addAll(list, list)", "both lists as one", lists::add_all),
    plain(
        "proj",
        (2, MANY),
        "proj(list or object, 'field' …)",
        "objects with these fields only",
        objects::proj,
    ),
    plain("keys", (1, 1), "keys(object)", "its names", objects::keys),
    plain("values", (1, 1), "values(object)", "its values", objects::values),
    plain(
        "merge",
        (1, MANY),
        "merge(object, object …)",
        "one object; later fields win; null counts as empty",
        objects::merge,
    ),
    plain("contains", (2, 2), "text.contains(text)", "whether a text has another in it", texts::contains),
    plain(
        "startsWith",
        (2, 2),
        "text.startsWith(text)",
        "whether a text begins with another",
        texts::starts_with,
    ),
    plain("endsWith", (2, 2), "text.endsWith(text)", "whether a text ends with another", texts::ends_with),
    plain(
        "matches",
        (2, 2),
        "text.matches(pattern)",
        "whether a regular expression (RE2) is found in a text",
        texts::matches,
    ),
    plain("upper", (1, 1), "upper(text)", "in capitals", texts::upper),
    plain("lower", (1, 1), "lower(text)", "in small letters", texts::lower),
    plain("trim", (1, 1), "trim(text)", "without blanks at both ends", texts::trim),
    plain("split", (2, 2), "split(text, separator)", "the parts of a text", texts::split),
    plain("join", (1, 2), "join(list, separator?)", "one text of many", texts::join),
    plain("replace", (3, 3), "replace(text, old, new)", "with every old replaced", texts::replace),
    plain("bool", (1, 1), "bool(value)", "from 'true' and 'false'", convert::bool),
    plain("int", (1, 1), "int(value)", "a whole number, without what is behind the point", convert::int),
    plain("uint", (1, 1), "uint(value)", "a whole number without a sign", convert::uint),
    plain("double", (1, 1), "double(value)", "a number", convert::double),
    plain("string", (1, 1), "string(value)", "a text", convert::string),
    plain("bytes", (1, 1), "bytes(text)", "the bytes of a text in UTF-8", convert::bytes),
    plain(
        "type",
        (1, 1),
        "type(value)",
        "the type of a value, to be compared: type(x) == int",
        convert::type_of,
    ),
    plain("dyn", (1, 1), "dyn(value)", "the value itself", convert::dyn_of),
    plain("timestamp", (1, 1), "timestamp(text)", "a time from RFC 3339", times::timestamp),
    plain("duration", (1, 1), "duration(text)", "from 1h30m, 10s, 500ms", times::duration),
    plain("now", (0, 0), "now()", "the time at which the evaluation began", times::now),
    plain("date", (0, 1), "date() or date('-3M')", "today's date in UTC, moved by an offset", times::date),
    plain("time", (0, 1), "time() or time('+2h')", "the time of day in UTC, moved by an offset", times::time),
    plain("offset", (2, 2), "offset(time, '-3M')", "a time moved by y, M, w, d, h, m or s", times::offset),
    plain(
        "format",
        (2, 3),
        "format(time, 'yyyy-MM-dd', zone?)",
        "a time as text; in UTC unless a zone is given",
        times::format,
    ),
    plain("getFullYear", (1, 2), "time.getFullYear(zone?)", "the year", times::full_year),
    plain("getMonth", (1, 2), "time.getMonth(zone?)", "the month, from 0", times::month),
    plain("getDate", (1, 2), "time.getDate(zone?)", "the day of the month, from 1", times::date_of_month),
    plain(
        "getDayOfMonth",
        (1, 2),
        "time.getDayOfMonth(zone?)",
        "the day of the month, from 0",
        times::day_of_month,
    ),
    plain(
        "getDayOfWeek",
        (1, 2),
        "time.getDayOfWeek(zone?)",
        "the day of the week, Sunday is 0",
        times::day_of_week,
    ),
    plain(
        "getDayOfYear",
        (1, 2),
        "time.getDayOfYear(zone?)",
        "the day of the year, from 0",
        times::day_of_year,
    ),
    plain("getHours", (1, 2), "time.getHours(zone?)", "the hour, or the hours of a duration", times::hours),
    plain(
        "getMinutes",
        (1, 2),
        "time.getMinutes(zone?)",
        "the minute, or the minutes of a duration",
        times::minutes,
    ),
    plain(
        "getSeconds",
        (1, 2),
        "time.getSeconds(zone?)",
        "the second, or the seconds of a duration",
        times::seconds,
    ),
    plain("getMilliseconds", (1, 2), "time.getMilliseconds(zone?)", "the milliseconds", times::milliseconds),
    plain("uuid", (0, 0), "uuid()", "a new random UUID", data::uuid),
    plain("toJson", (1, 1), "toJson(value)", "the value as JSON text", data::to_json),
    plain("fromJson", (1, 1), "fromJson(text)", "the value of a JSON text", data::from_json),
    plain("base64", (1, 1), "base64(text or bytes)", "as base64", data::base64),
    plain("sha256", (1, 1), "sha256(text or bytes)", "the digest in hexadecimal", data::sha256),
    plain("jmespath", (2, 2), "jmespath(value, 'query')", "what a JMESPath query finds", data::jmespath),
];

/// The function of a name; one in capitals is the origin's spelling.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    let exact = FUNCTIONS.iter().find(|function| function.name == name);
    let is_capital =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    exact.or_else(|| FUNCTIONS.iter().find(|function| is_capital && function.name.eq_ignore_ascii_case(name)))
}

/// The function that somebody may have meant.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let same = FUNCTIONS.iter().find(|function| function.name.eq_ignore_ascii_case(name));
    let similar = || {
        let near = |function: &&Function| {
            let (a, b) = (function.name.to_ascii_lowercase(), name.to_ascii_lowercase());
            let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            shared >= 3 && (shared == a.len() || shared == b.len())
        };
        FUNCTIONS.iter().find(near)
    };
    same.or_else(similar).map(|function| function.name)
}

/// The list that a function needs as its first argument.
fn list<'a>(function: &str, arguments: &[Val<'a>]) -> Result<List<'a>, Fault> {
    match arguments.first() {
        Some(Val::List(items)) => Ok(items.clone()),
        Some(other) => Err(Fault::failed(format!("{function}() needs a list, this is {}", other.kind()))),
        None => Err(Fault::failed(format!("{function}() needs a list"))),
    }
}

/// The text that a function needs at some place.
fn text<'v>(function: &str, arguments: &'v [Val<'_>], index: usize) -> Result<&'v str, Fault> {
    match arguments.get(index) {
        Some(Val::Text(text)) => Ok(text),
        Some(other) => Err(Fault::failed(format!("{function}() needs a text, this is {}", other.kind()))),
        None => Err(Fault::failed(format!("{function}() needs a text"))),
    }
}

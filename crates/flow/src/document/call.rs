//! Nodes that call: a tool, a flow, an agent, a handoff.

use super::assignments::Lone;
use super::data::{Data, Field, Formula, Key};
use super::in_place;
use super::model::{Call, Target};
use super::origin::Origin;
use super::words::part;
use crate::cursor::{Cursor, is_identifier};
use crate::problem::{Code, Problem, Problems};
use tool::Uri;

/// Reads the call of a node of that kind.
pub(super) fn read(kind: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Call> {
    let field = cursor.field(kind)?;
    let (in_place, target) = match kind {
        "agent" if field.is_map() => in_place::read(&field, problems)?,
        "flow" | "agent" => {
            let text = field.text(problems)?;
            let has_scheme = text.contains("://");
            let text = if has_scheme { text.to_owned() } else { format!("{kind}://{text}") };
            (None, uri_of(kind, &text, &field, problems))
        }
        "handoff" => (None, uri_of("agent", field.text(problems)?, &field, problems)),
        _ => (None, uri(field.text(problems)?, &field, problems)),
    };
    let mut args = read_args(cursor, problems);
    if kind == "handoff" {
        args = with_context(args, cursor, problems);
    }
    let binds = cursor.field("bind").and_then(|field| field.bool(problems)).unwrap_or(true);
    Some(Call { target, in_place, args, binds, is_handoff: kind == "handoff", origin: Origin::of(&field) })
}

/// Reads `{exec, args}`, as approvals have it.
pub(super) fn read_small(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Call> {
    if !cursor.expect_fields(&part("notify"), problems) {
        return None;
    }
    if cursor.field("exec").is_none() {
        problems.add(cursor.error(Code::Syntax, "'exec' is missing: which tool"));
    }
    read("exec", cursor, problems)
}

/// A URI is written out: what is called can be checked before, and nobody's data chooses it.
pub(super) fn uri(text: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Target {
    let parsed = parsed(text);
    if let Err(reason) = &parsed {
        problems.add(malformed(text, reason, cursor).of_call());
    }
    Target(parsed)
}

/// The address of something of that type. With another one the call would do something else than its word says.
fn uri_of(scheme: &str, text: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Target {
    let target = uri(text, cursor, problems);
    if target.0.as_ref().is_ok_and(|uri| uri.scheme() != scheme) {
        let message =
            format!("'{text}' is no {scheme}: a URI like {scheme}://b belongs here; 'exec' calls any other");
        problems.add(cursor.error(Code::Syntax, message));
    }
    target
}

/// One of several addresses: without it the others are left.
pub(super) fn listed_uri(text: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Uri> {
    parsed(text).map_err(|reason| problems.add(malformed(text, &reason, cursor))).ok()
}

fn parsed(text: &str) -> Result<Uri, String> {
    if text.contains("${") {
        return Err("a URI is written out, without '${}': use 'case' to choose among tools".to_owned());
    }
    text.parse::<Uri>().map_err(|error| error.to_string())
}

fn malformed(text: &str, reason: &str, cursor: &Cursor<'_>) -> Problem {
    cursor.error(Code::Syntax, format!("'{text}' is no URI of a tool: {reason}"))
}

fn read_args(cursor: &Cursor<'_>, problems: &mut Problems) -> Data {
    let Some(field) = cursor.field("args") else { return Data::Fields(Vec::new()) };
    let data = Data::read_assigned(&field, Lone::Field, problems);
    if matches!(&data, Data::List(_) | Data::Literal(_)) {
        problems.add(field.mismatch("an object of arguments"));
    }
    data
}

/// What a handoff gives along: why is what the agent is asked, unless `args` ask something; then it is a part of the
/// context, as the values of the names are.
fn with_context(args: Data, cursor: &Cursor<'_>, problems: &mut Problems) -> Data {
    let mut fields = match args {
        Data::Fields(fields) => fields,
        Data::Formula(formula) => vec![Field::Spread(formula)],
        Data::Literal(_) | Data::Text(..) | Data::List(_) => Vec::new(),
    };
    let mut context = Vec::new();
    let has_prompt = fields.iter().any(|field| matches!(field, Field::Set(key, _) if key.name == "prompt"));
    if let Some(reason) = cursor.field("reason") {
        let data = Data::read(&reason, problems);
        match has_prompt {
            true => context.push(Field::Set(Key::new("reason", reason.at), data)),
            // What is computed as a whole comes behind it, and may ask something else.
            false => fields.insert(0, Field::Set(Key::new("prompt", reason.at), data)),
        }
    }
    if let Some(names) = cursor.field("context") {
        if !names.is_list() {
            problems.add(names.mismatch("a list of names"));
        }
        context.extend(names.items().filter_map(|item| name(&item, problems)));
    }
    if !context.is_empty() {
        fields.push(Field::Set(Key::new("context", cursor.at), Data::Fields(context)));
    }
    Data::Fields(fields)
}

fn name(item: &Cursor<'_>, problems: &mut Problems) -> Option<Field> {
    let name = item.text(problems)?;
    if !is_identifier(name) {
        problems.add(item.error(Code::Syntax, format!("'{name}' is no name")));
        return None;
    }
    let formula = Formula::parse(name, Origin::of(item), problems)?;
    Some(Field::Set(Key::new(name, item.at), Data::Formula(formula)))
}

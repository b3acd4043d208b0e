//! Nodes that wait for somebody or judge something: waits, approvals, guards.

use super::block::targets;
use super::data::{Data, Field, Formula, Key};
use super::model::{Approval, Call, Check, Guard, GuardAction, OnTimeout, Wait};
use super::node::Wanted;
use super::types::Types;
use super::{call, duration};
use crate::cursor::Cursor;
use crate::problem::{Code, Problems};
use crate::settle::Port;
use serde_json::{Value, json};

pub(super) fn read_wait(field: &Cursor<'_>, problems: &mut Problems) -> Option<Wait> {
    if !field.is_map() {
        return duration::read(field, problems).map(Wait::For);
    }
    field.expect_fields(&["until", "signal", "key"], problems);
    if let Some(until) = field.field("until") {
        return Formula::read(&until, problems).map(Wait::Until);
    }
    let Some(signal) = field.field("signal") else {
        problems.add(field.error(Code::Syntax, "'until' or 'signal' is missing: what is waited for"));
        return None;
    };
    let key = field.field("key").map(|key| Data::read(&key, problems));
    Some(Wait::Signal { name: signal.text(problems)?.to_owned(), key })
}

pub(super) fn read_approval(
    field: &Cursor<'_>,
    cursor: &Cursor<'_>,
    wanted: &mut Wanted,
    types: &Types<'_>,
    problems: &mut Problems,
) -> Option<Approval> {
    for (name, branch) in [("then", 0), ("else", 1)] {
        if let Some(field) = cursor.field(name) {
            targets(&field, Port::Branch(branch), wanted, problems);
        }
    }
    let is_title = field.as_text().is_some();
    if !is_title {
        field.expect_fields(&["title", "fields", "by", "timeout", "on_timeout"], problems);
    }
    let title = if is_title { Some(field.clone()) } else { field.field("title") };
    let Some(title) = title else {
        problems.add(field.error(Code::Syntax, "'title' is missing: what is to be approved"));
        return None;
    };
    let words = [("reject", OnTimeout::Reject), ("approve", OnTimeout::Approve), ("fail", OnTimeout::Fail)];
    let on_timeout = field.field("on_timeout").and_then(|field| field.choice(&words, problems));
    let notify = cursor.field("notify").map(|field| call::read_small(&field, problems));
    Some(Approval {
        title: Data::read(&title, problems),
        fields: field.field("fields").map(|field| types.schema(&field, problems)),
        by: field.field("by").map_or(Data::Literal(json!("managers")), |field| Data::read(&field, problems)),
        timeout: field.field("timeout").and_then(|field| duration::read(&field, problems)),
        on_timeout: on_timeout.unwrap_or_default(),
        has_else: cursor.field("else").is_some(),
        notify: notify.map_or(Some(None), |call| call.map(Some))?,
    })
}

/// The checks that an agent makes.
const ASKED: [&str; 3] = ["jailbreak", "moderation", "hallucination"];

pub(super) fn read_guard(field: &Cursor<'_>, problems: &mut Problems) -> Option<Guard> {
    if !field.expect_fields(&["check", "of", "action", "by", "schema", "when"], problems) {
        return None;
    }
    let words = [("block", GuardAction::Block), ("redact", GuardAction::Redact), ("warn", GuardAction::Warn)];
    let action = field.field("action").and_then(|field| field.choice(&words, problems)).unwrap_or_default();
    let Some(of) = field.field("of") else {
        problems.add(field.error(Code::Syntax, "'of' is missing: what is looked at"));
        return None;
    };
    let of = Data::read(&of, problems);
    let check = read_check(field, &of, problems)?;
    if action == GuardAction::Redact && matches!(check, Check::Schema(_) | Check::Custom(_)) {
        let message = "'redact' needs a check that says what to take out: pii, or one by an agent";
        problems.add(field.error(Code::Syntax, message));
    }
    Some(Guard { check, of, action })
}

fn read_check(field: &Cursor<'_>, of: &Data, problems: &mut Problems) -> Option<Check> {
    let Some(check) = field.field("check") else {
        let message = "'check' is missing: pii, schema, custom, jailbreak, moderation or hallucination";
        problems.add(field.error(Code::Syntax, message));
        return None;
    };
    let missing = |problems: &mut Problems, message: &str| problems.add(field.error(Code::Syntax, message));
    match check.text(problems)? {
        "pii" => Some(Check::Pii),
        "schema" => match field.field("schema") {
            Some(schema) => read_schema(&schema, problems).map(Check::Schema),
            None => {
                missing(problems, "'schema' is missing: a JSON Schema for the value");
                None
            }
        },
        "custom" => match field.field("when") {
            Some(when) => Formula::read(&when, problems).map(Check::Custom),
            None => {
                missing(problems, "'when' is missing: an expression that is true where all is well");
                None
            }
        },
        name if ASKED.contains(&name) => match field.field("by") {
            Some(by) => {
                let target = call::uri(by.text(problems)?, &by, problems);
                let args = vec![
                    Field::Set(Key::new("check", by.at), Data::Literal(name.into())),
                    Field::Set(Key::new("value", by.at), of.clone()),
                ];
                let origin = super::data::Origin::of(&by);
                let call = Call { target, args: Data::Fields(args), binds: false, is_handoff: false, origin };
                Some(Check::Asked { name: name.to_owned(), call: Box::new(call) })
            }
            None => {
                missing(problems, "'by' is missing: the agent:// that judges");
                None
            }
        },
        other => {
            let message = format!("'{other}' is none of pii, schema, custom, {}", ASKED.join(", "));
            problems.add(check.error(Code::Unknown, message));
            None
        }
    }
}

fn read_schema(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Value> {
    let schema = cursor.tree.to_value();
    match tool::schema::Schema::compile(&schema, "value") {
        Ok(_) => Some(schema),
        Err(error) => {
            problems.add(cursor.error(Code::Syntax, error.message()));
            None
        }
    }
}

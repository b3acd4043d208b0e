//! One node: which kind it is by its fields, and what every kind has.

use super::assignments::Lone;
use super::block::{Blocks, targets};
use super::data::{Data, Field, Formula};
use super::model::{Action, Call, Node, Target};
use super::words::{COMMON, KINDS, Kind, part};
use super::{branches, call, duration, guard, retry, waits};
use crate::cursor::Cursor;
use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::settle::{Join, Port};
use crate::source::{Content, Place};
use std::time::Duration;

/// What a node asks of its block.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) join: Join,
    pub(super) edges: Vec<(Port, String, String, Place)>,
    /// Nobody knows what it does, nor where it leads.
    pub(super) is_unreadable: bool,
}

pub(super) fn read(
    id: &str,
    cursor: &Cursor<'_>,
    blocks: &mut Blocks<'_>,
    problems: &mut Problems,
) -> (Node, Wanted) {
    let kind = KINDS.iter().find(|kind| cursor.field(kind.field).is_some());
    let Some(Kind { field: kind, own, .. }) = kind.filter(|_| cursor.is_map()) else {
        let known: Vec<_> = KINDS.iter().map(|kind| kind.field).collect();
        let message = format!("a node needs one of {}", known.join(", "));
        problems.add(Problem::error(Code::Syntax, &cursor.path, cursor.at, message));
        return read_common(id, cursor, None, Wanted::default(), problems);
    };
    let known: Vec<_> = own.iter().chain(COMMON).map(|(name, _)| *name).collect();
    cursor.expect_fields(&known, problems);
    let mut wanted = Wanted::default();
    let action = read_action(kind, cursor, &mut wanted, blocks, problems);
    read_common(id, cursor, action, wanted, problems)
}

/// What every kind has. A node that cannot be read stands for itself, so that the others are looked at, too.
fn read_common(
    id: &str,
    cursor: &Cursor<'_>,
    action: Option<Action>,
    mut wanted: Wanted,
    problems: &mut Problems,
) -> (Node, Wanted) {
    wanted.is_unreadable = action.is_none();
    read_edges(cursor, matches!(action, Some(Action::Block { .. })), &mut wanted, problems);
    let words = [("at_least_once", false), ("at_most_once", true)];
    let delivery = cursor.field("delivery").and_then(|field| field.choice(&words, problems));
    let timeout = cursor.field("timeout").and_then(|field| duration::read(&field, problems));
    let node = Node {
        id: id.to_owned(),
        path: cursor.path.clone(),
        at: cursor.at,
        only: cursor.field("only").and_then(|field| Formula::read(&field, problems)),
        sets: read_sets(cursor, problems),
        with: cursor.field("with").map(|field| Data::read_assigned(&field, Lone::Value, problems)),
        has_fail: cursor.field("fail").is_some(),
        retry: cursor.field("retry").and_then(|field| retry::read(&field, problems)).unwrap_or_default(),
        timeout: timeout.into_iter().chain(action.as_ref().and_then(time_of_flow)).min(),
        is_at_most_once: delivery.unwrap_or_default(),
        action: action.unwrap_or(Action::Map),
    };
    (node, wanted)
}

/// The `timeout` in the address of a flow: its node waits for a run, and no call is there to end.
fn time_of_flow(action: &Action) -> Option<Duration> {
    let Action::Call(Call { target: Target(Ok(uri)), .. }) = action else { return None };
    uri.options().timeout.filter(|_| uri.scheme() == tool::runs::SCHEME)
}

fn read_action(
    kind: &str,
    cursor: &Cursor<'_>,
    wanted: &mut Wanted,
    blocks: &mut Blocks<'_>,
    problems: &mut Problems,
) -> Option<Action> {
    let field = cursor.field(kind)?;
    match kind {
        "exec" | "flow" | "agent" | "handoff" => call::read(kind, cursor, problems).map(Action::Call),
        "case" => branches::read_switch(&field, cursor, wanted, problems),
        "wait" => waits::read_wait(&field, problems).map(Action::Wait),
        "each" => branches::read_each(&field, cursor, blocks, problems),
        "approval" => waits::read_approval(&field, cursor, wanted, blocks.types, problems)
            .map(Box::new)
            .map(Action::Approval),
        "guard" => guard::read(&field, problems).map(Action::Guard),
        "return" => Some(Action::Return(Data::read(&field, problems))),
        "throw" => read_throw(&field, problems),
        "nodes" => branches::read_block(cursor, blocks, problems),
        "when" => branches::read_condition(&field, cursor, wanted, problems),
        _ => Some(Action::Map),
    }
}

fn read_edges(cursor: &Cursor<'_>, is_block: bool, wanted: &mut Wanted, problems: &mut Problems) {
    for (name, port) in [("next", Port::Next), ("fail", Port::Fail)] {
        if let Some(field) = cursor.field(name) {
            targets(&field, port, wanted, problems);
        }
    }
    // The `join` of a block is about the branches inside.
    if let Some(field) = cursor.field("join").filter(|_| !is_block) {
        wanted.join = read_join(&field, problems);
    }
}

pub(super) fn read_join(cursor: &Cursor<'_>, problems: &mut Problems) -> Join {
    if let Content::Number(_) = cursor.tree.content {
        let count = cursor.count(limits::NODES as u64, problems);
        return count.and_then(|count| usize::try_from(count).ok()).map_or(Join::All, Join::Count);
    }
    cursor.choice(&[("all", Join::All), ("any", Join::Count(1))], problems).unwrap_or_default()
}

fn read_throw(field: &Cursor<'_>, problems: &mut Problems) -> Option<Action> {
    let message = |problems: &mut Problems| Data::read(field, problems);
    if !field.is_map() {
        return Some(Action::Throw { code: Data::Literal("THROWN".into()), message: message(problems) });
    }
    field.expect_fields(&part("throw"), problems);
    let part = |name: &str, other: &str, problems: &mut Problems| {
        field.field(name).map_or(Data::Literal(other.into()), |part| Data::read(&part, problems))
    };
    Some(Action::Throw {
        code: part("code", "THROWN", problems),
        message: part("message", "the flow gave up", problems),
    })
}

fn read_sets(cursor: &Cursor<'_>, problems: &mut Problems) -> Vec<Field> {
    let Some(field) = cursor.field("sets") else { return Vec::new() };
    match Data::read_assigned(&field, Lone::Field, problems) {
        Data::Fields(fields) => fields,
        _ => {
            problems.add(field.mismatch("an object of vars and values"));
            Vec::new()
        }
    }
}

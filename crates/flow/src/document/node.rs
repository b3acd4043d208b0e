//! One node: which kind it is by its fields, and what every kind has.

use super::assignments::Lone;
use super::block::{Blocks, targets};
use super::data::{Data, Field, Formula};
use super::model::{Action, Each, Loop, Node, Retry, RetryOn};
use super::{call, duration, read_vars, waits};
use crate::cursor::{Cursor, is_identifier};
use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::settle::{Join, Port};
use crate::source::{Content, Place};
use std::sync::Arc;

/// What a node asks of its block.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) join: Join,
    pub(super) edges: Vec<(Port, String, String, Place)>,
}

/// What every node may have.
const COMMON: [&str; 11] =
    ["name", "description", "only", "with", "sets", "next", "fail", "retry", "timeout", "join", "delivery"];

/// Kinds by the field that makes them, and their own fields; the first that fits counts.
const KINDS: [(&str, &[&str]); 15] = [
    ("exec", &["exec", "args", "bind"]),
    ("flow", &["flow", "args", "bind"]),
    ("agent", &["agent", "args", "bind"]),
    ("handoff", &["handoff", "args", "bind", "context", "reason"]),
    ("case", &["case", "else"]),
    ("wait", &["wait"]),
    ("each", &["each", "nodes", "limit", "on_error"]),
    ("approval", &["approval", "then", "else", "notify"]),
    ("guard", &["guard"]),
    ("return", &["return"]),
    ("throw", &["throw"]),
    ("nodes", &["nodes", "vars", "when", "max"]),
    ("when", &["when", "then", "else"]),
    ("with", &[]),
    ("sets", &[]),
];

pub(super) fn read(
    id: &str,
    cursor: &Cursor<'_>,
    blocks: &mut Blocks<'_>,
    problems: &mut Problems,
) -> Option<(Node, Wanted)> {
    let kind = KINDS.iter().find(|(field, _)| cursor.field(field).is_some());
    let Some((kind, own)) = kind.filter(|_| cursor.is_map()) else {
        let message = "a node needs one of exec, flow, agent, handoff, when, case, wait, each, nodes, approval, guard, return, throw, with, sets";
        problems.add(Problem::error(Code::Syntax, &cursor.path, cursor.at, message));
        return None;
    };
    let known: Vec<_> = own.iter().chain(&COMMON).copied().collect();
    cursor.expect_fields(&known, problems);
    let mut wanted = Wanted::default();
    let action = read_action(kind, cursor, &mut wanted, blocks, problems);
    read_edges(cursor, matches!(action, Some(Action::Block { .. })), &mut wanted, problems);
    let words = [("at_least_once", false), ("at_most_once", true)];
    let delivery = cursor.field("delivery").and_then(|field| field.choice(&words, problems));
    let node = Node {
        id: id.to_owned(),
        path: cursor.path.clone(),
        at: cursor.at,
        only: cursor.field("only").and_then(|field| Formula::read(&field, problems)),
        sets: read_sets(cursor, problems),
        with: cursor.field("with").map(|field| Data::read_assigned(&field, Lone::Value, problems)),
        has_fail: cursor.field("fail").is_some(),
        retry: cursor.field("retry").and_then(|field| read_retry(&field, problems)).unwrap_or_default(),
        timeout: cursor.field("timeout").and_then(|field| duration::read(&field, problems)),
        is_at_most_once: delivery.unwrap_or_default(),
        action: action?,
    };
    Some((node, wanted))
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
        "case" => read_switch(&field, cursor, wanted, problems),
        "wait" => waits::read_wait(&field, problems).map(Action::Wait),
        "each" => read_each(&field, cursor, blocks, problems),
        "approval" => waits::read_approval(&field, cursor, wanted, blocks.types, problems)
            .map(Box::new)
            .map(Action::Approval),
        "guard" => waits::read_guard(&field, problems).map(Action::Guard),
        "return" => Some(Action::Return(Data::read(&field, problems))),
        "throw" => read_throw(&field, problems),
        "nodes" => read_block(cursor, blocks, problems),
        "when" => read_condition(&field, cursor, wanted, problems),
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

fn read_condition(
    field: &Cursor<'_>,
    cursor: &Cursor<'_>,
    wanted: &mut Wanted,
    problems: &mut Problems,
) -> Option<Action> {
    for (name, branch) in [("then", 0), ("else", 1)] {
        if let Some(field) = cursor.field(name) {
            targets(&field, Port::Branch(branch), wanted, problems);
        }
    }
    Formula::read(field, problems).map(Action::Condition)
}

fn read_switch(
    field: &Cursor<'_>,
    cursor: &Cursor<'_>,
    wanted: &mut Wanted,
    problems: &mut Problems,
) -> Option<Action> {
    if !field.is_list() {
        problems.add(field.mismatch("a list of {when, then}"));
        return None;
    }
    let mut cases = Vec::new();
    for (branch, case) in field.items().enumerate() {
        case.expect_fields(&["when", "then"], problems);
        match case.field("when") {
            Some(when) => cases.push(Formula::read(&when, problems)),
            None => problems.add(case.error(Code::Syntax, "'when' is missing")),
        }
        if let Some(then) = case.field("then") {
            targets(&then, Port::Branch(branch), wanted, problems);
        }
    }
    if let Some(otherwise) = cursor.field("else") {
        targets(&otherwise, Port::Branch(cases.len()), wanted, problems);
    }
    cases.into_iter().collect::<Option<Vec<_>>>().map(Action::Switch)
}

fn read_each(
    field: &Cursor<'_>,
    cursor: &Cursor<'_>,
    blocks: &mut Blocks<'_>,
    problems: &mut Problems,
) -> Option<Action> {
    let text = field.text(problems)?;
    let (list, item, index) = split_each(text);
    for name in [Some(item), index].into_iter().flatten().filter(|name| !is_identifier(name)) {
        problems.add(field.error(Code::Syntax, format!("'{name}' is no name for an item")));
    }
    let list = Formula::parse(list, super::data::Origin::of(field), problems);
    let limit =
        cursor.field("limit").and_then(|field| field.count(limits::RUNNING as u64, problems)).unwrap_or(1);
    let words = [("stop", false), ("collect", true)];
    let collects_errors = cursor.field("on_error").and_then(|field| field.choice(&words, problems));
    let block = blocks.read(cursor, None, problems);
    Some(Action::Each(Each {
        list: list?,
        item: item.to_owned(),
        index: index.map(str::to_owned),
        limit: usize::try_from(limit).ok()?,
        collects_errors: collects_errors.unwrap_or_default(),
        block: Arc::new(block?),
    }))
}

/// `list => item, index`; the list may have lambdas of its own.
fn split_each(text: &str) -> (&str, &str, Option<&str>) {
    let Some((list, names)) = text.rsplit_once("=>") else { return (text, "item", None) };
    match names.split_once(',') {
        _ if names.contains([')', ']']) => (text, "item", None),
        Some((item, index)) => (list, item.trim(), Some(index.trim())),
        None => (list, names.trim(), None),
    }
}

/// With a condition it is a loop, without one a block.
fn read_block(cursor: &Cursor<'_>, blocks: &mut Blocks<'_>, problems: &mut Problems) -> Option<Action> {
    let block = blocks.read(cursor, None, problems);
    if !["when", "vars", "max"].iter().any(|name| cursor.field(name).is_some()) {
        let join = cursor.field("join").map(|field| read_join(&field, problems)).unwrap_or_default();
        return Some(Action::Block { block: Arc::new(block?), join });
    }
    let when = cursor.field("when").map(|field| Formula::read(&field, problems));
    let max = cursor.field("max").and_then(|field| field.count(limits::PASSES as u64, problems));
    if when.is_none() && max.is_none() {
        problems.add(Problem::error(
            Code::Syntax,
            &cursor.path,
            cursor.at,
            "a loop needs 'when' or 'max' to end",
        ));
    }
    Some(Action::Loop(Loop {
        vars: read_vars(cursor, problems),
        when: when.map_or(Some(None), |when| when.map(Some))?,
        max: max.and_then(|max| usize::try_from(max).ok()).unwrap_or(1000),
        block: Arc::new(block?),
    }))
}

fn read_throw(field: &Cursor<'_>, problems: &mut Problems) -> Option<Action> {
    let message = |problems: &mut Problems| Data::read(field, problems);
    if !field.is_map() {
        return Some(Action::Throw { code: Data::Literal("THROWN".into()), message: message(problems) });
    }
    field.expect_fields(&["code", "message"], problems);
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

fn read_retry(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Retry> {
    let attempts = |cursor: &Cursor<'_>, problems: &mut Problems| {
        cursor.count(limits::ATTEMPTS, problems).and_then(|count| u32::try_from(count).ok())
    };
    if !cursor.is_map() {
        return Some(Retry { attempts: attempts(cursor, problems)?, ..Retry::default() });
    }
    cursor.expect_fields(&["attempts", "delay", "factor", "max_delay", "on"], problems);
    let mut retry = Retry { attempts: 3, ..Retry::default() };
    if let Some(field) = cursor.field("attempts") {
        retry.attempts = attempts(&field, problems)?;
    }
    if let Some(field) = cursor.field("delay") {
        retry.delay = duration::read(&field, problems)?;
    }
    if let Some(field) = cursor.field("max_delay") {
        retry.max_delay = duration::read(&field, problems)?;
    }
    if let Some(field) = cursor.field("factor") {
        retry.factor = read_factor(&field, problems)?;
    }
    if let Some(field) = cursor.field("on") {
        retry.on = read_retry_on(&field, problems)?;
    }
    Some(retry)
}

fn read_factor(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<f64> {
    let factor = match &cursor.tree.content {
        Content::Number(number) => number.as_f64().filter(|factor| (1.0..=100.0).contains(factor)),
        _ => None,
    };
    if factor.is_none() {
        problems.add(cursor.error(Code::Syntax, "a number from 1 to 100 belongs here"));
    }
    factor
}

fn read_retry_on(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<RetryOn> {
    if cursor.is_list() {
        let codes = cursor.items().map(|item| item.text(problems).map(str::to_owned));
        return codes.collect::<Option<Vec<_>>>().map(RetryOn::Codes);
    }
    match cursor.text(problems)? {
        "retryable" => Some(RetryOn::Retryable),
        "any" => Some(RetryOn::Any),
        code => Some(RetryOn::Codes(vec![code.to_owned()])),
    }
}

//! Nodes that lead one way or another, or have nodes inside: conditions, switches, each, loops, blocks.

use super::block::{Blocks, targets};
use super::data::Formula;
use super::model::{Action, Each, Loop};
use super::node::{Wanted, read_join};
use super::origin::Origin;
use super::read_vars;
use super::words::part;
use crate::cursor::{Cursor, is_name};
use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::settle::Port;
use std::sync::Arc;

pub(super) fn read_condition(
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

pub(super) fn read_switch(
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
        case.expect_fields(&part("case"), problems);
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

pub(super) fn read_each(
    field: &Cursor<'_>,
    cursor: &Cursor<'_>,
    blocks: &mut Blocks<'_>,
    problems: &mut Problems,
) -> Option<Action> {
    // The nodes inside are looked at, whatever the list is.
    let text = field.text(problems);
    let (list, item, index) = split_each(text.unwrap_or("[]"));
    for name in [Some(item), index].into_iter().flatten().filter(|name| !is_name(name)) {
        problems.add(field.error(Code::Syntax, format!("'{name}' is no name for an item")));
    }
    let list = Formula::parse(list, Origin::of(field), problems);
    let limit =
        cursor.field("limit").and_then(|field| field.count(limits::RUNNING as u64, problems)).unwrap_or(1);
    let words = [("stop", false), ("collect", true)];
    let collects_errors = cursor.field("on_error").and_then(|field| field.choice(&words, problems));
    let block = blocks.read(cursor, None, problems);
    Some(Action::Each(Each {
        list: list.filter(|_| text.is_some())?,
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
pub(super) fn read_block(
    cursor: &Cursor<'_>,
    blocks: &mut Blocks<'_>,
    problems: &mut Problems,
) -> Option<Action> {
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

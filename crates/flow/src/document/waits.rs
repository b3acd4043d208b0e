//! Nodes that wait: for time, for a signal, for somebody's approval.

use super::block::targets;
use super::data::{Data, Formula};
use super::deciders::{self, MANAGERS};
use super::model::{Approval, OnTimeout, Wait};
use super::node::Wanted;
use super::types::Types;
use super::words::part;
use super::{call, duration};
use crate::cursor::Cursor;
use crate::problem::{Code, Problems};
use crate::settle::Port;
use serde_json::json;

pub(super) fn read_wait(field: &Cursor<'_>, problems: &mut Problems) -> Option<Wait> {
    if !field.is_map() {
        return duration::read(field, problems).map(Wait::For);
    }
    field.expect_fields(&part("wait"), problems);
    if let Some(until) = field.field("until") {
        if let Some(other) = ["signal", "key"].into_iter().find_map(|name| field.field(name)) {
            let message =
                "a wait has 'until' or 'signal': how long it waits for a signal is the node's 'timeout'";
            problems.add(other.error(Code::Syntax, message));
        }
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
        field.expect_fields(&part("approval"), problems);
    }
    let title = if is_title { Some(field.clone()) } else { field.field("title") };
    if title.is_none() {
        problems.add(field.error(Code::Syntax, "'title' is missing: what is to be approved"));
    }
    let words = [("reject", OnTimeout::Reject), ("approve", OnTimeout::Approve), ("fail", OnTimeout::Fail)];
    let on_timeout = field.field("on_timeout").and_then(|field| field.choice(&words, problems));
    let notify = cursor.field("notify").map(|field| call::read_small(&field, problems));
    let title = title.map(|title| Data::read(&title, problems));
    Some(Approval {
        fields: field.field("fields").map(|field| types.open_schema(&field, problems)),
        by: field
            .field("by")
            .map_or(Data::Literal(json!(MANAGERS)), |field| deciders::read(&field, problems)),
        timeout: field.field("timeout").and_then(|field| duration::read(&field, problems)),
        on_timeout: on_timeout.unwrap_or_default(),
        has_else: cursor.field("else").is_some(),
        // What has to be there comes last, when all problems are known.
        title: title?,
        notify: notify.map_or(Some(None), |call| call.map(Some))?,
    })
}

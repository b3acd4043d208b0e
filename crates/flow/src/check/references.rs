//! Which tools a flow refers to, and where.

use crate::document::{Action, Block, Call, Check, Flow, Source, Target};
use serde::Serialize;
use tool::Uri;

/// A place in a flow that leads to a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The node's or the trigger's path in the document, e.g. `nodes.ship.nodes.send`.
    pub node: String,
    /// Where it leads.
    pub uri: Uri,
}

/// Every tool that a flow refers to, in the order of the document.
#[must_use]
pub fn references(flow: &Flow) -> Vec<Reference> {
    let mut found = Vec::new();
    look(&flow.block, &mut found);
    for (index, trigger) in flow.triggers.iter().enumerate() {
        if let Source::Message { from, .. } | Source::File { from, .. } = &trigger.source {
            found.push(Reference { node: format!("triggers[{index}]"), uri: from.clone() });
        }
    }
    found
}

fn look(block: &Block, found: &mut Vec<Reference>) {
    for node in &block.nodes {
        let call: Option<&Call> = match &node.action {
            Action::Call(call) => Some(call),
            Action::Approval(approval) => approval.notify.as_ref(),
            Action::Guard(guard) => match &guard.check {
                Check::Asked { call, .. } => Some(call),
                Check::Pii | Check::Schema(_) | Check::Custom(_) => None,
            },
            _ => None,
        };
        let refer = |uri: Uri| Reference { node: node.path.clone(), uri };
        if let Some(Target(Ok(uri))) = call.map(|call| &call.target) {
            found.push(refer(uri.clone()));
        }
        let in_place = call.and_then(|call| call.in_place.as_ref());
        found.extend(in_place.into_iter().flat_map(|agent| agent.uris()).map(refer));
        if let Some(inner) = node.block() {
            look(inner, found);
        }
    }
}

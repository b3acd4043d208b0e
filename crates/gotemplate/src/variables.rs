//! Which names a template looks up in its data.

use crate::ast::{Node, Operand, OperandKind, Pipe, Tree};
use std::collections::BTreeSet;

/// Names in the data of the main body. Definitions get what they are called with, so theirs are not among them.
pub(crate) fn of_tree(tree: &Tree<'_>) -> BTreeSet<String> {
    let mut found = Names::default();
    found.nodes(&tree.main, Dot::Data);
    found.0
}

/// What the dot is at some place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dot {
    /// The data as a whole.
    Data,
    Another,
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn nodes(&mut self, nodes: &[Node<'_>], dot: Dot) {
        nodes.iter().for_each(|node| self.node(node, dot));
    }

    fn node(&mut self, node: &Node<'_>, dot: Dot) {
        match node {
            Node::Text { .. } | Node::Break | Node::Continue => {}
            Node::Action(pipe) => self.pipe(pipe, dot),
            Node::Branch(branch) => {
                let inner = if branch.sets_dot { Dot::Another } else { dot };
                for (pipe, body) in &branch.arms {
                    self.pipe(pipe, dot);
                    self.nodes(body, inner);
                }
                self.nodes(branch.otherwise.as_deref().unwrap_or_default(), dot);
            }
            Node::Range { pipe, body, otherwise } => {
                self.pipe(pipe, dot);
                self.nodes(body, Dot::Another);
                self.nodes(otherwise.as_deref().unwrap_or_default(), dot);
            }
            Node::Call { argument, .. } => {
                argument.iter().for_each(|pipe| self.pipe(pipe, dot));
            }
        }
    }

    fn pipe(&mut self, pipe: &Pipe<'_>, dot: Dot) {
        let operands = pipe.commands.iter().flat_map(|command| &command.operands);
        operands.for_each(|operand| self.operand(operand, dot));
    }

    fn operand(&mut self, operand: &Operand<'_>, dot: Dot) {
        match &operand.kind {
            OperandKind::Field(names) if dot == Dot::Data => self.first(names),
            OperandKind::Variable { name: "$", path } => self.first(path),
            OperandKind::Pipe(pipe) => self.pipe(pipe, dot),
            OperandKind::Chain { base, .. } => self.operand(base, dot),
            OperandKind::Dot
            | OperandKind::Nil
            | OperandKind::Bool(_)
            | OperandKind::Number { .. }
            | OperandKind::String { .. }
            | OperandKind::Field(_)
            | OperandKind::Variable { .. }
            | OperandKind::Function(_) => {}
        }
    }

    fn first(&mut self, names: &[&str]) {
        self.0.extend(names.first().map(|name| (*name).to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, Template};

    #[test]
    fn names_what_the_data_must_have() {
        for (source, expected) in [
            ("{{ .a.b }}{{ $.c }}{{ if .d }}{{ .e }}{{ else }}{{ .f }}{{ end }}", "a c d e f"),
            ("{{ range $i, $x := .a }}{{ .b }}{{ $x.c }}{{ $.d }}{{ else }}{{ .e }}{{ end }}", "a d e"),
            ("{{ with .a }}{{ .b }}{{ end }}{{ printf \"%s\" (index .c 0) | upper }}{{ (.d).e }}", "a c d"),
            ("{{ define \"x\" }}{{ .a }}{{ end }}{{ template \"x\" .b }}", "b"),
            ("no", ""),
        ] {
            let template = Template::compile("t", source, &Options::default()).unwrap();
            let found = template.variables().into_iter().collect::<Vec<_>>().join(" ");
            assert_eq!(found, expected, "{source}");
        }
    }
}

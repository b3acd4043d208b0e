//! Which nodes of a block may run: edges settle as taken or dead, by one function of the graph and of how nodes ended.

use serde::{Deserialize, Serialize};

/// How a node left: which of its edges are taken. All others die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By `next`.
    Next,
    /// By `next` and the branch of that number.
    NextAnd(usize),
    /// By that branch alone.
    Branch(usize),
    /// By `fail`.
    Fail,
    /// By none: it was cancelled, or failed without `fail`.
    Nowhere,
}

/// Which exit an edge belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// `next`.
    Next,
    /// `then` is 0 and `else` comes behind the last branch.
    Branch(usize),
    /// `fail`.
    Fail,
}

impl Exit {
    fn takes(self, port: Port) -> bool {
        match self {
            Self::Next => port == Port::Next,
            Self::NextAnd(branch) => port == Port::Next || port == Port::Branch(branch),
            Self::Branch(branch) => port == Port::Branch(branch),
            Self::Fail => port == Port::Fail,
            Self::Nowhere => false,
        }
    }
}

/// How many incoming edges a node waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Join {
    /// All are settled, and one is taken.
    #[default]
    All,
    /// So many are taken; `any` is one.
    Count(usize),
}

/// An edge from one node to another of the same block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Where it leads.
    pub to: usize,
    /// Which exit takes it.
    pub port: Port,
}

/// The nodes of a block by number, and the edges between them, without circles.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    joins: Vec<Join>,
    edges: Vec<Vec<Edge>>,
    incoming: Vec<usize>,
    order: Vec<usize>,
    /// Takes the failures that no edge takes; it does not start by itself.
    handler: Option<usize>,
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It waits for edges.
    Blocked,
    /// It may run, or is running.
    Ready,
    /// It will not run: its edges are dead.
    Skipped,
    /// It has run.
    Ended,
}

impl Graph {
    /// A graph of nodes with their outgoing edges.
    ///
    /// # Errors
    /// The nodes of a circle.
    pub fn new(joins: Vec<Join>, edges: Vec<Vec<Edge>>, handler: Option<usize>) -> Result<Self, Vec<usize>> {
        let mut incoming = vec![0; joins.len()];
        edges.iter().flatten().for_each(|edge| incoming[edge.to] += 1);
        let mut graph = Self { joins, edges, incoming, order: Vec::new(), handler };
        let mut open = graph.incoming.clone();
        let mut free: Vec<usize> = (0..open.len()).rev().filter(|node| open[*node] == 0).collect();
        while let Some(node) = free.pop() {
            graph.order.push(node);
            for edge in graph.edges[node].iter().rev() {
                open[edge.to] -= 1;
                if open[edge.to] == 0 {
                    free.push(edge.to);
                }
            }
        }
        if graph.order.len() == open.len() { Ok(graph) } else { Err(graph.circle(&open)) }
    }

    /// One circle among the nodes that have edges left: some predecessor of each is among them, too.
    fn circle(&self, open: &[usize]) -> Vec<usize> {
        let leads_to = |to: usize| {
            let leads = |from: &usize| open[*from] > 0 && self.edges[*from].iter().any(|edge| edge.to == to);
            (0..open.len()).find(leads)
        };
        let mut path: Vec<usize> = open.iter().position(|count| *count > 0).into_iter().collect();
        while let Some(before) = path.last().and_then(|node| leads_to(*node)) {
            if let Some(at) = path.iter().position(|node| *node == before) {
                path.drain(..at);
                break;
            }
            path.push(before);
        }
        path.reverse();
        let first = (0..path.len()).min_by_key(|at| path[*at]).unwrap_or(0);
        path.rotate_left(first);
        path
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.joins.len()
    }

    /// There are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.joins.is_empty()
    }

    /// No edge leads to the node.
    #[must_use]
    pub fn is_start(&self, node: usize) -> bool {
        self.incoming[node] == 0
    }

    /// Nodes that wait for more edges than lead to them, with how many each.
    pub(crate) fn joins_too_wide(&self) -> impl Iterator<Item = (usize, (usize, usize))> + '_ {
        self.joins.iter().zip(&self.incoming).enumerate().filter_map(|(node, (join, there))| match join {
            Join::Count(wanted) if wanted > there && *wanted > 1 => Some((node, (*wanted, *there))),
            Join::Count(_) | Join::All => None,
        })
    }

    /// The edges that leave a node.
    #[must_use]
    pub fn edges(&self, node: usize) -> &[Edge] {
        &self.edges[node]
    }

    /// The node that takes the failures that no edge takes.
    #[must_use]
    pub fn handler(&self) -> Option<usize> {
        self.handler
    }

    /// Every node comes behind those that lead to it.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// All nodes that edges lead to from these, and these.
    #[must_use]
    pub fn downstream(&self, from: &[usize]) -> Vec<bool> {
        let mut reached = vec![false; self.len()];
        from.iter().for_each(|node| reached[*node] = true);
        for node in &self.order {
            if reached[*node] {
                self.edges[*node].iter().for_each(|edge| reached[edge.to] = true);
            }
        }
        reached
    }

    /// The nodes whose ends are the block's: they ended, and took no edge.
    #[must_use]
    pub fn last(&self, exits: &[Option<Exit>]) -> Vec<usize> {
        let is_last = |node: &usize| {
            exits[*node].is_some_and(|exit| {
                exit != Exit::Nowhere && !self.edges[*node].iter().any(|edge| exit.takes(edge.port))
            })
        };
        (0..self.len()).filter(is_last).collect()
    }
}

/// The edges that lie on no circle, by node; `torn` tells of the nodes that lack some now.
pub(crate) fn without_circles(mut edges: Vec<Vec<Edge>>, torn: &mut [bool]) -> Vec<Vec<Edge>> {
    let reached: Vec<_> = (0..edges.len()).map(|node| reached_from(node, &edges)).collect();
    for (node, own) in edges.iter_mut().enumerate() {
        let count = own.len();
        own.retain(|edge| !reached[edge.to][node]);
        torn[node] |= own.len() < count;
    }
    edges
}

/// All nodes that edges lead to from this one, and this one.
fn reached_from(node: usize, edges: &[Vec<Edge>]) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    reached[node] = true;
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        for edge in &edges[node] {
            if !std::mem::replace(&mut reached[edge.to], true) {
                open.push(edge.to);
            }
        }
    }
    reached
}

/// Where every node stands, given how nodes ended so far; `is_caught` says that the handler was given a failure.
///
/// Ends only ever add up, so a node that is ready stays ready until it ends, and one that is skipped never runs,
/// unless the handler leads to it.
#[must_use]
pub fn settle(graph: &Graph, exits: &[Option<Exit>], is_caught: bool) -> Vec<Standing> {
    let mut taken = vec![0; graph.len()];
    let mut dead = vec![0; graph.len()];
    let mut standings = vec![Standing::Blocked; graph.len()];
    for &node in &graph.order {
        let standing = match exits[node] {
            Some(_) => Standing::Ended,
            None if graph.handler == Some(node) && is_caught => Standing::Ready,
            None if graph.handler == Some(node) && graph.incoming[node] == 0 => Standing::Skipped,
            None => stand(graph.joins[node], graph.incoming[node], taken[node], dead[node]),
        };
        standings[node] = standing;
        if matches!(standing, Standing::Ended | Standing::Skipped) {
            let exit = exits[node].unwrap_or(Exit::Nowhere);
            for edge in &graph.edges[node] {
                let settled = if exit.takes(edge.port) { &mut taken } else { &mut dead };
                settled[edge.to] += 1;
            }
        }
    }
    standings
}

fn stand(join: Join, incoming: usize, taken: usize, dead: usize) -> Standing {
    let wanted = match join {
        _ if incoming == 0 => return Standing::Ready,
        Join::All if taken + dead < incoming => return Standing::Blocked,
        Join::All => 1,
        Join::Count(count) => count.clamp(1, incoming),
    };
    match () {
        () if taken >= wanted => Standing::Ready,
        // So many cannot come any more.
        () if incoming - dead < wanted => Standing::Skipped,
        () => Standing::Blocked,
    }
}

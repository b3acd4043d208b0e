//! Lists: a plain vector while they are short, a tree of chunks when they are long.

use crate::Node;
use imbl::Vector;
use std::sync::Arc;

/// Up to so many items are copied as a whole by a change; a tree would take more room.
const MAX_SHORT: usize = 64;

/// A list whose copies share their items.
#[derive(Debug, Clone)]
pub struct Array(Form);

#[derive(Debug, Clone)]
enum Form {
    Short(Arc<Vec<Node>>),
    Long(Arc<Vector<Node>>),
}

impl Array {
    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Short(items) => items.len(),
            Form::Long(items) => items.len(),
        }
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at this position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&Node> {
        match &self.0 {
            Form::Short(items) => items.get(at),
            Form::Long(items) => items.get(at),
        }
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Node> {
        match &mut self.0 {
            Form::Short(items) => Arc::make_mut(items).get_mut(at),
            Form::Long(items) => Arc::make_mut(items).get_mut(at),
        }
    }

    /// The items in order.
    pub fn iter(&self) -> Iter<'_> {
        match &self.0 {
            Form::Short(items) => Iter::Short(items.iter()),
            Form::Long(items) => Iter::Long(items.iter()),
        }
    }

    pub(crate) fn push(&mut self, node: Node) {
        match &mut self.0 {
            Form::Short(items) if items.len() < MAX_SHORT => Arc::make_mut(items).push(node),
            Form::Short(items) => {
                let mut long: Vector<Node> = items.iter().cloned().collect();
                long.push_back(node);
                self.0 = Form::Long(Arc::new(long));
            }
            Form::Long(items) => Arc::make_mut(items).push_back(node),
        }
    }

    /// Takes out the items at these positions, which are in order, each there and there once.
    pub(crate) fn remove(&mut self, positions: &[usize]) {
        if let (Form::Long(items), true) = (&mut self.0, positions.len() < MAX_SHORT) {
            let items = Arc::make_mut(items);
            for at in positions.iter().rev() {
                items.remove(*at);
            }
            return;
        }
        let mut gone = positions.iter().peekable();
        let is_kept = |(at, _): &(usize, &Node)| gone.next_if(|gone| *gone == &at.clone()).is_none();
        *self = self.iter().enumerate().filter(is_kept).map(|(_, node)| node.clone()).collect();
    }
}

impl FromIterator<Node> for Array {
    fn from_iter<I: IntoIterator<Item = Node>>(items: I) -> Self {
        let mut items: Vec<Node> = items.into_iter().collect();
        if items.len() > MAX_SHORT {
            return Self(Form::Long(Arc::new(items.into())));
        }
        items.shrink_to_fit();
        Self(Form::Short(Arc::new(items)))
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Node;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The items of a list, in order.
#[derive(Clone)]
pub enum Iter<'a> {
    /// Of a short list.
    Short(std::slice::Iter<'a, Node>),
    /// Of a long list.
    Long(imbl::vector::Iter<'a, Node, imbl::shared_ptr::DefaultSharedPtr>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Node;

    fn next(&mut self) -> Option<&'a Node> {
        match self {
            Self::Short(items) => items.next(),
            Self::Long(items) => items.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Short(items) => items.size_hint(),
            Self::Long(items) => items.size_hint(),
        }
    }
}

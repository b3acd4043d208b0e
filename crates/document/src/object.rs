//! Objects: a plain list of fields while they are few, an index when they are many.

use crate::Node;
use imbl::{HashMap, OrdMap};
use std::sync::Arc;

/// Up to so many fields are looked through one by one, which is faster than an index.
const MAX_FEW: usize = 32;

/// Fields in the order they were added; copies share them.
#[derive(Debug, Clone)]
pub struct Object(Form);

#[derive(Debug, Clone)]
enum Form {
    Few(Arc<Vec<Field>>),
    Many(Arc<Many>),
}

type Field = (Arc<str>, Node);

/// Each field has a number that grows with its age, so that the order survives additions and
/// removals without anything being moved.
#[derive(Debug, Clone, Default)]
struct Many {
    numbers: HashMap<Arc<str>, u64>,
    fields: OrdMap<u64, Field>,
    next: u64,
}

impl Many {
    fn insert(&mut self, name: Arc<str>, node: Node) {
        let number = match self.numbers.get(&name) {
            Some(number) => *number,
            None => {
                self.next += 1;
                self.numbers.insert(name.clone(), self.next);
                self.next
            }
        };
        self.fields.insert(number, (name, node));
    }
}

impl Object {
    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Few(fields) => fields.len(),
            Form::Many(many) => many.fields.len(),
        }
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The field of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Node> {
        match &self.0 {
            Form::Few(fields) => fields.iter().find(|(field, _)| &**field == name).map(|(_, node)| node),
            Form::Many(many) => many.fields.get(many.numbers.get(name)?).map(|(_, node)| node),
        }
    }

    /// There is a field of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        match &mut self.0 {
            Form::Few(fields) => {
                let at = fields.iter().position(|(field, _)| &**field == name)?;
                Some(&mut Arc::make_mut(fields)[at].1)
            }
            Form::Many(many) => {
                let number = *many.numbers.get(name)?;
                Arc::make_mut(many).fields.get_mut(&number).map(|(_, node)| node)
            }
        }
    }

    /// The fields in the order they were added.
    pub fn iter(&self) -> Iter<'_> {
        match &self.0 {
            Form::Few(fields) => Iter::Few(fields.iter()),
            Form::Many(many) => Iter::Many(many.fields.iter()),
        }
    }

    /// Adds the field, or gives it another value.
    pub(crate) fn insert(&mut self, name: Arc<str>, node: Node) {
        match &mut self.0 {
            Form::Few(fields) => {
                if let Some(at) = fields.iter().position(|(field, _)| *field == name) {
                    Arc::make_mut(fields)[at].1 = node;
                } else if fields.len() < MAX_FEW {
                    Arc::make_mut(fields).push((name, node));
                } else {
                    let mut many = Many::default();
                    fields.iter().cloned().for_each(|(name, node)| many.insert(name, node));
                    many.insert(name, node);
                    self.0 = Form::Many(Arc::new(many));
                }
            }
            Form::Many(many) => Arc::make_mut(many).insert(name, node),
        }
    }

    /// Takes the field out.
    pub(crate) fn remove(&mut self, name: &str) {
        match &mut self.0 {
            Form::Few(fields) => Arc::make_mut(fields).retain(|(field, _)| &**field != name),
            Form::Many(many) => {
                let many = Arc::make_mut(many);
                if let Some(number) = many.numbers.remove(name) {
                    many.fields.remove(&number);
                }
            }
        }
    }
}

impl FromIterator<Field> for Object {
    /// Of two fields with one name the later wins, at the place of the first.
    fn from_iter<I: IntoIterator<Item = Field>>(fields: I) -> Self {
        let mut object = Self(Form::Few(Arc::default()));
        fields.into_iter().for_each(|(name, node)| object.insert(name, node));
        if let Form::Few(fields) = &mut object.0 {
            Arc::make_mut(fields).shrink_to_fit();
        }
        object
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a Arc<str>, &'a Node);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The fields of an object, in order.
#[derive(Clone)]
pub enum Iter<'a> {
    /// Of a small object.
    Few(std::slice::Iter<'a, Field>),
    /// Of a large object.
    Many(imbl::ordmap::Iter<'a, u64, Field, imbl::shared_ptr::DefaultSharedPtr>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Arc<str>, &'a Node);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, node) = match self {
            Self::Few(fields) => fields.next()?,
            Self::Many(fields) => fields.next()?.1,
        };
        Some((name, node))
    }
}

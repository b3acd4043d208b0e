//! What files import: the order that follows from it, and what was left out.

use super::bounds::{self, MAX_IMPORTS, check, refused};
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tool::{Error, Result};

/// Adds imports of files whose types are used without one: Node's reflection makes a file of each package and names no
/// imports at all.
pub(super) fn complete(files: &mut BTreeMap<String, FileDescriptorProto>, known: &DescriptorPool) {
    let mut homes = HashMap::new();
    for file in files.values() {
        let types = Types::of(file);
        homes.extend(types.defined.into_iter().map(|name| (name, file.name().to_owned())));
    }
    for file in files.values_mut() {
        let package = file.package().to_owned();
        let home = |name: &String| {
            let everybodys = |name: &str| {
                let found = known.get_message_by_name(name.trim_start_matches('.'))?;
                Some(found.parent_file().name().to_owned())
            };
            let meant = meanings(name, &package);
            let own = meant.iter().find_map(|name| homes.get(name).cloned());
            own.or_else(|| meant.iter().find_map(|name| everybodys(name)))
        };
        let wanted: BTreeSet<_> = Types::of(file).used.iter().filter_map(home).collect();
        let own = file.name().to_owned();
        let missing = wanted.into_iter().filter(|home| *home != own && !file.dependency.contains(home));
        let missing: Vec<_> = missing.collect();
        file.dependency.extend(missing);
    }
}

/// The full names that a name may stand for, nearest first: one without a dot before it counts from where it is used.
fn meanings(name: &str, package: &str) -> Vec<String> {
    if name.starts_with('.') {
        return vec![name.to_owned()];
    }
    let mut scope = package;
    let mut meanings = Vec::new();
    while !scope.is_empty() {
        meanings.push(format!(".{scope}.{name}"));
        scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
    }
    meanings.push(format!(".{name}"));
    meanings
}

/// The full names of the types of a file, each with a dot before it, as descriptors write them.
#[derive(Default)]
struct Types {
    defined: Vec<String>,
    used: BTreeSet<String>,
}

impl Types {
    fn of(file: &FileDescriptorProto) -> Self {
        let mut types = Self::default();
        let package = match file.package() {
            "" => String::new(),
            package => format!(".{package}"),
        };
        for message in &file.message_type {
            types.add_message(message, &package);
        }
        types.defined.extend(file.enum_type.iter().map(|found| format!("{package}.{}", found.name())));
        types.used.extend(file.extension.iter().flat_map(|field| field.type_name.clone()));
        for method in file.service.iter().flat_map(|service| &service.method) {
            types.used.extend([method.input_type().to_owned(), method.output_type().to_owned()]);
        }
        types
    }

    /// Messages are not nested more deeply than was counted before.
    fn add_message(&mut self, message: &DescriptorProto, outer: &str) {
        let name = format!("{outer}.{}", message.name());
        for inner in &message.nested_type {
            self.add_message(inner, &name);
        }
        self.defined.extend(message.enum_type.iter().map(|found| format!("{name}.{}", found.name())));
        self.used.extend(message.field.iter().flat_map(|field| field.type_name.clone()));
        self.defined.push(name);
    }
}

/// Gives each file by name what it has by public imports, and leaves none of them public: the library would follow them once
/// for every way that leads there, of which forty files have more than anybody can wait for. Files are in an order in which
/// each is behind those that it imports.
pub(super) fn flatten(files: &mut BTreeMap<String, FileDescriptorProto>, order: &[String]) -> Result<()> {
    let places: HashMap<&str, usize> =
        order.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    // What each file hands on to those who import it, by the places of the files.
    let mut handed_on: Vec<Vec<bool>> = Vec::with_capacity(order.len());
    let mut count = 0;
    for name in order {
        let file = files.get_mut(name).ok_or_else(bounds::broken)?;
        let public: BTreeSet<i32> = std::mem::take(&mut file.public_dependency).into_iter().collect();
        let (mut reached, mut given) = (vec![false; order.len()], vec![false; order.len()]);
        for (import, index) in file.dependency.iter().zip(0..) {
            let Some(place) = places.get(import.as_str()).copied() else { continue };
            let further = handed_on.get(place).map(Vec::as_slice).unwrap_or_default();
            reach(&mut reached, place, further);
            if public.contains(&index) {
                reach(&mut given, place, further);
            }
        }
        let everybodys = file.dependency.iter().filter(|import| !places.contains_key(import.as_str()));
        let reached = order.iter().zip(&reached).filter(|(_, is_reached)| **is_reached).map(|(name, _)| name);
        let all: BTreeSet<String> = everybodys.chain(reached).cloned().collect();
        count += all.len();
        check(count, MAX_IMPORTS, "imports, with those that public imports bring")?;
        file.dependency = all.into_iter().collect();
        file.weak_dependency.clear();
        handed_on.push(given);
    }
    Ok(())
}

/// Notes a file, and whatever it hands on.
fn reach(reached: &mut [bool], place: usize, handed_on: &[bool]) {
    for (is_reached, is_handed_on) in reached.iter_mut().zip(handed_on) {
        *is_reached |= *is_handed_on;
    }
    if let Some(is_reached) = reached.get_mut(place) {
        *is_reached = true;
    }
}

/// How far a file has come on its way into the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Open,
    Done,
}

/// Names of files, each behind those that it imports. Not recursive: imports may go as deep as there are files.
pub(super) fn in_order(
    files: &BTreeMap<String, FileDescriptorProto>,
    known: &DescriptorPool,
) -> Result<Vec<String>> {
    let mut visits: HashMap<&str, Visit> = HashMap::new();
    let mut order = Vec::with_capacity(files.len());
    for name in files.keys() {
        let mut stack = vec![(name.as_str(), 0)];
        while let Some((name, next)) = stack.pop() {
            let Some(file) = files.get(name) else { continue };
            if next == 0 && visits.contains_key(name) {
                continue;
            }
            visits.insert(name, Visit::Open);
            let Some(import) = file.dependency.get(next) else {
                visits.insert(name, Visit::Done);
                order.push(name.to_owned());
                continue;
            };
            stack.push((name, next + 1));
            match visits.get(import.as_str()) {
                Some(Visit::Open) => return Err(cyclic(name, import)),
                Some(Visit::Done) => {}
                None if files.contains_key(import) => stack.push((import, 0)),
                None if known.get_file_by_name(import).is_some() => {}
                None => return Err(missing(name, import)),
            }
        }
    }
    Ok(order)
}

fn cyclic(name: &str, import: &str) -> Error {
    refused(
        "CyclicImport",
        format!(
            "the descriptors import one another in a circle: '{name}' imports '{import}', which imports it again"
        ),
    )
}

fn missing(name: &str, import: &str) -> Error {
    refused(
        "MissingImport",
        format!(
            "the file '{import}', which '{name}' imports, is not there; add it, e.g. with `protoc --include_imports`"
        ),
    )
}

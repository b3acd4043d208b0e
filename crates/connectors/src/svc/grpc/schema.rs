//! The types and methods of a service, from whichever description there is of them.

use super::bounds::{self, Count, check, refused};
use super::comments::Comments;
use super::wire::Wire;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorPool, MethodDescriptor};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use tool::Result;

/// What is known of a service's types and methods.
#[derive(Clone)]
pub(in crate::svc) struct Schema {
    pub(super) pool: DescriptorPool,
    pub(super) comments: Comments,
    /// The services to offer methods of; all unless given.
    services: Option<Vec<String>>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("files", &self.pool.files().len()).finish_non_exhaustive()
    }
}

impl Schema {
    /// From a `FileDescriptorSet` in base64.
    ///
    /// # Errors
    /// `InvalidInput` for one that is none, is too large or not whole.
    pub(in crate::svc) fn from_base64(text: &str) -> Result<Self> {
        // Told before anything is decoded.
        check(text.len() / 4 * 3, bounds::MAX_BYTES + 2, "bytes")?;
        let text: String = text.split_ascii_whitespace().collect();
        let set = STANDARD.decode(text).map_err(|_| {
            refused("Unreadable", "schema.descriptor_set is no base64; encode the file with `base64`")
        })?;
        Self::from_set(&set)
    }

    /// From a `FileDescriptorSet` as `protoc` writes it.
    pub(super) fn from_set(set: &[u8]) -> Result<Self> {
        let files = Wire(set).map(|field| match field {
            Some(field) if field.number == 1 => field.content.ok_or_else(bounds::broken),
            _ => Err(bounds::broken()),
        });
        let files: Vec<_> = files.collect::<Result<_>>()?;
        Self::from_files(files)
    }

    /// From `FileDescriptorProto`s in any order. Well-known types need not be among them.
    pub(super) fn from_files<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Result<Self> {
        let mut count = Count::default();
        let mut decoded = BTreeMap::new();
        for bytes in files {
            count.add_file(bytes)?;
            let file = FileDescriptorProto::decode(bytes).map_err(|_| bounds::broken())?;
            // Servers send the same file again with each one that imports it.
            decoded.entry(file.name().to_owned()).or_insert(file);
        }
        Self::build(decoded)
    }

    pub(super) fn build(mut files: BTreeMap<String, FileDescriptorProto>) -> Result<Self> {
        let mut pool = DescriptorPool::global();
        // Those that everybody knows are there already.
        files.retain(|name, _| pool.get_file_by_name(name).is_none());
        let order = in_order(&files, &pool)?;
        let mut comments = Comments::default();
        let mut ordered = Vec::with_capacity(order.len());
        for name in order {
            if let Some(mut file) = files.remove(&name) {
                comments.take(&mut file);
                ordered.push(file);
            }
        }
        pool.add_file_descriptor_protos(ordered).map_err(|error| {
            let why = error.to_string();
            refused("Invalid", format!("the descriptors do not fit together: {}", tool::plain(&why)))
        })?;
        Ok(Self { pool, comments, services: None })
    }

    /// The same with no more than these services.
    pub(super) fn of_services(mut self, names: Vec<String>) -> Self {
        self.services = Some(names);
        self
    }

    /// All methods that may become tools, in the order of the descriptors.
    pub(super) fn methods(&self) -> Vec<MethodDescriptor> {
        let is_wanted = |name: &str| match &self.services {
            Some(names) => names.iter().any(|wanted| wanted == name),
            None => !is_of_infrastructure(name),
        };
        let services = self.pool.services().filter(|service| is_wanted(service.full_name()));
        services.flat_map(|service| service.methods().collect::<Vec<_>>()).collect()
    }

    /// The method `package.Service/Method`, if there is one.
    pub(super) fn method(&self, rpc: &str) -> Option<MethodDescriptor> {
        let (service, method) = rpc.trim_start_matches('/').split_once('/')?;
        let service = self.pool.get_service_by_name(service)?;
        service.methods().find(|found| found.name() == method)
    }

    /// The whole as a `FileDescriptorSet` in base64, comments included, to be kept with a service.
    pub(super) fn to_base64(&self) -> String {
        let known = DescriptorPool::global();
        let files = self.pool.files().filter(|file| known.get_file_by_name(file.name()).is_none());
        let file = files.map(|file| self.comments.put_back(file.file_descriptor_proto().clone())).collect();
        let set = prost_reflect::prost_types::FileDescriptorSet { file };
        STANDARD.encode(Bytes::from(set.encode_to_vec()))
    }
}

/// Services that every server may have for tools like us, and that are nobody's work.
pub(super) fn is_of_infrastructure(service: &str) -> bool {
    service.starts_with("grpc.reflection.")
        || service.starts_with("grpc.health.")
        || service.starts_with("grpc.channelz.")
}

/// How far a file has come on its way into the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Open,
    Done,
}

/// Names of files, each behind those that it imports. Not recursive: imports may go as deep as there are files.
fn in_order(files: &BTreeMap<String, FileDescriptorProto>, known: &DescriptorPool) -> Result<Vec<String>> {
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

fn cyclic(name: &str, import: &str) -> tool::Error {
    refused(
        "CyclicImport",
        format!(
            "the descriptors import one another in a circle: '{name}' imports '{import}', which imports it again"
        ),
    )
}

fn missing(name: &str, import: &str) -> tool::Error {
    refused(
        "MissingImport",
        format!(
            "the file '{import}', which '{name}' imports, is not there; add it, e.g. with `protoc --include_imports`"
        ),
    )
}

//! The types and methods of a service, from whichever description there is of them.

use super::bounds::{self, Count, check, refused};
use super::comments::Comments;
use super::imports::{complete, flatten, in_order};
use super::wire::Wire;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorPool, MethodDescriptor};
use std::collections::{BTreeMap, BTreeSet};
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
        check((text.len() / 4 * 3).saturating_sub(2), bounds::MAX_BYTES, "bytes")?;
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
        let known = DescriptorPool::global();
        // Those that everybody knows are ours. Servers may have the same types in files of another name, so ours are
        // only added where nothing of theirs is in the way.
        files.retain(|name, _| known.get_file_by_name(name).is_none());
        files.values_mut().try_for_each(check_syntax)?;
        let order = in_order(&files, &known)?;
        flatten(&mut files, &order)?;
        complete(&mut files, &known);
        let mut pool = DescriptorPool::new();
        add_known(&mut pool, &known, &files, Wanted::Imported);
        let mut comments = Comments::default();
        let mut ordered = Vec::with_capacity(order.len());
        for name in order {
            if let Some(mut file) = files.remove(&name) {
                comments.take(&mut file);
                ordered.push(file);
            }
        }
        pool.add_file_descriptor_protos(ordered).map_err(|error| {
            let place = error.file().map(|file| format!(" in '{file}'")).unwrap_or_default();
            let why = error.to_string();
            refused("Invalid", format!("the descriptors do not fit together{place}: {}", tool::plain(&why)))
        })?;
        // Whatever an `Any` holds is likely one of them.
        add_known(&mut pool, &known, &files, Wanted::All);
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

/// What to do about files of an edition: what they say on the wire, proto3 says as well.
pub(super) const NO_EDITIONS: &str = "editions are not known here: give the file as proto3 in schema.protos, with \
     'optional' before fields whose presence counts; what goes over the wire is the same";

/// The library knows no other syntax, and would end the process rather than say so.
fn check_syntax(file: &mut FileDescriptorProto) -> Result<()> {
    let name = tool::plain(file.name());
    match file.syntax() {
        "proto2" | "proto3" => Ok(()),
        // The same as none, which is proto2.
        "" => {
            file.syntax = None;
            Ok(())
        }
        "editions" => {
            let why = format!("'{name}' is written for an edition of protobuf; {NO_EDITIONS}");
            Err(refused("Unsupported", why))
        }
        other => {
            let other: String = tool::plain(other).chars().take(40).collect();
            let why = format!("'{name}' has the syntax '{other}'; give it as proto2 or proto3");
            Err(refused("Unsupported", why))
        }
    }
}

/// Which of the files that everybody knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Imported,
    All,
}

/// Adds well-known files that are not there yet, as far as they fit.
fn add_known(
    pool: &mut DescriptorPool,
    known: &DescriptorPool,
    files: &BTreeMap<String, FileDescriptorProto>,
    wanted: Wanted,
) {
    let imports: BTreeSet<&str> =
        files.values().flat_map(|file| file.dependency.iter().map(String::as_str)).collect();
    for file in known.files().filter(|file| wanted == Wanted::All || imports.contains(file.name())) {
        if pool.get_file_by_name(file.name()).is_none() {
            for import in file.dependencies() {
                let _ = pool.add_file_descriptor_proto(import.file_descriptor_proto().clone());
            }
            // One that is in the way of another is not missed.
            let _ = pool.add_file_descriptor_proto(file.file_descriptor_proto().clone());
        }
    }
}

/// Services that every server may have for tools like us, and that are nobody's work.
pub(super) fn is_of_infrastructure(service: &str) -> bool {
    service.starts_with("grpc.reflection.")
        || service.starts_with("grpc.health.")
        || service.starts_with("grpc.channelz.")
}

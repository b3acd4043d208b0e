//! What belongs to no single file: descriptions, messages, and calls to servers that do as they like.

mod calls;
mod conformance;
mod connections;
mod descriptions;
mod fuzz;
mod messages;
mod nesting;
mod reflection;
mod resilience;
mod round_trips;
mod settings;
mod shapes;
mod streams;
mod tls;

use super::message::Form;
use super::protos::compile;
use super::schema::Schema;
use crate::shared::grpc::test_server as server;
use prost_reflect::DescriptorPool;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const EVERYTHING: &str = include_str!("../../../tests/it/svc/grpc/everything.proto");
const LOYALTY: &str = include_str!("../../../tests/it/svc/grpc/loyalty.proto");

fn files<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// The types and methods that the real servers of the tests have, too.
fn loyalty() -> Schema {
    compile(&files([("everything.proto", EVERYTHING), ("loyalty.proto", LOYALTY)])).unwrap()
}

fn form(message: &str, emit_defaults: bool) -> Form {
    // Read once: tests ask for the same ones thousands of times.
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| loyalty().pool);
    Form::new(POOL.get_message_by_name(message).unwrap(), emit_defaults)
}

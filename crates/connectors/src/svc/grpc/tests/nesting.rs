//! Messages within messages, and what an `Any` holds, on stacks as small as threads have.

use super::messages::{everything, raw, refusal};
use prost::Message;
use tool::ErrorKind;

/// A field of `Everything` with these bytes.
pub(super) fn field(name: &str, bytes: &[u8]) -> Vec<u8> {
    let number = everything().descriptor.get_field_by_name(name).unwrap().number();
    let mut field = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3 | 2), &mut field);
    prost::encoding::encode_varint(bytes.len() as u64, &mut field);
    [field, bytes.to_vec()].concat()
}

/// An `Any` of this type.
pub(super) fn any_of(name: &str, value: Vec<u8>) -> Vec<u8> {
    prost_reflect::prost_types::Any { type_url: format!("x.com/{name}"), value }.encode_to_vec()
}

/// An `Everything` in an `Any` in an `Everything`, and so on.
fn nested_anys(count: usize) -> Vec<u8> {
    (0..count).fold(Vec::new(), |inner, _| field("detail", &any_of("loyalty.v1.Everything", inner)))
}

/// On a stack such as the threads have that serve calls.
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// Requirement SV-6: an `Any` in an `Any` is nested like any other message, and ends no process.
#[test]
fn counts_the_levels_within_anys() {
    on_a_small_stack(|| {
        assert!(everything().decode(nested_anys(30).into()).unwrap().get().contains("@type"));
        let list = |count: usize| {
            (0..count).fold(vec![0x20, 1], |inner: Vec<u8>, _| {
                // A Value of a ListValue of Values.
                let within = |tag: u8, inner: Vec<u8>| {
                    let mut outer = vec![tag];
                    prost::encoding::encode_varint(inner.len() as u64, &mut outer);
                    [outer, inner].concat()
                };
                within(0x32, within(0x0a, inner))
            })
        };
        let value = |count: usize| field("detail", &any_of("google.protobuf.Value", list(count)));
        assert!(everything().decode(value(30).into()).is_ok());
        // Every second time its name and what it holds stand apart, as two halves of one.
        let halves = (0..2_000).fold(Vec::new(), |inner: Vec<u8>, _| {
            let value = any_of("loyalty.v1.Everything", inner);
            let name = any_of("loyalty.v1.Everything", Vec::new());
            [field("detail", &name), field("detail", &value[name.len()..])].concat()
        });
        for deep in [nested_anys(60), nested_anys(2_000), nested_anys(20_000), halves, value(2_000)] {
            let error = everything().decode(deep.into()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream);
            assert!(error.message().len() < 2_000, "{error}");
        }
    });
}

/// Requirement SV-6: nor do arguments go deeper than answers.
#[test]
fn refuses_arguments_that_are_nested_too_deeply() {
    let any = |count: usize| {
        let open = r#"{"@type":"x.com/loyalty.v1.Everything","detail":"#;
        let inner = r#"{"@type":"x.com/google.protobuf.Empty","value":{}}"#;
        format!(r#"{{"detail":{}{inner}{}}}"#, open.repeat(count), "}".repeat(count))
    };
    let child = |count: usize| format!("{}{{}}{}", r#"{"child":"#.repeat(count), "}".repeat(count));
    let free = |count: usize| format!(r#"{{"free":{}{{}}{}}}"#, r#"{"a":"#.repeat(count), "}".repeat(count));
    on_a_small_stack(|| {
        for (deep, most, too_many) in
            [(&any as &(dyn Fn(usize) -> String + Sync), 20, 55), (&child, 99, 101), (&free, 30, 60)]
        {
            everything().encode(&raw(&deep(most))).unwrap();
            let refused = refusal(&deep(too_many));
            assert!(refused.message().len() < 2_000, "{refused}");
        }
        assert!(refusal(&any(55)).message().contains("more deeply than 100 levels"));
    });
}

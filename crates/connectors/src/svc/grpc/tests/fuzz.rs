//! proto3 JSON that nobody would write, and bytes that are no message.

use super::super::schema::Schema;
use super::form;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use fuzz::Target;
use prost::Message;
use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};
use serde_json::value::RawValue;
use tool::Arguments;

const SEEDS: [&str; 6] = [
    r#"{"aDouble":1.5,"anInt32":-2147483648,"anInt64":"-9223372036854775808","aUint64":"18446744073709551615","aBool":true}"#,
    r#"{"aString":"Gr\u00fc\u00dfe","someBytes":"AP8Q","tier":"TIER_GOLD","tiers":["TIER_SILVER",77],"counts":{"a":"1"}}"#,
    r#"{"others":{"-5":{"aBool":true}},"answers":{"true":"yes"},"many":["1","2"],"maybe":0,"at":"2026-11-16T08:00:00.000000001Z"}"#,
    r#"{"lasting":"-1.500s","mask":"displayName,address.city","free":{"a":[1.0,null,{"b":"c"}]},"anything":null,"list":[true,"x"]}"#,
    r#"{"wrappedString":"","wrappedInt64":"5","nothing":{},"child":{"child":{"aString":"deep"}},"children":[{},{"maybe":1}]}"#,
    r#"{"detail":{"@type":"type.googleapis.com/loyalty.v1.Customer","id":"5","displayName":"Ada"},"aFloat":"NaN"}"#,
];

#[test]
fn fuzz_proto3_json() {
    let form = form("loyalty.v1.Everything", false);
    Target::new("proto3 JSON", SEEDS).run(|input| {
        // Whoever asks has sent JSON: anything else does not get here.
        let text = String::from_utf8_lossy(input).into_owned();
        let Ok(raw) = RawValue::from_string(text) else { return false };
        let Ok(arguments) = Arguments::from_raw(raw) else { return false };
        let Ok(bytes) = form.encode(&arguments) else { return false };
        form.decode(bytes).is_ok()
    });
}

#[test]
fn fuzz_messages_on_the_wire() {
    let form = form("loyalty.v1.Everything", true);
    let encoded = SEEDS.map(|seed| {
        let raw = RawValue::from_string(seed.to_owned()).unwrap();
        form.encode(&Arguments::from_raw(raw).unwrap()).unwrap().to_vec()
    });
    Target::new("protobuf message", encoded).run(|input| form.decode(Bytes::copy_from_slice(input)).is_ok());
}

#[test]
fn fuzz_descriptors() {
    let set = |syntax: &str| {
        let message_type = vec![DescriptorProto { name: Some("M".to_owned()), ..DescriptorProto::default() }];
        let (name, syntax) = (Some("a.proto".to_owned()), Some(syntax.to_owned()));
        let file = FileDescriptorProto { name, syntax, message_type, ..FileDescriptorProto::default() };
        FileDescriptorSet { file: vec![file] }.encode_to_vec()
    };
    let whole = STANDARD.decode(super::loyalty().to_base64()).unwrap();
    let seeds = [whole, set("proto2"), set("proto3"), set("editions"), set("proto9")];
    Target::new("descriptor set", seeds).run(|input| Schema::from_set(input).is_ok());
}

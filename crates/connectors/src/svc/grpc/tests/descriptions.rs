//! Descriptors from wherever they come: whole, or refused with the name of the limit.

use super::super::bounds::MAX_BYTES;
use super::super::protos::compile;
use super::super::schema::Schema;
use super::{EVERYTHING, LOYALTY, files, loyalty};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto,
};
use std::time::{Duration, Instant};
use tool::{Error, ErrorKind};

fn file(name: &str, imports: &[&str]) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        syntax: Some("proto3".to_owned()),
        dependency: imports.iter().map(|import| (*import).to_owned()).collect(),
        ..FileDescriptorProto::default()
    }
}

fn encoded(files: Vec<FileDescriptorProto>) -> String {
    STANDARD.encode(FileDescriptorSet { file: files }.encode_to_vec())
}

/// The memory of this process in bytes: what it has now, and the most it has had since `forget_peak`.
fn memory(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

fn forget_peak() -> usize {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    memory("VmRSS:")
}

/// F7: no more is held for it than what may be described, some times over, however much it is.
fn refusal(text: &str) -> Error {
    let before = forget_peak();
    let begun = Instant::now();
    let error = Schema::from_base64(text).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(10), "it is refused at once");
    let grown = memory("VmHWM:").saturating_sub(before);
    assert!(grown < 16 * MAX_BYTES, "memory grew by {} MiB", grown / 1024 / 1024);
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(!error.problems().is_empty(), "it can be told of a setting");
    error
}

/// Requirement SV-5: the same methods from .proto text as from a descriptor set, comments included.
#[test]
fn reads_protos_and_descriptor_sets() {
    let compiled = loyalty();
    let kept = Schema::from_base64(&compiled.to_base64()).unwrap();
    for schema in [&compiled, &kept] {
        let names: Vec<_> = schema.methods().iter().map(|method| method.full_name().to_owned()).collect();
        assert_eq!(names.len(), 9, "{names:?}");
        let method = schema.method("loyalty.v1.Customers/List").unwrap();
        assert_eq!(
            schema.comments.get(method.parent_file().name(), method.path()),
            Some("Lists all customers.")
        );
        assert!(schema.method("loyalty.v1.Customers/Nope").is_none() && schema.method("Customers").is_none());
    }
}

#[test]
fn takes_files_in_any_order_and_more_than_once() {
    let (a, b) = (file("a.proto", &["b.proto", "google/protobuf/timestamp.proto"]), file("b.proto", &[]));
    Schema::from_base64(&encoded(vec![a.clone(), b.clone(), a.clone(), b])).unwrap();
    let error = refusal(&encoded(vec![a]));
    assert!(error.message().contains("'b.proto', which 'a.proto' imports, is not there"), "{error}");
}

/// Node's reflection names no imports, and has the well-known types in a file of its own.
#[test]
fn finds_types_that_are_used_without_an_import() {
    let field = FieldDescriptorProto {
        name: Some("at".to_owned()),
        number: Some(1),
        label: Some(1),
        r#type: Some(11),
        type_name: Some("google.protobuf.Timestamp".to_owned()),
        ..FieldDescriptorProto::default()
    };
    let message = |name: &str, field| DescriptorProto {
        name: Some(name.to_owned()),
        field: vec![field],
        ..DescriptorProto::default()
    };
    let seconds = |number, name: &str| FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(1),
        r#type: Some(3),
        ..FieldDescriptorProto::default()
    };
    let mut theirs = file("google_protobuf.proto", &[]);
    theirs.package = Some("google.protobuf".to_owned());
    theirs.message_type.push(message("Timestamp", seconds(1, "seconds")));
    let mut user = file("user.proto", &[]);
    user.message_type.push(message("User", field));
    for files in [vec![theirs.clone(), user.clone()], vec![user, theirs]] {
        let schema = Schema::from_base64(&encoded(files)).unwrap();
        let user = schema.pool.get_message_by_name("User").unwrap();
        assert_eq!(user.get_field_by_name("at").unwrap().kind().as_message().unwrap().name(), "Timestamp");
        assert!(schema.pool.get_message_by_name("google.protobuf.Duration").is_some());
    }
}

/// Fault F7: cyclic imports.
#[test]
fn refuses_imports_in_a_circle() {
    let circle =
        vec![file("a.proto", &["b.proto"]), file("b.proto", &["c.proto"]), file("c.proto", &["a.proto"])];
    assert!(refusal(&encoded(circle)).message().contains("in a circle"));
    assert!(refusal(&encoded(vec![file("a.proto", &["a.proto"])])).message().contains("in a circle"));
    let texts = files([("a.proto", "import \"b.proto\";"), ("b.proto", "import \"a.proto\";")]);
    let error = compile(&texts).unwrap_err();
    assert!(error.message().contains("in a circle"), "{error}");
}

/// Fault F7: 50 MiB, 10,000 methods, and what is small on the wire and large in memory.
#[test]
fn refuses_too_much_of_anything() {
    let mut large = file("large.proto", &[]);
    large
        .message_type
        .push(DescriptorProto { name: Some("x".repeat(50 * 1024 * 1024)), ..DescriptorProto::default() });
    assert!(refusal(&encoded(vec![large])).message().contains(&format!("more than {MAX_BYTES} bytes")));
    let method = |number| MethodDescriptorProto {
        name: Some(format!("M{number}")),
        input_type: Some(".E".to_owned()),
        output_type: Some(".E".to_owned()),
        ..MethodDescriptorProto::default()
    };
    let mut methods = file("methods.proto", &[]);
    methods.message_type.push(DescriptorProto { name: Some("E".to_owned()), ..DescriptorProto::default() });
    methods.service.push(ServiceDescriptorProto {
        name: Some("S".to_owned()),
        method: (0..10_000).map(method).collect(),
        ..ServiceDescriptorProto::default()
    });
    assert!(refusal(&encoded(vec![methods])).message().contains("more than 5000 methods"));
    // A million empty messages have two bytes each.
    let mut bytes = [0x22, 0].repeat(1_000_000);
    bytes.splice(0..0, [0x0a, 1, b'a']);
    let mut set = vec![0x0a];
    prost::encoding::encode_varint(bytes.len() as u64, &mut set);
    set.extend(bytes);
    assert!(refusal(&STANDARD.encode(set)).message().contains("definitions"));
    let many = (0..1_001).map(|number| file(&format!("{number}.proto"), &[])).collect();
    assert!(refusal(&encoded(many)).message().contains("more than 1000 files"));
    let mut named = file("named.proto", &[]);
    named.package = Some("a.".repeat(300_000));
    assert!(refusal(&encoded(vec![named])).message().contains("bytes of a name"));
    let nested = (0..100).fold(DescriptorProto::default(), |inner, _| DescriptorProto {
        name: Some("N".repeat(400)),
        nested_type: vec![inner],
        ..DescriptorProto::default()
    });
    let mut deep = file("deep.proto", &[]);
    deep.message_type.push(nested);
    assert!(refusal(&encoded(vec![deep])).message().contains("levels"));
}

/// Fault F7: what the library of descriptors would panic at is refused in words before it sees it, wherever it comes from.
#[test]
fn refuses_editions_by_name() {
    for (syntax, why) in [
        ("editions", "editions are not known here: give the file as proto3"),
        ("proto4", "the syntax 'proto4'"),
        ("2023", "the syntax '2023'"),
    ] {
        let mut newer = file("newer.proto", &[]);
        newer.syntax = Some(syntax.to_owned());
        let error = refusal(&encoded(vec![file("a.proto", &["newer.proto"]), newer]));
        assert!(error.message().contains("'newer.proto'") && error.message().contains(why), "{error}");
    }
    for syntax in [None, Some(""), Some("proto2"), Some("proto3")] {
        let syntax = syntax.map(str::to_owned);
        Schema::from_base64(&encoded(vec![FileDescriptorProto { syntax, ..file("a.proto", &[]) }])).unwrap();
    }
}

#[test]
fn refuses_what_is_no_descriptor_set() {
    for text in ["%%%", "AAAA", "CgH/", "EgA="] {
        let error = refusal(text);
        assert!(
            error.message().contains("base64") || error.message().contains("FileDescriptorSet"),
            "{text}: {error}"
        );
    }
    assert!(Schema::from_base64("").unwrap().methods().is_empty());
    for bytes in [
        &b"\x0a\x02\x22"[..],
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x0b",
        b"\x0a\x03\x22\x01\xff",
    ] {
        refusal(&STANDARD.encode(bytes));
    }
}

/// What takes longer than anybody waits is not done.
fn within_seconds<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    told.recv_timeout(Duration::from_secs(20)).expect("it ends in time")
}

/// Forty files, each of which hands on all behind it; only the first has something, and uses what is in the last.
fn handing_on(count: usize) -> Vec<FileDescriptorProto> {
    let name = |number: usize| format!("f{number}.proto");
    let mut files: Vec<_> = (0..count)
        .map(|number| {
            let imports: Vec<_> = (number + 1..count).map(name).collect();
            let imports: Vec<_> = imports.iter().map(String::as_str).collect();
            let public_dependency = (0..).take(imports.len()).collect();
            FileDescriptorProto { public_dependency, ..file(&name(number), &imports) }
        })
        .collect();
    files[count - 1]
        .message_type
        .push(DescriptorProto { name: Some("A".to_owned()), ..DescriptorProto::default() });
    files[0].service.push(ServiceDescriptorProto {
        name: Some("S".to_owned()),
        method: vec![MethodDescriptorProto {
            name: Some("M".to_owned()),
            input_type: Some(".A".to_owned()),
            output_type: Some(".A".to_owned()),
            ..MethodDescriptorProto::default()
        }],
        ..ServiceDescriptorProto::default()
    });
    files
}

/// Fault F7: ways through public imports double with each file; the work must not.
#[test]
fn follows_public_imports_once() {
    let set = encoded(handing_on(40));
    let schema = within_seconds(move || Schema::from_base64(&set)).unwrap();
    assert_eq!(schema.method("S/M").unwrap().input().full_name(), "A");
    let refused = within_seconds(|| Schema::from_base64(&encoded(handing_on(300))).unwrap_err());
    assert!(refused.message().contains("imports"), "{refused}");
    let texts = (0..40).map(|number| {
        let imports: String =
            (number + 1..40).map(|other| format!("import public \"f{other}.proto\";")).collect();
        let service = if number == 0 { "service S { rpc M(A) returns (A); }" } else { "" };
        let message = if number == 39 { "message A {}" } else { "" };
        (format!("f{number}.proto"), format!("syntax = \"proto3\"; {imports} {message} {service}"))
    });
    let texts = texts.collect();
    let schema = within_seconds(move || compile(&texts)).unwrap();
    assert_eq!(schema.methods().len(), 1);
}

/// What is imported publicly by what is imported publicly is there, too: also where only an option needs it.
#[test]
fn hands_on_what_was_handed_on() {
    let texts = files([
        ("a.proto", "syntax = \"proto3\"; import \"b.proto\"; option (x) = { a: 1 }; message M {}"),
        ("b.proto", "syntax = \"proto3\"; import public \"c.proto\";"),
        ("c.proto", "syntax = \"proto3\"; import public \"d.proto\";"),
        (
            "d.proto",
            "syntax = \"proto3\"; import \"google/protobuf/descriptor.proto\"; message V { int32 a = 1; }\
             extend google.protobuf.FileOptions { V x = 50000; }",
        ),
    ]);
    compile(&texts).unwrap();
}

/// Fault F7: imports, values of options and their names go deeper than a stack.
#[test]
fn goes_as_deep_as_anybody_wants() {
    let chain = |name: &dyn Fn(usize) -> String| -> std::collections::BTreeMap<String, String> {
        let import =
            |number| if number < 999 { format!("import \"{}\";", name(number + 1)) } else { String::new() };
        (0..1_000).map(|number| (name(number), format!("syntax = \"proto3\"; {}", import(number)))).collect()
    };
    compile(&chain(&|number| format!("f{number}.proto"))).unwrap();
    compile(&chain(&|number| format!("f{}.proto", 999 - number))).unwrap();
    let option = |option: &str| {
        let text = format!(
            "syntax = \"proto3\"; import \"google/protobuf/descriptor.proto\"; message V {{ V a = 1; repeated V b = 2; }} \
             extend google.protobuf.FileOptions {{ V x = 50000; }} {option}"
        );
        compile(&files([("a.proto", &text)]))
    };
    for (open, close) in [("a<", ">"), ("b:[", "]"), ("(", ")")] {
        // Whether it is taken or refused, it ends.
        let _ = option(&format!("option (x) = {{ {}{} }};", open.repeat(30_000), close.repeat(30_000)));
    }
    let error = option(&format!("option (x).{}a = {{}};", "(x).".repeat(20_000))).unwrap_err();
    assert!(error.message().contains("parts of an option's name"), "{error}");
    let error = compile(&files([("a.proto", &format!("package a{};", ".a".repeat(100)))])).unwrap_err();
    assert!(error.message().contains("parts of a package"), "{error}");
}

/// Fault F7: the same of .proto text, before a compiler sees it.
#[test]
fn refuses_protos_that_would_grow() {
    let refusal = |text: &str| {
        let error = compile(&files([("a.proto", text)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.message().to_owned()
    };
    assert!(refusal(&"message M {}\n".repeat(200_000)).contains("definitions"));
    assert!(refusal(&"message M {".repeat(1_000)).contains("levels of braces"));
    assert!(refusal(&format!("package {}a;", "a.".repeat(100_000))).contains("bytes in a name"));
    assert!(refusal(&" ".repeat(MAX_BYTES + 1)).contains("bytes"));
    assert!(
        refusal("syntax = \"proto3\";\nmessage M { int32 x = ; }")
            .contains("'a.proto' cannot be compiled in line 2")
    );
    assert!(refusal("edition = \"2023\";").contains("editions are not known here: give the file as proto3"));
    assert!(refusal("import \"no/such.proto\";").contains("no/such.proto"));
    for path in ["/etc/passwd", "/a/b.proto", "../b.proto", "a//b.proto", "./b.proto"] {
        let said = refusal(&format!("syntax = \"proto3\";\nimport \"{path}\";"));
        assert!(
            said.contains("cannot be compiled in line 2: an import names a file as schema.protos does"),
            "{said}"
        );
    }
    let shadowed = files([
        ("everything.proto", EVERYTHING),
        ("loyalty.proto", LOYALTY),
        ("x.proto", "syntax = \"proto3\"; package loyalty.v1; message Customer {}"),
    ]);
    assert!(compile(&shadowed).is_err(), "two things of one name");
}

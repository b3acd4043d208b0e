//! Servers that describe themselves wrongly, slowly, or without end.

use super::super::protos::compile;
use super::super::reflection::{V1, V1ALPHA};
use super::calls::{open, run};
use super::loyalty;
use super::server::{Exchange, Server};
use h2::Reason;
use prost::Message;
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::conformance::context;
use tool::Error;

/// A field with a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

fn services(names: &[&str]) -> Vec<u8> {
    field(6, &names.iter().flat_map(|name| field(1, &field(1, name.as_bytes()))).collect::<Vec<_>>())
}

fn files(files: &[Vec<u8>]) -> Vec<u8> {
    field(4, &files.iter().map(|file| field(1, file)).collect::<Vec<_>>().concat())
}

/// Answers as a good server does, one file at a time.
async fn describe(exchange: &mut Exchange) {
    let pool = loyalty().pool;
    let mut answering = exchange.begin();
    while let Some(question) = exchange.message().await {
        let text = String::from_utf8_lossy(&question[2..]).into_owned();
        match question[0] >> 3 {
            7 => answering.send(&services(&["loyalty.v1.Customers", "grpc.reflection.v1.ServerReflection"])),
            4 => {
                let file = pool.get_service_by_name(&text).unwrap().parent_file();
                answering.send(&files(&[file.file_descriptor_proto().encode_to_vec()]));
            }
            3 => {
                let file = pool.get_file_by_name(&text).unwrap();
                answering.send(&files(&[file.file_descriptor_proto().encode_to_vec()]));
            }
            _ => answering.send(&field(7, &[0x08, 5])),
        }
    }
    answering.end(&[("grpc-status", "0")]);
}

/// A server that describes itself, and gives back what it gets.
pub(super) async fn describe_or_echo(mut exchange: Exchange) {
    if matches!(exchange.path.as_str(), V1 | V1ALPHA) {
        return describe(&mut exchange).await;
    }
    let message = exchange.message().await.unwrap();
    exchange.answer(&message);
}

fn reflected(server: &Server) -> std::sync::Arc<dyn tool::Connector> {
    open(&[server], &json!({ "schema": { "reflection": true }, "timeout_ms": 20_000 }))
}

async fn refusal(server: &Server) -> Error {
    let begun = Instant::now();
    let error = reflected(server).tools(&context(Duration::from_secs(30))).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(20));
    error
}

/// Requirement SV-5: v1 where there is one; v1alpha when v1 is not known, or its stream refused.
#[tokio::test]
async fn asks_in_the_version_that_the_server_knows() {
    for way in 0..5 {
        let server = Server::start(move |mut exchange| async move {
            match (exchange.path.as_str(), way) {
                (V1, 0) | (V1ALPHA, 1..) => describe(&mut exchange).await,
                (V1, 1) => exchange.fail(&[("grpc-status", "12")]),
                (V1, 2) => exchange.only_headers(404, &[]),
                (V1, 3) => exchange.reset(Reason::PROTOCOL_ERROR),
                (V1, 4) => exchange.reset(Reason::REFUSED_STREAM),
                _ => {
                    let message = exchange.message().await.unwrap();
                    exchange.answer(&message);
                }
            }
        })
        .await;
        let service = reflected(&server);
        assert_eq!(service.tools(&context(Duration::from_secs(30))).await.unwrap().len(), 8, "{way}");
        assert_eq!(
            run(&service, "customers_create", &json!({ "id": "1" })).await.unwrap(),
            json!({ "id": "1" })
        );
    }
}

#[tokio::test]
async fn says_what_to_do_without_reflection() {
    let server = Server::start(|mut exchange| async move { exchange.fail(&[("grpc-status", "12")]) }).await;
    let error = refusal(&server).await;
    assert!(error.message().contains("schema.descriptor_set or schema.protos"), "{error}");
}

/// Fault F7, from a server: too large, in circles, without end, and nonsense.
#[tokio::test]
async fn refuses_descriptions_that_are_too_much() {
    let circle = |name: &str, import: &str| [field(1, name.as_bytes()), field(3, import.as_bytes())].concat();
    let answers: [(&str, Vec<u8>, &str); 7] = [
        ("one file of 50 MiB", files(&[field(1, &vec![b'x'; 50 * 1024 * 1024])]), "bytes"),
        ("a circle", files(&[circle("a.proto", "b.proto"), circle("b.proto", "a.proto")]), "in a circle"),
        ("a file that is missing", files(&[circle("a.proto", "nowhere.proto")]), "nowhere.proto"),
        ("no file", files(&[vec![0xff; 10]]), ""),
        ("no answer", vec![0xff, 0xff], "no answer of server reflection"),
        ("another answer", services(&["a"]), "another question"),
        ("a refusal", field(7, &[0x08, 5]), ""),
    ];
    for (what, answer, words) in answers {
        let server = Server::start(move |mut exchange| {
            let answer = answer.clone();
            async move {
                let mut answering = exchange.begin();
                while let Some(question) = exchange.message().await {
                    match question[0] >> 3 {
                        7 => answering.send(&services(&["a.Service"])),
                        4 => answering.send(&answer),
                        _ => answering.send(&field(7, &[0x08, 5])),
                    }
                }
            }
        })
        .await;
        let told = reflected(&server).tools(&context(Duration::from_secs(30))).await;
        match (told, what) {
            (Ok(tools), "a refusal" | "no file") => assert!(tools.is_empty()),
            (Ok(_), _) => panic!("{what} is taken"),
            (Err(error), _) => assert!(error.message().contains(words), "{what}: {error}"),
        }
    }
}

/// Fault F7: what a server says is worked on beside the threads that serve calls, and within its time.
#[tokio::test]
async fn hostile_imports_of_a_server_hold_up_nobody() {
    let file = |number: u8| {
        let imports = (number + 1..40).flat_map(|other| field(3, format!("f{other}.proto").as_bytes()));
        // Field 10: the numbers of the public ones.
        let public = (0..39 - number).flat_map(|index| [0x50, index]);
        let name = field(1, format!("f{number}.proto").as_bytes());
        name.into_iter().chain(imports).chain(public).collect::<Vec<u8>>()
    };
    let answer = files(&(0..40).map(file).collect::<Vec<_>>());
    let server = Server::start(move |mut exchange| {
        let answer = answer.clone();
        async move {
            let mut answering = exchange.begin();
            while let Some(question) = exchange.message().await {
                match question[0] >> 3 {
                    7 => answering.send(&services(&["a.Service"])),
                    _ => answering.send(&answer),
                }
            }
        }
    })
    .await;
    let service = reflected(&server);
    let listed = tokio::spawn(async move { service.tools(&context(Duration::from_secs(15))).await });
    assert!(listed.await.unwrap().unwrap().is_empty());
}

/// A server that names ever more files is not followed for ever.
#[tokio::test]
async fn does_not_follow_imports_for_ever() {
    let server = Server::start(|mut exchange| async move {
        let mut answering = exchange.begin();
        let mut number = 0;
        while let Some(question) = exchange.message().await {
            if question[0] >> 3 == 7 {
                answering.send(&services(&["a.Service"]));
                continue;
            }
            number += 1;
            let (name, import) = (format!("{}.proto", number - 1), format!("{number}.proto"));
            answering.send(&files(&[[field(1, name.as_bytes()), field(3, import.as_bytes())].concat()]));
        }
    })
    .await;
    let error = refusal(&server).await;
    assert!(error.message().contains("more than 1000 files"), "{error}");
}

/// SV-5: a thousand methods are listed within two seconds by a build that is optimized and alone; here within ten times that.
#[tokio::test]
async fn lists_a_thousand_methods() {
    let services: String = (0..50)
        .map(|service| {
            let methods: String = (0..20).map(|method| format!("rpc M{method}(Q) returns (Q);")).collect();
            format!("service S{service} {{ {methods} }}")
        })
        .collect();
    let fields: String = (1..=20).map(|number| format!("string field_{number} = {number};")).collect();
    let text = format!("syntax = \"proto3\"; package big; message Q {{ {fields} }} {services}");
    let pool = compile(&super::files([("big.proto", &text)])).unwrap().pool;
    let file = pool.get_file_by_name("big.proto").unwrap().file_descriptor_proto().encode_to_vec();
    let server = Server::start(move |mut exchange| {
        let file = file.clone();
        async move {
            let names: Vec<_> = (0..50).map(|service| format!("big.S{service}")).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let mut answering = exchange.begin();
            while let Some(question) = exchange.message().await {
                match question[0] >> 3 {
                    7 => answering.send(&self::services(&names)),
                    _ => answering.send(&files(std::slice::from_ref(&file))),
                }
            }
        }
    })
    .await;
    let service = reflected(&server);
    let begun = Instant::now();
    let tools = service.tools(&context(Duration::from_secs(30))).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(tools.len(), 1_000);
}

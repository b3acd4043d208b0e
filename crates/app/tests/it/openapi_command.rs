//! `import-openapi` at the command line, and every command of the guide.

use crate::binary::{BINARY, serve};
use crate::command_line::{run, run_with};
use serde_json::Value;
use std::path::Path;
use testkit::process::{self, Server};
use testkit::{Backend, Database, http};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../connectors/tests/data/openapi/");

fn document(name: &str) -> String {
    format!("{DATA}{name}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prints_a_service_that_can_be_made_as_it_stands() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(serve(&database));
    let config = r#"{"auth_config":{"value":"k"}}"#;
    let file = document("petstore-3.0.yaml");
    let printed =
        run(&["import-openapi", &file, "--id", "pets", "--base-url", &upstream.url(), "--config", config])
            .await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let service: Value = serde_json::from_str(&printed.stdout).unwrap();
    let admin = server.admin();
    admin.post("services", service).await.is(201);
    admin.call("api://pets/showPetById", serde_json::json!({ "petId": 7 })).await.is(200);
    assert_eq!((upstream.last().path.as_str(), upstream.last().header("api_key")), ("/pets/7", Some("k")));

    let text: &'static str = std::fs::read_to_string(&file).unwrap().leak();
    let piped = run_with(text, &["import-openapi", "-", "--preview", "--include", "GET *"]).await;
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    let lines: Vec<_> = piped.stdout.lines().collect();
    assert_eq!(lines[0], "api://swagger-petstore  https://petstore.example.com/v3  sign-in: apikey");
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["listPets", "GET", "/pets"]);
    assert_eq!(lines.last(), Some(&"3 tools"));
    assert!(piped.stderr.contains("needed   config.auth_config.value"), "{}", piped.stderr);
    assert!(piped.stderr.contains("3 operations were left out"), "{}", piped.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn makes_and_changes_a_service_on_a_server() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(serve(&database));
    let url = format!("http://{}", server.address());
    let at = ["--server", &url, "--token", server.admin_key().unwrap()];
    let import = async |arguments: &[&str]| run(&[&["import-openapi"], arguments, &at].concat()).await;
    let (bodies, broken) = (document("bodies.yaml"), document("broken.json"));
    let made = import(&[&bodies, "--base-url", &upstream.url()]).await;
    assert_eq!(
        (made.code, made.stdout.as_str()),
        (Some(0), "made api://bodies with 12 tools\n"),
        "{}",
        made.stderr
    );
    assert!(made.stderr.contains("skipped  GET /cookie/required"), "{}", made.stderr);
    let again = import(&[&bodies]).await;
    assert!(again.code == Some(1) && again.stderr.contains("CONFLICT"), "{}", again.stderr);
    let preview = import(&[&broken, "--id", "bodies", "--preview"]).await;
    assert!(
        preview.stderr.contains("removed  sendList") && preview.stderr.contains("added    good"),
        "{}",
        preview.stderr
    );
    let changed = import(&[&broken, "--id", "bodies", "--update"]).await;
    assert_eq!(changed.stdout, "changed api://bodies with 8 tools\n", "{}", changed.stderr);
    server.admin().call("api://bodies/good", serde_json::json!({})).await.is(200);
    assert_eq!(upstream.last().path, "/good");
}

#[tokio::test]
async fn says_what_to_do_about_a_document_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "just: notes").unwrap();
    let petstore = document("petstore-3.0.yaml");
    for (arguments, reason) in [
        (vec![file.to_str().unwrap()], "no OpenAPI document"),
        (vec!["/nowhere/openapi.json"], "/nowhere/openapi.json"),
        (vec!["http://127.0.0.1:1/openapi.json"], "could not be fetched"),
        (vec![&petstore, "--config", "{"], "--config"),
        (vec![&petstore, "--include", "nothing"], "include"),
        (vec![&petstore, "--server-variable", "x=y"], "no variable 'x'"),
    ] {
        let ended = run(&[&["import-openapi"], arguments.as_slice()].concat()).await;
        assert_eq!(ended.code, Some(1), "{arguments:?}");
        let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(reason) && !said.contains("panicked"), "{arguments:?}: {said}");
        assert!(ended.stdout.is_empty());
    }
    assert_eq!(run(&["import-openapi"]).await.code, Some(2));
    assert_eq!(run(&["import-openapi", &petstore, "--server-variable", "x"]).await.code, Some(2));
}

/// Every `sh` block of the guide runs as it stands, one after the other, and its JSON is a legal request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_guide_work() {
    let guide = include_str!("../../../../docs/guides/import-openapi.md");
    let blocks = |language: &str| -> Vec<String> {
        let fence = format!("```{language}\n");
        guide.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
    };
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(serve(&database));
    let commands = blocks("sh");
    assert_eq!(commands.len(), 3);
    let (mut outputs, mut warnings) = (Vec::new(), Vec::new());
    for block in commands {
        let script = block.replace("127.0.0.1:3095", &server.address().to_string());
        let mut shell = process::sheltered("sh");
        let folder = Path::new(BINARY).parent().unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        shell
            .args(["-e", "-c", &script])
            .env("PATH", path)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        shell.env_remove("MCP_ALL_IN_ONE_SERVER").env("MCP_ALL_IN_ONE_TOKEN", server.admin_key().unwrap());
        // The guide's server is where `call` looks by itself; this one is somewhere else.
        if script.contains(" call ") {
            shell.env("MCP_ALL_IN_ONE_SERVER", format!("http://{}", server.address()));
        }
        let output = tokio::task::spawn_blocking(move || process::run(&mut shell)).await.unwrap();
        let (stdout, stderr) = crate::binary::said(&output);
        assert!(output.status.success(), "{script}: {stdout}{stderr}");
        outputs.push(stdout);
        warnings.push(stderr);
    }
    assert!(outputs[0].contains("get_services "), "{}", outputs[0]);
    assert!(
        outputs[1].starts_with("made api://self-api with") && outputs[1].contains("\"id\":\"self-api\""),
        "{}",
        outputs[1]
    );
    let printed: Value = serde_json::from_str(&outputs[2]).unwrap();
    assert!(!warnings[2].contains("give base_url"), "it was given: {}", warnings[2]);
    assert_eq!(printed["tools"].as_array().unwrap().len(), 5);
    for example in blocks("json") {
        let example: Value = serde_json::from_str(&example).unwrap();
        let reply = server.admin().post("services/api/import", example).await.is(200);
        assert_eq!(reply.body["problems"], serde_json::json!([]));
    }
}

//! Each shape of document, and what matters in what comes of it.

use super::*;
use std::collections::BTreeMap;
use tool::Env;

const DOCUMENTS: [&str; 12] = [
    "anchors.yaml",
    "bodies.yaml",
    "broken.json",
    "github-like.json",
    "kubernetes-like.json",
    "modern-3.1.yaml",
    "petstore-2.0.json",
    "petstore-3.0.yaml",
    "security-schemes.yaml",
    "server-variables.yaml",
    "stripe-like.yaml",
    "unnamed.yaml",
];

/// The whole result of each document stands beside it; `UPDATE=1` writes it anew.
#[test]
fn every_document_gives_what_stands_beside_it() {
    for name in DOCUMENTS {
        let imported = import(name);
        let tools: Vec<_> = imported.tools.iter().map(|tool| &tool.definition).collect();
        let warnings = [imported.address_warnings, imported.warnings].concat();
        let made = json!({
            "id": imported.id, "name": imported.name, "description": imported.description,
            "config": imported.config, "tools": tools, "credentials": imported.credentials,
            "skipped": imported.skipped, "warnings": warnings,
        });
        let made = format!("{made:#}\n");
        let path = folder().join("expected").join(name).with_extension("json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(made == kept, "{name} gives something else than {}:\n{made}", path.display());
    }
}

/// Whatever a document says, the connector opens what comes of it, once it has a base and credentials.
#[test]
fn the_connector_opens_every_service() {
    for name in DOCUMENTS {
        let imported = import(name);
        let mut settings = imported.config.clone();
        settings.entry("base_url").or_insert_with(|| "https://api.example.com".into());
        for credential in &imported.credentials {
            let (section, field) = credential.setting.split_once('.').unwrap();
            settings[section][field] = "secret".into();
        }
        let tools = imported.tools.iter().map(|tool| Value::Object(tool.definition.clone()));
        settings.insert("tools".into(), tools.collect());
        let kind = crate::find("api").unwrap();
        if let Err(error) = kind.open(settings.into(), &Env::default()) {
            panic!("{name}: {error:?}");
        }
        for tool in &imported.tools {
            jsonschema_is_closed(&serde_json::from_str(tool.input_schema.get()).unwrap());
        }
    }
}

/// No reference is left that a client would have to follow.
fn jsonschema_is_closed(schema: &Value) {
    assert_eq!(schema["type"], "object");
    assert!(!schema.to_string().contains("$ref"), "{schema}");
}

#[test]
fn petstore_in_3_0() {
    let imported = import("petstore-3.0.yaml");
    assert_eq!(imported.id, "swagger-petstore");
    assert_eq!(imported.config["base_url"], "https://petstore.example.com/v3");
    assert_eq!(imported.config["auth_type"], "apikey");
    assert_eq!(imported.credentials[0].setting, "auth_config.value");
    let limit = parameter(&imported, "listPets", "limit");
    assert_eq!((&limit["default_value"], &limit["schema"]["maximum"]), (&json!(20), &json!(100)));
    assert_eq!(
        parameter(&imported, "createPet", "status")["enum_values"],
        json!(["available", "pending", "sold"])
    );
    assert_eq!(parameter(&imported, "createPet", "tag")["schema"]["type"], json!(["string", "null"]));
    assert_eq!(parameter(&imported, "showPetById", "petId")["position"], "path");
    assert_eq!(parameter(&imported, "updatePet", "body_petId")["sent_as"], "petId");
    let update = tool(&imported, "updatePet");
    assert!(update["description"].as_str().unwrap().starts_with("Deprecated. Replace a pet."));
    let parameters = update["parameters"].as_array().unwrap();
    assert!(parameters.iter().all(|parameter| parameter["name"] != "id"), "what is readOnly is not sent");
    let delete = tool(&imported, "deletePet")["parameters"].to_string();
    assert!(!delete.contains("api_key"), "the sign-in is no parameter: {delete}");
}

#[test]
fn petstore_in_2_0() {
    let imported = import("petstore-2.0.json");
    assert_eq!(imported.config["base_url"], "https://petstore.example.com/v2");
    assert_eq!(imported.config["auth_type"], "basic");
    let needed: Vec<_> = imported.credentials.iter().map(|credential| credential.setting.as_str()).collect();
    assert_eq!(needed, ["auth_config.username", "auth_config.password"]);
    assert_eq!(parameter(&imported, "findPetsByStatus", "status")["parameter_type"], "Array");
    for (name, style) in [("status", Value::Null), ("tags", json!("comma")), ("codes", json!("pipe"))] {
        let list = parameter(&imported, "findPetsByStatus", name);
        assert_eq!((&list["parameter_type"], &list["style"]), (&json!("Array"), &style), "{name}");
    }
    assert_eq!(parameter(&imported, "findPetsByStatus", "age")["schema"]["exclusiveMinimum"], 0);
    assert_eq!(parameter(&imported, "addPet", "name")["required"], true);
    assert_eq!(parameter(&imported, "createUsersWithArrayInput", "body")["position"], "whole_body");
    assert_eq!(parameter(&imported, "updatePetWithForm", "status")["position"], "form");
    assert_eq!(tool(&imported, "uploadFile")["form_encoding"], "multipart");
    let file = parameter(&imported, "uploadFile", "file");
    assert_eq!(
        (&file["parameter_type"], &file["file"]),
        (&json!("Object"), &json!({ "encoding": "base64" }))
    );
}

#[test]
fn cycles_are_cut_where_they_begin_again() {
    let imported = import("github-like.json");
    let parent = parameter(&imported, "teams_create", "parent");
    assert_eq!(parent["schema"]["type"], json!(["object", "null"]));
    assert!(parent["description"].as_str().unwrap().contains("it contains itself"), "{parent}");
    let members = &parameter(&imported, "teams_create", "members")["schema"]["items"]["properties"];
    assert_eq!(members["login"]["type"], "string");
    assert!(members["teams"]["items"]["description"].as_str().unwrap().contains("it contains itself"));
    let title = parameter(&imported, "issues_create", "title");
    assert_eq!(title["schema"]["oneOf"], json!([{ "type": "string" }, { "type": "integer" }]));
    assert_eq!(tool(&imported, "markdown_render-raw")["headers"], json!({ "Content-Type": "text/plain" }));
    assert!(reason(&imported, "POST /releases/assets").contains("uploads.github.example.com"));
}

#[test]
fn forms_and_deep_objects() {
    let imported = import("stripe-like.yaml");
    assert_eq!(imported.config["auth_type"], "basic", "the first of two that all take");
    let from = parameter(&imported, "GetCharges", "range_from");
    assert_eq!((&from["sent_as"], &from["position"]), (&json!("range[from]"), &json!("query")));
    assert!(parameter(&imported, "GetCharges", "created")["schema"]["anyOf"].is_array());
    for name in ["created", "expand"] {
        assert_eq!(parameter(&imported, "GetCharges", name)["style"], "brackets", "{name}");
    }
    for name in ["amount", "currency", "customer", "metadata", "source"] {
        assert_eq!(parameter(&imported, "PostCharges", name)["position"], "form", "{name}");
    }
    let description = tool(&imported, "PostCharges")["description"].as_str().unwrap();
    assert_eq!(description, "To charge a credit card, you create a Charge object.");
    assert!(has_warning(&imported, "GET /v1/charges: the body is left out"));
}

#[test]
fn long_names_stay_unique_and_shared_parameters_are_found() {
    let imported = import("kubernetes-like.json");
    let first = imported.tools[0].definition["id"].as_str().unwrap();
    assert_eq!(first.len(), 64);
    assert!(first.starts_with("patchFlowcontrolApiserverV1PriorityLevelConfiguration"));
    assert_eq!(parameter(&imported, first, "pretty")["position"], "query");
    assert_eq!(tool(&imported, first)["headers"]["Content-Type"], "application/json-patch+json");
    assert_eq!(tool(&imported, "listCoreV1NamespacedPod")["parameters"].as_array().unwrap().len(), 10);
    assert_eq!(parameter(&imported, "deleteCoreV1CollectionNamespacedPod", "body")["position"], "whole_body");
    assert!(reason(&imported, "OPTIONS /api/v1/namespaces/{namespace}/pods").contains("OPTIONS"));
}

#[test]
fn type_arrays_constants_and_references_to_path_items_in_3_1() {
    let imported = import("modern-3.1.yaml");
    assert_eq!(parameter(&imported, "book", "kind")["schema"], json!({ "const": "booking" }));
    assert_eq!(parameter(&imported, "book", "seat")["schema"]["type"], json!(["string", "integer"]));
    let note = parameter(&imported, "book", "note");
    assert_eq!((&note["required"], &note["schema"]["type"]), (&json!(true), &json!(["string", "null"])));
    let window = parameter(&imported, "book", "window");
    assert_eq!(window["description"], "When to travel");
    assert_eq!(window["schema"]["properties"]["from"]["format"], "date-time");
    assert_eq!(tool(&imported, "stations")["description"], "All stations");
    assert!(has_warning(&imported, "webhooks"));
}

#[test]
fn server_variables_are_filled_in_and_checked() {
    let text = ImportSource::Text(text_of("server-variables.yaml"));
    let with = |variables: &[(&str, &str)], config: Value| {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let options =
            ImportOptions { server_variables: BTreeMap::from_iter(variables), ..ImportOptions::default() };
        import_with(text.clone(), &options, config)
    };
    assert_eq!(with(&[], json!({})).unwrap().config["base_url"], "https://eu.example.com:8443/v2");
    let us = with(&[("region", "us"), ("basePath", "v3/x")], json!({})).unwrap();
    assert_eq!(us.config["base_url"], "https://us.example.com:8443/v3/x");
    let own = with(&[], json!({ "base_url": "https://own.example.com" })).unwrap();
    assert_eq!(own.config["base_url"], "https://own.example.com");
    for (name, value, code) in [("region", "moon", "NotAllowed"), ("planet", "x", "Unknown")] {
        let error = with(&[(name, value)], json!({})).unwrap_err();
        assert_eq!(
            (error.problems()[0].path.as_str(), error.problems()[0].code),
            (&*format!("server_variables.{name}"), code)
        );
    }
}

#[test]
fn chooses_the_sign_in_that_most_operations_take() {
    let text = text_of("security-schemes.yaml");
    let imported = import("security-schemes.yaml");
    assert_eq!(imported.config["auth_config"], json!({ "header": "X-Lock-Key" }));
    assert_eq!(imported.credentials[0].description, "The key: The key of the house");
    assert_eq!(tool(&imported, "listLocks")["parameters"], json!([]));
    for words in [
        "'cookieKey' is not used",
        "'digest' is not used",
        "'certificate' is not used",
        "'strange' is not used",
        "wants the sign-in queryKey",
    ] {
        assert!(has_warning(&imported, words), "{words}: {:?}", imported.warnings);
    }
    let of = |scheme: &str| {
        let text = text.replace("security: [{ headerKey: [] }]", &format!("security: [{{ {scheme}: [] }}]"));
        let options = ImportOptions { include: patterns(&["listLocks"]), ..ImportOptions::default() };
        import_with(ImportSource::Text(text), &options, json!({})).unwrap().config
    };
    for (scheme, auth_type, config) in [
        ("queryKey", "apikey", json!({ "header": "key", "in": "query" })),
        ("token", "bearer", json!({})),
        ("password", "basic", json!({})),
        ("person", "bearer", json!({})),
        ("openid", "bearer", json!({})),
    ] {
        let made = of(scheme);
        assert_eq!((&made["auth_type"], &made["auth_config"]), (&json!(auth_type), &config), "{scheme}");
    }
    let machine = of("machine");
    let expected =
        json!({ "token_url": "https://locks.example.com/token", "scope": "locks:read locks:write" });
    assert_eq!((&machine["auth_type"], &machine["auth_config"]), (&json!("oauth2"), &expected));
    let options = ImportOptions { include: patterns(&["machineLocks"]), ..ImportOptions::default() };
    let machine = import_with(ImportSource::Text(text.clone()), &options, json!({})).unwrap().config;
    assert_eq!(machine["auth_config"]["scope"], "locks:read", "what the operations ask for");
    for scheme in ["cookieKey", "digest", "certificate", "strange", "nobody"] {
        assert!(!of(scheme).contains_key("auth_type"), "{scheme}");
    }
}

#[test]
fn settings_of_the_user_win() {
    let text = ImportSource::Text(text_of("petstore-3.0.yaml"));
    let with = |config: Value| import_with(text.clone(), &ImportOptions::default(), config).unwrap();
    let signed = with(json!({ "auth_config": { "value": "k" }, "timeout_ms": 5 }));
    assert_eq!(signed.config["auth_config"], json!({ "header": "api_key", "value": "k" }));
    assert_eq!((signed.config["timeout_ms"].clone(), signed.credentials.len()), (json!(5), 0));
    let other = with(json!({ "auth_type": "bearer", "auth_config": { "token": "t" } }));
    assert_eq!(other.config["auth_config"], json!({ "token": "t" }));
    let none = with(json!({ "auth_type": "none" }));
    assert!(!none.config.contains_key("auth_config") && none.credentials.is_empty());
    let nested = with(json!({ "auth": { "type": "bearer", "token": "t" } }));
    assert!(!nested.config.contains_key("auth_type") && !nested.config.contains_key("auth_config"));
}

#[test]
fn takes_and_leaves_what_it_is_told() {
    let ids = |include: &[&str], exclude: &[&str]| -> Vec<String> {
        let options = ImportOptions {
            include: patterns(include),
            exclude: patterns(exclude),
            ..ImportOptions::default()
        };
        let imported =
            import_with(ImportSource::Text(text_of("petstore-3.0.yaml")), &options, json!({})).unwrap();
        imported.tools.iter().map(|tool| tool.definition["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["list*"], &[]), ["listPets"]);
    assert_eq!(ids(&["GET /pets*"], &[]), ["listPets", "showPetById"]);
    assert_eq!(ids(&["tag:store"], &[]), ["getOrders"]);
    assert_eq!(ids(&["/pets/{petId}"], &["DELETE *", "updatePet"]), ["showPetById"]);
    let options = ImportOptions { include: patterns(&["nothing"]), ..ImportOptions::default() };
    let error =
        import_with(ImportSource::Text(text_of("petstore-3.0.yaml")), &options, json!({})).unwrap_err();
    assert!(error.message().contains("include"), "{error}");
}

#[test]
fn names_are_made_legal_and_unique() {
    let imported = import("unnamed.yaml");
    let ids: Vec<_> = imported.tools.iter().map(|tool| tool.definition["id"].as_str().unwrap()).collect();
    let expected = [
        "get",
        "get_users_user-id_items_item_id",
        "create_item",
        "create_item_2",
        "create_item_3",
        "putThing",
    ];
    assert_eq!(ids, expected);
    assert_eq!((imported.id.as_str(), imported.name.as_str()), ("api", "API"));
    let names: Vec<_> =
        tool(&imported, "putThing")["parameters"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["id", "query_id", "header_id", "body_id", "value"]);
    assert_eq!(parameter(&imported, ids[1], "top")["sent_as"], "$top");
}

#[test]
fn yaml_anchors_and_merge_keys_are_what_they_stand_for() {
    let imported = import("anchors.yaml");
    assert_eq!(parameter(&imported, "listShips", "page"), parameter(&imported, "listHarbours", "page"));
    let state = parameter(&imported, "listShips", "state");
    assert_eq!(state["enum_values"], json!(["on", "off", "no", "1.5", "true"]), "words are words");
}

#[test]
fn what_is_broken_costs_only_itself() {
    let imported = import("broken.json");
    assert_eq!(tool(&imported, "good")["description"], "Still works");
    assert_eq!(tool(&imported, "hash")["endpoint"], "/hash", "a fragment is not sent");
    assert_eq!(parameter(&imported, "undeclared", "id")["required"], true);
    for (operation, words) in [
        ("/elsewhere", "another document"),
        ("/string", "no object"),
        ("GET /operation-is-string", "no object"),
        ("GET /remote-parameter", "another document"),
        ("GET /loop", "refers to itself"),
        ("GET /un{closed", "'{' without a '}'"),
        ("GET /spaced out", "spaces"),
        ("GET /../etc/passwd", "'..'"),
        ("GET /path-object/{o}", "object in the path"),
    ] {
        assert!(
            reason(&imported, operation).contains(words),
            "{operation}: {}",
            reason(&imported, operation)
        );
    }
    let number = parameter(&imported, "types", "num");
    assert_eq!(number, &json!({ "name": "num", "parameter_type": "Integer", "position": "query" }));
    assert!(has_warning(&imported, "https://evil.example.com/schema.json"));
    assert!(has_warning(&imported, "give base_url"));
}

/// A default must not change what the caller did not mention.
#[test]
fn a_patch_does_not_send_defaults() {
    let body = json!({ "requestBody": { "content": { "application/json": { "schema": {
        "type": "object", "properties": { "state": { "type": "string", "default": "open", "description": "The state." } } } } } } });
    let patch = import_value(document_with("/a", "patch", body.clone())).unwrap();
    let post = import_value(document_with("/a", "post", body)).unwrap();
    assert_eq!(parameter(&post, "post_a", "state")["default_value"], "open");
    assert!(parameter(&patch, "patch_a", "state")["default_value"].is_null());
    assert_eq!(parameter(&patch, "patch_a", "state")["description"], "The state. Default: \"open\"");
}

/// The operation's own parameter replaces the path's with the same name and place, and no other.
#[test]
fn parameters_of_the_operation_replace_those_of_the_path() {
    let mut document = document_with(
        "/a",
        "get",
        json!({ "parameters": [
        { "name": "x", "in": "query", "schema": { "type": "integer" } }
    ] }),
    );
    document["paths"]["/a"]["parameters"] = json!([
        { "name": "x", "in": "query", "schema": { "type": "string" } },
        { "name": "x", "in": "header", "schema": { "type": "string" } },
        { "name": "y", "in": "query", "schema": { "type": "string" } },
    ]);
    let imported = import_value(document).unwrap();
    let parameters = tool(&imported, "get_a")["parameters"].as_array().unwrap();
    let brief: Vec<_> = parameters
        .iter()
        .map(|p| (p["name"].as_str().unwrap(), p["parameter_type"].as_str().unwrap()))
        .collect();
    assert_eq!(brief, [("x", "Integer"), ("header_x", "String"), ("y", "String")]);
}

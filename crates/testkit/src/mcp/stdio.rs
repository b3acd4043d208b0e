//! An MCP server on stdio, as a program: an example of a crate calls [`main`].
//!
//! Arguments: `--noise`, `--crash`, `--start-ms N`, `--tools N`, `--version V`, `--modern` (2026-07-28 only), `--bom` (a byte order mark before
//! every answer), `--linger` (stay when stdin closes), `--bad-tool` (one definition without a schema), `--loop` (cursors without
//! end), `--refuse TEXT` (the answer to a handshake), `--resource TEXT` (says TEXT of `memo://same` and of all that `memo://of/{id}` makes, and that each
//! has changed when it is watched), `--instructions TEXT`, `--roots` (asks for roots when it has started and whenever they change), `--chatty` (log entries without end, in
//! turn of the levels debug, info and error), `--count-starts FILE`, `--definitions FILE` (offer the tools in it, read at every list), `--lists FILE` (prompts and resources: what it
//! says of each method is its result), `--wide FILE SPACE` (a
//! [`Wide`] server that writes every line it reads to the file). More tools than the others have: `die`, `never`, `twice`, `late`,
//! `huge`, `storm`, `change`, `ask`, `progress`, `seen`, `env`, `pid`, `child`, `deep`.

use super::wide::Wide;
use super::{call, initialized, reply, text};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, io, process, thread};

static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// A handshake came where none is spoken.
static IS_LOCKED: AtomicBool = AtomicBool::new(false);
/// What was asked under which id.
static METHODS: Mutex<BTreeMap<String, Value>> = Mutex::new(BTreeMap::new());
static CHANGED: Mutex<bool> = Mutex::new(false);

/// Serves stdin and stdout until stdin ends.
pub fn main() {
    if let Some(file) = option("--count-starts") {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
        let _ = opened.and_then(|mut file| file.write_all(format!("{}\n", process::id()).as_bytes()));
    }
    if has("--crash") {
        complain("starting up\nfatal: the key is missing");
        process::exit(3);
    }
    if let Some(pause) = number("--start-ms") {
        thread::sleep(Duration::from_millis(pause));
    }
    if has("--noise") {
        write("Server v1.0 started!\n{\"level\":\"info\"}\n[1,2\n\u{1b}[32mready\u{1b}[0m\n\n7\n");
    }
    if let Some(file) = option("--wide") {
        return serve_wide(&file);
    }
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        serve(&request, &line);
    }
    while has("--linger") {
        thread::sleep(Duration::from_secs(1));
    }
}

/// Takes every line for a message, as those do that end a line at `\r`, too, and notes it.
fn serve_wide(file: &str) {
    let space = env::args().skip_while(|argument| argument != "--wide").nth(2).unwrap_or_default();
    let mut wide = Wide::new(&space);
    let mut journal = std::fs::OpenOptions::new().create(true).append(true).open(file).expect("a journal");
    for read in io::stdin().lock().lines() {
        let Ok(read) = read else { break };
        for line in read.split('\r') {
            journal.write_all(format!("{line}\n").as_bytes()).expect("the journal can be written");
            wide.take(line).iter().for_each(|message| write(&format!("{message}\n")));
        }
    }
}

fn serve(request: &Value, line: &str) {
    if has("--noise") {
        write("[info] a request\n");
    }
    let id = request["id"].clone();
    if has("--modern") {
        METHODS.lock().expect("no panic").insert(id.to_string(), request["method"].clone());
    }
    match request["method"].as_str() {
        _ if id.is_null() || request["method"].is_null() => {
            SEEN.lock().expect("no panic").push(line.to_owned());
            hear(request["method"].as_str().unwrap_or_default());
        }
        Some("initialize") if has("--modern") => {
            let error = json!({ "code": -32022, "message": "2026-07-28 only" });
            send(&id, &Err(error.to_string()));
            IS_LOCKED.store(true, Ordering::Relaxed);
        }
        Some(_) if has("--modern") && !is_modern(request) => {
            send(&id, &Err(json!({ "code": -32602, "message": "no version in _meta" }).to_string()));
        }
        Some("server/discover") => send(
            &id,
            &Ok(json!({
                "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }
            })
            .to_string()),
        ),
        Some("initialize") if has("--refuse") => {
            let message = option("--refuse").unwrap_or_default();
            send(&id, &Err(json!({ "code": -32000, "message": message }).to_string()));
        }
        Some("initialize") => {
            let hello = initialized(request, option("--version").as_deref());
            let mut hello: Value = serde_json::from_str(&hello).expect("JSON");
            if has("--resource") {
                hello["capabilities"]["resources"] = json!({ "subscribe": true });
                hello["capabilities"]["completions"] = json!({});
            }
            if has("--lists") {
                hello["capabilities"]["prompts"] = json!({});
                hello["capabilities"]["resources"] = json!({});
            }
            if let Some(instructions) = option("--instructions") {
                hello["instructions"] = instructions.into();
            }
            send(&id, &Ok(hello.to_string()));
        }
        Some(method) if has("--resource") && is_about_resources(method) => {
            send(&id, &Ok(resource(method, &request["params"])));
        }
        Some(method) if listed(method).is_some() => send(&id, &Ok(listed(method).unwrap_or_default())),
        Some("tools/list") => send(&id, &Ok(list(request))),
        Some("tools/call") => run(&id, request, line),
        _ => send(&id, &super::answer(request, line)),
    }
}

/// What the file of `--lists` says of a method.
fn listed(method: &str) -> Option<String> {
    let text = std::fs::read_to_string(option("--lists")?).expect("a file of results");
    let said: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&text).expect("JSON");
    said.get(method).map(|result| result.get().to_owned())
}

fn is_about_resources(method: &str) -> bool {
    method.starts_with("resources/") || method == "completion/complete"
}

fn resource(method: &str, params: &Value) -> String {
    let (text, uri) = (option("--resource").unwrap_or_default(), &params["uri"]);
    let result = match method {
        "resources/list" => json!({ "resources": [{ "uri": "memo://same", "name": "same", "x-kept": 1.0 }] }),
        "resources/templates/list" => {
            json!({ "resourceTemplates": [{ "uriTemplate": "memo://of/{id}", "name": "of" }] })
        }
        "resources/read" => {
            json!({ "contents": [{ "uri": uri, "text": format!("{text} of {}", uri.as_str().unwrap_or_default()) }] })
        }
        "completion/complete" => json!({ "completion": { "values": [text, params["ref"]["uri"]] } }),
        _ => {
            if method == "resources/subscribe" {
                let updated = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
                thread::spawn(move || {
                    for _ in 0..100 {
                        thread::sleep(Duration::from_millis(100));
                        write(&format!("{updated}\n"));
                    }
                });
            }
            json!({})
        }
    };
    result.to_string()
}

fn hear(notification: &str) {
    let is_about_roots =
        matches!(notification, "notifications/initialized" | "notifications/roots/list_changed");
    if has("--roots") && is_about_roots {
        write("{\"jsonrpc\":\"2.0\",\"id\":\"roots\",\"method\":\"roots/list\"}\n");
    }
    if has("--chatty") && notification == "notifications/initialized" {
        thread::spawn(|| {
            for (number, level) in ["debug", "info", "error"].into_iter().cycle().enumerate() {
                let params = json!({ "level": level, "logger": "chatty", "data": number });
                write(&format!(
                    "{}\n",
                    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
                ));
                thread::sleep(Duration::from_millis(50));
            }
        });
    }
}

/// As pip `mcp` does it: whoever opens with a handshake is refused for ever.
fn is_modern(request: &Value) -> bool {
    let version = &request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    version == "2026-07-28" && !IS_LOCKED.load(Ordering::Relaxed)
}

fn list(request: &Value) -> String {
    const EXTRA: [&str; 14] = [
        "ask", "change", "child", "deep", "die", "env", "huge", "late", "never", "pid", "progress", "seen",
        "storm", "twice",
    ];
    let tool = |name: &str| json!({ "name": name, "description": "x", "inputSchema": { "type": "object" } });
    let mut tools = super::tools();
    tools.extend(EXTRA.map(tool));
    if *CHANGED.lock().expect("no panic") {
        tools.push(tool("new"));
    }
    if has("--bad-tool") {
        tools.push(json!({ "name": "bad" }));
    }
    if has("--loop") {
        return json!({ "tools": [tool("a")], "nextCursor": "again" }).to_string();
    }
    if let Some(file) = option("--definitions") {
        let text = std::fs::read_to_string(file).expect("a file of definitions");
        return format!("{{\"tools\":{}}}", text.trim());
    }
    let Some(count) = number("--tools") else { return json!({ "tools": tools }).to_string() };
    let from: u64 = request["params"]["cursor"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
    let to = (from + 1_000).min(count);
    let tools: Vec<_> = (from..to).map(|number| tool(&format!("tool_{number:05}"))).collect();
    let mut page = json!({ "tools": tools });
    if to < count {
        page["nextCursor"] = to.to_string().into();
    }
    page.to_string()
}

fn run(id: &Value, request: &Value, line: &str) {
    let arguments = request["params"]["arguments"].clone();
    match request["params"]["name"].as_str().unwrap_or_default() {
        "slow" | "late" => {
            let (id, request, line) = (id.clone(), request.clone(), line.to_owned());
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(8_000)));
                send(&id, &call(&request, &line).or_else(|_| Ok(text("late"))));
            });
        }
        "die" => {
            complain("panicked at the worst moment");
            process::exit(7);
        }
        "never" => write_progress(request, 1),
        "twice" => {
            send(id, &Ok(text("first")));
            send(id, &Ok(text("second")));
            send(&json!(999_999), &Ok(text("to nobody")));
        }
        "change" => {
            *CHANGED.lock().expect("no panic") = true;
            write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
            send(id, &Ok(text("changed")));
        }
        "ask" => {
            for (id, method) in [("q1", "ping"), ("q2", "sampling/createMessage"), ("q3", "roots/list")] {
                write(&format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method })));
            }
            send(id, &Ok(text("asked")));
        }
        "huge" | "storm" | "progress" => write_much(id, request),
        "odd" => send(id, &Ok("[7]".to_owned())),
        "rest" => write_rest(id, arguments["rest"].as_str().unwrap_or_default()),
        "seen" => send(id, &Ok(text(&SEEN.lock().expect("no panic").join("\n")))),
        "env" => {
            let name = arguments["name"].as_str().unwrap_or_default();
            send(id, &Ok(text(&env::var(name).unwrap_or_else(|_| "(unset)".into()))));
        }
        "pid" => send(id, &Ok(text(&process::id().to_string()))),
        "child" => {
            let child = process::Command::new("sleep").arg("1000").stdin(process::Stdio::null()).spawn();
            send(id, &Ok(text(&child.expect("sleep starts").id().to_string())));
        }
        "deep" => {
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            send(id, &Ok(format!(r#"{{"content":[],"structuredContent":{deep}}}"#)));
        }
        name if name.starts_with("tool_") || name == "new" => send(id, &Ok(text(name))),
        _ => send(id, &call(request, line)),
    }
}

/// The tools that write as much as the caller says: as one line, or before the answer.
/// Nobody hears of it who has not asked.
fn write_progress(request: &Value, total: u64) {
    let token = &request["params"]["_meta"]["progressToken"];
    for step in 0..total {
        let params = json!({ "progressToken": token, "progress": step, "total": total, "message": "on" });
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        write(&format!("{note}\n"));
    }
}

fn write_much(id: &Value, request: &Value) {
    let amount = request["params"]["arguments"]["n"].as_u64().unwrap_or(1);
    match request["params"]["name"].as_str() {
        Some("huge") => {
            let chunk = "x".repeat(1024 * 1024);
            (0..amount).for_each(|_| write(&chunk));
            write("\n");
        }
        Some("storm") => {
            let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
            (0..amount).for_each(|_| write(&format!("{note}\n")));
            send(id, &Ok(text("after the storm")));
        }
        _ => {
            write_progress(request, amount);
            send(id, &Ok(text("done")));
        }
    }
}

/// The tool `rest`, which only `--definitions` can offer: an answer that goes on as the caller says, where `ÿ` stands for
/// a byte that is no UTF-8.
fn write_rest(id: &Value, rest: &str) {
    let mut answer = format!(r#"{{"jsonrpc":"2.0","id":{id}"#).into_bytes();
    rest.chars().for_each(|character| match character {
        'ÿ' => answer.push(0xff),
        other => answer.extend_from_slice(other.to_string().as_bytes()),
    });
    answer.extend_from_slice(b"}\n");
    let mut out = io::stdout().lock();
    if out.write_all(&answer).and_then(|()| out.flush()).is_err() {
        process::exit(0);
    }
}

fn send(id: &Value, result: &Result<String, String>) {
    let method = METHODS.lock().expect("no panic").remove(&id.to_string());
    // Only what was asked as of 2026-07-28 has been noted.
    let text = match (method, result) {
        (Some(method), Ok(result)) => {
            reply(id, &Ok(super::complete(method.as_str().unwrap_or_default(), result)))
        }
        _ => reply(id, result),
    };
    write(&format!("{}{text}\n", if has("--bom") { "\u{feff}" } else { "" }));
}

/// One write, so that lines of two threads do not mix.
fn write(text: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        process::exit(0);
    }
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn has(name: &str) -> bool {
    env::args().any(|argument| argument == name)
}

fn option(name: &str) -> Option<String> {
    env::args().skip_while(|argument| argument != name).nth(1)
}

fn number(name: &str) -> Option<u64> {
    option(name)?.parse().ok()
}

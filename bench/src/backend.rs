//! What a gateway stands in front of: an MCP server (Streamable HTTP and stdio) and a REST API;
//! and a gateway that does nothing (a TCP relay: the least that one more hop can cost).
use crate::http::Conn;
use crate::{Args, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{BufRead, BufWriter, Write};
use std::rc::Rc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

const LINE: &str = r#"{"sku":"SKU-000123","title":"A thing that somebody ordered","quantity":2,"unit_price":19.99,"currency":"EUR","attributes":{"colour":"blue","size":"M"}}"#;

#[derive(Deserialize)]
struct Rpc<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow, rename = "protocolVersion")]
    version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Echo<'a>>,
}

#[derive(Deserialize)]
struct Echo<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// Holds the ready-made result of tools/list, and the 100 KB that the tool `full` answers.
struct Server(String, String);

impl Server {
    fn new(args: &Args) -> Server {
        let name = |i: usize| match i {
            0 => "echo".into(),
            1 => "full".into(),
            _ => format!("tool_{i}"),
        };
        let tool = |i: usize| include_str!("tool.json").trim().replace("NAME", &name(i));
        let list: Vec<String> = (0..args.num("tools", 20)).map(tool).collect();
        Server(format!(r#"{{"tools":[{}]}}"#, list.join(",")), format!("[{}]", vec![LINE; 680].join(",")))
    }

    /// Appends the JSON-RPC response, if there is one, to `out`; answers the method.
    fn handle<'a>(&self, msg: &'a [u8], out: &mut Vec<u8>) -> Option<Cow<'a, str>> {
        let Ok(rpc) = serde_json::from_slice::<Rpc>(msg) else {
            out.extend_from_slice(
                br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
            );
            return Some("".into());
        };
        let id = rpc.id?;
        let asked = rpc.params.version.unwrap_or_default();
        let version = ["2024-11-05", "2025-03-26", "2025-11-25"]
            .into_iter()
            .find(|k| *k == asked)
            .unwrap_or("2025-06-18");
        let text = rpc.params.arguments.and_then(|a| a.text).map_or("\"\"", |t| t.get());
        let _ = write!(out, r#"{{"jsonrpc":"2.0","id":{id},"#);
        let _ = match &*rpc.method {
            "tools/call" if rpc.params.name.is_some_and(|name| name.ends_with("full")) => {
                let lines = &self.1;
                write!(
                    out,
                    r#""result":{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{{"lines":{lines}}},"isError":false}}}}"#
                )
            }
            "tools/call" => {
                write!(out, r#""result":{{"content":[{{"type":"text","text":{text}}}],"isError":false}}}}"#)
            }
            "tools/list" => write!(out, r#""result":{}}}"#, self.0),
            "ping" => write!(out, r#""result":{{}}}}"#),
            "initialize" => {
                let about =
                    r#""capabilities":{"tools":{}},"serverInfo":{"name":"mcpbench","version":"0.1.0"}"#;
                write!(out, r#""result":{{"protocolVersion":"{version}",{about}}}}}"#)
            }
            _ => write!(out, r#""error":{{"code":-32601,"message":"method not found"}}}}"#),
        };
        Some(rpc.method)
    }
}

pub fn serve_stdio(args: &Args) -> Result<()> {
    let server = Server::new(args);
    let mut input = std::io::BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    let mut output = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        if server.handle(line.trim_ascii(), &mut out).is_some() {
            out.push(b'\n');
            output.write_all(&out)?;
            out.clear();
        }
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// Accepts connections for ever and gives each to `serve`.
async fn listen<F: Future<Output = ()> + 'static>(args: &Args, serve: impl Fn(TcpStream) -> F) -> Result<()> {
    let l = TcpListener::bind(("127.0.0.1", args.num("port", 0u16))).await?;
    eprintln!("listening on {}", l.local_addr()?);
    let accept = async {
        loop {
            spawn_local(serve(l.accept().await?.0));
        }
    };
    LocalSet::new().run_until(accept).await
}

/// Serves HTTP: `handle` appends a whole response for a start line and a body.
async fn serve_http(args: &Args, handle: impl Fn(&str, &[u8], &mut Vec<u8>) + Clone + 'static) -> Result<()> {
    listen(args, |sock| {
        let handle = handle.clone();
        async move {
            let Ok(mut conn) = Conn::new(sock) else { return };
            let mut out = Vec::new();
            while conn.read().await.is_ok() {
                out.clear();
                handle(&conn.head.start, &conn.body, &mut out);
                if conn.write(&out).await.is_err() || conn.head.close {
                    return;
                }
            }
        }
    })
    .await
}

fn respond(out: &mut Vec<u8>, status: &str, headers: &str, body: &[u8]) {
    let _ = write!(out, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    out.extend_from_slice(body);
}

pub async fn serve_mcp(args: &Args) -> Result<()> {
    let server = Rc::new(Server::new(args));
    let sse = args.str("sse", "") == "true";
    let kind = if sse { "Content-Type: text/event-stream\r\n" } else { "Content-Type: application/json\r\n" };
    let opening: &[u8] = if sse { b"event: message\ndata: " } else { b"" };
    serve_http(args, move |start, body, out| {
        if !start.starts_with("POST") {
            return respond(
                out,
                if start.starts_with("DELETE") { "200 OK" } else { "405 Method Not Allowed" },
                "",
                b"",
            );
        }
        let mut msg = opening.to_vec();
        let method = server.handle(body, &mut msg);
        msg.extend_from_slice(if sse { b"\n\n" } else { b"" });
        match method.as_deref() {
            None => respond(out, "202 Accepted", "", b""),
            Some("initialize") => {
                respond(out, "200 OK", &format!("Mcp-Session-Id: 7d3c6b1e-bench\r\n{kind}"), &msg)
            }
            Some(_) => respond(out, "200 OK", kind, &msg),
        }
    })
    .await
}

pub async fn serve_rest(args: &Args) -> Result<()> {
    let address = r#"{"name":"Ada Example","street":"1 Example Street","city":"Exampleton","zip":"12345","country":"DE"}"#;
    let rest = |n: usize| {
        format!(
            r#""status":"shipped","total":99.95,"lines":[{}],"address":{address}}}"#,
            vec![LINE; n].join(",")
        )
    };
    let (small, full) = (rest(5), rest(680)); // 1 KB and 100 KB
    serve_http(args, move |start, _, out| {
        let path = start.split(' ').nth(1).unwrap_or("").split('?').next().unwrap_or("");
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let (status, body) = match parts[..] {
            ["users", user, "orders", id] => {
                ("200 OK", format!(r#"{{"id":"{id}","user_id":"{user}",{small}"#))
            }
            ["users", user, "orders", id, "full"] => {
                ("200 OK", format!(r#"{{"id":"{id}","user_id":"{user}",{full}"#))
            }
            ["openapi.json"] => ("200 OK", include_str!("openapi.json").into()),
            _ => ("404 Not Found", "{}".into()),
        };
        respond(out, status, "Content-Type: application/json\r\n", body.as_bytes());
    })
    .await
}

pub async fn null_proxy(args: &Args) -> Result<()> {
    let to: Rc<str> = args.str("to", "127.0.0.1:9101").into();
    listen(args, |mut front| {
        let to = to.clone();
        async move {
            if let Ok(mut back) = TcpStream::connect(&*to).await {
                let _ = (front.set_nodelay(true), back.set_nodelay(true));
                let _ = tokio::io::copy_bidirectional(&mut front, &mut back).await;
            }
        }
    })
    .await
}

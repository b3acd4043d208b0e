//! Mail servers whose answers do not fit what they were asked.

use super::support::{call, mail, open, plain, somebody};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What such a server says to DATA, and after the final dot.
#[derive(Debug, Clone, Copy)]
struct Script {
    data: &'static str,
    dot: &'static str,
}

const GOOD: Script = Script { data: "354 go ahead\r\n", dot: "250 taken\r\n" };

/// A server that speaks by the script on its first connection, and well on others.
struct Confused {
    address: String,
    /// What was said, for each connection.
    said: Arc<Mutex<Vec<String>>>,
}

impl Confused {
    async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let shared = said.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = {
                    let mut said = shared.lock().unwrap();
                    said.push(String::new());
                    said.len() - 1
                };
                let script = if number == 0 { script } else { GOOD };
                tokio::spawn(speak(client, script, number, shared.clone()));
            }
        });
        Self { address, said }
    }

    fn connections(&self) -> usize {
        self.said.lock().unwrap().len()
    }

    /// Whether a line of a message was said on the first connection.
    fn has_message(&self) -> bool {
        self.said.lock().unwrap()[0].contains("Subject:")
    }
}

async fn speak(client: TcpStream, script: Script, number: usize, said: Arc<Mutex<Vec<String>>>) {
    let (reader, mut writer) = client.into_split();
    let mut lines = BufReader::new(reader).lines();
    let mut is_message = false;
    let _ = writer.write_all(b"220 here\r\n").await;
    while let Ok(Some(line)) = lines.next_line().await {
        said.lock().unwrap()[number].push_str(&format!("{line}\n"));
        let answer = match line.as_str() {
            "." if is_message => {
                is_message = false;
                script.dot
            }
            _ if is_message => continue,
            "DATA" => {
                is_message = script.data.starts_with("354");
                script.data
            }
            _ => "250 fine\r\n",
        };
        if writer.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// ML-10: an answer that is none to DATA hands nothing over, and the connection is left.
#[tokio::test]
async fn what_is_no_answer_to_data_is_no_success() {
    for data in ["250 fine\r\n", "220 hello\r\n", "334 go on\r\n"] {
        let server = Confused::start(Script { data, ..GOOD }).await;
        let service = open(&plain(&server.address));
        let error = call(&service, "send", mail(somebody("confused"))).await.unwrap_err();
        assert!(
            error.message().contains("DATA") && error.message().contains("nothing was handed over"),
            "{error}"
        );
        assert!(!server.has_message(), "{data}");
        let (result, _) = call(&service, "send", mail(somebody("behind"))).await.unwrap();
        assert_eq!((&result["status"], server.connections()), (&json!("sent"), 2), "{result}");
    }
}

/// ML-10: what says nothing about the message leaves it unknown; it is not called refused.
#[tokio::test]
async fn what_is_no_answer_to_a_message_leaves_it_unknown() {
    for dot in ["354 go ahead\r\n", "334 go on\r\n"] {
        let server = Confused::start(Script { dot, ..GOOD }).await;
        let service = open(&plain(&server.address));
        let (result, is_error) = call(&service, "send", mail(somebody("confused"))).await.unwrap();
        assert!(is_error && result["recipients"][0]["status"] == "unknown", "{result}");
        let (result, _) = call(&service, "send", mail(somebody("behind"))).await.unwrap();
        assert_eq!((&result["status"], server.connections()), (&json!("sent"), 2), "{result}");
    }
}

/// ML-10: an answer too many is not taken for one to the next message.
#[tokio::test]
async fn a_connection_with_something_unread_is_not_used_again() {
    for dot in [
        "250 taken\r\n250 and once more\r\n",
        "250 taken\r\n421 good-bye\r\n",
        "451 not now\r\n250 or yes\r\n",
    ] {
        let server = Confused::start(Script { dot, ..GOOD }).await;
        let service = open(&plain(&server.address));
        let (first, _) = call(&service, "send", mail(somebody("confused"))).await.unwrap();
        let expected = if dot.starts_with('2') { "sent" } else { "deferred" };
        assert_eq!(first["recipients"][0]["status"], expected, "{first}");
        let (result, _) = call(&service, "send", mail(somebody("behind"))).await.unwrap();
        assert_eq!((&result["status"], server.connections()), (&json!("sent"), 2), "{result}");
    }
    let server = Confused::start(GOOD).await;
    let service = open(&plain(&server.address));
    for _ in 0..2 {
        call(&service, "send", mail(somebody("well"))).await.unwrap();
    }
    assert_eq!(server.connections(), 1, "a good one is");
}

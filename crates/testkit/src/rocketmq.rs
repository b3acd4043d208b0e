//! What an administrator of RocketMQ does, over its older protocol: topics, which clients of gRPC cannot make.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// `UPDATE_AND_CREATE_TOPIC`.
const MAKE_TOPIC: i32 = 17;

/// Makes a topic with so many queues that takes messages of this type: `NORMAL`, `FIFO`, `DELAY` or `MIXED`.
///
/// # Panics
/// When the broker refuses it.
pub async fn make_topic(broker: &str, topic: &str, queues: u8, message_type: &str) {
    let queues = queues.to_string();
    let fields = json!({
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": queues, "writeQueueNums": queues, "perm": "6",
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
        "attributes": format!("+message.type={message_type}"),
    });
    let answer = ask(broker, MAKE_TOPIC, &fields).await;
    assert_eq!(answer["code"], json!(0), "the topic '{topic}' cannot be made: {answer}");
}

/// Sends one command and reads the head of the answer: a length, the length of the head, the head in JSON.
async fn ask(broker: &str, code: i32, fields: &Value) -> Value {
    let head = json!({ "code": code, "language": "JAVA", "version": 500, "opaque": 1, "flag": 0,
        "serializeTypeCurrentRPC": "JSON", "extFields": fields })
    .to_string();
    let length = u32::try_from(head.len()).unwrap_or(u32::MAX);
    let mut frame = (length + 4).to_be_bytes().to_vec();
    frame.extend(length.to_be_bytes());
    frame.extend(head.as_bytes());
    let mut stream = TcpStream::connect(broker).await.expect("the broker listens");
    stream.write_all(&frame).await.expect("the broker reads");
    let (_, length) =
        (stream.read_u32().await.expect("an answer"), stream.read_u32().await.expect("its head"));
    let mut head = vec![0; usize::try_from(length & 0x00ff_ffff).unwrap_or(0)];
    stream.read_exact(&mut head).await.expect("the whole head");
    serde_json::from_slice(&head).expect("a head in JSON")
}

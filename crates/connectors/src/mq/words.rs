//! What forms call the settings of a message broker.

use tool::words::{Word, word};

const ELSEWHERE: &[&str] = &["rabbitmq", "redis", "kafka", "rocketmq"];
const KAFKA: &[&str] = &["kafka"];
const SIGNING_IN: &[&str] = &["kafka", "rocketmq"];

pub(super) const WORDS: &[Word] = &[
    word("broker", "Broker", "消息代理", "谁来传递消息：embedded（本程序自带的数据库）、kafka、rabbitmq、redis 或 rocketmq（5.x）。"),
    word(
        "connection_string",
        "Connection string",
        "连接串",
        "代理的地址和登录信息：amqps://用户:密码@主机/虚拟主机，rediss://…，Kafka 的 主机1:9092,主机2:9092，或 RocketMQ 代理的 主机:8081。",
    )
    .group("sign_in")
    .when("broker", ELSEWHERE),
    word("sasl", "SASL", "SASL 机制", "登录 Kafka 的方式。").group("sign_in").when("broker", KAFKA),
    word("username", "User name", "用户名", "Kafka 的用户名，或 RocketMQ 的 Access Key。")
        .group("sign_in")
        .when("broker", SIGNING_IN),
    word("password", "Password", "密码", "Kafka 的密码，或 RocketMQ 的 Secret Key。")
        .group("sign_in")
        .when("broker", SIGNING_IN),
    word("declare", "Make what is missing", "自动创建", "创建缺少的队列、交换机和消费组。").advanced(),
    word("max_message_bytes", "Largest message (bytes)", "最大消息（字节）", "一条消息最多多少字节。")
        .group("limits")
        .advanced(),
    word("max_delay_ms", "Longest delay (ms)", "最长延迟（毫秒）", "消息最多可以推迟多久。")
        .group("limits")
        .advanced(),
    word("RetrySettings.max_delay_ms", "Longest pause (ms)", "最长间隔（毫秒）", "停顿的上限。")
        .group("limits"),
    word("queue", "Queue", "队列", "队列名（embedded、RabbitMQ）；未指定去处时与工具同名。").group("tools"),
    word("exchange", "Exchange", "交换机", "RabbitMQ 的交换机。").group("tools"),
    word("routing_key", "Routing key", "路由键", "交换机使用的路由键。").group("tools"),
    word("topic", "Topic", "主题", "Kafka 或 RocketMQ 的主题。").group("tools"),
    word("channel", "Channel", "频道", "Redis 的发布订阅频道：当时没有监听的人收不到。").group("tools"),
    word("stream", "Stream", "流", "Redis 的流，会保留消息。").group("tools"),
    word("message_schema", "Message schema", "消息模式", "消息的 JSON Schema，不符合的会被拒绝。")
        .group("tools"),
    word("ToolSettings.key", "Key", "消息键", "从消息中找出键的 JMESPath 表达式；不填则由调用者给出。")
        .group("tools")
        .advanced(),
    word("key", "Private key", "私钥", "证书的私钥（PEM）。").group("network"),
    word("format", "Format", "格式", "消息如何书写：JSON、文本，或调用者看到的 base64 字节。").group("tools"),
    word("peek", "Also peek", "可查看", "另外提供 <名称>_peek：查看消息但不取走。").group("tools"),
    word("receive", "Also receive", "可取走", "另外提供 <名称>_receive：取走消息。").group("tools"),
];

//! What forms call the settings of a mail service.

use tool::words::{Word, word};

const SMTP: &[&str] = &["smtp"];

pub(super) const WORDS: &[Word] = &[
    word("provider", "Carrier", "发送方式", "smtp，或 file：把最近 1000 封邮件存入服务自己的文件夹。"),
    word("smtp_host", "Mail server", "邮件服务器", "SMTP 服务器，例如 smtp.example.com。")
        .when("provider", SMTP),
    word("smtp_port", "Port", "端口", "服务器端口：starttls 默认 587，tls 默认 465。").when("provider", SMTP),
    word("security", "Encryption", "加密方式", "starttls、tls，或 none（不发送密码）。")
        .group("network")
        .when("provider", SMTP),
    word("from_address", "From address", "发件地址", "邮件从哪个地址发出。"),
    word("from_name", "From name", "发件人名称", "显示在发件地址之前的名称。"),
    word(
        "allow_recipients",
        "Allowed recipients",
        "允许的收件人",
        "允许写给谁（含抄送和密送），例如 *@example.com；不填则不限制。",
    )
    .group("limits"),
    word("max_recipients", "Recipients per call", "每次收件人上限", "一次调用最多写给多少人。")
        .group("limits"),
    word("max_message_bytes", "Largest message (bytes)", "最大邮件（字节）", "一封邮件发送时的最大字节数。")
        .group("limits")
        .advanced(),
    word("rate_per_minute", "Messages per minute", "每分钟邮件数", "每分钟发出多少封，超出的等待。")
        .group("limits"),
    word("pool_size", "Connections", "连接数", "与服务器的最大连接数。").group("limits").advanced(),
    word("dsn", "Delivery reports", "投递回执", "请服务器向发件人报告：success、failure、delay。").advanced(),
    word("templates", "Templates", "邮件模板", "带有占位的邮件，按名称使用。").group("tools"),
    word("subject", "Subject", "主题", "主题模板。").group("tools"),
    word("body", "Body", "正文", "正文模板。").group("tools"),
    word("text", "Plain text", "纯文本", "HTML 正文之外的纯文本版本。").group("tools").advanced(),
    word("contentType", "Body is", "正文类型", "text 或 html；在 HTML 中每个值都会转义。").group("tools"),
    word("raw", "Values that are HTML", "不转义的变量", "值本身就是 HTML、不再转义的变量。")
        .group("tools")
        .advanced(),
    word("to", "To", "收件人", "固定的收件人；调用者不再填写。").group("tools"),
    word("template", "Template", "模板", "使用的模板；调用者只填写变量。").group("tools"),
    word("from", "From", "发件地址", "该工具使用的发件地址。").group("tools").advanced(),
];

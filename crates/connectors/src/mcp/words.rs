//! What forms call the settings of an MCP server.

use tool::words::{Word, word};

pub(super) const WORDS: &[Word] = &[
    word("type", "Transport", "传输方式", "如何与服务器通信：stdio、http、sse 或 ws。"),
    word("command", "Command", "命令", "要启动的命令：路径或 PATH 中的名称，例如 npx。"),
    word("args", "Arguments", "命令参数", "命令的参数；密钥和令牌请写在环境变量中。"),
    word("env", "Environment", "环境变量", "除我们自己的环境外，给命令的变量。"),
    word("cwd", "Folder", "工作目录", "命令在哪个文件夹中运行。").advanced(),
    word("url", "URL", "地址", "服务器的地址，例如 https://mcp.example.com/mcp。"),
    word("httpUrl", "URL", "地址", "与 url 相同，一些客户端这样写。").alias("url").advanced(),
    word("serverUrl", "URL", "地址", "与 url 相同，一些客户端这样写。").alias("url").advanced(),
    word("headers", "Headers", "请求头", "发往该地址的每个请求携带的请求头。").advanced(),
    word("api_key", "Key", "密钥", "访问该地址的密钥，按登录方式发送。").group("sign_in"),
    word("login_file", "Login file", "登录文件", "保存个人登录信息的文件，只有管理员可以指定。")
        .group("sign_in")
        .advanced(),
    word("timeout", "Time limit (ms)", "超时（毫秒）", "一次调用最多用时，单位毫秒。").group("limits"),
    word("start_timeout", "Start limit (ms)", "启动超时（毫秒）", "服务器启动和握手最多用时。")
        .group("limits")
        .advanced(),
    word("includeTools", "Only these tools", "仅提供的工具", "只提供这些工具，可用 * 匹配任意字符。")
        .group("tools"),
    word("excludeTools", "Without these tools", "排除的工具", "不提供这些工具，可用 * 匹配任意字符。")
        .group("tools"),
    word(
        "reconnectInterval",
        "Reconnect after (ms)",
        "重连间隔（毫秒）",
        "连接失败后的停顿，逐次加倍，最多 30 秒。",
    )
    .group("limits")
    .advanced(),
    word("maxRetries", "Reconnects", "重连次数", "一次调用发现连接断开时最多重连几次。")
        .group("limits")
        .advanced(),
    word("idle_timeout", "Idle limit (ms)", "空闲超时（毫秒）", "多久没人使用就关闭连接；0 表示从不。")
        .group("limits")
        .advanced(),
    word("pin", "Changed tools", "工具变更", "服务器改变工具定义时怎么办：忽略、警告，或暂停使用直到批准。")
        .group("tools"),
    word("expose", "Names", "名称", "客户端如何看到该服务器提供的内容。").group("tools").advanced(),
    word("prefix", "Prefix", "名称前缀", "在工具和提示词的名称前加上服务名。").group("tools"),
    word("protocolVersion", "MCP version", "MCP 版本", "以哪个 MCP 版本开始；不填则自动协商。").advanced(),
    word("key", "Private key", "私钥", "证书的私钥（PEM）。").group("network"),
];

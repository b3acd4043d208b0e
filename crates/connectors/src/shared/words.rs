//! Words for what many connectors have in common: sign-in, TLS, limits, retries, tools made by users.

use tool::words::{Word, word};

/// Ways to sign in that have details.
const SIGNED_IN: &[&str] = &["apikey", "bearer", "basic", "oauth2", "jwt"];

/// What stands in no connector's own table.
pub(crate) const SHARED: &[Word] = &[
    // Sign-in
    word("auth_type", "Sign-in", "登录方式", "如何登录；所需内容写在登录配置中。").group("sign_in"),
    word("auth_config", "Sign-in details", "登录配置", "所选登录方式需要的内容。")
        .group("sign_in")
        .when("auth_type", SIGNED_IN),
    word("auth", "Sign-in", "登录", "登录方式及其配置写在一个对象中。").group("sign_in"),
    word("header", "Header", "请求头", "携带密钥的请求头或查询参数，默认 X-API-Key。").group("sign_in"),
    word("value", "Key", "密钥", "API 密钥。").group("sign_in"),
    word("in", "Key goes into", "密钥位置", "密钥放在请求头还是查询字符串中。").group("sign_in"),
    word("token", "Token", "令牌", "登录用的令牌。").group("sign_in"),
    word("username", "User name", "用户名", "登录用的用户名。").group("sign_in"),
    word("password", "Password", "密码", "登录用的密码。").group("sign_in"),
    word("token_url", "Token URL", "令牌地址", "申请令牌的地址。").group("sign_in"),
    word("client_id", "Client id", "客户端 ID", "在授权服务器上代表我们的标识。").group("sign_in"),
    word("client_secret", "Client secret", "客户端密钥", "客户端的密钥。").group("sign_in"),
    word(
        "client_metadata_url",
        "Client metadata URL",
        "客户端说明地址",
        "描述我们的文档地址（https），供以它作为客户端 ID 的服务器使用。",
    )
    .group("sign_in")
    .advanced(),
    word("scope", "Scope", "权限范围", "申请的权限，多个用空格分隔。").group("sign_in"),
    word("grant", "Grant", "授权方式", "client_credentials 或 authorization_code。")
        .group("sign_in")
        .advanced(),
    word("audience", "Audience", "受众", "令牌给谁使用，仅在需要时填写。").group("sign_in").advanced(),
    word("token_endpoint_auth_method", "Secret is sent", "密钥发送方式", "密钥放在请求头还是请求体中。")
        .group("sign_in")
        .advanced(),
    word("algorithm", "Algorithm", "签名算法", "令牌如何签名。").group("sign_in"),
    word("key", "Private key", "私钥", "证书的私钥，或用于签名的密钥。").group("sign_in"),
    word("key_id", "Key id", "密钥 ID", "密钥的名称，供有多个密钥的服务使用。").group("sign_in").advanced(),
    word("issuer", "Issuer", "签发者", "谁签发令牌。").group("sign_in").advanced(),
    word("ttl_s", "Token life (s)", "令牌有效期（秒）", "令牌有效多少秒，默认 300。")
        .group("sign_in")
        .advanced(),
    word("claims", "Claims", "声明", "令牌中还包含的内容。").group("sign_in").advanced(),
    word("caller_claims", "Claims about the caller", "调用者声明", "令牌说明为哪个租户和调用者而调用。")
        .group("sign_in")
        .advanced(),
    // TLS and network
    word("tls", "TLS", "TLS", "我们的证书，以及我们信任的证书颁发机构。").group("network").advanced(),
    word("certificate", "Certificate", "证书", "向服务器出示的证书及其证书链（PEM）。").group("network"),
    word("ca", "Trusted authorities", "信任的机构", "除公共机构外可为服务器担保的机构（PEM）。")
        .group("network"),
    word("server_name", "Server name", "服务器名", "证书中的名称，当它与所连接的主机不同时填写。")
        .group("network")
        .advanced(),
    word(
        "allow_private_network",
        "Private network",
        "内网访问",
        "默认拒绝内网、本机和链路本地地址；设为 true 或列出允许的网段。",
    )
    .group("network")
    .advanced(),
    word("pass_headers", "Headers handed on", "透传请求头", "把调用者请求中的这些请求头转发给服务。")
        .group("network")
        .advanced(),
    // Limits
    word("timeout_ms", "Time limit (ms)", "超时（毫秒）", "一次尝试最多用时，单位毫秒。").group("limits"),
    word("max_concurrent_calls", "Calls at once", "并发上限", "同时进行的调用数，超出的等待；不填则不限制。")
        .group("limits")
        .advanced(),
    word("max_response_bytes", "Largest answer (bytes)", "最大响应（字节）", "解压后响应的最大字节数。")
        .group("limits")
        .advanced(),
    word("retry", "Retries", "重试", "暂时性失败时如何重试。").group("limits").advanced(),
    word("max_attempts", "Attempts", "尝试次数", "最多尝试多少次。").group("limits"),
    word(
        "initial_delay_ms",
        "First pause (ms)",
        "首次间隔（毫秒）",
        "第一次失败后的停顿，之后逐次加倍；每次随机缩短至多一半，以免大家同时重试。",
    )
    .group("limits"),
    word("max_delay_ms", "Longest pause (ms)", "最长间隔（毫秒）", "停顿的上限。").group("limits"),
    word("circuit_breaker", "Circuit breaker", "熔断", "连续失败时何时暂停访问该服务。")
        .group("limits")
        .advanced(),
    word("failures", "Failures in a row", "连续失败次数", "连续失败多少次后暂停；0 表示从不。")
        .group("limits"),
    word("open_ms", "Left alone for (ms)", "暂停时长（毫秒）", "暂停多久后再试一次。").group("limits"),
    word("read_only", "Read only", "只读", "不允许任何修改。"),
    word("connection_string", "Connection string", "连接串", "所在地址及登录信息。").group("sign_in"),
    // Tools made by users
    word("tools", "Tools", "工具", "该服务提供的工具。").group("tools"),
    word("id", "Name", "名称", "工具名：字母、数字、“_”“.”“-”。").group("tools"),
    word("description", "Description", "说明", "做什么用，供模型选择和填写时参考。").group("tools"),
    word("endpoint", "Endpoint", "路径", "接在基础地址之后的路径，用 {名称} 表示路径参数。").group("tools"),
    word("method", "Method", "方法", "HTTP 方法。").group("tools"),
    word("methods", "Other methods", "可选方法", "调用者可通过 URI 选项选择的其他方法。")
        .group("tools")
        .advanced(),
    word("headers", "Headers", "请求头", "每个请求携带的请求头。").group("tools").advanced(),
    word("parameters", "Parameters", "参数", "可以传给工具的参数。").group("tools"),
    word("response_template", "Response template", "响应模板", "把响应变成文本的 Go 模板。").group("tools"),
    word("select", "Select", "提取", "从响应中提取内容的 JMESPath 表达式。").group("tools"),
    word(
        "max_result_bytes",
        "Largest result (bytes)",
        "最大结果（字节）",
        "结果的最大字节数，超出按整项截断。",
    )
    .group("tools")
    .advanced(),
    word("idempotent", "Idempotent", "可重复执行", "重复请求不会造成重复操作；默认由方法决定。")
        .group("tools")
        .advanced(),
    word(
        "form_encoding",
        "Form encoding",
        "表单编码",
        "表单参数如何发送：urlencoded 或 multipart（上传文件时需要）。",
    )
    .group("tools")
    .advanced(),
    word("error_template", "Error template", "错误模板", "解释错误响应的 Go 模板。")
        .group("tools")
        .advanced(),
    word("name", "Name", "名称", "参数的名称。").group("tools"),
    word("parameter_type", "Type", "类型", "值的类型。").group("tools"),
    word("required", "Required", "必填", "没有它就不能调用。").group("tools"),
    word("position", "Position", "位置", "值放在哪里：路径、查询、请求头或请求体。").group("tools"),
    word("default_value", "Default", "默认值", "未给出时使用的值。").group("tools"),
    word("enum_values", "Allowed values", "可选值", "只允许这些值。").group("tools"),
    word("schema", "Schema", "模式", "值的 JSON Schema，决定接受什么。").group("tools").advanced(),
    word("sent_as", "Sent as", "发送名称", "发送时使用的名称，与参数名不同时填写。")
        .group("tools")
        .advanced(),
    word("style", "Style", "书写方式", "列表和对象在查询字符串或表单中如何书写。").group("tools").advanced(),
    word("file", "File", "文件", "该值是一个文件。").group("tools").advanced(),
    word("encoding", "Encoding", "编码", "参数如何携带文件：文本或 base64。").group("tools").advanced(),
    word("filename", "File name", "文件名", "文件的名称，默认为参数名。").group("tools").advanced(),
    word("content_type", "Content type", "内容类型", "文件的类型，例如 application/pdf。")
        .group("tools")
        .advanced(),
];

//! What forms call the settings of an agent.

use tool::words::{Word, word};

const OVER_HTTP: &[&str] = &["openai", "anthropic", "gemini", "ollama"];

pub(super) const WORDS: &[Word] = &[
    word(
        "provider",
        "Provider",
        "模型提供方",
        "openai 及兼容者、anthropic、gemini、本机的 ollama，或调用方客户端自己的模型（client）。",
    ),
    word("model", "Model", "模型", "提供方对模型的称呼。").when("provider", OVER_HTTP),
    word(
        "instructions",
        "Instructions",
        "指令",
        "告诉模型做什么的 Go 模板，可用 .tenant、.agent、.now、.caller、.context、.tools。",
    ),
    word("base_url", "Base URL", "接口地址", "模型接口的地址；不填则用提供方自己的地址。")
        .group("network")
        .when("provider", OVER_HTTP),
    word("api_key", "Key", "密钥", "提供方的密钥。").group("sign_in").when("provider", OVER_HTTP),
    word("temperature", "Temperature", "温度", "模型写得多自由；不填则由模型决定。").advanced(),
    word("max_output_tokens", "Tokens of one answer", "单次输出上限", "一次回答最多多少 token。")
        .group("limits"),
    word("extra", "More fields", "附加字段", "合并进每个模型请求的字段；null 表示去掉。").advanced(),
    word("fallback", "Fallback models", "备用模型", "首选模型不可用时依次尝试的模型。").advanced(),
    word("handoffs", "Handoffs", "移交", "可以移交给哪些智能体。").group("tools"),
    word("LimitSettings.handoffs", "Handoffs", "移交次数", "一次运行最多移交多少次。").group("limits"),
    word("output_schema", "Answer schema", "回答模式", "回答的 JSON Schema，回答即为 JSON。").advanced(),
    word("output_retries", "Corrections", "更正次数", "不符合时模型可以更正多少次。").advanced(),
    word("parallel", "Calls at once", "并行调用", "一次回答中的调用同时进行多少个。")
        .group("limits")
        .advanced(),
    word(
        "approval",
        "Approval",
        "审批",
        "哪些调用需要批准：destructive、never、writes、after_untrusted 或 always。",
    ),
    word("approval_by", "Approved by", "审批人", "由谁批准：caller 或 manager，manager 决不会是调用者本人。")
        .advanced(),
    word("approval_ttl_s", "Wait for approval (s)", "等待批准（秒）", "运行等待批准多久，过时即不调用。")
        .advanced(),
    word("price", "Price", "价格", "每百万 token 的美元价格。").group("limits").advanced(),
    word("run_as", "Rights of", "权限来源", "用调用者的权限，还是保存该智能体的人的权限。"),
    word("guardrails", "Guardrails", "护栏", "提示、参数、结果和回答必须遵守的规则。")
        .group("limits")
        .advanced(),
    word("limits", "Limits", "限制", "一次运行可以用多少，包括移交和嵌套的智能体。")
        .group("limits")
        .advanced(),
    word("conversations", "Conversations", "会话", "会话保存多久、多少轮。").group("limits").advanced(),
    word("uri", "Tool", "工具地址", "工具的地址，或带 * 的模式。").group("tools"),
    word("as", "Called", "名称", "模型怎样称呼它。").group("tools"),
    word("preset", "Preset arguments", "预设参数", "已经确定、模型看不到也改不了的参数。").group("tools"),
    word("trusted", "Trusted", "可信", "它的回答可以相信。").group("tools").advanced(),
    word("to", "To", "移交给", "另一个智能体，例如 agent://billing。").group("tools"),
    word("when", "When", "何时", "什么时候移交，写给模型看。").group("tools"),
    word("history", "History", "历史", "对方知道多少：full、prompt 或 none。").group("tools").advanced(),
    word("steps", "Model calls", "模型调用", "最多调用模型多少次。").group("limits"),
    word("tool_calls", "Tool calls", "工具调用", "最多调用工具多少次。").group("limits"),
    word("depth", "Depth", "嵌套深度", "智能体和流程嵌套的层数。").group("limits"),
    word("time_ms", "Time (ms)", "用时（毫秒）", "一次运行最多用时。").group("limits"),
    word("tokens", "Tokens", "token 数", "读写合计的 token 上限。").group("limits"),
    word("cost_usd", "Cost (USD)", "费用（美元）", "费用上限，需要填写价格。").group("limits"),
    word("repeats", "Repeats", "重复次数", "同一工具以相同参数调用的次数。").group("limits"),
    word("result_bytes", "Result (bytes)", "结果（字节）", "一个工具结果的最大字节数。").group("limits"),
    word("prompt_bytes", "Prompt (bytes)", "提示（字节）", "提示与上下文合计的最大字节数。").group("limits"),
    word("ttl_hours", "Kept for (hours)", "保存（小时）", "会话保存多少小时。").group("limits"),
    word("max_turns", "Turns", "轮数", "会话最多多少轮。").group("limits"),
    word("PriceSettings.input", "Input", "输入价格", "读入的 token。").group("limits"),
    word("PriceSettings.output", "Output", "输出价格", "写出的 token。").group("limits"),
    word("cached", "Cached", "缓存价格", "从提供方缓存读取的 token。").group("limits"),
    word("input", "Prompt", "提示", "对提示和上下文的规则，在发送之前。").group("limits"),
    word("tool_input", "Arguments", "工具参数", "对工具调用参数的规则。").group("limits"),
    word("tool_output", "Results", "工具结果", "对工具结果的规则，在模型读到之前。").group("limits"),
    word("output", "Answer", "回答", "对回答的规则。").group("limits"),
    word("max_chars", "Characters", "字符数", "文本最多多少字符。").group("limits"),
    word("pattern", "Pattern", "正则表达式", "文本不得匹配的正则表达式。").group("limits"),
    word("pii", "Personal data", "个人信息", "文本不得含有的个人信息种类。").group("limits"),
    word("links", "Hosts of links", "链接主机", "链接和图片可以指向的主机。").group("limits"),
    word("tool", "Judging tool", "判定工具", "做出判定的工具的地址。").group("limits"),
    word("action", "Action", "处理", "block 拒绝，redact 去掉，mask 对模型遮盖。").group("limits"),
    word("max_attempts", "Attempts", "尝试次数", "一个模型最多询问多少次。").group("limits"),
];

//! What forms call the settings of a service with many instances.

use tool::words::{Word, word};

const GRPC: &[&str] = &["grpc"];

pub(super) const WORDS: &[Word] = &[
    word("protocol", "Protocol", "协议", "实例使用的协议：http 或 grpc。"),
    word("scheme", "TLS or not", "是否加密", "通过 TLS（https）还是不加密（http）。").group("network"),
    word("discovery", "Discovery", "服务发现", "在哪里查找实例。"),
    word("load_balancer", "Load balancing", "负载均衡", "下一个由谁服务。").advanced(),
    word("refresh_ms", "Refresh (ms)", "刷新间隔（毫秒）", "注册中心不主动通知时，多久查询一次。")
        .group("limits")
        .advanced(),
    word(
        "max_stale_ms",
        "Stale limit (ms)",
        "过期上限（毫秒）",
        "注册中心没有响应时，上次的结果还能用多久。",
    )
    .group("limits")
    .advanced(),
    word("outlier", "Failing instances", "异常实例", "单个实例连续失败时何时暂停使用。")
        .group("limits")
        .advanced(),
    word("fallback", "Fallback", "降级响应", "服务暂停期间工具返回的内容。").group("limits").advanced(),
    word("metadata", "Metadata", "元数据", "每个请求携带的请求头或 gRPC 元数据；密钥请写在登录中。")
        .advanced(),
    word("schema", "Descriptions", "接口描述", "gRPC 的方法和消息在哪里描述；默认询问服务本身。")
        .when("protocol", GRPC),
    word("ParameterSettings.schema", "Schema", "模式", "值的 JSON Schema，决定接受什么。")
        .group("tools")
        .advanced(),
    word(
        "include",
        "Only these methods",
        "仅提供的方法",
        "哪些方法成为工具，写成 package.Service/Method 的模式。",
    )
    .group("tools")
    .when("protocol", GRPC),
    word("exclude", "Without these methods", "排除的方法", "哪些方法不成为工具，写法相同。")
        .group("tools")
        .when("protocol", GRPC),
    word("max_messages", "Most messages", "最多消息数", "流式响应最多包含多少条消息。")
        .group("limits")
        .when("protocol", GRPC)
        .advanced(),
    word("emit_defaults", "With default values", "包含默认值", "响应中包含取默认值的字段。")
        .when("protocol", GRPC)
        .advanced(),
    word("reflection", "Reflection", "反射", "由服务描述自己。"),
    word("descriptor_set", "Descriptor set", "描述符集", "protoc 生成的描述符集，base64，最大 4 MiB。"),
    word("protos", "Proto files", "Proto 文件", ".proto 文件的内容，按路径书写，最大 4 MiB。"),
    word("rpc", "RPC", "RPC 方法", "gRPC 的方法，例如 loyalty.v1.Customers/List，代替路径。").group("tools"),
    word(
        "DiscoverySettings.type",
        "Registry",
        "注册中心",
        "谁知道实例：static（写在设置中）、consul、nacos、kubernetes 或 dns。",
    ),
    word("type", "Sign-in", "登录方式", "如何登录：none、apikey、bearer、basic、oauth2 或 jwt。")
        .group("sign_in"),
    word("endpoints", "Instances", "实例", "实例列表，每个写成“主机:端口”，可带权重。")
        .when("type", &["static"]),
    word("address", "Address", "地址", "注册中心的地址，或实例的“主机:端口”。"),
    word("service_name", "Service name", "服务名", "服务在注册中心的名称。")
        .when("type", &["consul", "nacos", "kubernetes"]),
    word("tag", "Tag", "标签", "只使用带有此标签的实例。").when("type", &["consul"]).advanced(),
    word("datacenter", "Datacenter", "数据中心", "不是注册中心所在的数据中心时填写。")
        .when("type", &["consul"])
        .advanced(),
    word("group", "Group", "分组", "服务所在的分组，默认 DEFAULT_GROUP。")
        .when("type", &["nacos"])
        .advanced(),
    word("namespace", "Namespace", "命名空间", "默认 public 或 default。")
        .when("type", &["nacos", "kubernetes"]),
    word("port", "Port", "端口", "端口的名称或编号。").when("type", &["kubernetes", "dns"]),
    word("api_server", "API server", "API 服务器", "Kubernetes API 的地址。")
        .when("type", &["kubernetes"])
        .advanced(),
    word("in_cluster", "In the cluster", "在集群内", "本程序在集群中运行，以自己的 Pod 登录；仅限管理员。")
        .when("type", &["kubernetes"])
        .advanced(),
    word("DiscoverySettings.name", "Name", "域名", "其地址就是各实例的域名，都监听同一端口。")
        .when("type", &["dns"]),
    word("srv", "SRV name", "SRV 名称", "SRV 记录的名称，代替域名和端口。").when("type", &["dns"]),
    word("weight", "Weight", "权重", "相对于其他实例分担的工作量。"),
    word("eject_ms", "Left alone for (ms)", "暂停时长（毫秒）", "第一次暂停多久；之后逐次加长，最多十倍。")
        .group("limits"),
    word(
        "max_ejected_percent",
        "Most left alone (%)",
        "最多暂停比例（%）",
        "最多同时暂停百分之多少的实例，至少保留一个。",
    )
    .group("limits"),
];

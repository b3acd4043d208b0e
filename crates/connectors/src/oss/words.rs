//! What forms call the settings of an object store.

use tool::words::{Word, word};

const CLOUD: &[&str] = &["s3", "minio", "aliyun", "alioss", "cos", "obs"];

pub(super) const WORDS: &[Word] = &[
    word(
        "provider",
        "Provider",
        "存储提供方",
        "谁保存对象：fs（本机文件夹）、s3、minio、aliyun、cos（腾讯云）或 obs（华为云）。",
    ),
    word("root", "Folder", "文件夹", "fs 使用的文件夹，只有管理员可以指定；不填则使用服务自己的文件夹。")
        .when("provider", &["fs"]),
    word("bucket", "Bucket", "存储桶", "已经存在的存储桶。").when("provider", CLOUD),
    word("region", "Region", "地域", "存储桶所在地域，例如 cn-hangzhou。").when("provider", CLOUD),
    word("endpoint", "Endpoint", "接入地址", "存储的地址，例如 https://oss-cn-hangzhou.aliyuncs.com。")
        .when("provider", CLOUD),
    word("path_style", "Bucket in the path", "路径风格", "存储桶写在路径中而不是主机名前。")
        .when("provider", CLOUD)
        .advanced(),
    word("credentials", "Credentials", "凭证", "如何登录。").group("sign_in").when("provider", CLOUD),
    word("access_key_id", "Access key id", "访问密钥 ID", "是哪一个密钥。").group("sign_in"),
    word("secret_access_key", "Secret access key", "访问密钥", "密钥本身。").group("sign_in"),
    word("session_token", "Session token", "会话令牌", "临时密钥附带的令牌。").group("sign_in").advanced(),
    word("prefix", "Prefix", "前缀", "每个键前面的内容，例如 team/；调用者看不到，也到不了别处。"),
    word("public_base_url", "Public address", "公开地址", "任何人都能读取对象的地址，答案中会给出它。")
        .advanced(),
    word("max_object_bytes", "Largest object (bytes)", "最大对象（字节）", "一个对象最多多少字节。")
        .group("limits")
        .advanced(),
    word(
        "max_inline_bytes",
        "Largest inline (bytes)",
        "内联上限（字节）",
        "不超过此大小的内容直接放在响应中，更大的给出地址。",
    )
    .group("limits")
    .advanced(),
    word("key", "Private key", "私钥", "证书的私钥（PEM）。").group("network"),
];

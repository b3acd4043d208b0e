//! What forms call the settings of an HTTP API.

use tool::words::{Word, word};

pub(super) const WORDS: &[Word] = &[
    word("base_url", "Base URL", "基础地址", "API 的地址，例如 https://api.example.com/v1；路径接在其后。"),
    word(
        "default_headers",
        "Default headers",
        "默认请求头",
        "每个请求都携带的请求头；密钥和令牌请写在登录配置中。",
    )
    .advanced(),
    word("redirects", "Redirects", "重定向", "跟随哪些重定向。").group("network").advanced(),
    word("type", "Sign-in", "登录方式", "如何登录：none、apikey、bearer、basic、oauth2 或 jwt。")
        .group("sign_in"),
    word(
        "auth",
        "Sign-in in one object",
        "登录（合并写法）",
        "登录方式及其配置写在一个对象中，代替 auth_type 和 auth_config。",
    )
    .group("sign_in")
    .advanced()
    .alias("auth_config"),
];

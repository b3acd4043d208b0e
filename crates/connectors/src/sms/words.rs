//! What forms call the settings of a service for short messages.

use tool::words::{Word, word};

const VENDORS: &[&str] = &["aliyun", "tencent", "huawei", "twilio"];

pub(super) const WORDS: &[Word] = &[
    word("provider", "Vendor", "服务商", "aliyun、tencent、huawei、twilio，或 file：写入服务自己的文件。"),
    word(
        "api_key",
        "Key id",
        "密钥 ID",
        "AccessKey ID（阿里云）、SecretId（腾讯云）、应用 Key（华为云）、Account SID（Twilio）。",
    )
    .group("sign_in")
    .when("provider", VENDORS),
    word("api_secret", "Secret", "密钥", "AccessKey Secret、SecretKey、应用 Secret 或 Auth Token。")
        .group("sign_in")
        .when("provider", VENDORS),
    word("sign_name", "Signature", "短信签名", "服务商批准的签名（Twilio 不需要）。"),
    word("region", "Region", "地域", "例如 cn-hangzhou；腾讯云默认 ap-guangzhou。").advanced(),
    word("endpoint", "Endpoint", "接入地址", "网关地址与服务商默认地址不同时填写；华为云必填。")
        .group("network"),
    word("app_id", "Application id", "应用 ID", "短信应用的 ID。").when("provider", &["tencent"]),
    word("sender", "Sender", "发送方", "通道号（华为云）、电话号码或 MG…（Twilio）。")
        .when("provider", &["huawei", "twilio"]),
    word("country_code", "Country code", "国家代码", "号码未写国家代码时使用。"),
    word("max_recipients", "Recipients per call", "每次接收人上限", "一次调用最多发给多少人。")
        .group("limits"),
    word("rate_per_minute", "Requests per minute", "每分钟请求数", "每分钟发出多少请求，超出的等待。")
        .group("limits"),
    word("template", "Template", "模板", "服务商批准的模板；调用者不再选择。").group("tools"),
    word("params", "Parameters in order", "有序参数", "模板参数的名称，按服务商要求的顺序。").group("tools"),
    word(
        "content_template",
        "Template of one value",
        "单值模板",
        "只有一个值的模板，调用者以 content 给出。",
    )
    .group("tools")
    .advanced(),
    word("param", "Its value", "变量名", "模板中唯一的值的名称。").group("tools"),
];

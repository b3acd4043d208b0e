//! What forms call the settings of a database.

use tool::words::{Word, word};

pub(super) const WORDS: &[Word] = &[
    word("db_type", "Database", "数据库类型", "SQLite、PostgreSQL 或 MySQL（包括 MariaDB）。"),
    word(
        "connection_string",
        "Connection string",
        "连接串",
        "地址和登录信息：postgres://用户:密码@主机/数据库、mysql://…，或 SQLite 文件的路径。",
    )
    .group("sign_in"),
    word("schema", "Schema", "模式", "提供哪个模式中的表；默认 PostgreSQL 的 public 或 MySQL 连接的数据库。"),
    word("tables", "Tables", "表", "为哪些表提供工具，可用 * 匹配名称的任意部分。").group("tools"),
    word("exclude", "Without these tables", "排除的表", "不为这些表提供工具，写法相同。").group("tools"),
    word("table", "Only table", "唯一的表", "只提供这一张表，工具名为 list 而不是 orders_list。")
        .group("tools")
        .advanced(),
    word("operations", "Operations", "操作", "每张表可以做什么。").group("tools"),
    word("query", "Own SQL", "自由查询", "允许调用者通过 query 工具发送只读 SQL。").group("tools"),
    word("allow_superuser", "Even as superuser", "允许超级用户", "即使数据库用户权限过大，也允许自由查询。")
        .group("tools")
        .advanced(),
    word("tenant_column", "Tenant column", "租户列", "说明一行属于谁的列；自动加入每个过滤条件和写入。")
        .advanced(),
    word("pool_size", "Connections", "连接数", "最多打开多少个连接。").group("limits").advanced(),
    word("statement_timeout_ms", "Statement limit (ms)", "语句超时（毫秒）", "一条语句最多用时。")
        .group("limits"),
    word("max_rows", "Most rows", "最多行数", "一个响应最多多少行。").group("limits"),
    word("max_bytes", "Largest answer (bytes)", "最大响应（字节）", "一个响应中各行合计的最大字节数。")
        .group("limits")
        .advanced(),
    word("sql", "SQL", "SQL", "一条只读语句，用 :名称 表示参数。").group("tools"),
    word("key", "Private key", "私钥", "证书的私钥（PEM）。").group("network"),
];

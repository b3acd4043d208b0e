//! The table of clients: where each keeps its servers, and how it writes them.
//!
//! Taken from the clients' own sources and documentation; `docs/guides/mcp-json.md` shows it to people.

use super::{Base, Client, File, Row, Shape};
use crate::mcp_config::dialect::{Dialect, OURS, Spelling, Timeout};

const SERVERS: &[&str] = &["mcpServers"];
const SECONDS: Dialect = Dialect { timeout: Timeout::CallSeconds, ..OURS };

const fn file(base: Base, path: &'static str, place: &'static [&'static str]) -> File {
    File { base, path, place, off: &[] }
}

/// A client whose words are those of an mcp.json, in one file under `mcpServers`.
const fn plain(client: Client, title: &'static str, files: &'static [File]) -> Row {
    Row { client, title, files, suffixes: &[], dialect: OURS, has_our_words: true, shape: Shape::Plain }
}

/// One row for each client, in the order in which they are asked.
pub(super) const TABLE: [Row; 16] = [
    plain(
        Client::ClaudeDesktop,
        "Claude Desktop",
        &[file(Base::Settings, "Claude/claude_desktop_config.json", SERVERS)],
    ),
    plain(
        Client::ClaudeCode,
        "Claude Code",
        &[
            file(Base::ClaudeCode, ".claude.json", SERVERS),
            File {
                base: Base::ClaudeCode,
                path: ".claude.json",
                place: &["projects", "*", "mcpServers"],
                off: &["projects", "*", "disabledMcpServers"],
            },
        ],
    ),
    plain(Client::Cursor, "Cursor", &[file(Base::Home, ".cursor/mcp.json", SERVERS)]),
    Row {
        shape: Shape::Typed("stdio"),
        ..plain(
            Client::VsCode,
            "VS Code",
            &[
                file(Base::Settings, "Code/User/mcp.json", &["servers"]),
                file(Base::Settings, "Code/User/settings.json", &["mcp", "servers"]),
            ],
        )
    },
    Row {
        suffixes: &["cline_mcp_settings.json"],
        dialect: SECONDS,
        ..plain(
            Client::Cline,
            "Cline",
            &[file(
                Base::Settings,
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                SERVERS,
            )],
        )
    },
    Row {
        suffixes: &[".gemini/settings.json"],
        dialect: Dialect { variables: Spelling::Dollar, ..OURS },
        ..plain(Client::Gemini, "Gemini", &[file(Base::Home, ".gemini/settings.json", SERVERS)])
    },
    plain(Client::Windsurf, "Windsurf", &[file(Base::Home, ".codeium/windsurf/mcp_config.json", SERVERS)]),
    Row {
        suffixes: &["mcp_settings.json", ".roo/mcp.json"],
        dialect: SECONDS,
        ..plain(
            Client::Roo,
            "Roo Code",
            &[file(
                Base::Settings,
                "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                SERVERS,
            )],
        )
    },
    Row {
        shape: Shape::Tools("local"),
        ..plain(Client::Copilot, "Copilot CLI", &[file(Base::Copilot, "mcp-config.json", SERVERS)])
    },
    plain(
        Client::Amp,
        "Amp",
        &[
            file(Base::Config, "amp/settings.json", &["amp.mcpServers"]),
            file(Base::Settings, "Code/User/settings.json", &["amp.mcpServers"]),
        ],
    ),
    Row {
        dialect: SECONDS,
        ..plain(Client::Zed, "Zed", &[file(Base::Config, "zed/settings.json", &["context_servers"])])
    },
    Row {
        suffixes: &["crush.json", ".crush.json"],
        dialect: Dialect { timeout: Timeout::StartSeconds, variables: Spelling::Dollar },
        shape: Shape::Typed("stdio"),
        ..plain(Client::Crush, "Crush", &[file(Base::Config, "crush/crush.json", &["mcp"])])
    },
    Row {
        suffixes: &["opencode.json", "opencode.jsonc"],
        dialect: Dialect { variables: Spelling::Braces, ..OURS },
        has_our_words: false,
        shape: Shape::List("local"),
        ..plain(
            Client::Opencode,
            "opencode",
            &[
                file(Base::Config, "opencode/opencode.json", &["mcp"]),
                file(Base::Config, "opencode/opencode.json", &["mcp", "servers"]),
                file(Base::Config, "opencode/opencode.jsonc", &["mcp"]),
                file(Base::Config, "opencode/opencode.jsonc", &["mcp", "servers"]),
            ],
        )
    },
    Row {
        has_our_words: false,
        ..plain(Client::Codex, "Codex", &[file(Base::Codex, "config.toml", &["mcp_servers"])])
    },
    Row {
        suffixes: &["goose/config.yaml"],
        dialect: SECONDS,
        has_our_words: false,
        shape: Shape::Goose,
        ..plain(Client::Goose, "Goose", &[file(Base::Config, "goose/config.yaml", &["extensions"])])
    },
    Row {
        suffixes: &[".continue/config.yaml", ".continue/config.json"],
        dialect: Dialect { variables: Spelling::Secrets, ..OURS },
        has_our_words: false,
        ..plain(
            Client::Continue,
            "Continue",
            &[
                file(Base::Home, ".continue/config.yaml", SERVERS),
                file(Base::Home, ".continue/config.json", SERVERS),
                file(Base::Home, ".continue/config.json", &["experimental", "modelContextProtocolServers"]),
                file(Base::Home, ".continue/mcpServers/", SERVERS),
            ],
        )
    },
];

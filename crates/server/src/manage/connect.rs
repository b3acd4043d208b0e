//! `/mcp/id/{id}/connect`: what each MCP client is told to come in through an instance's door.

use super::instances::find;
use crate::Shared;
use crate::auth::SignedIn;
use crate::auth::session::is_secure;
use crate::error::Result;
use crate::json::Path;
use axum::Json as Answer;
use axum::extract::State;
use http::header::HOST;
use http::{HeaderMap, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::{Value, json};
use tool::InstanceId;
use utoipa::ToSchema;

/// Stands for the key of the instance, which is shown once and not kept.
const KEY: &str = "{key}";

#[derive(Serialize, ToSchema)]
pub(super) struct Connections {
    /// The door's address, with `{key}` where the instance's key belongs.
    url: String,
    clients: Vec<ClientConnection>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ClientConnection {
    /// As the command `connect` calls it.
    id: &'static str,
    title: &'static str,
    /// The file that the text belongs into; null for a command to run.
    path: Option<&'static str>,
    /// With `{key}` where the instance's key belongs.
    text: String,
    /// Opens the client and adds the door there, where the client has such links; with `{key}` as well.
    link: Option<String>,
}

/// What MCP clients are told to use an instance. The key itself is not in it: `{key}` stands for it.
#[utoipa::path(get, path = "/mcp/id/{mcp_id}/connect", tag = "mcp instances", params(("mcp_id" = String, Path)),
    responses((status = 200, body = Connections), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    headers: HeaderMap,
    uri: Uri,
    Path(id): Path<InstanceId>,
) -> Result<Answer<Connections>> {
    signed_in.may_read()?;
    let instance = find(&state, &signed_in, &id).await?;
    let url = format!("{}/mcp/{KEY}", base_url(&state, &headers, &uri));
    let clients = clients(&name_of(&instance.name), &url);
    Ok(Answer(Connections { url, clients }))
}

/// How clients reach this server: as it was told, or as whoever asks has reached it.
fn base_url(state: &Shared, headers: &HeaderMap, uri: &Uri) -> String {
    if let Some(url) = &state.options.public_url {
        return url.clone();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| uri.authority().map(|authority| authority.as_str()));
    // It stands in a command.
    let is_plain = |host: &&str| host.chars().all(|c| c.is_ascii_alphanumeric() || "-._:[]".contains(c));
    let host = host.filter(is_plain).unwrap_or("127.0.0.1");
    let scheme = if is_secure(headers) { "https" } else { "http" };
    format!("{scheme}://{host}{}", state.options.base_path)
}

/// A name that needs no quotes in any file or shell.
fn name_of(title: &str) -> String {
    const MAX_CHARACTERS: usize = 40;
    let plain = title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let words: String = plain.take(MAX_CHARACTERS).collect();
    let name = words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    if name.is_empty() { "all-in-one".to_owned() } else { name }
}

fn clients(name: &str, url: &str) -> Vec<ClientConnection> {
    let file = |id, title, path, place: &str, entry: Value| {
        let text = json!({ place: { name: entry } });
        let text = serde_json::to_string_pretty(&text).unwrap_or_default();
        ClientConnection { id, title, path: Some(path), text, link: None }
    };
    let servers = "mcpServers";
    let typed = json!({ "type": "http", "url": url });
    // Its file takes no addresses, only commands.
    let bridge = json!({ "command": "npx", "args": ["-y", "mcp-remote", url, "--allow-http"] });
    let visual_studio_code = file("vscode", "VS Code", ".vscode/mcp.json", "servers", typed.clone());
    vec![
        ClientConnection {
            id: "claude-code",
            title: "Claude Code",
            path: None,
            text: format!("claude mcp add --transport http {name} '{url}'"),
            link: None,
        },
        file("claude-desktop", "Claude Desktop", "claude_desktop_config.json", servers, bridge),
        file("cursor", "Cursor", "~/.cursor/mcp.json", servers, json!({ "url": url })),
        ClientConnection { link: Some(link(name, url)), ..visual_studio_code },
        file(
            "cline",
            "Cline",
            "cline_mcp_settings.json",
            servers,
            json!({ "type": "streamableHttp", "url": url }),
        ),
        file("gemini", "Gemini CLI", "~/.gemini/settings.json", servers, json!({ "httpUrl": url })),
        file("other", "Other", "mcp.json", servers, typed),
    ]
}

/// VS Code takes a server as the query of an address.
fn link(name: &str, url: &str) -> String {
    let server = json!({ "name": name, "type": "http", "url": url }).to_string();
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let parts: Vec<_> = server.split(KEY).map(encoded).collect();
    format!("vscode:mcp/install?{}", parts.join(KEY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_becomes_a_plain_one() {
        assert_eq!(name_of("My shop's tools"), "my-shop-s-tools");
        assert_eq!(name_of("'; rm -rf / #"), "rm-rf");
        assert_eq!(name_of("工具"), "all-in-one");
    }

    #[test]
    fn every_text_and_link_has_a_place_for_the_key() {
        for client in clients("shop", "http://127.0.0.1:3095/mcp/{key}") {
            assert!(client.text.contains("/mcp/{key}"), "{}", client.text);
            assert!(client.link.is_none_or(|link| link.matches(KEY).count() == 1));
        }
    }
}

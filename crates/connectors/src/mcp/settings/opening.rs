//! How settings become a connector, and what is wrong with those that cannot.

use super::{Settings, Type};
use crate::mcp::Mcp;
use crate::mcp::auth::{self, AuthType};
use crate::mcp::client::{Limits, ReconnectingClient};
use crate::mcp::eras::ServerClients;
use crate::mcp::oauth::OAuth;
use crate::mcp::target::{Remote, Route, Server, Target};
use crate::mcp::tools::{Filter, Tools};
use crate::mcp::watched::Watched;
use crate::mcp::web::Web;
use crate::shared::attempts::Backoff;
use crate::shared::network::Policy;
use fetch::Url;
use mcp::Version;
use mcp::client::transport::stdio::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Env, Pattern, Problem, Result};

/// The longest pause between two attempts to connect.
const MAX_PAUSE: Duration = Duration::from_secs(30);

impl Settings {
    pub(in crate::mcp) fn connector(self, env: &Env) -> Result<Mcp> {
        let mut problems = Vec::new();
        let target = self.target(env, &mut problems);
        let filter = Filter {
            include: self.include_tools.map(|names| names.into_iter().map(Pattern).collect()),
            exclude: self.exclude_tools.into_iter().map(Pattern).collect(),
        };
        let Some(target) = target.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings(<Self as tool::Settings>::SCHEME, problems));
        };
        let (pause_ms, retries) = if self.transport == Some(Type::Sse) { (1000, 5) } else { (100, 1) };
        let limits = Limits {
            start: Duration::from_millis(self.start_timeout),
            backoff: Backoff {
                initial: Duration::from_millis(self.reconnect_interval.unwrap_or(pause_ms)),
                max: MAX_PAUSE,
            },
            retries: self.max_retries.unwrap_or(retries),
            version: self.protocol_version.map(Version::from),
            idle: (self.idle_timeout > 0).then(|| Duration::from_millis(self.idle_timeout)),
        };
        let tools = Arc::new(Tools::new(filter));
        let client =
            ReconnectingClient::new(target, limits, env, tools.clone(), Arc::new(Watched::default()));
        Ok(Mcp {
            _closing: client.closing().drop_guard(),
            clients: ServerClients::new(Arc::new(client)),
            tools,
            is_prefixed: self.expose.prefix,
            permits: self.max_concurrent_calls.map(Semaphore::new),
            timeout: Duration::from_millis(self.timeout),
            pinning: self.pin,
        })
    }

    fn target(&self, env: &Env, problems: &mut Vec<Problem>) -> Option<Target> {
        let urls = [("url", &self.url), ("httpUrl", &self.http_url), ("serverUrl", &self.server_url)];
        let mut urls = urls.into_iter().filter_map(|(name, url)| Some((name, url.as_deref()?)));
        let (url, second) = (urls.next(), urls.next());
        if let Some((name, _)) = second {
            let message = "the address is given twice; keep 'url' alone";
            problems.push(Problem::new(name, "Ambiguous", message));
        }
        let policy = Policy::new(self.allow_private_network.as_ref(), env, problems);
        let server = match (&self.command, url) {
            (Some(_), Some((name, _))) => {
                let message = format!("a service has either a 'command' or a '{name}'; leave one out");
                problems.push(Problem::new(name, "Ambiguous", message));
                None
            }
            (None, None) => {
                let message = "the service needs a 'command' to start or a 'url' to connect to";
                problems.push(Problem::new("command", "Required", message));
                None
            }
            (Some(command), None) => self.local(command, problems),
            (None, Some((name, url))) => self.remote(name, url, (policy, env), problems),
        };
        server.map(|server| Target { service: env.service.clone(), server })
    }

    fn local(&self, command: &str, problems: &mut Vec<Problem>) -> Option<Server> {
        let is_other = self.transport.is_some_and(|transport| transport != Type::Stdio);
        let unused = [
            ("type", is_other),
            ("headers", !self.headers.is_empty()),
            ("api_key", self.api_key.is_some()),
            ("auth_type", self.auth_type.is_some_and(|auth_type| auth_type != AuthType::None)),
            ("auth_config", self.auth_config.is_some()),
            ("tls", self.tls.is_some()),
            ("login_file", self.login_file.is_some()),
        ];
        for (name, _) in unused.into_iter().filter(|(_, is_given)| *is_given) {
            let message = format!("'{name}' is for a 'url', and this service has a 'command'");
            problems.push(Problem::new(name, "Unused", message));
        }
        let is_text = |text: &str| !text.contains('\0');
        if command.trim().is_empty() || !is_text(command) {
            problems.push(Problem::new("command", "Invalid", "the command is empty or no text"));
        }
        for (index, _) in self.args.iter().enumerate().filter(|(_, text)| !is_text(text)) {
            let path = format!("args[{index}]");
            problems.push(Problem::new(path, "Invalid", "an argument cannot hold a zero byte"));
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains('=') || !is_text(name) || !is_text(value.expose()) {
                let message = format!("'{name}' cannot be an environment variable");
                problems.push(Problem::new(format!("env.{name}"), "Invalid", message));
            }
        }
        let env = self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let (args, cwd) = (self.args.clone(), self.cwd.clone());
        Some(Server::Local(Command { program: command.to_owned(), args, env, cwd }))
    }

    fn remote(
        &self,
        name: &str,
        text: &str,
        (policy, env): (Policy, &Env),
        problems: &mut Vec<Problem>,
    ) -> Option<Server> {
        let unused = [
            ("args", !self.args.is_empty()),
            ("env", !self.env.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("type", self.transport == Some(Type::Stdio)),
        ];
        for (field, _) in unused.into_iter().filter(|(_, is_given)| *is_given) {
            let message = format!("'{field}' is for a 'command', and this service has a '{name}'");
            problems.push(Problem::new(field, "Unused", message));
        }
        let (headers, secrets) = auth::headers(
            &self.headers,
            self.api_key.as_ref(),
            self.auth_type,
            self.auth_config.as_ref(),
            problems,
        );
        let url = check_url(name, text, problems)?;
        let is_socket = matches!(url.scheme(), "ws" | "wss");
        let route = match self.transport {
            Some(Type::Ws | Type::Websocket) => Route::Ws,
            None if is_socket => Route::Ws,
            None | Some(Type::Stdio) => Route::Unknown,
            Some(Type::Http | Type::StreamableHttp | Type::StreamableHttpCamel) => Route::Http,
            Some(Type::Sse) => Route::Sse,
        };
        if is_socket != (route == Route::Ws) {
            let message = "a 'ws' service has a ws:// or wss:// address, and the others http:// or https://";
            problems.push(Problem::new(name, "InvalidUrl", message));
        }
        let (config, file) = (self.auth_config.as_ref(), self.login_file.as_deref());
        let oauth = auth::oauth(self.auth_type, config, file, &headers, problems);
        if route == Route::Ws && self.auth_type == Some(AuthType::Oauth2) {
            let message = "'oauth2' is for http:// and https:// addresses";
            problems.push(Problem::new("auth_type", "Unsupported", message));
        }
        let tls = self.tls.as_ref().map(|tls| tls.check(problems)).unwrap_or_default();
        let web = Arc::new(Web::new(&url, policy, tls));
        let oauth = oauth.map(|(identity, flow)| OAuth::new(url.clone(), identity, flow, web.clone(), env));
        Some(Server::Remote(Box::new(Remote::new(url, headers, secrets, route, web, oauth))))
    }
}

fn check_url(name: &str, text: &str, problems: &mut Vec<Problem>) -> Option<Url> {
    let mut refuse = |why: &str| {
        let message = format!("the address {why}; write e.g. https://mcp.example.com/mcp");
        problems.push(Problem::new(name, "InvalidUrl", message));
        None
    };
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return refuse("holds spaces, control characters or backslashes");
    }
    let Ok(url) = Url::parse(text) else { return refuse("is no URL") };
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return refuse("is neither http, https, ws nor wss");
    }
    if url.host_str().is_none_or(str::is_empty) {
        return refuse("names no host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("holds a user name or password, which belong into headers");
    }
    Some(url)
}

//! `open`: a link that signs a browser in to the console of a running server.

use super::login::open_browser;
use super::remote::Remote;
use crate::Failure;
use clap::Args;
use serde_json::json;
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// Open the console of a running server in a browser, signed in; the link works once, for 15 minutes.
#[derive(Args)]
pub(super) struct Open {
    /// Only print the link; open no browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Open {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let made = self.remote.post("/auth/session-code", &json!({})).await?;
        let code = made["code"].as_str().unwrap_or_default();
        let link = format!("{}/#code={code}", self.remote.server().trim_end_matches('/'));
        super::print(&link);
        if !self.no_browser && std::io::stdout().is_terminal() {
            open_browser(&link);
        }
        Ok(ExitCode::SUCCESS)
    }
}

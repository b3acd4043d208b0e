//! The folder where everything is kept unless said otherwise.

use crate::Failure;
use std::path::PathBuf;

/// `~/.mcp-all-in-one`, or what `MCP_ALL_IN_ONE_HOME` says.
///
/// # Errors
/// When there is no home folder.
pub fn home() -> Result<PathBuf, Failure> {
    if let Some(home) = std::env::var_os("MCP_ALL_IN_ONE_HOME") {
        return Ok(home.into());
    }
    let home = std::env::home_dir().ok_or_else(|| {
        Failure::new("there is no home folder").advice("say where to keep data with --data-dir")
    })?;
    Ok(home.join(".mcp-all-in-one"))
}

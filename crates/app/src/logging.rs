//! Logs: on stderr, for people on a terminal, as JSON for everyone else.

use crate::Failure;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Begins to log. `level` is a level or a filter like `info,gateway=debug`.
pub(crate) fn begin(level: &str) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(level).map_err(|error| {
        Failure::new(format!("'{level}' is no log level"))
            .because(error)
            .advice("use error, warn, info, debug, trace or off")
    })?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start in the same process keeps the first one's log.
    let _ = if std::io::stderr().is_terminal() {
        logs.with_target(false).compact().try_init().map_err(|_| ())
    } else {
        logs.json().flatten_event(true).with_current_span(false).try_init().map_err(|_| ())
    };
    Ok(())
}

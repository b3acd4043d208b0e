//! Whoever asks may lose their key while an agent works for them: nothing more is called in their name then.

use super::think::Thinking;
use std::time::Duration;
use tool::{ErrorKind, Result};

/// How long what was known of the caller is taken for true: as long as other changes take to be seen.
pub(super) const KNOWN: Duration = Duration::from_secs(1);

impl Thinking<'_> {
    /// Whoever asked may still call.
    ///
    /// # Errors
    /// `Denied` where not.
    pub(super) async fn is_still_asked(&self) -> Result<()> {
        let run = &self.work.run;
        // Behind a flow its publisher's rights count.
        let Some(runs) = self.agent.runs.as_ref().filter(|_| !run.is_of_flow && run.is_caller_unsure())
        else {
            return Ok(());
        };
        match runs.still_may(&self.cx).await {
            // Where nobody can say, it is as it was: calls go on while the database is away.
            Err(error) if error.kind() != ErrorKind::Denied => Ok(()),
            checked => checked,
        }
    }
}

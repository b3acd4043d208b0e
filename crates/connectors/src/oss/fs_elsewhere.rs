//! Folders of this machine, on systems where we cannot keep links from leading out of them.

use super::store::Store;
use std::path::PathBuf;
use std::sync::Arc;
use tool::{Env, Problem};

pub(super) fn open(_: PathBuf, _: &Env) -> Result<Arc<dyn Store>, Problem> {
    let message = "folders of this machine are kept on Unix only; choose another provider";
    Err(Problem::new("provider", "NotBuiltIn", message))
}

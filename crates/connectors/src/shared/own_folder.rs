//! The folder that a service has for its own files, where nobody has named another.

use std::io;
use std::path::{Path, PathBuf};
use tokio::fs::{DirBuilder, OpenOptions};
use tool::Env;

/// Makes a folder that only its owner may look into. One that is there is somebody's, who knows why it is as it is.
pub(crate) async fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder).await
}

/// Opens files for what people were sent, which only their owner may read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    options.mode(0o600);
    options
}

/// `<data>/tenants/<tenant>/<type>/<service>`, where this process keeps anything.
pub(crate) fn own_folder(env: &Env, scheme: &str) -> Option<PathBuf> {
    let service = env.service.as_deref().unwrap_or("unnamed");
    let tenant = env.data_dir.as_ref()?.join("tenants").join(env.tenant.as_str());
    Some(tenant.join(scheme).join(plain(service)))
}

/// A name of a folder and of nothing above it.
fn plain(service: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    let plain: String =
        service.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    if plain.trim_matches('.').is_empty() { "_".to_owned() } else { plain }
}

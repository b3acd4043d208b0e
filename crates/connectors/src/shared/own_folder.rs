//! The folder that a service has for its own files, where nobody has named another.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
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

/// `<data>/tenants/<tenant>/<type>/<service>~<when it was made>`, where this process keeps anything. A service that is made
/// after another one of the same id was deleted, with its tenant or alone, finds nothing of it.
pub(crate) fn own_folder(env: &Env, scheme: &str) -> Option<PathBuf> {
    let service = plain(env.service.as_deref().unwrap_or("unnamed"));
    let tenant = env.data_dir.as_ref()?.join("tenants").join(env.tenant.as_str());
    let unmarked = tenant.join(scheme).join(&service);
    let Some(made_at_ms) = env.made_at_ms else { return Some(unmarked) };
    // No id of a service has a `~` in it.
    let folder = tenant.join(scheme).join(format!("{service}~{made_at_ms}"));
    adopt(&unmarked, &folder, made_at_ms);
    Some(folder)
}

/// Takes over the folder that the service had before folders were marked, unless it is older than the service.
fn adopt(unmarked: &Path, folder: &Path, made_at_ms: i64) {
    let Ok(found) = std::fs::symlink_metadata(unmarked) else { return };
    let made_at = UNIX_EPOCH + Duration::from_millis(u64::try_from(made_at_ms).unwrap_or(0));
    let is_its_own = found.created().or_else(|_| found.modified()).is_ok_and(|since| since >= made_at);
    if found.is_dir() && is_its_own && !folder.exists() {
        // Another process may have been faster; what cannot be taken over stays where it is.
        let _ = std::fs::rename(unmarked, folder);
    }
}

/// A name of a folder and of nothing above it.
fn plain(service: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    let plain: String =
        service.chars().map(|character| if is_plain(character) { character } else { '_' }).collect();
    if plain.trim_matches('.').is_empty() { "_".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_keeps_its_folder_and_gets_no_other_ones() {
        let data = tempfile::tempdir().unwrap();
        let folder = |made_at_ms| {
            let env = Env {
                data_dir: Some(data.path().to_owned()),
                service: Some("docs".to_owned()),
                made_at_ms,
                ..Env::default()
            };
            own_folder(&env, "oss").unwrap()
        };
        let unmarked = folder(None);
        std::fs::create_dir_all(&unmarked).unwrap();
        std::fs::write(unmarked.join("a"), "of an older one").unwrap();
        let year_3000 = 32_503_680_000_000;
        assert!(!folder(Some(year_3000)).exists(), "the folder is older than the service");
        assert!(folder(Some(1)).join("a").exists(), "the service had it before");
        assert!(!folder(Some(2)).exists());
        assert!(folder(Some(1)).join("a").exists());
    }
}

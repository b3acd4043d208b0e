//! The folder that a service has for its own files, where nobody has named another.

use std::path::PathBuf;
use tool::Env;

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

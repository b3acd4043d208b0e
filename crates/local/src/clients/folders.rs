//! Where clients keep their files, on every system.

use super::{Base, File, Source};
use crate::Failure;
use std::ffi::OsString;
use std::path::PathBuf;

/// The most files of a folder that are looked at.
const MAX_FILES: usize = 100;

/// The folders of this person.
#[derive(Debug)]
pub struct Folders {
    home: PathBuf,
    settings: PathBuf,
    config: PathBuf,
    claude_code: PathBuf,
    codex: PathBuf,
    copilot: PathBuf,
}

impl Folders {
    /// Those of whoever runs this process.
    pub fn here() -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let missing = || Failure::new("there is no home folder").advice("set the variable HOME");
        Ok(Self::on(std::env::consts::OS, std::env::home_dir().ok_or_else(missing)?, &variable))
    }

    pub(super) fn on(system: &str, home: PathBuf, variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let given = |name: &str| variable(name).map(PathBuf::from);
        let config = given("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let settings = match system {
            "macos" => home.join("Library/Application Support"),
            "windows" => given("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming")),
            _ => config.clone(),
        };
        let claude_code = given("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone());
        let codex = given("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        let copilot = given("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot"));
        Self { home, settings, config, claude_code, codex, copilot }
    }

    /// The file, or those of the folder.
    pub(super) fn sources(&self, file: &File) -> Vec<Source> {
        let base = match file.base {
            Base::Home => &self.home,
            Base::Settings => &self.settings,
            Base::Config => &self.config,
            Base::ClaudeCode => &self.claude_code,
            Base::Codex => &self.codex,
            Base::Copilot => &self.copilot,
        };
        let source = |path: PathBuf| Source { file: path, place: file.place, off: file.off };
        let Some(folder) = file.path.strip_suffix('/') else { return vec![source(base.join(file.path))] };
        let entries = std::fs::read_dir(base.join(folder)).into_iter().flatten().flatten();
        let is_ours = |path: &PathBuf| {
            path.extension().is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known))
        };
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(is_ours).take(MAX_FILES).collect();
        files.sort();
        files.into_iter().map(source).collect()
    }
}

//! What became of the inputs of one target.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// An input that must not do what it did.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) number: u64,
    pub(crate) what: String,
    pub(crate) input: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Report {
    name: String,
    seed: u64,
    pub(crate) inputs: u64,
    pub(crate) accepted: u64,
    pub(crate) longest: Duration,
    pub(crate) most_bytes: u64,
    pub(crate) time: Duration,
    pub(crate) violations: Vec<Violation>,
}

impl Report {
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        Self {
            name: name.to_owned(),
            seed,
            inputs: 0,
            accepted: 0,
            longest: Duration::ZERO,
            most_bytes: 0,
            time: Duration::ZERO,
            violations: Vec::new(),
        }
    }

    /// Writes down how far it has come, for those inputs that end the whole process.
    pub(crate) fn note_progress(&self, number: u64) {
        self.keep("at", format!("seed {}, from input {number} on", self.seed).as_bytes());
    }

    /// Leaves a row for the table of `make fuzz`, and each violation as a file.
    pub(crate) fn save(&self) {
        self.keep("row", self.row().as_bytes());
        for violation in &self.violations {
            self.keep(&format!("{}.input", violation.number), &violation.input);
        }
    }

    fn row(&self) -> String {
        let count =
            |what: &str| self.violations.iter().filter(|violation| violation.what.contains(what)).count();
        let panics = count("panicked");
        format!(
            "| {} | {} | {} | {:.0} | {:.1} ms | {} KiB | {panics} | {} |\n",
            self.name,
            self.inputs,
            self.accepted,
            self.time.as_secs_f64(),
            self.longest.as_secs_f64() * 1e3,
            self.most_bytes / 1024,
            self.violations.len() - panics
        )
    }

    /// Only where `make fuzz` wants it.
    pub(crate) fn keep(&self, ending: &str, bytes: &[u8]) {
        let Some(folder) = std::env::var_os("FUZZ_REPORT").map(PathBuf::from) else { return };
        let name = self.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        // A report that cannot be kept is still shown.
        let _ = std::fs::create_dir_all(&folder);
        let _ = std::fs::write(folder.join(format!("{name}.{ending}")), bytes);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, seed {}, {} inputs", self.name, self.seed, self.inputs)?;
        for Violation { number, what, input } in &self.violations {
            let hex: String = input.iter().take(512).map(|byte| format!("{byte:02x}")).collect();
            write!(f, "\ninput {number} of {} bytes: {what}\n{hex}\n{}", input.len(), input.escape_ascii())?;
        }
        Ok(())
    }
}

//! What is wrong with services, found without starting anything.

use super::{McpConfig, entry};
use gateway::ServiceDefinition;
use tool::Env;

/// Checks the name of a service.
///
/// # Errors
/// What names must not hold.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || "${}".contains(c)) {
        return Err(format!(
            "'{}' is no service name: it must not hold spaces, '$', '{{' or '}}'",
            name.escape_debug()
        ));
    }
    Ok(())
}

/// What would keep a service from being opened.
#[must_use]
pub fn problems(service: &ServiceDefinition) -> Vec<String> {
    if let Some(problem) = &service.problem {
        return vec![problem.clone()];
    }
    let Some(kind) = connectors::find(&service.scheme) else {
        return vec![format!("there is no service type '{}'", service.scheme)];
    };
    match kind.open(service.settings.clone(), &Env::default()) {
        Ok(_) => Vec::new(),
        Err(error) if error.problems().is_empty() => vec![error.to_string()],
        Err(error) => error.problems().iter().map(|problem| problem.message.clone()).collect(),
    }
}

/// What a look at a file has found, each with the service's name in front.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is wrong wherever the file is used.
    pub(crate) problems: Vec<String>,
    /// What may be wrong here only: variables that are not set.
    pub(crate) warnings: Vec<String>,
}

impl McpConfig {
    /// Looks at every service.
    pub(crate) fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        for (name, value) in &self.services {
            let service = entry::definition_anywhere(name, value, self.folder());
            findings
                .problems
                .extend(problems(&service).into_iter().map(|problem| format!("{name}: {problem}")));
            let unset = entry::unset_variables(value);
            findings.warnings.extend(
                unset.map(|variable| format!("{name}: the environment variable {variable} is not set here")),
            );
        }
        findings
    }
}

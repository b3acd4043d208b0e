//! What is wrong with services, found without starting anything.

use super::McpConfig;
use super::entry::Doubts;
use super::jsonc::Repeated;
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
        return vec![problem.message.clone()];
    }
    let Some(kind) = connectors::find(&service.scheme) else {
        return vec![connectors::REGISTRY.no_service_type(&service.scheme)];
    };
    match kind.open(service.settings.clone(), &Env::default()) {
        Ok(_) => Vec::new(),
        Err(error) if error.problems().is_empty() => vec![error.to_string()],
        Err(error) => error.problems().iter().map(|problem| problem.message.clone()).collect(),
    }
}

/// What a look at a file has found, each with the service's name in front.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is wrong wherever the file is used.
    pub problems: Vec<String>,
    /// What may be wrong: variables that are not set here, or have no end.
    pub warnings: Vec<String>,
    /// Those of the warnings that are about inputs without a value.
    pub missing_inputs: Vec<String>,
}

impl McpConfig {
    /// Looks at every service, as if every variable were set.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings { problems: self.repeated(), ..Findings::default() };
        let surroundings = self.surroundings();
        for (name, value, notes) in &self.switched() {
            let named = |text: String| format!("{name}: {text}");
            let service = surroundings.definition_anywhere(name, value);
            findings.problems.extend(problems(&service).into_iter().map(named));
            let Doubts { unset, inputs, odd } = surroundings.doubts(value);
            findings.missing_inputs.extend(inputs.iter().cloned().map(named));
            let all = unset.into_iter().chain(inputs).chain(odd).chain(notes.clone());
            findings.warnings.extend(all.map(named));
        }
        findings
    }

    /// Everything that is wrong with the file where we are, and what may be.
    pub fn findings_here(&self) -> Findings {
        let mut found = Findings { problems: self.repeated(), ..Findings::default() };
        let surroundings = self.surroundings();
        for (name, value, notes) in &self.switched() {
            let named = |text: String| format!("{name}: {text}");
            let mut wrong = surroundings.problems(name, value);
            if wrong.is_empty() {
                wrong = problems(&surroundings.definition(name, value));
            }
            let open = surroundings.open_variables(value);
            let odd = surroundings.warnings(value).into_iter().filter(|text| !open.contains(text));
            found.warnings.extend(odd.chain(notes.clone()).map(named));
            found.problems.extend(wrong.into_iter().chain(open.clone()).map(named));
        }
        found
    }

    /// The keys that are in the file twice: what stands at the first place is lost.
    pub fn repeated(&self) -> Vec<String> {
        let say = |repeated: &Repeated| {
            let Repeated { path, first_line, last_line } = repeated;
            let own = self.place().len();
            let name = if path.len() > own { path[own..].join(".") } else { path.join(".") };
            format!(
                "{name}: it is there twice, in lines {first_line} and {last_line}; only the last one counts"
            )
        };
        self.repeated.iter().map(say).collect()
    }
}

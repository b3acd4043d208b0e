//! Names outside of nodes: each is declared once, and what surrounds the nodes speaks of what it can see.

use super::Lookup;
use super::names::unknown;
use super::scope::{GIVEN, Walk};
use crate::document::{Data, Declared, Field, Source, Trigger};
use crate::problem::{Code, Problem};
use crate::source::Place;
use document::did_you_mean;
use serde_json::Value;

/// What goes to inputs by name when a schedule fires.
const SCHEDULED: [&str; 6] = ["type", "name", "at", "message", "body", "change"];

/// Makes an error or a warning.
type Make = fn(Code, &str, Place, String) -> Problem;

impl Walk<'_> {
    /// Inputs and vars: their names, and what their first values may speak of.
    pub(super) fn declarations(&mut self) {
        let flow = self.flow;
        let mut known: Vec<&str> = GIVEN.to_vec();
        for input in &flow.inputs {
            self.declare(&input.name, &mut known, input.origin.path(), input.origin.start());
        }
        for input in flow.inputs.iter().filter_map(|input| input.default.as_ref()) {
            let names: Vec<_> = flow.inputs.iter().map(|input| input.name.as_str()).collect();
            self.only_of(&Data::Formula(input.clone()), &names);
        }
        for input in &flow.inputs {
            if let Some(message) = flow.misfit_of_default(input) {
                let (path, at) = (input.origin.path(), input.origin.start());
                self.problems.add(Problem::error(Code::TypeMismatch, path, at, message));
            }
        }
        for (key, data) in &flow.vars {
            self.only_of(data, &known);
            self.declare(&key.name, &mut known, &format!("vars.{}", key.name), key.at);
        }
    }

    fn declare<'n>(&mut self, name: &'n str, known: &mut Vec<&'n str>, path: &str, at: Place) {
        if known.contains(&name) {
            let message = format!("the name '{name}' is taken; names are unique");
            self.problems.add(Problem::error(Code::Duplicate, path, at, message));
        }
        known.push(name);
    }

    /// What triggers, concurrency and output speak of.
    pub(super) fn surroundings(&mut self) {
        let flow = self.flow;
        let inputs: Vec<_> = flow.inputs.iter().map(|input| input.name.as_str()).collect();
        if let Some(key) = flow.concurrency.as_ref().and_then(|concurrency| concurrency.key.as_ref()) {
            self.only_of(key, &inputs);
        }
        for trigger in &flow.triggers {
            self.source(trigger);
            if let Some(inputs) = &trigger.inputs {
                self.only_of(inputs, &["trigger"]);
            }
            self.inputs_of(trigger);
            if let Some(dedupe) = &trigger.dedupe {
                self.only_of(&Data::Formula(dedupe.clone()), &["trigger"]);
            }
        }
        if let Some(output) = &flow.output {
            let nodes = flow.block.nodes.iter().map(|node| node.id.as_str());
            let vars = flow.vars.iter().map(|(key, _)| key.name.as_str());
            let names: Vec<_> = nodes.chain(vars).chain(inputs).chain(GIVEN).collect();
            self.only_of(output, &names);
        }
    }

    /// What the trigger gives are inputs of the flow, and none is missing that its runs need.
    fn inputs_of(&mut self, trigger: &Trigger) {
        let flow = self.flow;
        let names: Vec<_> = flow.inputs.iter().map(|input| input.name.as_str()).collect();
        let mut given: Vec<&str> = Vec::new();
        match (&trigger.inputs, &trigger.source) {
            (Some(Data::Fields(fields)), _) => {
                for field in fields {
                    // What is spread is known when the trigger fires.
                    let Field::Set(key, _) = field else { return };
                    given.push(&key.name);
                    if !names.contains(&key.name.as_str()) {
                        self.problems.add(no_input(&key.name, trigger, key.at, &names));
                    }
                }
            }
            (Some(Data::Literal(Value::Object(fields))), _) => {
                given.extend(fields.keys().map(String::as_str));
                let unknown = given.iter().filter(|name| !names.contains(name));
                let at = trigger.origin.start();
                let problems: Vec<_> = unknown.map(|name| no_input(name, trigger, at, &names)).collect();
                self.problems.extend(problems);
            }
            (None, Source::Schedule { .. }) => given.extend(SCHEDULED),
            (Some(_), _) | (None, _) => return,
        }
        let is_missing = |input: &&Declared| !input.is_optional && !given.contains(&input.name.as_str());
        for input in flow.inputs.iter().filter(is_missing) {
            let message = format!("the runs it starts need the input '{}'; give it in 'inputs'", input.name);
            let (path, at) = (trigger.origin.path(), trigger.origin.start());
            self.problems.add(Problem::error(Code::MissingArgument, path, at, message));
        }
    }

    /// What the trigger waits for is there.
    fn source(&mut self, trigger: &Trigger) {
        let (code, problem, reason) = match self.tools.find_source(&trigger.source) {
            Lookup::Found { .. } => return,
            Lookup::Missing(reason) => (Code::UnknownTool, Problem::error as Make, reason),
            Lookup::Unchecked(reason) => (Code::Unchecked, Problem::warning as Make, reason),
        };
        self.problems.add(problem(code, trigger.origin.path(), trigger.origin.start(), reason));
    }

    /// Data may speak of these names and no others.
    fn only_of(&mut self, data: &Data, names: &[&str]) {
        data.visit(&mut |name, origin, at| {
            self.used.insert(name.to_owned());
            if !self.problems.is_full() && !names.contains(&name) && !expression::is_type(name) {
                let message = unknown(name, names);
                self.problems.add(Problem::error(
                    Code::UnknownName,
                    origin.path(),
                    origin.place(at),
                    message,
                ));
            }
        });
    }
}

fn no_input(name: &str, trigger: &Trigger, at: Place, names: &[&str]) -> Problem {
    let meant = did_you_mean(name, names.iter().copied());
    let message = format!("the flow has no input '{name}'{meant}, which the trigger's 'inputs' give");
    Problem::error(Code::UnknownName, trigger.origin.path(), at, message)
}

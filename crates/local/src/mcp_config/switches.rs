//! What a client switches off outside the entries of its servers: whole servers, and tools by their names.

use super::jsonc;
use serde_json::{Map, Value};
use tool::Pattern;

/// Tools of one server that are switched on and off, in the order in which it was said.
#[derive(Debug, Default)]
pub(super) struct Switches(Vec<(String, bool)>);

/// What switches mean in our words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lists {
    pub(super) include: Vec<String>,
    pub(super) exclude: Vec<String>,
    /// What is off though it was said to be on.
    pub(super) lost: Vec<String>,
}

/// Switches off in the entry what the rest of its file switches off; answers what cannot be said in an entry.
pub fn apply(
    root: &Map<String, Value>,
    place: &[&str],
    name: &str,
    entry: &mut Map<String, Value>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut switches = Switches::default();
    match place {
        ["mcpServers"] => gemini(root, name, entry, &mut notes),
        ["mcp", ..] => opencode(root, name, &mut switches),
        ["amp.mcpServers"] => amp(root, name, &mut switches, &mut notes),
        _ => {}
    }
    let has_own = ["includeTools", "enabledTools", "enabled_tools", "available_tools", "tools"]
        .iter()
        .any(|key| entry.contains_key(*key));
    let Lists { include, exclude, lost } = switches.lists(!has_own);
    if !include.is_empty() {
        entry.insert("includeTools".into(), include.into());
    }
    if !exclude.is_empty() {
        match entry.get_mut("excludeTools") {
            Some(Value::Array(there)) => there.extend(exclude.into_iter().map(Value::from)),
            _ => drop(entry.insert("excludeTools".into(), exclude.into())),
        }
    }
    notes.extend(
        lost.iter().map(|tool| format!("its tools '{tool}' stay off, beside a rule that switches off more")),
    );
    notes
}

fn gemini(root: &Map<String, Value>, name: &str, entry: &mut Map<String, Value>, notes: &mut Vec<String>) {
    for (place, is_off_if_named) in [
        (&["mcp", "excluded"][..], true),
        (&["mcp", "allowed"], false),
        // So older versions say it.
        (&["excludeMCPServers"], true),
        (&["allowMCPServers"], false),
    ] {
        match jsonc::at(root, place) {
            None | Some(Value::Null) => {}
            Some(Value::Array(names)) if names.iter().any(|named| named == name) != is_off_if_named => {}
            Some(Value::Array(_)) => drop(entry.insert("disabled".into(), true.into())),
            Some(_) => notes.push(format!("'{}' is no list and is passed over", place.join("."))),
        }
    }
}

/// There a tool is called `server_tool`.
fn opencode(root: &Map<String, Value>, name: &str, switches: &mut Switches) {
    let fields = |key: &str| root.get(key).and_then(Value::as_object).into_iter().flatten();
    let prefix = format!("{}_", plain(name, "_-"));
    for (pattern, value) in fields("tools") {
        if let Some(is_on) = value.as_bool() {
            switches.put_behind(&prefix, pattern, is_on);
        }
    }
    let denied = fields("permission").filter(|(_, action)| *action == "deny");
    denied.for_each(|(pattern, _)| switches.put_behind(&prefix, pattern, false));
}

/// There a tool is called `mcp__server__tool`; its own name alone means it, too, unless it is for a tool of Amp's.
fn amp(root: &Map<String, Value>, name: &str, switches: &mut Switches, notes: &mut Vec<String>) {
    let disabled = root.get("amp.tools.disable");
    let prefixes = [format!("mcp__{name}__"), format!("mcp__{}__", plain(name, "_")), String::new()];
    for pattern in disabled.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        prefixes.iter().for_each(|prefix| switches.put_behind(prefix, pattern, false));
    }
    if disabled.is_some_and(|disabled| !disabled.is_array()) {
        notes.push("'amp.tools.disable' is no list and is passed over".into());
    }
    let other = ["amp.mcpPermissions", "amp.permissions", "amp.tools.enable"];
    let other = other.iter().filter(|key| root.contains_key(**key));
    notes.extend(other.map(|key| format!("'{key}' is not honoured here")));
}

/// A name as clients write it before the names of tools.
fn plain(name: &str, kept: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || kept.contains(c) { c } else { '_' }).collect()
}

impl Switches {
    /// One more tool, or pattern of tools.
    pub(super) fn put(&mut self, pattern: &str, is_on: bool) {
        // We have no sign for one letter; too much is off rather than too little, and never too much on.
        let pattern = if is_on { pattern.to_owned() } else { pattern.replace('?', "*") };
        if !self.0.contains(&(pattern.clone(), is_on)) {
            self.0.push((pattern, is_on));
        }
    }

    /// What a pattern of whole names says about the tools whose names begin so.
    fn put_behind(&mut self, prefix: &str, pattern: &str, is_on: bool) {
        behind(prefix, pattern).into_iter().for_each(|rest| self.put(rest, is_on));
    }

    /// The switches in lists. What is on again after everything was switched off can be said as the only
    /// tools, if nobody has said others.
    pub(super) fn lists(self, may_include: bool) -> Lists {
        let mut lists = Lists::default();
        let all_off = self.0.iter().rposition(|(pattern, is_on)| pattern == "*" && !is_on);
        for (at, (pattern, is_on)) in self.0.iter().enumerate() {
            if !is_on {
                lists.exclude.push(pattern.clone());
            } else if may_include && all_off.is_some_and(|off| off < at) {
                lists.include.push(pattern.clone());
            }
        }
        if !lists.include.is_empty() {
            lists.exclude.retain(|pattern| pattern != "*");
        }
        let is_off = |name: &str| lists.exclude.iter().any(|pattern| Pattern(pattern.clone()).matches(name));
        let on = self.0.iter().filter(|(pattern, is_on)| *is_on && is_off(pattern));
        lists.lost = on.map(|(pattern, _)| pattern.clone()).collect();
        lists
    }
}

/// The patterns for what follows the prefix in names that match; none if no such name does.
fn behind<'a>(prefix: &str, pattern: &'a str) -> Vec<&'a str> {
    let mut rests = vec![pattern];
    for letter in prefix.chars() {
        let mut next: Vec<&str> = Vec::new();
        for rest in rests {
            let after = rest.trim_start_matches('*');
            if after.len() < rest.len() {
                next.push(rest);
            }
            let mut letters = after.chars();
            if letters.next().is_some_and(|first| first == letter || first == '?') {
                next.push(letters.as_str());
            }
        }
        next.sort_unstable();
        next.dedup();
        rests = next;
    }
    rests.retain(|rest| !rest.is_empty());
    rests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_whole_names_is_one_of_the_tools_behind_a_prefix() {
        for (pattern, wanted) in [
            ("ev_nums", &["nums"][..]),
            ("ev_*", &["*"]),
            ("*", &["*"]),
            ("e*", &["*"]),
            ("*nums", &["*nums"]),
            ("*_nums", &["*_nums", "nums"]),
            ("e?_a", &["a"]),
            ("ev", &[]),
            ("ev_", &[]),
            ("bash", &[]),
            ("ev2_nums", &[]),
        ] {
            assert_eq!(behind("ev_", pattern), wanted, "{pattern}");
        }
    }

    #[test]
    fn what_is_on_again_is_on_only_where_that_can_be_said() {
        let lists = |said: &[(&str, bool)], may_include: bool| {
            let mut switches = Switches::default();
            said.iter().for_each(|(pattern, is_on)| switches.put(pattern, *is_on));
            let Lists { include, exclude, lost } = switches.lists(may_include);
            (include.join(" "), exclude.join(" "), lost.join(" "))
        };
        let wanted = |include: &str, exclude: &str, lost: &str| (include.into(), exclude.into(), lost.into());
        assert_eq!(lists(&[("*", false), ("a", true)], true), wanted("a", "", ""));
        assert_eq!(lists(&[("*", false), ("a", true)], false), wanted("", "*", "a"));
        assert_eq!(lists(&[("a", true), ("*", false)], true), wanted("", "*", "a"));
        assert_eq!(lists(&[("a*", false), ("ab", true), ("c", true)], true), wanted("", "a*", "ab"));
        assert_eq!(lists(&[("a?", false)], true), wanted("", "a*", ""));
    }
}

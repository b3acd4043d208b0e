//! What a run is kept with: on whose behalf it works, what started it, and what it was given.

use super::versions::Version;
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD as BASE64, URL_SAFE as BASE64_URL};
use flow::Flow;
use flow::engine::Failure;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::sync::Arc;
use tool::secret::SecretValues;
use tool::{Around, Caller, Context, Door, Identity, Limits, Pattern, Role, RunId, Scope, Trace};

/// On whose behalf a run works. Its calls count for this one, and reach what those might who answer for it: the publisher,
/// or of a draft this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starter {
    // These two stay first: runs are found by how their JSON begins.
    kind: String,
    id: String,
    name: String,
    #[serde(default)]
    limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bu_code: Option<String>,
    /// Of whoever answers for it; of versions that were published before that was kept there are none.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "own")]
    rights: Option<Rights>,
}

/// What somebody might reach by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    role: Role,
    scopes: Vec<Scope>,
    allow: Vec<Pattern>,
}

impl Rights {
    /// What the caller may reach now. No flow works as an admin of the platform, whoever publishes it.
    #[must_use]
    pub fn of(caller: &Caller) -> Self {
        let Caller { role, scopes, allow, .. } = caller.clone();
        Self { role: role.min(Role::Manager), scopes, allow }
    }
}

impl Starter {
    /// Whoever has something run for which nobody in particular answers.
    #[must_use]
    pub fn of(caller: &Caller) -> Self {
        Self {
            kind: caller.identity.kind().to_owned(),
            id: caller.identity.id().to_owned(),
            name: caller.name.clone(),
            limits: caller.limits,
            bu_code: caller.bu_code.clone(),
            rights: None,
        }
    }

    /// Whoever has a version run: with the rights of its publisher, or its own where it is a draft that nobody has
    /// published, so that nobody answers for more.
    pub(super) fn running(version: &Version, caller: &Caller) -> Self {
        let rights = match version.number {
            Some(_) => version.rights.clone(),
            None => Some(Rights::of(caller)),
        };
        Self { rights, ..Self::of(caller) }
    }

    /// Whoever asks an agent, with its own rights.
    pub(super) fn asking(caller: &Caller) -> Self {
        Self { rights: Some(Rights::of(caller)), ..Self::of(caller) }
    }

    /// How the JSON of those begins who have this identity.
    #[must_use]
    pub fn prefix(identity: &Identity) -> String {
        format!("{{\"kind\":{},\"id\":{},", Value::from(identity.kind()), Value::from(identity.id()))
    }

    /// Who it is; the program itself where that cannot be read.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let known = match self.kind.as_str() {
            "key" => self.id.parse().map(Identity::Key).ok(),
            "user" => self.id.parse().map(Identity::User).ok(),
            "instance" => self.id.parse().map(Identity::Instance).ok(),
            "local" => Some(Identity::Local),
            _ => None,
        };
        known.unwrap_or(Identity::System)
    }

    /// For people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who makes the run's calls.
    pub(super) fn acting(&self) -> Caller {
        // What it names was checked when the flow was published, which managers do.
        let of_manager = || Rights { role: Role::Manager, scopes: Vec::new(), allow: Vec::new() };
        let Rights { role, scopes, allow } = self.rights.clone().unwrap_or_else(of_manager);
        Caller {
            identity: self.identity(),
            name: self.name.clone(),
            role,
            scopes,
            allow,
            limits: self.limits,
            bu_code: self.bu_code.clone(),
        }
    }

    /// As it is kept; the program itself where that cannot be read.
    #[must_use]
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self::of(&Caller::system()))
    }
}

/// What started a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// A door, `flow`, or the type of a trigger.
    #[serde(rename = "type")]
    pub kind: String,
    /// Of the trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of the request that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The trace that the request belongs to, as `traceparent` tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What vendors have added to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// How many runs it stands inside.
    #[serde(default)]
    pub depth: u32,
    /// The agents and flows that it stands in, itself included where it is a flow's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Around>,
    /// The run that it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_of: Option<RunId>,
}

impl Origin {
    /// A request at a door.
    #[must_use]
    pub fn door(door: Door, request_id: &str) -> Self {
        let request_id = Some(request_id.to_owned());
        Self { kind: door.as_str().to_owned(), request_id, ..Self::default() }
    }

    /// As it is kept.
    #[must_use]
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The same in the trace that the request belongs to.
    #[must_use]
    pub fn in_trace_of(self, cx: &Context) -> Self {
        let trace = cx.trace.as_deref();
        let tracestate = trace.and_then(Trace::state).map(str::to_owned);
        Self { traceparent: trace.map(Trace::parent), tracestate, ..self }
    }

    /// The trace that the run belongs to, wherever and whenever it goes on.
    pub(super) fn trace(&self) -> Option<Arc<Trace>> {
        Trace::parse(self.traceparent.as_deref()?, self.tracestate.as_deref()).map(Arc::new)
    }

    /// The door that it came through; none for triggers.
    pub(super) fn by_door(&self) -> Door {
        let doors = [Door::Mcp, Door::Rest, Door::Local];
        doors.into_iter().find(|door| door.as_str() == self.kind).unwrap_or(Door::System)
    }
}

/// What a run was given; kept as a whole, and sealed as a whole where an input is secret.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// As they came; defaults are added when the run begins.
    pub inputs: Map<String, Value>,
    /// What expressions see as `trigger`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub trigger: Value,
    /// What expressions see as `tenantId`, where that is not the run's tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// What expressions see as `buCode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bu_code: Option<String>,
    /// Why no inputs could be made of what started it: the run fails with it before it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Failure>,
    /// What the run around it calls secret: it stays so here, whatever it is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited_secrets: Vec<String>,
    /// Of a run of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) work: Option<super::agents::Work>,
}

impl Given {
    /// What may be shown and recorded nowhere: secret inputs, and what is secret in the run around it.
    pub fn secrets(&self, is_secret: impl Fn(&str) -> bool) -> SecretValues {
        let own =
            SecretValues::of(self.inputs.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value));
        own.expose().iter().chain(&self.inherited_secrets).cloned().collect()
    }

    /// The same by what a flow says of its inputs.
    pub(super) fn secrets_of(&self, flow: &Flow) -> SecretValues {
        self.secrets(|name| flow.has_secret(name))
    }
}

/// Shorter ones are found in other texts by chance once they are spelled in other ways.
const MIN_SPELLED: usize = 6;

/// Secrets, what functions of expressions make of the whole of one, and parts of all that. What is made of a part of one
/// cannot be told from any other text.
pub(super) fn spelled(secrets: &SecretValues) -> SecretValues {
    let all = secrets.expose().iter();
    all.flat_map(|secret| match secret.len() < MIN_SPELLED {
        true => vec![secret.clone()],
        false => spellings(secret),
    })
    .collect::<SecretValues>()
    .with_pieces()
}

fn spellings(secret: &str) -> Vec<String> {
    let plain = [secret, secret.trim(), &secret.to_uppercase(), &secret.to_lowercase()].map(str::to_owned);
    let digests = [in_hex(&Sha256::digest(secret)), in_hex(secret.as_bytes())];
    let encoded = [&BASE64, &BASE64_URL].into_iter().flat_map(|engine| {
        let twice = engine.encode(secret);
        let of = |text: &str| [0, 1, 2].map(|before| encoded_within(engine, before, text));
        of(secret).into_iter().chain(of(&twice))
    });
    plain.into_iter().chain(digests).chain(encoded).collect()
}

fn in_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What is the same of a text as base64, whatever stands before it, so many bytes more than whole groups of three, and
/// behind it.
fn encoded_within(engine: &GeneralPurpose, before: usize, text: &str) -> String {
    let encoded = engine.encode([&[0; 2][..before], text.as_bytes()].concat());
    let encoded = encoded.trim_end_matches('=');
    // The first and the last sign may also stand for a part of the neighbours.
    let end = encoded.len() - usize::from(!(before + text.len()).is_multiple_of(3));
    let begin = if before == 0 { 0 } else { before + 1 };
    encoded.get(begin..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::KeyId;

    #[test]
    fn what_functions_make_of_a_secret_is_secret() {
        let secrets = spelled(&["hunter2-hunter2".to_owned(), "abc".to_owned()].into_iter().collect());
        let shown = "HUNTER2-HUNTER2 aHVudGVyMi1odW50ZXIy aHVudGVyMi1odW50ZXIyIQ== ABC";
        assert_eq!(secrets.masked_text(shown), "*** *** ***IQ== ABC");
        for before in ["", "u", "us", "usr:", "user:"] {
            for encoded in [
                BASE64.encode(format!("{before}hunter2-hunter2")),
                BASE64.encode(format!("{before}hunter2-hunter2??>")),
                BASE64.encode(format!("{before}{}", BASE64.encode("hunter2-hunter2"))),
                BASE64_URL.encode(format!("{before}hunter2-hunter2")),
            ] {
                let shown = secrets.masked_text(&encoded);
                assert!(shown.contains("***") && shown.len() < 20, "{before}: {encoded} is shown as {shown}");
            }
        }
        assert_eq!(secrets.masked_text("68756e746572322d68756e74657232"), "***");
    }

    #[test]
    fn a_starter_is_found_by_how_its_json_begins() {
        let identity = Identity::Key(KeyId::generate());
        let starter = Starter::of(&Caller { identity: identity.clone(), ..Caller::local() });
        let text = serde_json::to_string(&starter).unwrap();
        assert!(text.starts_with(&Starter::prefix(&identity)), "{text}");
        assert_eq!(Starter::read(&text).identity(), identity);
        assert_eq!(Starter::read("?").identity(), Identity::System);
    }
}

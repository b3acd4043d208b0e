//! What a run is kept with: on whose behalf it works, what started it, and what it was given.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flow::Flow;
use flow::engine::Failure;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use tool::secret::SecretValues;
use tool::{Caller, Door, Identity, Limits, Pattern, Role, RunId, Scope};

/// On whose behalf a run works. Its calls reach what the publisher might, and count for this one.
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
    /// Of whoever tries out a draft: nobody has published it, so that nobody answers for more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<Rights>,
}

/// What somebody might reach by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Rights {
    role: Role,
    scopes: Vec<Scope>,
    allow: Vec<Pattern>,
}

impl Starter {
    /// Whoever has a published flow run.
    #[must_use]
    pub fn of(caller: &Caller) -> Self {
        Self {
            kind: caller.identity.kind().to_owned(),
            id: caller.identity.id().to_owned(),
            name: caller.name.clone(),
            limits: caller.limits,
            bu_code: caller.bu_code.clone(),
            own: None,
        }
    }

    /// Whoever tries out a draft.
    pub(super) fn trying(caller: &Caller) -> Self {
        let Caller { role, scopes, allow, .. } = caller.clone();
        Self { own: Some(Rights { role, scopes, allow }), ..Self::of(caller) }
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

    /// Who makes the run's calls: what it may reach was checked when the flow was published, which managers do.
    pub(super) fn acting(&self) -> Caller {
        let of_publisher = || Rights { role: Role::Manager, scopes: Vec::new(), allow: Vec::new() };
        let Rights { role, scopes, allow } = self.own.clone().unwrap_or_else(of_publisher);
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
    /// How many runs it stands inside.
    #[serde(default)]
    pub depth: u32,
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
        self.secrets(|name| flow.inputs.iter().any(|input| input.is_secret && input.name == name))
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
    let mut digest = String::new();
    for byte in Sha256::digest(secret) {
        let _ = write!(digest, "{byte:02x}");
    }
    // The last sign may also stand for a part of what was encoded behind the secret.
    let encoded = BASE64.encode(secret);
    let encoded = encoded.trim_end_matches('=');
    let encoded = &encoded[..encoded.len() - usize::from(!secret.len().is_multiple_of(3))];
    let plain = [secret, secret.trim(), &secret.to_uppercase(), &secret.to_lowercase(), encoded, &digest];
    plain.into_iter().map(str::to_owned).collect()
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

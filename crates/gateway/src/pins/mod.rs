//! Pins: what the tools of a service were when they were first seen, so that a change is noticed.

mod fingerprint;
mod report;
mod vet;

pub use report::{Report, State, ToolReport};

use crate::catalog::Service;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use tool::Result;

/// A service that invents ever new names is not remembered beyond this.
const MAX_PINS: usize = 20_000;

/// The pins of one service, by the tools' names.
pub type Pins = BTreeMap<String, Pin>;

/// What is known of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Of the definition that counts.
    pub fingerprint: String,
    /// Of the definition that was seen last, if it was another one: a change is reported once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// It came after the others, and nobody has approved it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
}

impl Pin {
    /// The fingerprint that was seen last.
    fn last_seen(&self) -> &str {
        self.seen.as_deref().unwrap_or(&self.fingerprint)
    }
}

/// Why pins are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A service has said what it offers.
    Discovery,
    /// Somebody has approved a change, which all replicas must learn.
    Approval,
}

/// From the pins that are there to those that shall be there.
pub type Edit<'a> = dyn Fn(Option<&Pins>) -> Pins + Sync + 'a;

/// Where pins are kept.
#[async_trait]
pub trait PinStore: Send + Sync + 'static {
    /// Changes the pins of a service, all or nothing, and returns them as they were and as they are.
    /// `edit` gets `None` for a service without pins, and may be asked again when others change
    /// them at the same time.
    async fn change(
        &self,
        service: &Service,
        reason: Reason,
        edit: &Edit<'_>,
    ) -> Result<(Option<Pins>, Pins)>;
}

/// Pins that are forgotten with the process.
#[derive(Debug, Default)]
pub struct MemoryPins(Mutex<HashMap<String, Pins>>);

#[async_trait]
impl PinStore for MemoryPins {
    async fn change(&self, service: &Service, _: Reason, edit: &Edit<'_>) -> Result<(Option<Pins>, Pins)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{service:?}");
        let before = all.get(&key).cloned();
        let after = edit(before.as_ref());
        all.insert(key, after.clone());
        Ok((before, after))
    }
}

/// The pins after a service has said what it offers, given as fingerprints by name. What comes
/// first is trusted; a tool that comes later is pinned as it comes, and marked as new.
fn noted(known: Option<&Pins>, offered: &BTreeMap<String, String>) -> Pins {
    let is_first = known.is_none_or(Pins::is_empty);
    let mut pins = known.cloned().unwrap_or_default();
    for (name, fingerprint) in offered {
        match pins.get_mut(name) {
            Some(pin) => pin.seen = (pin.fingerprint != *fingerprint).then(|| fingerprint.clone()),
            None => {
                let pin = Pin { fingerprint: fingerprint.clone(), seen: None, is_new: !is_first };
                pins.insert(name.clone(), pin);
            }
        }
    }
    if pins.len() > MAX_PINS {
        pins.retain(|name, pin| !pin.is_new || offered.contains_key(name));
    }
    pins
}

/// The pins after these fingerprints have been approved.
fn approved(known: Option<&Pins>, fingerprints: &BTreeMap<String, String>) -> Pins {
    let mut pins = known.cloned().unwrap_or_default();
    for (name, fingerprint) in fingerprints {
        let seen = pins.get(name).and_then(|pin| pin.seen.clone()).filter(|seen| seen != fingerprint);
        pins.insert(name.clone(), Pin { fingerprint: fingerprint.clone(), seen, is_new: false });
    }
    pins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(tools: &[(&str, &str)]) -> BTreeMap<String, String> {
        tools.iter().map(|(name, fingerprint)| ((*name).to_owned(), (*fingerprint).to_owned())).collect()
    }

    #[test]
    fn trusts_what_comes_first_and_remembers_it() {
        let first = noted(None, &offered(&[("a", "1")]));
        assert_eq!((first["a"].fingerprint.as_str(), first["a"].is_new), ("1", false));
        let later = noted(Some(&first), &offered(&[("a", "2"), ("b", "1")]));
        assert_eq!((later["a"].fingerprint.as_str(), later["a"].last_seen()), ("1", "2"));
        assert!(later["b"].is_new);
        let gone = noted(Some(&later), &offered(&[]));
        assert_eq!(gone, later, "a tool that is away for a while does not come back unnoticed");
        let fine = approved(Some(&later), &offered(&[("a", "2"), ("b", "1")]));
        assert_eq!((fine["a"].fingerprint.as_str(), fine["b"].is_new), ("2", false));
    }

    #[test]
    fn forgets_invented_names_but_no_approved_one() {
        let mut pins = noted(None, &offered(&[("kept", "1")]));
        for round in 0..3 {
            let names: Vec<String> = (0..MAX_PINS / 2 + 1).map(|n| format!("{round}-{n}")).collect();
            let offered = names.iter().map(|name| (name.clone(), "1".to_owned())).collect();
            pins = noted(Some(&pins), &offered);
        }
        assert!(pins.len() <= MAX_PINS && pins.contains_key("kept"), "{}", pins.len());
    }
}

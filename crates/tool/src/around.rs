//! The agents and flows that a call stands in, so that none is asked inside itself and none goes without end.

use crate::{Error, Reason, Result};
use serde::{Deserialize, Serialize};

/// The agents and flows around a call, from the first agent on. It is kept with runs, whose calls are made elsewhere and
/// later: behind a flow nobody begins to count anew.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// Their addresses, the outermost first.
    chain: Vec<String>,
    /// How many may stand in one another.
    most: usize,
}

impl Around {
    /// Nobody yet, and so many may come.
    #[must_use]
    pub fn at_most(most: usize) -> Self {
        Self { chain: Vec::new(), most }
    }

    /// The same with one more inside.
    ///
    /// # Errors
    /// `DepthLimit` when there are as many as there may be.
    pub fn with(&self, address: &str) -> Result<Self> {
        if self.chain.len() >= self.most {
            let message =
                format!("the run has ended: agents and flows may stand {} deep in one another", self.most);
            return Err(Error::upstream(message).because(Reason::DepthLimit));
        }
        let mut chain = self.chain.clone();
        chain.push(address.to_owned());
        Ok(Self { chain, most: self.most })
    }

    /// The same with another one in the place of the innermost, which it goes on for.
    #[must_use]
    pub fn handed_to(&self, address: &str) -> Self {
        let mut chain = self.chain.clone();
        if let Some(last) = chain.last_mut() {
            address.clone_into(last);
        }
        Self { chain, most: self.most }
    }

    /// Those who were there before the innermost came, if that is it; nobody where there was none.
    #[must_use]
    pub fn before(&self, address: &str) -> Option<Self> {
        let mut chain = self.chain.clone();
        chain.pop_if(|last| last == address);
        (!chain.is_empty()).then_some(Self { chain, most: self.most })
    }

    /// The agent or flow is among them.
    #[must_use]
    pub fn has(&self, address: &str) -> bool {
        self.chain.iter().any(|known| known == address)
    }

    /// All of them, for people.
    #[must_use]
    pub fn told(&self) -> String {
        self.chain.join(" → ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AG-10, AG-11
    #[test]
    fn nobody_stands_deeper_than_the_first_may() {
        let one = Around::at_most(2).with("agent://a").unwrap();
        let two = one.with("flow://f").unwrap();
        assert!(two.has("agent://a") && two.has("flow://f") && !two.has("agent://b"));
        assert_eq!(two.with("agent://b").unwrap_err().reason(), Some(Reason::DepthLimit));
        assert_eq!(two.before("flow://f"), Some(one.clone()));
        assert_eq!((one.before("agent://a"), one.before("agent://b")), (None, Some(one)));
        assert_eq!(two.handed_to("agent://b").told(), "agent://a → agent://b");
    }
}

//! What stands for what the model is not to see, for as long as a run goes on.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// So many values are told apart; more are all shown as one.
const MAX_MASKS: usize = 10_000;

/// Values, and what the model sees in their place.
#[derive(Debug, Default)]
pub(in super::super) struct Masks {
    tokens: HashMap<String, String>,
    values: HashMap<String, String>,
    counts: HashMap<String, usize>,
}

impl Masks {
    /// Nothing is hidden.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// What stands for the value, e.g. `[MAIL_1]`: the same for the same.
    pub(super) fn mask(&mut self, kind: &str, value: &str) -> String {
        if let Some(token) = self.tokens.get(value) {
            return token.clone();
        }
        let kind = kind.to_uppercase();
        if self.tokens.len() >= MAX_MASKS {
            return format!("[{kind}]");
        }
        let count = self.counts.entry(kind.clone()).or_default();
        *count += 1;
        let token = format!("[{kind}_{count}]");
        self.tokens.insert(value.to_owned(), token.clone());
        self.values.insert(token.clone(), value.to_owned());
        token
    }

    /// What stands for what, as it is written down with a run.
    pub(in super::super) fn listed(&self) -> Map<String, Value> {
        self.values.iter().map(|(token, value)| (token.clone(), value.as_str().into())).collect()
    }

    /// The same masks as were written down: what the model knows by one stays what it is.
    pub(in super::super) fn restore(&mut self, listed: &Map<String, Value>) {
        for (token, value) in listed {
            let Some(value) = value.as_str() else { continue };
            let number = token.trim_matches(['[', ']']).rsplit_once('_');
            if let Some((kind, number)) = number.and_then(|(kind, n)| Some((kind, n.parse::<usize>().ok()?)))
            {
                let count = self.counts.entry(kind.to_owned()).or_default();
                *count = number.max(*count);
            }
            self.tokens.insert(value.to_owned(), token.clone());
            self.values.insert(token.clone(), value.to_owned());
        }
    }

    /// The text with the real values, for tools and callers.
    pub(in super::super) fn unmask(&self, text: &str) -> String {
        if self.values.is_empty() || !text.contains('[') {
            return text.to_owned();
        }
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find('[') {
            result.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(']').map(|end| end + 1);
            match end.and_then(|end| Some((end, self.values.get(&rest[..end])?))) {
                Some((end, value)) => {
                    result.push_str(value);
                    rest = &rest[end..];
                }
                None => {
                    result.push('[');
                    rest = &rest[1..];
                }
            }
        }
        result + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_masked_comes_back() {
        let mut masks = Masks::default();
        assert_eq!(masks.mask("mail", "a@b.test"), "[MAIL_1]");
        assert_eq!(masks.mask("mail", "c@d.test"), "[MAIL_2]");
        assert_eq!(masks.mask("mail", "a@b.test"), "[MAIL_1]");
        let text = "[[MAIL_1] and [MAIL_2], [MAIL_3] [x";
        assert_eq!(masks.unmask(text), "[a@b.test and c@d.test, [MAIL_3] [x");
        let mut again = Masks::default();
        again.restore(&masks.listed());
        assert_eq!(again.mask("mail", "c@d.test"), "[MAIL_2]");
        assert_eq!(again.mask("mail", "e@f.test"), "[MAIL_3]");
    }
}

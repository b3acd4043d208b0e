//! What stands for what the model is not to see, for as long as a run goes on.

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use tool::secret::Redactor;

/// So many values are told apart; more are all shown as one.
const MAX_MASKS: usize = 10_000;
/// Shorter values are masked where a rule finds them alone: they stand in any text by chance.
const SHORTEST: usize = 3;
/// What stands for a value is shorter.
const MAX_TOKEN_BYTES: usize = 40;

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
        // Another rule may have masked a part of it.
        let value = self.unmask(value);
        if let Some(token) = self.tokens.get(&value) {
            return token.clone();
        }
        let kind = kind.to_uppercase();
        if self.tokens.len() >= MAX_MASKS {
            return format!("[{kind}]");
        }
        let count = self.counts.entry(kind.clone()).or_default();
        *count += 1;
        let token = format!("[{kind}_{count}]");
        self.tokens.insert(value.clone(), token.clone());
        self.values.insert(token.clone(), value);
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
        self.rewritten(text, |between| between.into(), |_, value| value)
    }

    /// What hides the values wherever they stand in a text, also escaped, as tools say back what they were sent.
    pub(in super::super) fn hiding(&self) -> impl Fn(&str) -> String {
        let values = self.tokens.keys().map(String::as_str).filter(|value| value.len() >= SHORTEST);
        let redactor = Redactor::new(values);
        move |text| {
            let token = |value: &str| Cow::Borrowed(self.tokens.get(value).map_or("", String::as_str));
            self.rewritten(text, |between| redactor.replace(between, token).into(), |token, _| token)
        }
    }

    /// The text with something else for each token that stands for a value, and for what is between them.
    fn rewritten<'t>(
        &'t self,
        text: &'t str,
        between: impl Fn(&'t str) -> Cow<'t, str>,
        known: impl Fn(&'t str, &'t str) -> &'t str,
    ) -> String {
        if self.values.is_empty() {
            return text.to_owned();
        }
        let mut result = String::with_capacity(text.len());
        let (mut from, mut at) = (0, 0);
        while let Some(start) = text[at..].find('[').map(|found| at + found) {
            let end = text.as_bytes()[start..].iter().take(MAX_TOKEN_BYTES).position(|byte| *byte == b']');
            let token = end.map(|end| &text[start..=start + end]);
            at = start + 1;
            if let Some((token, value)) = token.and_then(|token| Some((token, self.values.get(token)?))) {
                result.push_str(&between(&text[from..start]));
                result.push_str(known(token, value));
                at = start + token.len();
                from = at;
            }
        }
        result.push_str(&between(&text[from..]));
        result
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

    /// AG-18
    #[test]
    fn values_are_hidden_however_they_are_spelled() {
        let mut masks = Masks::default();
        masks.mask("mail", "a@b.test");
        masks.mask("text", "MAIL");
        masks.mask("text", "x");
        let hide = masks.hiding();
        let text = "a@b.test a%40b.test a\\u0040b.test [MAIL_1] MAIL x [[";
        assert_eq!(hide(text), "[MAIL_1] [MAIL_1] [MAIL_1] [MAIL_1] [TEXT_1] x [[");
        assert_eq!(masks.unmask(&hide(text)), "a@b.test a@b.test a@b.test a@b.test MAIL x [[");
        let open = "[".repeat(100_000);
        assert_eq!(hide(&open), open);
        assert_eq!(Masks::default().hiding()("a"), "a");
    }

    /// AG-18
    #[test]
    fn what_was_masked_in_part_comes_back_whole() {
        let mut masks = Masks::default();
        let mail = masks.mask("mail", "a@b.test");
        let line = masks.mask("text", &format!("to {mail}"));
        assert_eq!(masks.unmask(&line), "to a@b.test");
    }
}

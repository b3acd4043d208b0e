//! What a statement calls: every name that stands where a function could.

use super::scan::Token;
use std::collections::BTreeSet;
use std::ops::Range;

/// A name in the place of a function. Whether it is one, the catalog knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::db) struct Called {
    /// What stands in front of it with a dot: a schema, or a row whose field it looks like.
    pub(in crate::db) schema: Option<String>,
    pub(in crate::db) name: String,
    /// It looks like a field of a row, which is another way to call a function of one row.
    pub(in crate::db) is_field: bool,
}

/// Every name before a parenthesis, and every one behind a dot.
pub(super) fn of(sql: &str, tokens: &[(Token, Range<usize>)]) -> BTreeSet<Called> {
    let mut calls = BTreeSet::new();
    for (index, (token, _)) in tokens.iter().enumerate() {
        let Some(name) = name(token) else { continue };
        let is = |at: Option<usize>, sign: &str| {
            at.and_then(|at| tokens.get(at)).is_some_and(|(_, range)| &sql[range.clone()] == sign)
        };
        let is_behind_dot = is(index.checked_sub(1), ".");
        let is_called = is(Some(index + 1), "(");
        if is_called || is_behind_dot {
            let schema = index.checked_sub(2).filter(|_| is_behind_dot);
            let schema = schema.and_then(|at| tokens.get(at)).and_then(|(token, _)| self::name(token));
            calls.insert(Called {
                schema: schema.map(str::to_owned),
                name: name.to_owned(),
                is_field: !is_called,
            });
        }
    }
    calls
}

fn name(token: &Token) -> Option<&str> {
    match token {
        Token::Word(name) | Token::Name(name) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::scan;
    use super::*;
    use crate::db::settings::DbType;

    #[test]
    fn finds_every_name_that_may_be_a_function() {
        let sql = "SELECT f(1), a . \"G\" /* x */ (2), (t).h, x.y.i\n(3), 'j(4)', k FROM t AS t(l)";
        let found = of(sql, &scan(sql, DbType::Postgresql));
        let shown: Vec<_> = found
            .iter()
            .map(|call| {
                let schema = call.schema.as_deref().unwrap_or("-");
                format!("{schema} {}{}", call.name, if call.is_field { "" } else { "()" })
            })
            .collect();
        assert_eq!(shown, ["- f()", "- h", "- t()", "a G()", "x y", "y i()"]);
    }
}

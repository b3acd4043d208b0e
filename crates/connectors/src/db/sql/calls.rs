//! What a statement uses: every name that stands where a function could, and whatever else may call one without its name.

use super::scan::Token;
use std::collections::BTreeSet;
use std::ops::Range;

/// Words before a text that are not its type.
const KEYWORDS: [&str; 12] =
    ["and", "between", "case", "else", "ilike", "like", "not", "or", "select", "then", "when", "where"];

/// All that may make a database call a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::db) struct Uses {
    pub(in crate::db) calls: BTreeSet<Called>,
    /// Every name and word: types are written anywhere.
    pub(in crate::db) names: BTreeSet<String>,
    /// The statement without names, texts and comments: every operator in it stands here in one piece.
    pub(in crate::db) operators: String,
    /// A value may become one of another type: by a cast, a type before a text, or a function that fills in rows.
    pub(in crate::db) converts: bool,
}

/// A name in the place of a function. Whether it is one, the catalog knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::db) struct Called {
    /// What stands in front of it with a dot: a schema, or a row whose field it looks like.
    pub(in crate::db) schema: Option<String>,
    pub(in crate::db) name: String,
    /// It looks like a field of a row, which is another way to call a function of one row.
    pub(in crate::db) is_field: bool,
}

/// What the tokens of a statement use.
pub(super) fn of(sql: &str, tokens: &[(Token, Range<usize>)]) -> Uses {
    let names: BTreeSet<_> = tokens.iter().filter_map(|(token, _)| name(token)).map(str::to_owned).collect();
    let makes_rows = |name: &String| name.contains("populate") || name.contains("record");
    let is_type = |token: &Token| name(token).is_some_and(|name| !KEYWORDS.contains(&name));
    let is_typed = |pair: &[(Token, Range<usize>)]| is_type(&pair[0].0) && pair[1].0 == Token::Text;
    let operators = operators(sql, tokens);
    let converts = operators.contains("::")
        || names.contains("cast")
        || names.iter().any(makes_rows)
        || tokens.windows(2).any(is_typed);
    Uses { calls: calls(sql, tokens), names, operators, converts }
}

/// Signs that touch stay together: where one operator ends and the next begins is the server's to say.
fn operators(sql: &str, tokens: &[(Token, Range<usize>)]) -> String {
    let mut signs = String::new();
    let mut end = 0;
    for (_, range) in tokens.iter().filter(|(token, _)| *token == Token::Other) {
        if range.start != end {
            signs.push(' ');
        }
        signs.push_str(&sql[range.clone()]);
        end = range.end;
    }
    signs
}

/// Every name before a parenthesis, and every one behind a dot.
fn calls(sql: &str, tokens: &[(Token, Range<usize>)]) -> BTreeSet<Called> {
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
        let found = calls(sql, &scan(sql, DbType::Postgresql));
        let shown: Vec<_> = found
            .iter()
            .map(|call| {
                let schema = call.schema.as_deref().unwrap_or("-");
                format!("{schema} {}{}", call.name, if call.is_field { "" } else { "()" })
            })
            .collect();
        assert_eq!(shown, ["- f()", "- h", "- t()", "a G()", "x y", "y i()"]);
    }
    #[test]
    fn finds_what_calls_functions_without_their_names() {
        for (sql, operators, converts) in [
            ("SELECT !!!'a' FROM t", "!!!", false),
            ("SELECT a OPERATOR(s.<<#) -1", "( .<<#) -1", false),
            ("SELECT a::mail", "::", true),
            ("SELECT mail 'a'", "", true),
            ("SELECT 'a@@b' /* && */", "", false),
            ("SELECT jsonb_populate_record(o, :j) FROM orders o", "( , )", true),
        ] {
            let uses = of(sql, &scan(sql, DbType::Postgresql));
            assert_eq!((uses.operators.trim(), uses.converts), (operators, converts), "{sql}");
        }
    }
}

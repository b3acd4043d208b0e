//! What authors are told, and where.

use super::evaluate;
use expression::{Expression, Kind};

/// Each error of parsing, with its line and column.
#[test]
fn a_wrong_text_is_told_with_its_place() {
    for (text, wanted) in [
        ("", "there is no expression (line 1, column 1)"),
        ("1 +", "a value is missing here, but the text ends (line 1, column 4)"),
        (
            "a = 1",
            "the expression could end here, but '=' (to compare, write '==') follows (line 1, column 3)",
        ),
        ("a b", "the expression could end here, but 'b' follows (line 1, column 3)"),
        ("(1", "')' is missing here, but the text ends (line 1, column 3)"),
        ("a &\nb", "'&' has no meaning here; 'and' is '&&' (line 1, column 3)"),
        ("a &&\n  @", "'@' has no meaning here (line 2, column 3)"),
        ("'abc", "this text does not end: ' is missing (line 1, column 1)"),
        ("`abc ${1", "'}' is missing at the end of '${', but the text ends (line 1, column 9)"),
        ("'\\q'", "this escape is unknown; a backslash itself is written \\\\ (line 1, column 2)"),
        ("99999999999999999999", "this whole number does not fit into 64 bits (line 1, column 1)"),
        ("12abc", "a number is followed by letters; put a blank or an operator between (line 1, column 1)"),
        ("a.1", "the expression could end here, but a number follows (line 1, column 2)"),
        (
            "a.'b'",
            "a field's name belongs behind the dot; other names go into brackets: a['b c'], but a text follows (line 1, column 3)",
        ),
        ("if", "'if' is reserved and cannot be a name (line 1, column 1)"),
        ("has(1)", "has() asks for a field: has(a.b) (line 1, column 1)"),
        ("“a”", "'“' has no meaning here; texts stand in plain quotes (line 1, column 1)"),
    ] {
        let error = Expression::parse(text).unwrap_err();
        assert_eq!(error.to_string(), wanted, "{text}");
    }
}

/// Each error of evaluation, with its line and column.
#[test]
fn a_wrong_value_is_told_with_its_place() {
    for (text, wanted) in [
        (
            "n +\n order.nope",
            "there is no field 'nope' (there are id, total, paid, note, lines) (line 2, column 7)",
        ),
        ("nowhere", "there is nothing named 'nowhere' (line 1, column 1)"),
        ("nothing.a", "there is no field 'a': this is null (line 1, column 8)"),
        ("tags[2]", "there is no item 2 in a list of 2; the first one is 0 (line 1, column 5)"),
        (
            "tags.red",
            "a list has no field 'red'; its items are reached by [0], map() or filter() (line 1, column 5)",
        ),
        (
            "'a' + 1",
            "a whole number cannot be added to a text ('+'); string() makes a text of a value, double() a number of a text (line 1, column 5)",
        ),
        ("1 / 0", "division by zero (line 1, column 3)"),
        ("big * 2", "the result does not fit into 64 bits (line 1, column 5)"),
        ("1 < 'a'", "a whole number cannot be compared with a text (line 1, column 3)"),
        ("n ? 1 : 2", "a condition is true or false, this is a whole number (line 1, column 1)"),
        ("tags.filter(t, t)", "a condition is true or false, this is a text (line 1, column 16)"),
        (
            "'a' in 'abc'",
            "'in' looks into lists and objects; for texts there is contains() (line 1, column 5)",
        ),
        ("{'a': 1, 'a': 2}", "the object has this key twice (line 1, column 10)"),
        ("1.0 / 0", "inf has no place in JSON (line 1, column 1)"),
    ] {
        let error = evaluate(text).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.kind()), (wanted, Kind::Evaluation), "{text}");
    }
}

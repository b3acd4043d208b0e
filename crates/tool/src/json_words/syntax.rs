//! Why a text is no JSON.

/// Why a text is no JSON, and where.
#[must_use]
pub fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let words = match what {
        "EOF while parsing a value" if error.column() == 0 && error.line() <= 1 => {
            return "it is empty".to_owned();
        }
        "EOF while parsing a value" => "a value is missing at the end",
        "EOF while parsing a string" => "a string is not closed; add the missing '\"'",
        "EOF while parsing a list" => "a list is not closed; add the missing ']'",
        "EOF while parsing an object" => "an object is not closed; add the missing '}'",
        "expected `:`" => "a ':' is missing behind the name of a field",
        "expected `,` or `]`" => "a ',' or a ']' is missing",
        "expected `,` or `}`" => "a ',' or a '}' is missing",
        "expected ident" => "true, false and null are the only words; put texts in double quotes",
        "expected value" => "a value is missing, or a text without double quotes",
        "key must be a string" => "the name of a field must be in double quotes",
        "trailing comma" => "a ',' stands before the closing bracket; take it out",
        "trailing characters" => "something follows the end of the JSON; take it away",
        "recursion limit exceeded" => "it is nested deeper than 127 levels",
        "number out of range" | "invalid number" => "a number is not written as JSON writes it, or too large",
        "invalid escape" => "a backslash stands before what it cannot escape; write \\\\ for a backslash",
        what if what.starts_with("control character") => {
            "a string holds a line break or a control character; write \\n or \\t"
        }
        what if what.contains("unicode") || what.contains("UTF-8") => "it is not UTF-8",
        what if what.contains("surrogate") || what.contains("hex escape") => "a \\u escape is not complete",
        _ => "it cannot be read",
    };
    format!("line {}, column {}: {words}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn says_where_and_why_a_text_is_no_json() {
        for (text, expected) in [
            ("", "it is empty"),
            ("{", "line 1, column 1: an object is not closed; add the missing '}'"),
            ("[1", "line 1, column 2: a list is not closed; add the missing ']'"),
            ("{\"a\":\"b", "line 1, column 7: a string is not closed; add the missing '\"'"),
            ("{a:1}", "line 1, column 2: the name of a field must be in double quotes"),
            ("{\"a\" 1}", "line 1, column 6: a ':' is missing behind the name of a field"),
            ("{\"a\":1,}", "line 1, column 8: a ',' stands before the closing bracket; take it out"),
            ("{\"a\":x}", "line 1, column 6: a value is missing, or a text without double quotes"),
            ("{} {}", "line 1, column 4: something follows the end of the JSON; take it away"),
            ("nul", "line 1, column 3: a value is missing at the end"),
        ] {
            let error = serde_json::from_str::<Value>(text).unwrap_err();
            assert_eq!(syntax(&error), expected, "{text}: {error}");
        }
    }
}

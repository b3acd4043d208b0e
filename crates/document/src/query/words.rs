//! What is wrong with a query, in words for whoever wrote it: the parser's are for those who write parsers.

/// What the parser complains about.
pub(super) fn complaint(reason: &str) -> String {
    let reason = reason.strip_prefix("Parse error: ").unwrap_or(reason);
    let (message, found) = match reason.split_once(" -- found ") {
        Some((message, token)) => (message, token_in_words(token)),
        None => (reason, String::new()),
    };
    if let Some(wanted) = message.strip_prefix("Expected ") {
        return expected(wanted, &found);
    }
    match message {
        "Unexpected nud token" | "Unexpected led token" if found == END => {
            "the query ends too early; something is missing at its end".to_owned()
        }
        "Unexpected nud token" | "Unexpected led token" => {
            format!("{found} cannot stand here; a name, a value or a function belongs here")
        }
        "Did not parse the complete expression" => {
            format!("{found} cannot stand here; the query is complete before it")
        }
        "Invalid function name" | "Quoted strings can't be a function name" => {
            "only a plain name can be that of a function".to_owned()
        }
        "Too many colons in slice expr" => "a slice has at most two colons, as in [0:10:2]".to_owned(),
        "invalid token after ','" => "something is missing behind the ','".to_owned(),
        _ => of_characters(message),
    }
}

const END: &str = "the end";

fn expected(wanted: &str, found: &str) -> String {
    match wanted {
        "valid number" => "a number is too large".to_owned(),
        "':' to follow key" | "Field to start key value pair" => {
            "the fields between { and } are written as name: expression".to_owned()
        }
        _ => {
            let wanted =
                wanted.replace("identifier", "a name").replace("number", "a number").replace(", or ", " or ");
            let wanted = wanted.split(" for ").next().unwrap_or_default();
            format!("{wanted} is expected here, and there is {found}")
        }
    }
}

/// What cannot even be a part of a query.
fn of_characters(message: &str) -> String {
    if let Some(character) = message.strip_prefix("Invalid character: ") {
        return format!(
            "the character {character} means nothing here; put names with such characters in double quotes"
        );
    }
    if message.starts_with("Unclosed ") {
        let quote = message.chars().nth("Unclosed ".len()).unwrap_or('"');
        return format!("a {quote} is opened here and not closed");
    }
    if message.starts_with("Unable to parse literal JSON") {
        return "what stands between ` and ` is no JSON; texts need double quotes inside, as in `\"x\"`"
            .to_owned();
    }
    if message.starts_with("Unable to parse quoted identifier") {
        return "the name between double quotes is no JSON string".to_owned();
    }
    if message.contains("'-'") {
        return "a '-' needs a number behind it; put names with a '-' in double quotes".to_owned();
    }
    "this is no JMESPath".to_owned()
}

/// A token as it stands in the query.
fn token_in_words(token: &str) -> String {
    let (kind, inner) = token.split_once('(').unwrap_or((token, ""));
    let sign = match kind {
        "Eof" => return END.to_owned(),
        "Identifier" | "QuotedIdentifier" | "Number" => {
            return format!("'{}'", inner.trim_end_matches(')').trim_matches('"'));
        }
        "Literal" => return "a value".to_owned(),
        "Dot" => ".",
        "Star" => "*",
        "Flatten" => "[]",
        "And" => "&&",
        "Or" => "||",
        "Pipe" => "|",
        "Filter" => "[?",
        "Lbracket" => "[",
        "Rbracket" => "]",
        "Comma" => ",",
        "Colon" => ":",
        "Not" => "!",
        "Ne" => "!=",
        "Eq" => "==",
        "Gt" => ">",
        "Gte" => ">=",
        "Lt" => "<",
        "Lte" => "<=",
        "At" => "@",
        "Ampersand" => "&",
        "Lparen" => "(",
        "Rparen" => ")",
        "Lbrace" => "{",
        "Rbrace" => "}",
        _ => return "something else".to_owned(),
    };
    format!("'{sign}'")
}

//! Names of tools, made of the names of methods.

use std::collections::HashSet;

/// What clients and models accept.
const MAX_BYTES: usize = 64;

/// `Customers/List` as `customers_list`; with its package where that is taken, and with a number where even that is.
pub(super) fn tool_name(package: &str, service: &str, method: &str, taken: &mut HashSet<String>) -> String {
    let short = snake(&format!("{service}_{method}"));
    if short.len() <= MAX_BYTES && taken.insert(short.clone()) {
        return short;
    }
    let long = snake(&format!("{package}_{service}_{method}"));
    // What tells methods apart stands at the end.
    let long = long[long.len().saturating_sub(MAX_BYTES)..].trim_start_matches('_').to_owned();
    let mut name = long.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        let suffix = format!("_{number}");
        name = format!("{}{suffix}", &long[..long.len().min(MAX_BYTES - suffix.len())]);
        number += 1;
    }
    name
}

/// `GetHTTPStatus` as `get_http_status`; whatever is no letter or digit parts words.
pub(super) fn snake(text: &str) -> String {
    let mut snake = String::with_capacity(text.len() + 8);
    let characters: Vec<char> = text.chars().collect();
    for (at, character) in characters.iter().enumerate() {
        if !character.is_ascii_alphanumeric() {
            if !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| characters.get(at));
        let is_after_lower =
            before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        let is_before_lower = characters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let is_after_upper = before.is_some_and(char::is_ascii_uppercase);
        let begins_word = is_after_lower || (is_after_upper && is_before_lower);
        if character.is_ascii_uppercase() && begins_word && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_names_in_snake_case() {
        for (text, expected) in [
            ("Customers_List", "customers_list"),
            ("GetHTTPStatus", "get_http_status"),
            ("S3Objects_PutV2", "s3_objects_put_v2"),
            ("loyalty.v1_Customers", "loyalty_v1_customers"),
            ("already_snake", "already_snake"),
            ("A", "a"),
        ] {
            assert_eq!(snake(text), expected);
        }
    }

    #[test]
    fn gives_each_method_a_name_of_its_own() {
        let mut taken = HashSet::new();
        let mut name = |package, service, method| tool_name(package, service, method, &mut taken);
        assert_eq!(name("a.v1", "Users", "List"), "users_list");
        assert_eq!(name("b.v1", "Users", "List"), "b_v1_users_list");
        assert_eq!(name("b.v1", "Users_", "List"), "b_v1_users_list_2");
        let long = "VeryLongNameOfAServiceThatNobodyWouldWriteByHandButAGenerator";
        let first = name("x", long, "TheSame");
        let second = name("y", long, "TheSame");
        assert!(first.len() <= MAX_BYTES && second.len() <= MAX_BYTES && first != second, "{first} {second}");
    }
}

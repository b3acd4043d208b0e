//! Telephone numbers, of which most people may see the ends alone.

/// The `format` in the schema of arguments that are telephone numbers: the audit shows them masked.
pub const PHONE: &str = "phone";

/// A number as those may see it who only need to tell it from others: `138****8000`.
#[must_use]
pub fn masked_number(number: &str) -> String {
    const END: usize = 4;
    const HIDDEN: usize = 4;
    let characters: Vec<char> = number.chars().take(40).collect();
    let Some(kept) = characters.len().checked_sub(END + HIDDEN) else {
        // Of a short one the ends would be most of it.
        let end: String = characters.iter().rev().take(characters.len() / 3).rev().collect();
        return format!("****{end}");
    };
    let text = |characters: &[char]| characters.iter().collect::<String>();
    format!("{}****{}", text(&characters[..kept]), text(&characters[characters.len() - END..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SM-7
    #[test]
    fn shows_the_ends_of_a_number() {
        for (number, shown) in [
            ("13800138000", "138****8000"),
            ("+8613800138000", "+86138****8000"),
            ("12345678", "****5678"),
            ("12345", "****5"),
            ("", "****"),
        ] {
            assert_eq!(masked_number(number), shown);
        }
    }
}

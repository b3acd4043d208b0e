//! CSV as RFC 4180 has it, safe to open in a spreadsheet.

/// One line. A field that a spreadsheet would take for a formula gets an apostrophe in front.
pub(super) fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    format!("{}\r\n", fields.join(","))
}

/// A field as it was before a line was made of it.
pub(super) fn bare(field: &str) -> &str {
    field.strip_prefix('\'').filter(|rest| is_guarded(rest)).unwrap_or(field)
}

/// Formulas, and formulas that have apostrophes already: so that nothing is lost when one is taken away again.
fn is_guarded(field: &str) -> bool {
    let inner = field.trim_start_matches('\'');
    inner.starts_with(['=', '+', '-', '@', '\t', '\r']) && inner.parse::<f64>().is_err()
}

fn quoted(field: &str) -> String {
    let field = if is_guarded(field) { format!("'{field}") } else { field.to_owned() };
    if field.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_every_text() {
        for text in [
            "=1+1", "'=1+1", "''=1", "'", "''", "'x", "+49 30", "-5", "'-5", "@x", "\tx", "-", "", "it's",
            "'-",
        ] {
            let written = if is_guarded(text) { format!("'{text}") } else { text.to_owned() };
            assert_eq!(bare(&written), text);
            assert!(!written.starts_with(['=', '@', '\t']), "{written}");
        }
    }

    #[test]
    fn quotes_what_needs_it_and_disarms_formulas() {
        let fields = ["plain", "a,b", "say \"hi\"", "two\nlines", "=1+1", "-5", "", "@x"];
        assert_eq!(
            line(fields.iter().map(|field| (*field).to_owned())),
            "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",'=1+1,-5,,'@x\r\n"
        );
    }
}

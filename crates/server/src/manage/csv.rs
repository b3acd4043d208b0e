//! CSV as RFC 4180 has it, safe to open in a spreadsheet.

/// One line. A field that a spreadsheet would take for a formula gets an apostrophe in front.
pub(super) fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    format!("{}\r\n", fields.join(","))
}

fn quoted(field: &str) -> String {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    let field = if is_formula { format!("'{field}") } else { field.to_owned() };
    if field.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_needs_it_and_disarms_formulas() {
        let fields = ["plain", "a,b", "say \"hi\"", "two\nlines", "=1+1", "-5", "", "@x"];
        assert_eq!(
            line(fields.iter().map(|field| (*field).to_owned())),
            "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",'=1+1,-5,,'@x\r\n"
        );
    }
}

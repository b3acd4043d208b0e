//! Who may decide on an approval, as its author writes it.

use super::Anything;
use flow::{Code, Validation, validate};

fn check(text: &str) -> Validation {
    validate(text, &Anything)
}

/// FL-14: an approval that nobody could ever decide, or anybody else than its author thinks, is told.
#[test]
fn an_approval_names_those_who_may_decide() {
    let text = |by: &str| {
        format!("inputs: {{who: string}}\nnodes: {{a: {{approval: {{title: '${{who}}', by: {by}}}}}}}")
    };
    for right in [
        "managers",
        "ben",
        "'${who}'",
        "'a-${who}'",
        "[managers, ben]",
        "[ben, '${who}']",
        "{except: ben}",
        "{except: '${who}'}",
        "0198c0de-0000-7000-8000-000000000000",
    ] {
        assert_eq!(check(&text(right)).problems, [], "{right}");
    }
    for (wrong, code) in [
        ("5", Code::TypeMismatch),
        ("true", Code::TypeMismatch),
        ("null", Code::TypeMismatch),
        ("[]", Code::TypeMismatch),
        ("''", Code::TypeMismatch),
        ("' '", Code::TypeMismatch),
        ("{}", Code::TypeMismatch),
        ("{role: caller}", Code::TypeMismatch),
        ("{except: ben, role: caller}", Code::TypeMismatch),
        ("{except: '${who}', role: caller}", Code::TypeMismatch),
        ("{except: 5}", Code::TypeMismatch),
        ("[ben, 5]", Code::TypeMismatch),
        ("[ben, null]", Code::TypeMismatch),
        ("[['${who}']]", Code::TypeMismatch),
        ("['${who}', {except: ben}]", Code::TypeMismatch),
        ("admins", Code::Unknown),
        ("everyone", Code::Unknown),
        ("Callers", Code::Unknown),
        ("[ben, viewers]", Code::Unknown),
        ("owner", Code::Unknown),
    ] {
        let checked = check(&text(wrong));
        let seen: Vec<_> = checked.problems.iter().map(|problem| (problem.code, &*problem.path)).collect();
        assert_eq!(seen, [(code, "nodes.a.approval.by")], "{wrong}");
        let message = &checked.problems[0].message;
        assert!(message.contains("managers") && !checked.is_valid(), "{wrong}: {message}");
    }
}

//! What a tool URI means, and every way it can be wrong.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn error(text: &str) -> ParseError {
    text.parse::<Uri>().expect_err(text)
}

/// UR-1
#[test]
fn parses_type_service_tool_and_options() {
    let uri: Uri =
        "api://crm-service/customer_list?timeout=5000&max-attempts=3&method=post&x=%2Fa%20b".parse().unwrap();
    assert_eq!((uri.scheme(), uri.service(), uri.tool()), ("api", "crm-service", Some("customer_list")));
    assert_eq!(uri.options().timeout, Some(Duration::from_secs(5)));
    assert_eq!(uri.options().max_attempts, Some(3));
    assert_eq!(uri.options().method, Some(Method::Post));
    assert_eq!(uri.options().get("x"), Some("/a b"));
    assert_eq!(
        uri.to_string(),
        "api://crm-service/customer_list?timeout=5000&max-attempts=3&method=POST&x=/a%20b"
    );
}

#[test]
fn flows_and_agents_need_no_tool() {
    let uri: Uri = "flow://nightly?async=true&version=4".parse().unwrap();
    assert_eq!((uri.service(), uri.tool()), ("nightly", None));
    assert_eq!((uri.options().is_async, uri.options().version), (Some(true), Some(4)));
    let agent: Uri = "agent://helper".parse().unwrap();
    assert_eq!("agent://helper/ask".parse::<Uri>().unwrap(), agent);
}

#[test]
fn names_may_be_in_any_script() {
    let uri: Uri = "mcp://时间/现在".parse().unwrap();
    assert_eq!((uri.service(), uri.tool()), ("时间", Some("现在")));
    assert_eq!(uri.to_string().parse::<Uri>().unwrap(), uri);
}

/// UR-2
#[test]
fn says_what_is_wrong_with_a_uri() {
    use ParseError as E;
    let cases = [
        ("", E::Empty),
        ("invalid-uri", E::MissingScheme("invalid-uri".into())),
        ("api:/a/b", E::MissingScheme("api:/a/b".into())),
        ("://a/b", E::BadScheme("".into())),
        ("API://a/b", E::BadScheme("API".into())),
        ("1a://a/b", E::BadScheme("1a".into())),
        ("api:///tool", E::EmptyService("api://".into())),
        ("api://", E::EmptyService("api://".into())),
        ("api://?x=1", E::EmptyService("api://".into())),
        ("api://crm", E::MissingTool("api://crm".into())),
        ("api://crm?x=1", E::MissingTool("api://crm".into())),
        ("api://crm/", E::EmptyTool),
        ("flow://a/", E::EmptyTool),
        ("api://crm/a/b", E::ExtraSegment("crm/a/b".into())),
        ("api://crm/a%2", E::BadEscape("%2".into())),
        ("api://crm/a%zz", E::BadEscape("%zz".into())),
        ("api://crm/a%é", E::BadEscape("%é".into())),
        ("api://crm/%ff", E::NotUtf8("%ff".into())),
        ("api://crm/a%00", E::EscapedControlCharacter("a%00".into())),
        ("api://crm/a\n", E::ControlCharacter { found: '\n', at: 11 }),
        ("api://crm/a b", E::IllegalCharacter { found: ' ', at: 11 }),
        ("api://crm/a#b", E::IllegalCharacter { found: '#', at: 11 }),
        ("api://crm/a?", E::EmptyOption),
        ("api://crm/a?x=1&", E::EmptyOption),
        ("api://crm/a?=1", E::EmptyOption),
        ("api://crm/a?x", E::OptionWithoutValue("x".into())),
        ("api://crm/a?x=1&x=2", E::DuplicateOption("x".into())),
        ("api://crm/a?timeout=1&timeout=1", E::DuplicateOption("timeout".into())),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text}");
    }
    assert_eq!(error(&format!("api://crm/{}", "a".repeat(MAX_LENGTH))), E::TooLong(MAX_LENGTH + 10));
}

#[test]
fn refuses_values_a_known_option_cannot_have() {
    for pair in [
        "timeout=0",
        "timeout=-1",
        "timeout=+5",
        "timeout=05",
        "timeout=1.5",
        "timeout=",
        "timeout=3600001",
        "timeout=99999999999999999999",
        "max-attempts=0",
        "max-attempts=21",
        "method=TRACE",
        "async=yes",
        "version=0",
        "version=4294967296",
    ] {
        let message = error(&format!("api://crm/a?{pair}")).to_string();
        assert!(message.contains("; it takes "), "{pair}: {message}");
    }
}

#[test]
fn tells_everything_that_is_wrong_with_the_options() {
    let found = error("api://crm/a?timeout=abc&max-attempts=0&x&method=GET");
    let reasons: Vec<_> = found.reasons().iter().map(ToString::to_string).collect();
    assert_eq!(
        reasons,
        [
            "option 'timeout' is 'abc'; it takes milliseconds from 1 to 3600000",
            "option 'max-attempts' is '0'; it takes a number from 1 to 20",
            "option 'x' has no value; write x=value"
        ]
    );
    assert_eq!(found.to_string(), reasons.join("; "));
}

#[test]
fn knows_which_options_a_type_has() {
    let uri: Uri = "table://t/preview?timeout=5&path=/a&pth=/b&y=".parse().unwrap();
    let found = uri.options().check_known(&["path"]).unwrap_err();
    let message = "there is no option 'pth'; there are timeout, max-attempts, method, async, version, path";
    assert_eq!((found.reasons().len(), found.reasons()[0].to_string()), (2, message.to_owned()));
    let uri: Uri = "table://t/preview?timeout=5&path=/a".parse().unwrap();
    assert_eq!(uri.options().check_known(&["path"]), Ok(()));
}

fn arbitrary_uri() -> impl Strategy<Value = Uri> {
    let text = "[^\\p{Cc}]{1,12}";
    let value = "[^\\p{Cc}]{0,12}";
    let options = (
        proptest::option::of(1u64..=3_600_000),
        proptest::option::of(1u32..=20),
        proptest::option::of(proptest::sample::select(&Method::ALL[..])),
        proptest::option::of(any::<bool>()),
        proptest::option::of(1u32..),
        proptest::collection::btree_map("x[^\\p{Cc}]{0,8}", value, 0..4),
    )
        .prop_map(|(timeout, max_attempts, method, is_async, version, other)| Options {
            timeout: timeout.map(Duration::from_millis),
            max_attempts,
            method,
            is_async,
            version,
            other: other.into_iter().collect(),
        });
    ("[a-z][a-z0-9+.-]{0,8}", text, text, options).prop_map(|(scheme, service, tool, options)| Uri {
        scheme,
        service,
        tool: Some(tool),
        options,
    })
}

proptest! {
    /// UR-1
    #[test]
    fn printing_and_parsing_give_the_same_uri_again(uri in arbitrary_uri()) {
        let text = uri.to_string();
        prop_assume!(text.len() <= MAX_LENGTH);
        prop_assert_eq!(text.parse::<Uri>(), Ok(uri), "{}", text);
    }

    /// UR-2
    #[test]
    fn no_text_makes_the_parser_panic_and_what_it_takes_prints_back(text in "\\PC*|(api|flow)://[a-z%/?&=0-9]*") {
        if let Ok(uri) = text.parse::<Uri>() {
            prop_assert_eq!(uri.to_string().parse::<Uri>(), Ok(uri));
        }
    }
}

/// Found by `make fuzz`.
#[test]
fn what_would_be_too_long_with_its_escapes_is_refused() {
    for (sign, printed) in [("=", 3), ("&", 3), ("%C3%BC", 6), ("a", 1)] {
        let text = |count: usize| format!("api://s/{}", sign.repeat(count));
        let most = (MAX_LENGTH - "api://s/".len()) / printed.max(sign.len());
        let uri: Uri = text(most).parse().unwrap();
        assert_eq!(uri.to_string().parse::<Uri>().unwrap(), uri);
        assert!(matches!(text(most + 1).parse::<Uri>(), Err(ParseError::TooLong(_))), "{sign}");
    }
}

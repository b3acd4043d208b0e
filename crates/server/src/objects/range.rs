//! The header `Range`, as far as one part of an object is wanted.

use http::HeaderMap;
use http::header::{IF_RANGE, RANGE};
use tool::objects::Part;

/// The part that is wanted. Whatever else a client asks for, it may be given everything.
pub(super) fn wanted(headers: &HeaderMap) -> Option<Part> {
    if headers.contains_key(IF_RANGE) {
        return None;
    }
    let text = headers.get(RANGE)?.to_str().ok()?.strip_prefix("bytes=")?;
    let (first, last) = text.split_once('-')?;
    let number = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten()
    };
    match (first, last) {
        ("", last) => number(last).map(Part::Last),
        (first, "") => number(first).map(|first| Part::From(first, None)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            Some(Part::From(first, Some(last.checked_sub(first)?.saturating_add(1))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn reads_one_range_and_leaves_the_rest_alone() {
        for (text, part) in [
            ("bytes=0-4", Some(Part::From(0, Some(5)))),
            ("bytes=5-", Some(Part::From(5, None))),
            ("bytes=-3", Some(Part::Last(3))),
            ("bytes=5-4", None),
            ("bytes=0-1,3-4", None),
            ("bytes=-", None),
            ("bytes=+1-2", None),
            ("lines=0-4", None),
            ("bytes=0-99999999999999999999999", None),
            ("bytes=0-18446744073709551615", Some(Part::From(0, Some(u64::MAX)))),
        ] {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(text))]);
            assert_eq!(wanted(&headers), part, "{text}");
        }
    }
}

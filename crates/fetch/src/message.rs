//! A request as it is sent.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};

/// A request whose parts are all checked: none of them can hold the end of a line.
pub(crate) struct Message {
    pub(crate) method: Method,
    pub(crate) target: PathAndQuery,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Message {
    /// Writes the head, up to the empty line.
    ///
    /// How long the body is stands here and nowhere else: what the headers say about it is left
    /// out, so that no server can be led to see two requests in one.
    pub(crate) fn write_head(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(self.method.as_str().as_bytes());
        output.extend_from_slice(b" ");
        output.extend_from_slice(self.target.as_str().as_bytes());
        output.extend_from_slice(b" HTTP/1.1\r\n");
        let mut has_length = !self.body.is_empty() || usually_has_a_body(&self.method);
        for (name, value) in &self.headers {
            if name == CONTENT_LENGTH {
                has_length = true;
            } else if name != TRANSFER_ENCODING {
                write_header(output, name.as_str(), value.as_bytes());
            }
        }
        if has_length {
            let length = self.body.len();
            write_header(output, CONTENT_LENGTH.as_str(), itoa::Buffer::new().format(length).as_bytes());
        }
        output.extend_from_slice(b"\r\n");
    }
}

fn write_header(output: &mut Vec<u8>, name: &str, value: &[u8]) {
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b": ");
    output.extend_from_slice(value);
    output.extend_from_slice(b"\r\n");
}

/// Servers want to be told of an empty body, too.
fn usually_has_a_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn head_of(method: Method, headers: &[(&'static str, &'static [u8])], body: &'static str) -> String {
        let mut message = Message {
            method,
            target: PathAndQuery::from_static("/a?b"),
            headers: HeaderMap::new(),
            body: body.into(),
        };
        for (name, value) in headers {
            message.headers.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        let mut output = Vec::new();
        message.write_head(&mut output);
        String::from_utf8_lossy(&output).into_owned()
    }

    #[test]
    fn writes_the_line_and_the_headers_and_nothing_else() {
        assert_eq!(
            head_of(Method::GET, &[("host", b"a.test"), ("x", b"1"), ("x", b"2")], ""),
            "GET /a?b HTTP/1.1\r\nhost: a.test\r\nx: 1\r\nx: 2\r\n\r\n"
        );
        assert_eq!(head_of(Method::GET, &[("x", b"\xff")], ""), "GET /a?b HTTP/1.1\r\nx: \u{fffd}\r\n\r\n");
    }

    #[test]
    fn says_how_long_a_body_is_and_that_an_expected_one_is_missing() {
        assert_eq!(head_of(Method::DELETE, &[], "four"), "DELETE /a?b HTTP/1.1\r\ncontent-length: 4\r\n\r\n");
        for method in [Method::POST, Method::PUT, Method::PATCH] {
            let head = head_of(method.clone(), &[], "");
            assert_eq!(head, format!("{method} /a?b HTTP/1.1\r\ncontent-length: 0\r\n\r\n"));
        }
    }

    #[test]
    fn does_not_believe_what_the_headers_say_about_the_body() {
        let lies: &[(&str, &[u8])] =
            &[("content-length", b"1"), ("transfer-encoding", b"chunked"), ("content-length", b"99")];
        assert_eq!(head_of(Method::POST, lies, "four"), "POST /a?b HTTP/1.1\r\ncontent-length: 4\r\n\r\n");
        assert_eq!(head_of(Method::GET, lies, ""), "GET /a?b HTTP/1.1\r\ncontent-length: 0\r\n\r\n");
    }
}

//! The strict parser of tool URIs: every way to be wrong has its own answer.

use super::{MAX_LENGTH, OF_AGENTS, Options, Uri, WITHOUT_TOOL};
use percent_encoding::percent_decode_str;

/// Why a text is no tool URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Nothing was given.
    #[error("the URI is empty; write type://service/tool")]
    Empty,
    /// More than `MAX_LENGTH` bytes, as it came or as we would print it.
    #[error("the URI has {0} bytes, at most {MAX_LENGTH} are allowed")]
    TooLong(usize),
    /// A control character, at this byte.
    #[error("control character {found:?} at byte {at}")]
    ControlCharacter {
        /// What was found.
        found: char,
        /// Where, in bytes from 0.
        at: usize,
    },
    /// A character that must be escaped, at this byte.
    #[error("{found:?} at byte {at} must be written as a percent escape")]
    IllegalCharacter {
        /// What was found.
        found: char,
        /// Where, in bytes from 0.
        at: usize,
    },
    /// No `://`.
    #[error("'{0}' has no type; write type://service/tool")]
    MissingScheme(String),
    /// The type is not lower-case letters, digits, `+`, `-` and `.`.
    #[error("'{0}' is no type: it starts with a lower-case letter, then letters, digits, '+', '-' or '.'")]
    BadScheme(String),
    /// Nothing between `://` and the next slash.
    #[error("the service is empty in '{0}'; write {0}service/tool")]
    EmptyService(String),
    /// The type needs a tool and there is none.
    #[error("'{0}' names no tool; write {0}/tool")]
    MissingTool(String),
    /// A slash with nothing behind it.
    #[error("the tool behind the last slash is empty")]
    EmptyTool,
    /// A second slash in the path.
    #[error("'{0}' has a slash too many; a slash inside a tool's name is written %2F")]
    ExtraSegment(String),
    /// A `%` without two hexadecimal digits.
    #[error("'{0}' is no percent escape; write % and two hexadecimal digits, or %25 for the sign itself")]
    BadEscape(String),
    /// Escapes that do not make UTF-8.
    #[error("the escapes in '{0}' are not UTF-8")]
    NotUtf8(String),
    /// An escape for a control character.
    #[error("'{0}' holds an escaped control character")]
    EscapedControlCharacter(String),
    /// `?=value`, `?&`, or a lone `?`.
    #[error("an option has no name; write ?name=value")]
    EmptyOption,
    /// `?name` without `=`.
    #[error("option '{0}' has no value; write {0}=value")]
    OptionWithoutValue(String),
    /// The same option twice.
    #[error("option '{0}' is given twice")]
    DuplicateOption(String),
    /// A known option with a value it cannot have.
    #[error("option '{name}' is '{value}'; it takes {expected}")]
    BadOption {
        /// The option.
        name: String,
        /// What it was given.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// An option that the type does not have.
    #[error("there is no option '{name}'; there are {known}")]
    UnknownOption {
        /// The option.
        name: String,
        /// Those there are.
        known: String,
    },
    /// More than one option is wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Options(Vec<ParseError>),
}

impl ParseError {
    /// What is wrong with the options, if anything is.
    pub(super) fn of_options(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Options(errors)),
        }
    }

    /// Each thing that is wrong.
    #[must_use]
    pub fn reasons(&self) -> &[Self] {
        match self {
            Self::Options(errors) => errors,
            one => std::slice::from_ref(one),
        }
    }
}

impl From<ParseError> for crate::Error {
    fn from(error: ParseError) -> Self {
        Self::invalid_input(format!("invalid tool URI: {error}"))
    }
}

pub(super) fn parse(text: &str) -> Result<Uri, ParseError> {
    check_characters(text)?;
    let (scheme, rest) = text.split_once("://").ok_or_else(|| ParseError::MissingScheme(text.to_owned()))?;
    check_scheme(scheme)?;
    let (path, options) = match rest.split_once('?') {
        Some((path, options)) => (path, Some(options)),
        None => (rest, None),
    };
    let (service, tool) = match path.split_once('/') {
        Some((service, tool)) => (service, Some(tool)),
        None => (path, None),
    };
    if service.is_empty() {
        return Err(ParseError::EmptyService(format!("{scheme}://")));
    }
    let service = decode(service)?;
    let tool = match tool {
        Some("") => return Err(ParseError::EmptyTool),
        Some(tool) if tool.contains('/') => return Err(ParseError::ExtraSegment(path.to_owned())),
        Some(tool) if (scheme, tool) == OF_AGENTS => None,
        Some(tool) => Some(decode(tool)?),
        None if WITHOUT_TOOL.contains(&scheme) => None,
        None => return Err(ParseError::MissingTool(format!("{scheme}://{path}"))),
    };
    let options = options.map(parse_options).transpose()?.unwrap_or_default();
    let uri = Uri { scheme: scheme.to_owned(), service, tool, options };
    check_printed_length(text, &uri)?;
    Ok(uri)
}

/// What we print must be a URI again, and escapes make it longer.
fn check_printed_length(text: &str, uri: &Uri) -> Result<(), ParseError> {
    /// One byte becomes `%XX` at most.
    const GROWTH: usize = 3;
    if text.len() * GROWTH <= MAX_LENGTH {
        return Ok(());
    }
    match uri.to_string().len() {
        printed if printed > MAX_LENGTH => Err(ParseError::TooLong(printed)),
        _ => Ok(()),
    }
}

fn check_characters(text: &str) -> Result<(), ParseError> {
    if text.is_empty() {
        return Err(ParseError::Empty);
    }
    if text.len() > MAX_LENGTH {
        return Err(ParseError::TooLong(text.len()));
    }
    for (at, found) in text.char_indices() {
        if found.is_control() {
            return Err(ParseError::ControlCharacter { found, at });
        }
        if found.is_whitespace() || "\"#<>[]\\^`{|}".contains(found) {
            return Err(ParseError::IllegalCharacter { found, at });
        }
    }
    Ok(())
}

fn check_scheme(scheme: &str) -> Result<(), ParseError> {
    let starts_well = scheme.starts_with(|c: char| c.is_ascii_lowercase());
    let goes_on_well = scheme
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.'));
    if starts_well && goes_on_well { Ok(()) } else { Err(ParseError::BadScheme(scheme.to_owned())) }
}

fn parse_options(text: &str) -> Result<Options, ParseError> {
    let mut options = Options::default();
    let errors = text.split('&').filter_map(|pair| parse_option(pair, &mut options).err()).collect();
    ParseError::of_options(errors).map(|()| options)
}

fn parse_option(pair: &str, options: &mut Options) -> Result<(), ParseError> {
    let (name, value) = match pair.split_once('=') {
        None if !pair.is_empty() => return Err(ParseError::OptionWithoutValue(pair.to_owned())),
        None | Some(("", _)) => return Err(ParseError::EmptyOption),
        Some(pair) => pair,
    };
    options.add(decode(name)?, decode(value)?)
}

fn decode(part: &str) -> Result<String, ParseError> {
    check_escapes(part)?;
    let text = percent_decode_str(part)
        .decode_utf8()
        .map_err(|_| ParseError::NotUtf8(part.to_owned()))?
        .into_owned();
    if text.contains(char::is_control) {
        return Err(ParseError::EscapedControlCharacter(part.to_owned()));
    }
    Ok(text)
}

fn check_escapes(part: &str) -> Result<(), ParseError> {
    for (at, _) in part.match_indices('%') {
        let digits = part.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err(ParseError::BadEscape(part[at..].chars().take(3).collect()));
        }
    }
    Ok(())
}

//! What is wrong with the parameters of a tool, found when it is saved.

use super::{File, Parameter, Position, Reserved, Style, Type};
use crate::shared::headers::check_header_name;
use crate::shared::http_tools::form::is_media_type;
use crate::shared::http_tools::parameter_settings::{FileEncoding, FileSettings, ParameterSettings};
use crate::shared::http_tools::value_schema::ValueSchema;
use crate::shared::sign_in::Auth;
use fetch::http::header::{AUTHORIZATION, HeaderName};
use serde_json::Value;
use std::collections::HashSet;
use tool::Problem;

/// Checks the parameters of one tool.
pub(crate) fn check_parameters(
    parameters: &[ParameterSettings],
    path: &str,
    reserved: Reserved<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Parameter> {
    let mut names = HashSet::new();
    let mut headers = HashSet::new();
    let mut checked = Vec::new();
    for (index, settings) in parameters.iter().enumerate() {
        let path = format!("{path}.parameters[{index}]");
        let parameter = check_parameter(settings, &path, reserved, problems);
        let header = parameter.as_ref().and_then(|parameter| parameter.header.clone());
        let is_new_header = header.is_none_or(|header| headers.insert(header));
        if !names.insert(settings.name.as_str()) || !is_new_header {
            let message = format!("there are two parameters with the name '{}'", settings.name);
            problems.push(Problem::new(format!("{path}.name"), "DuplicateParameter", message));
        }
        checked.extend(parameter);
    }
    checked
}

fn check_parameter(
    settings: &ParameterSettings,
    path: &str,
    reserved: Reserved<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Parameter> {
    let name = &settings.name;
    let wire_name = settings.sent_as.as_ref().unwrap_or(name);
    let mut refuse =
        |field: &str, code, message| problems.push(Problem::new(format!("{path}.{field}"), code, message));
    if name.is_empty() || name.contains(char::is_control) {
        refuse("name", "InvalidName", "a parameter needs a name without control characters".to_owned());
    }
    let position = Position::parse(&settings.position);
    if position.is_none() {
        let (found, allowed) = (&settings.position, Position::list());
        let message = format!("parameter '{name}' has the position '{found}'; allowed are {allowed}");
        refuse("position", "InvalidPosition", message);
    }
    let value_type = Type::parse(&settings.parameter_type);
    if value_type.is_none() {
        let (found, allowed) = (&settings.parameter_type, Type::list());
        let message = format!("parameter '{name}' has the type '{found}'; allowed are {allowed}");
        refuse("parameter_type", "InvalidType", message);
    }
    if position == Some(Position::Path) {
        check_path_parameter(settings, value_type, &mut refuse);
    }
    let header = (position == Some(Position::Header)).then_some(wire_name);
    let header = header.and_then(|name| check_header_name(name, &format!("{path}.name"), problems));
    let schema = ValueSchema::check(settings, path, problems);
    if schema.is_some() || settings.schema.is_none() {
        check_values(settings, value_type?, schema.as_ref(), path, problems);
    }
    check_not_reserved(settings, header.as_ref(), reserved, path, problems);
    let style = check_style(settings, position?, path, problems);
    let file = check_file(settings, position?, value_type?, path, problems);
    Some(Parameter {
        name: name.clone(),
        wire_name: wire_name.clone(),
        value_type: value_type?,
        position: position?,
        header,
        is_required: settings.required,
        default: settings.default_value.clone(),
        allowed: settings.enum_values.clone().filter(|values| !values.is_empty()),
        schema,
        description: settings.description.clone(),
        style,
        file,
    })
}

fn check_path_parameter(
    settings: &ParameterSettings,
    value_type: Option<Type>,
    refuse: &mut impl FnMut(&str, &'static str, String),
) {
    let name = &settings.name;
    if !settings.required && settings.default_value.is_none() {
        let message = format!("the path parameter '{name}' must be required or have a default_value");
        refuse("required", "PathParameterInvalid", message);
    }
    if matches!(value_type, Some(Type::Object | Type::Array)) {
        let message = format!("the path parameter '{name}' must be a text, a number or a boolean");
        refuse("parameter_type", "PathParameterInvalid", message);
    }
}

/// Default and enumerated values must be what the parameter says it takes.
fn check_values(
    settings: &ParameterSettings,
    value_type: Type,
    schema: Option<&ValueSchema>,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let name = &settings.name;
    let allowed = settings.enum_values.as_deref().unwrap_or_default();
    let fits = |value: &Value| schema.map_or_else(|| value_type.fits(value), |schema| schema.accepts(value));
    for (index, value) in allowed.iter().enumerate().filter(|(_, value)| !fits(value)) {
        let message = format!("parameter '{name}' is of type {} but allows {value}", value_type.as_str());
        problems.push(Problem::new(format!("{path}.enum_values[{index}]"), "WrongType", message));
    }
    let Some(default) = &settings.default_value else { return };
    if !fits(default) {
        let message =
            format!("parameter '{name}' is of type {} but defaults to {default}", value_type.as_str());
        problems.push(Problem::new(format!("{path}.default_value"), "WrongType", message));
    } else if !allowed.is_empty() && !allowed.contains(default) {
        let message = format!("parameter '{name}' defaults to {default}, which enum_values does not list");
        problems.push(Problem::new(format!("{path}.default_value"), "NotAllowed", message));
    }
}

/// A caller must not be able to replace what the service signs in with.
fn check_not_reserved(
    settings: &ParameterSettings,
    header: Option<&HeaderName>,
    reserved: Reserved<'_>,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let is_sign_in = match reserved.auth {
        Auth::None => false,
        Auth::Header(name, _, _) => header == Some(name),
        Auth::Query(name, _) => {
            header.is_none() && name == settings.sent_as.as_ref().unwrap_or(&settings.name)
        }
        Auth::Tokens(_) => header == Some(&AUTHORIZATION),
    };
    if header.is_some_and(|header| reserved.passed.contains(header)) {
        let message = format!("'{}' is handed on (pass_headers) and cannot be a parameter", settings.name);
        problems.push(Problem::new(format!("{path}.name"), "ReservedParameter", message));
    }
    if is_sign_in {
        let message = format!("'{}' carries the service's sign-in and cannot be a parameter", settings.name);
        problems.push(Problem::new(format!("{path}.name"), "ReservedParameter", message));
    }
}

fn check_style(
    settings: &ParameterSettings,
    position: Position,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<Style> {
    let given = settings.style.as_deref()?;
    let name = &settings.name;
    let path = format!("{path}.style");
    let style = Style::parse(given);
    if style.is_none() {
        let message = format!("parameter '{name}' has the style '{given}'; allowed are {}", Style::list());
        problems.push(Problem::new(path, "InvalidStyle", message));
    } else if matches!(position, Position::Path | Position::Header | Position::WholeBody) {
        let message =
            format!("the position of parameter '{name}' is '{}', which has no style", position.as_str());
        problems.push(Problem::new(path, "Unused", message));
    }
    style
}

fn check_file(
    settings: &ParameterSettings,
    position: Position,
    value_type: Type,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<File> {
    let FileSettings { encoding, filename, content_type } = settings.file.as_ref()?;
    let name = &settings.name;
    let mut refuse = |field: &str, code, message| {
        problems.push(Problem::new(format!("{path}.{field}"), code, message));
    };
    if !matches!(position, Position::Form | Position::WholeBody) {
        let message = format!("parameter '{name}' is a file, so its position must be 'form' or 'whole_body'");
        refuse("position", "ParameterPositionMismatch", message);
    }
    if !matches!(value_type, Type::String | Type::Object) {
        let message = format!("parameter '{name}' is a file, so its type must be String or Object");
        refuse("parameter_type", "WrongType", message);
    }
    if !is_media_type(content_type) {
        let message = format!("'{content_type}' is no content type; write e.g. application/pdf");
        refuse("file.content_type", "InvalidContentType", message);
    }
    Some(File {
        is_base64: *encoding == FileEncoding::Base64,
        filename: filename.clone().unwrap_or_else(|| name.clone()),
        content_type: content_type.clone(),
    })
}

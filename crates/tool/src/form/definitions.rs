//! What each kind of definition has, and in which form: the specification's types, in all versions.

use super::{Field, Form, Need};

const fn optional(name: &'static str, form: Form) -> Field {
    Field { name, form, need: Need::Optional }
}

const fn required(name: &'static str, form: Form) -> Field {
    Field { name, form, need: Need::Required }
}

const fn or_else(name: &'static str, form: Form, value: &'static str) -> Field {
    Field { name, form, need: Need::Else(value) }
}

/// A tool, but for its name and its description: without those of the right type it is none.
pub(crate) const TOOL: &[Field] = &[
    optional("title", Form::Text),
    required("inputSchema", Form::Record(ARGUMENTS)),
    optional("outputSchema", Form::Record(ANSWER)),
    or_else("annotations", Form::Record(HINTS), r#"{"readOnlyHint":false,"destructiveHint":true}"#),
    optional("execution", Form::Record(EXECUTION)),
    ICONS,
    META,
];

pub(crate) const PROMPT: &[Field] = &[
    required("name", Form::Text),
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("arguments", Form::List(&Form::Record(PROMPT_ARGUMENT))),
    ICONS,
    META,
];

pub(crate) const RESOURCE: &[Field] = &[
    required("uri", Form::Text),
    Field { name: "name", form: Form::Text, need: Need::SameAs("uri") },
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("mimeType", Form::Text),
    optional("annotations", Form::Record(ANNOTATIONS)),
    optional("size", Form::Whole),
    ICONS,
    META,
];

pub(crate) const TEMPLATE: &[Field] = &[
    required("uriTemplate", Form::Text),
    Field { name: "name", form: Form::Text, need: Need::SameAs("uriTemplate") },
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("mimeType", Form::Text),
    optional("annotations", Form::Record(ANNOTATIONS)),
    ICONS,
    META,
];

const META: Field = optional("_meta", Form::Object);
const ICONS: Field = optional("icons", Form::List(&Form::Record(ICON)));

const ICON: &[Field] = &[
    required("src", Form::Text),
    optional("mimeType", Form::Text),
    optional("sizes", Form::List(&Form::Text)),
    optional("theme", Form::Word(&["light", "dark"])),
];

const ARGUMENTS: &[Field] = &[
    Field { name: "type", form: Form::ObjectType, need: Need::Is("\"object\"") },
    optional("$schema", Form::Text),
    optional("properties", Form::Properties),
    optional("required", Form::List(&Form::Text)),
];

const ANSWER: &[Field] = &[
    optional("type", Form::Type),
    optional("$schema", Form::Text),
    optional("properties", Form::Properties),
    optional("required", Form::List(&Form::Text)),
];

/// A hint that cannot be read is the more dangerous answer, and not the one that counts where nothing is said.
const HINTS: &[Field] = &[
    optional("title", Form::Text),
    or_else("readOnlyHint", Form::Flag, "false"),
    or_else("destructiveHint", Form::Flag, "true"),
    or_else("idempotentHint", Form::Flag, "false"),
    or_else("openWorldHint", Form::Flag, "true"),
];

const EXECUTION: &[Field] = &[optional("taskSupport", Form::Word(&["required", "optional", "forbidden"]))];

const PROMPT_ARGUMENT: &[Field] = &[
    required("name", Form::Text),
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("required", Form::Flag),
];

const ANNOTATIONS: &[Field] = &[
    optional("audience", Form::List(&Form::Word(&["user", "assistant"]))),
    optional("priority", Form::Share),
    optional("lastModified", Form::Moment),
];

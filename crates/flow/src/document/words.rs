//! The words of documents with what they mean: readers accept what these tables list, and the reference is made of them.

pub use super::duration::UNITS;
pub use super::types::WORDS as TYPES;

/// A field, and what it says.
pub type Word = (&'static str, &'static str);

/// A kind of node.
#[derive(Debug)]
pub struct Kind {
    /// The field that makes a node this kind; the first of the table that a node has counts.
    pub field: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What its node is worth in expressions.
    pub value: &'static str,
    /// The fields that only this kind has.
    pub own: &'static [Word],
}

/// A field whose value has fields of its own.
#[derive(Debug)]
pub struct Part {
    /// Where it stands.
    pub name: &'static str,
    /// What it may be instead of an object.
    pub short: &'static str,
    /// Its fields.
    pub fields: &'static [Word],
}

/// A type of trigger.
#[derive(Debug)]
pub struct TriggerKind {
    /// The word in `type`.
    pub name: &'static str,
    /// What starts a run.
    pub about: &'static str,
    /// What `trigger` holds for `inputs` and `dedupe`, and what makes two events one.
    pub event: &'static str,
    /// The fields that only this type has.
    pub own: &'static [Word],
}

/// The fields of a document.
pub const FIELDS: &[Word] = &[
    ("id", "the flow's name in URIs, if the door gives none"),
    ("name", "its name for people"),
    ("description", "what it does, for people and models"),
    ("inputs", "what it takes: names and types"),
    ("returns", "what it gives; a result is cut to this, then checked"),
    ("types", "types of its own, used by name"),
    ("vars", "values that nodes change with `sets`: names and first values"),
    ("nodes", "what is done: ids and nodes; an id is letters, digits and `_`"),
    ("output", "the result; without it, what the last node that ran is worth, or all of them by id"),
    ("timeout", "how long a run may take"),
    ("concurrency", "how many runs at once"),
    ("fail", "the node that takes failures which nothing else takes; `run.error` says what failed"),
    ("timezone", "the clock of its schedules, e.g. `Europe/Berlin`"),
    ("triggers", "what starts it by itself: a list, live from publishing"),
];

/// What every node may have, in the order in which it counts.
pub const COMMON: &[Word] = &[
    ("name", "for people"),
    ("description", "for people"),
    ("only", "an expression: if it is false or null the node does nothing, is worth null, and goes on"),
    ("sets", "vars that get new values afterwards, in order"),
    ("with", "what the node is worth instead of what it found"),
    ("next", "the nodes behind it: an id, `a, b`, or a list"),
    ("fail", "the nodes that take its failure; they read `<id>.error`"),
    ("retry", "how often a call is tried: a number, or its parts"),
    ("timeout", "for all attempts together"),
    ("join", "`all` (all edges to it are settled and one is taken), `any`, or how many must be taken"),
    (
        "delivery",
        "`at_least_once`, or `at_most_once`: not called again after a crash, but failed INTERRUPTED",
    ),
];

const ARGS: Word = (
    "args",
    "a map, or text like `a = e, b`; what is left out is bound by name where it fits, what is optional where it surely does",
);
const BIND: Word = ("bind", "`false`: nothing is bound by name");
const THEN: Word = ("then", "the nodes behind it if so");
const ELSE: Word = ("else", "the nodes behind it if not");
const NODES: Word = ("nodes", "what is done inside");

/// The kinds of nodes.
pub const KINDS: &[Kind] = &[
    Kind {
        field: "exec",
        name: "tool",
        about: "calls a tool; the URI is written out, so that it can be checked",
        value: "the answer's data",
        own: &[("exec", "a URI like `api://shop/order?timeout=5000`"), ARGS, BIND],
    },
    Kind {
        field: "flow",
        name: "sub-flow",
        about: "runs another flow, in the version that is current when it starts",
        value: "its result",
        own: &[("flow", "`id` or `id?version=2`"), ARGS, BIND],
    },
    Kind {
        field: "agent",
        name: "agent",
        about: "asks an agent",
        value: "its answer",
        own: &[("agent", "the `id` of an agent, a URI like `agent://b`, or one in place"), ARGS, BIND],
    },
    Kind {
        field: "handoff",
        name: "handoff",
        about: "hands over to an agent",
        value: "its answer",
        own: &[
            ("handoff", "a URI like `agent://b`"),
            ARGS,
            BIND,
            ("context", "names whose values go along"),
            ("reason", "why, in words: what the agent is asked, unless `args` have a `prompt`"),
        ],
    },
    Kind {
        field: "case",
        name: "switch",
        about: "takes the first case that holds",
        value: "the number of the case, from 0",
        own: &[("case", "a list of `{when, then}`"), ("else", "the nodes behind it if none holds")],
    },
    Kind {
        field: "wait",
        name: "wait",
        about: "parks the run",
        value: "null, or the data of the signal",
        own: &[("wait", "a length of time, or what is waited for")],
    },
    Kind {
        field: "each",
        name: "each",
        about: "runs its nodes for every item of a list (null is empty, an object gives `{key, val}`)",
        value: "`with`, else the results of its items, in the order of the list",
        own: &[
            ("each", "`list => item` or `list => item, i`"),
            NODES,
            ("limit", "items at work at once; 1 unless given"),
            ("on_error", "`stop`, or `collect`: failures are among the results"),
        ],
    },
    Kind {
        field: "approval",
        name: "approval",
        about: "parks the run until somebody decides; a rejection takes `else`, or fails REJECTED",
        value: "`{decision, by, at, comment, data}`",
        own: &[
            ("approval", "the title, or its parts"),
            THEN,
            ELSE,
            ("notify", "`{exec, args}`: a call that tells of it"),
        ],
    },
    Kind {
        field: "guard",
        name: "guard",
        about: "looks at a value, and blocks, redacts or warns",
        value: "`{passed, findings, value}`",
        own: &[("guard", "what is looked for, and in what")],
    },
    Kind {
        field: "return",
        name: "return",
        about: "ends the run",
        value: "nothing comes behind it",
        own: &[("return", "the result")],
    },
    Kind {
        field: "throw",
        name: "throw",
        about: "fails",
        value: "nothing comes behind it but `fail`",
        own: &[("throw", "a message, or `{code, message}`")],
    },
    Kind {
        field: "nodes",
        name: "loop, block",
        about: "with `when`, `vars` or `max` a loop that tests before each pass, else branches as one node",
        value: "of a loop `with`, else what its last pass gave; of a block `{id: value}` of its last nodes",
        own: &[
            NODES,
            ("vars", "of the loop: names and first values"),
            ("when", "goes on as long as this holds"),
            ("max", "passes; 1000 unless given"),
        ],
    },
    Kind {
        field: "when",
        name: "condition",
        about: "takes `then` or `else`; null is false",
        value: "true or false",
        own: &[("when", "an expression"), THEN, ELSE],
    },
    Kind {
        field: "with",
        name: "mapping",
        about: "computes a value without a call",
        value: "`with`",
        own: &[],
    },
    Kind { field: "sets", name: "mapping", about: "sets vars without a call", value: "null", own: &[] },
];

/// Fields that have fields of their own.
pub const PARTS: &[Part] = &[
    Part {
        name: "concurrency",
        short: "a number: the limit",
        fields: &[
            ("limit", "runs at once"),
            ("key", "runs whose values of this differ do not count against one another"),
            (
                "overflow",
                "`queue` (one more waits), `refuse` (429) or `replace` (it takes the oldest's place)",
            ),
        ],
    },
    Part {
        name: "retry",
        short: "a number: the attempts",
        fields: &[
            ("attempts", "at the most; 3 unless given"),
            ("delay", "before the second attempt; 1s unless given"),
            ("factor", "the pause grows by this; 2 unless given"),
            ("max_delay", "no pause is longer; 1m unless given"),
            (
                "on",
                "`retryable` unless given: what may pass (time-outs, lost connections, 408, 425, 429, 5xx), `at_most_once` only what surely did not happen; `any`; or a list of codes",
            ),
        ],
    },
    Part {
        name: "wait",
        short: "a length of time",
        fields: &[
            ("until", "an expression that gives a time"),
            ("signal", "the name of a signal"),
            ("key", "the signal must have this key"),
        ],
    },
    Part {
        name: "approval",
        short: "a text: the title",
        fields: &[
            ("title", "what is to be approved"),
            ("fields", "what the one who decides fills in: names and types"),
            (
                "by",
                "who decides: `managers` unless given, the id or the name of a user or a key, a list of these, or `{except: id}`",
            ),
            ("timeout", "how long to wait"),
            ("on_timeout", "`reject` unless given, `approve` or `fail`"),
        ],
    },
    Part {
        name: "agent",
        short: "the `id` or the URI of an agent",
        fields: &[
            ("model", "the `id` or the URI of an agent, whose provider, key, limits and rules are used"),
            ("instructions", "what the model is told to do, written out"),
            ("tools", "what it may call: URIs, and patterns with `*`; nothing unless given"),
            ("output", "a JSON Schema of its answer, which then is data"),
        ],
    },
    Part {
        name: "guard",
        short: "",
        fields: &[
            ("check", "`pii`, `schema`, `custom`; `jailbreak`, `moderation`, `hallucination` need `by`"),
            ("of", "the value"),
            ("action", "`block` unless given, `redact` or `warn`"),
            ("by", "the agent that judges, e.g. `agent://judge`"),
            ("schema", "of `schema`: a JSON Schema"),
            ("when", "of `custom`: an expression that is true where all is well"),
        ],
    },
    Part {
        name: "throw",
        short: "a text: the message",
        fields: &[("code", "a word for programs; THROWN unless given"), ("message", "a sentence for people")],
    },
    Part {
        name: "case",
        short: "",
        fields: &[("when", "an expression"), ("then", "the nodes behind it if so")],
    },
    Part { name: "notify", short: "", fields: &[("exec", "which tool"), ARGS, BIND] },
];

/// What every trigger may have.
pub const TRIGGER_COMMON: &[Word] = &[
    ("type", "one of the types below"),
    ("name", "unique in the flow; its type and number unless given"),
    (
        "inputs",
        "what the inputs become, with `${trigger.…}`; without it fields go by name, and an input `message`, `body` or `change` gets the whole",
    ),
    ("dedupe", "an expression: events with an equal value start one run"),
];

/// The types of triggers.
pub const TRIGGERS: &[TriggerKind] = &[
    TriggerKind {
        name: "schedule",
        about: "the clock",
        event: "the instant",
        own: &[
            ("cron", "five fields, six with seconds first, or `@daily` and the like"),
            ("timezone", "by which clock; the flow's, else UTC"),
            ("catch_up", "what of that which was missed comes late: `none` unless given, `last` or `all`"),
            ("overlap", "while a run of before is at work: `queue` unless given, `skip` or `allow`"),
        ],
    },
    TriggerKind {
        name: "webhook",
        about: "a request from outside; its secret is shown once, when it is published",
        event: "`Idempotency-Key`, `webhook-id`",
        own: &[
            (
                "auth",
                "`token` (a secret in a header) unless given, `hmac` (SHA-256 of the body) or `standard` (standardwebhooks.com)",
            ),
            ("header", "where the token or the signature stands; `hmac` needs it"),
            ("prefix", "what stands before it"),
            ("tolerance", "of `standard`: how old a request may be; 5m unless given"),
        ],
    },
    TriggerKind {
        name: "message",
        about: "a message of a queue; taken for good once its run is accepted",
        event: "the message's id; `trigger` has `message id key headers published_at`",
        own: &[("from", "a URI like `mq://orders/new`"), ("limit", "messages at once; 1 unless given")],
    },
    TriggerKind {
        name: "table",
        about: "a change of a table",
        event: "the table's version; `trigger.change` is `{table, version, entries: [{on, path, before, after}], truncated}`",
        own: &[
            ("table", "its id"),
            ("json_path", "only this part of it, a JSON Pointer"),
            ("on", "`add`, `change`, `remove`, or a list; all unless given"),
        ],
    },
    TriggerKind {
        name: "file",
        about: "a file that is new or changed",
        event: "its key and etag; `trigger` has `key size etag last_modified from`",
        own: &[
            ("from", "a URI like `oss://bucket`"),
            ("prefix", "names begin with this"),
            ("every", "how often it is looked for; 1m unless given"),
        ],
    },
];

/// The fields of a part, without what they mean.
pub(crate) fn part(name: &str) -> Vec<&'static str> {
    PARTS.iter().find(|part| part.name == name).map(|part| names(part.fields)).unwrap_or_default()
}

/// The words of a list.
pub(crate) fn names(words: &'static [Word]) -> Vec<&'static str> {
    words.iter().map(|(name, _)| *name).collect()
}

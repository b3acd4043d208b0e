//! What starts a flow: schedules, webhooks, messages, changes of tables, files.

use super::data::{Data, Formula};
use super::duration;
use super::origin::Origin;
use super::words::{TRIGGER_COMMON, TRIGGERS};
use crate::cursor::{Cursor, bounded, is_identifier};
use crate::problem::{Code, Problems};
use crate::schedule::Cron;
use chrono_tz::Tz;
use std::time::Duration;
use tool::Uri;

/// One trigger of a flow.
#[derive(Debug, Clone)]
pub struct Trigger {
    /// Unique in its flow; its type and number where the document gives none.
    pub name: String,
    /// What it listens to.
    pub source: Source,
    /// What the inputs become, from `trigger`; without it fields go by name.
    pub inputs: Option<Data>,
    /// Starts with an equal value are one.
    pub dedupe: Option<Formula>,
    /// Where it says what it listens to.
    pub(crate) origin: Origin,
}

/// What a trigger listens to.
#[derive(Debug, Clone)]
pub enum Source {
    /// The clock.
    Schedule {
        /// When.
        cron: Cron,
        /// By which clock; the flow's, else UTC.
        timezone: Option<Tz>,
        /// What of that which was missed is made up for.
        catch_up: CatchUp,
        /// What happens while a run of before is at work.
        overlap: Overlap,
    },
    /// Requests from outside.
    Webhook {
        /// How they prove themselves.
        auth: WebhookAuth,
        /// Where the signature stands.
        header: Option<String>,
        /// What stands before the signature.
        prefix: Option<String>,
        /// How old they may be.
        tolerance: Option<Duration>,
    },
    /// Messages of a queue.
    Message {
        /// Which queue.
        from: Uri,
        /// So many at once.
        limit: usize,
    },
    /// Changes of a table.
    Table {
        /// Which table.
        table: String,
        /// Which part of the document.
        json_path: Option<String>,
        /// Which changes.
        on: Vec<String>,
    },
    /// New or changed files.
    File {
        /// Which service.
        from: Uri,
        /// Names begin with this.
        prefix: Option<String>,
        /// How often they are looked for.
        every: Duration,
    },
}

/// What of missed instants is made up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum CatchUp {
    #[default]
    None,
    Last,
    All,
}

/// What happens at an instant while a run of before is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Overlap {
    #[default]
    Queue,
    Skip,
    Allow,
}

/// How requests prove themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WebhookAuth {
    /// A secret in a header.
    #[default]
    Token,
    /// A signature of the body.
    Hmac,
    /// As standardwebhooks.com says.
    Standard,
}

const FILE_INTERVAL: Duration = Duration::from_secs(60);

pub(super) fn read_all(cursor: &Cursor<'_>, problems: &mut Problems) -> Vec<Trigger> {
    if !cursor.is_list() {
        problems.add(cursor.mismatch("a list of triggers"));
    }
    let mut triggers: Vec<Trigger> = Vec::new();
    for (index, item) in bounded(cursor.items().collect(), cursor, problems).into_iter().enumerate() {
        let Some(trigger) = read(&item, index, problems) else { continue };
        if triggers.iter().any(|other| other.name == trigger.name) {
            problems.add(item.error(Code::Duplicate, format!("there are two triggers '{}'", trigger.name)));
        }
        triggers.push(trigger);
    }
    triggers
}

fn read(cursor: &Cursor<'_>, index: usize, problems: &mut Problems) -> Option<Trigger> {
    let Some(kind) = cursor.field("type") else {
        let message = "'type' is missing: schedule, webhook, message, table or file";
        problems.add(cursor.error(Code::Syntax, message));
        return None;
    };
    let source = match kind.text(problems)? {
        "schedule" => read_schedule(cursor, problems),
        "webhook" => read_webhook(cursor, problems),
        "message" => read_message(cursor, problems),
        "table" => read_table(cursor, problems),
        "file" => read_file(cursor, problems),
        other => {
            let message = format!("'{other}' is none of schedule, webhook, message, table, file");
            problems.add(kind.error(Code::Unknown, message));
            None
        }
    };
    let name = match cursor.field("name") {
        Some(field) => field.text(problems)?.to_owned(),
        None => format!("{}_{}", kind.as_text().unwrap_or_default(), index + 1),
    };
    if !is_identifier(&name.replace('-', "_")) {
        problems.add(cursor.error(Code::Syntax, format!("'{name}' is no name for a trigger")));
    }
    let inputs = cursor.field("inputs").map(|field| Data::read(&field, problems));
    let dedupe = cursor.field("dedupe").and_then(|field| Formula::read(&field, problems));
    let named = cursor.field("from").or_else(|| cursor.field("table"));
    let origin = Origin::of(named.as_ref().unwrap_or(cursor));
    Some(Trigger { name, source: source?, inputs, dedupe, origin })
}

/// The fields that a trigger of its type may have.
fn expect(cursor: &Cursor<'_>, kind: &str, problems: &mut Problems) {
    let own = TRIGGERS.iter().find(|known| known.name == kind).map(|known| known.own).unwrap_or_default();
    let known: Vec<_> = TRIGGER_COMMON.iter().chain(own).map(|(name, _)| *name).collect();
    cursor.expect_fields(&known, problems);
}

fn required<'a>(cursor: &Cursor<'a>, name: &str, problems: &mut Problems) -> Option<Cursor<'a>> {
    let field = cursor.field(name);
    if field.is_none() {
        problems.add(cursor.error(Code::Syntax, format!("'{name}' is missing")));
    }
    field
}

fn read_schedule(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Source> {
    expect(cursor, "schedule", problems);
    let timezone = cursor.field("timezone").and_then(|field| zone(&field, problems));
    let words = [("none", CatchUp::None), ("last", CatchUp::Last), ("all", CatchUp::All)];
    let catch_up = cursor.field("catch_up").and_then(|field| field.choice(&words, problems));
    let words = [("queue", Overlap::Queue), ("skip", Overlap::Skip), ("allow", Overlap::Allow)];
    let overlap = cursor.field("overlap").and_then(|field| field.choice(&words, problems));
    let field = required(cursor, "cron", problems)?;
    let cron = match field.text(problems)?.parse::<Cron>() {
        Ok(cron) => cron,
        Err(reason) => {
            problems.add(field.error(Code::Syntax, reason.to_string()));
            return None;
        }
    };
    let (catch_up, overlap) = (catch_up.unwrap_or_default(), overlap.unwrap_or_default());
    Some(Source::Schedule { cron, timezone, catch_up, overlap })
}

fn read_webhook(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Source> {
    expect(cursor, "webhook", problems);
    let words =
        [("token", WebhookAuth::Token), ("hmac", WebhookAuth::Hmac), ("standard", WebhookAuth::Standard)];
    let auth = cursor.field("auth").and_then(|field| field.choice(&words, problems)).unwrap_or_default();
    let text = |name: &str, problems: &mut Problems| Some(cursor.field(name)?.text(problems)?.to_owned());
    let (header, prefix) = (text("header", problems), text("prefix", problems));
    if auth == WebhookAuth::Hmac && header.is_none() {
        problems.add(cursor.error(Code::Syntax, "'header' is missing: where the signature stands"));
        return None;
    }
    let tolerance = cursor.field("tolerance").and_then(|field| duration::read(&field, problems));
    Some(Source::Webhook { auth, header, prefix, tolerance })
}

fn read_message(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Source> {
    expect(cursor, "message", problems);
    let limit = cursor.field("limit").and_then(|field| field.count(1000, problems)).unwrap_or(1);
    let from = uri(&required(cursor, "from", problems)?, problems)?;
    Some(Source::Message { from, limit: usize::try_from(limit).ok()? })
}

fn read_table(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Source> {
    expect(cursor, "table", problems);
    let json_path = cursor.field("json_path").and_then(|field| read_pointer(&field, problems));
    let words = ["add", "change", "remove"].map(|word| (word, word));
    let on = match cursor.field("on") {
        Some(field) if field.is_list() => {
            field.items().filter_map(|item| item.choice(&words, problems)).map(str::to_owned).collect()
        }
        Some(field) => field.choice(&words, problems).map(str::to_owned).into_iter().collect(),
        None => Vec::new(),
    };
    let table = required(cursor, "table", problems)?.text(problems)?.to_owned();
    Some(Source::Table { table, json_path, on })
}

/// A JSON Pointer, as text.
fn read_pointer(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    if let Err(error) = text.parse::<document::Pointer>() {
        problems.add(cursor.error(Code::Syntax, error.to_string()));
    }
    Some(text.to_owned())
}

fn read_file(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Source> {
    expect(cursor, "file", problems);
    let prefix = cursor.field("prefix").and_then(|field| field.text(problems)).map(str::to_owned);
    let every =
        cursor.field("every").and_then(|field| duration::read(&field, problems)).unwrap_or(FILE_INTERVAL);
    let field = required(cursor, "from", problems)?;
    // The address of a service; the operation is ours to choose.
    let text = field.text(problems)?.trim_end_matches('/');
    let has_tool = text.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    let address = if has_tool { text.to_owned() } else { format!("{text}/list") };
    match address.parse::<Uri>() {
        Ok(from) => Some(Source::File { from, prefix, every }),
        Err(error) => {
            problems.add(field.error(Code::Syntax, format!("'{text}' is no address: {error}")));
            None
        }
    }
}

fn uri(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Uri> {
    let text = cursor.text(problems)?;
    let parsed = text.parse::<Uri>();
    parsed
        .map_err(|error| problems.add(cursor.error(Code::Syntax, format!("'{text}' is no URI: {error}"))))
        .ok()
}

pub(super) fn zone(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Tz> {
    let text = cursor.text(problems)?;
    let zone = text.parse::<Tz>().ok();
    if zone.is_none() {
        let message = format!("there is no time zone '{text}'; write one like 'Europe/Berlin'");
        problems.add(cursor.error(Code::Unknown, message));
    }
    zone
}

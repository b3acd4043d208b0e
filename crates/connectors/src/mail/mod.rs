//! `mail://`: messages to people, through an SMTP server or into a folder.

mod address;
mod attachments;
mod file;
mod letter;
mod mime;
mod send;
mod settings;
mod smtp;
mod templates;
#[cfg(test)]
mod tests;
mod tools;
mod words;

pub(crate) use settings::Settings;

use crate::shared::bounds::Bounds;
use crate::shared::content::Sources;
use crate::shared::sending::Pace;
use crate::shared::sending::once::Keys;
use address::AllowList;
use async_trait::async_trait;
use file::Folder;
use lettre::message::Mailbox;
use smtp::Smtp;
use std::collections::BTreeMap;
use templates::Template;
use tool::{Call, Connector, Context, Error, Outcome, Result, Tool};
use tools::MailTool;

/// One way to send mail, and the tools over it.
struct Mail {
    carrier: Carrier,
    bounds: Bounds,
    from: Mailbox,
    limits: Limits,
    /// How many messages of one call are on their way at the same time.
    at_once: usize,
    pace: Option<Pace>,
    allow_list: AllowList,
    templates: BTreeMap<String, Template>,
    tools: Vec<MailTool>,
    sources: Sources,
    /// Its own id, for keys.
    service: Option<String>,
    keys: Keys,
}

/// Who takes the messages.
enum Carrier {
    Folder(Folder),
    Smtp(Box<Smtp>),
}

/// How much one call may send.
#[derive(Debug, Clone, Copy)]
struct Limits {
    recipients: usize,
    message_bytes: usize,
}

#[async_trait]
impl Connector for Mail {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        self.tools.iter().map(|tool| tool.definition(&self.templates, self.limits.recipients)).collect()
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let tool = self.tools.iter().find(|tool| tool.id == call.tool);
        let tool =
            tool.ok_or_else(|| Error::not_found(format!("the service has no tool '{}'", call.tool)))?;
        Box::pin(self.send(cx, tool, &call)).await.map(Outcome::Done)
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        let work = async {
            match &self.carrier {
                Carrier::Folder(folder) => folder.check().await,
                Carrier::Smtp(smtp) => smtp.probe().await,
            }
        };
        self.bounds.within(cx, &Default::default(), "the mail server did not answer in time", work).await
    }
}

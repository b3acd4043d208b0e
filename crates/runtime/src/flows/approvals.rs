//! Approvals: what runs ask people, who is asked, and what counts as an answer.

use super::Flows;
use super::given::{Given, spelled};
use chrono::{DateTime, SecondsFormat, Utc};
use flow::engine::{Decision, Waiting};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use store::PageRequest;
use store::runs::{Run, RunData, RunFilter, Wait};
use tool::schema::Schema;
use tool::secret::names::masked_fields;
use tool::secret::{MASK, SecretValues};
use tool::{Caller, Error, Problem, Result, RunId, Scope, TenantId};

/// Runs that a run waits for, as many as are looked at.
const CHILDREN: u32 = 100;

/// What is asked of somebody.
#[derive(Debug)]
pub struct Approval {
    /// What the run waits for.
    pub wait: Wait,
    /// What is to be approved, without what is secret in its run.
    pub title: Value,
    /// What is to be filled in, as a JSON Schema.
    pub fields: Option<Value>,
    /// Who may decide: `managers`, or names and ids of users and keys.
    pub by: Value,
    /// An agent asks before a call: `title` says which.
    pub is_of_agent: bool,
}

impl Approval {
    /// Whether this caller is among those who may decide.
    #[must_use]
    pub fn is_for(&self, caller: &Caller) -> bool {
        let is_meant = |by: &str| match by {
            "managers" | "manager" => caller.may(Scope::Manage),
            by => caller.may(Scope::Call) && (by == caller.name || by == caller.identity.id()),
        };
        match &self.by {
            Value::String(by) => is_meant(by),
            Value::Array(all) => all.iter().filter_map(Value::as_str).any(is_meant),
            // Managers, but not whoever the agent works for.
            by => caller.may(Scope::Manage) && by["except"] != caller.identity.id(),
        }
    }

    /// What an agent wants to do, for programs.
    pub(super) fn told(&self) -> Value {
        let until = self.wait.until.and_then(DateTime::from_timestamp_millis);
        let part = |name: &str| self.title.get(name).cloned().unwrap_or_default();
        json!({
            "id": self.wait.id, "tool": part("tool"), "uri": part("uri"), "arguments": part("arguments"),
            "expires_at": until.map(|until| until.to_rfc3339_opts(SecondsFormat::Millis, true)),
        })
    }

    /// The caller is among them by nothing but its name, which others may have, too.
    fn is_by_name_alone(&self, caller: &Caller) -> bool {
        let is_surer = |by: &str| match by {
            "managers" | "manager" => caller.may(Scope::Manage),
            by => by == caller.identity.id(),
        };
        match &self.by {
            Value::String(by) => !is_surer(by),
            Value::Array(all) => !all.iter().filter_map(Value::as_str).any(is_surer),
            _ => false,
        }
    }

    /// What was filled in is as `fields` says, and the node can give it, whenever it does.
    fn check(&self, decision: &Decision) -> Result<()> {
        flow::engine::check_value(&decision.to_value(DateTime::<Utc>::MAX_UTC)).map_err(|failure| {
            Error::invalid_input(format!("'comment' and 'data' are too large: {}", failure.message))
        })?;
        let Some(fields) = self.fields.as_ref().filter(|_| decision.is_approved) else { return Ok(()) };
        let schema = Schema::compile(fields, "field")?;
        let mut problems = schema.check(&decision.data);
        if decision.data.is_null() && !problems.is_empty() {
            // Nothing was said: what is missing tells more than that.
            let missing = schema.check(&json!({}));
            problems = if missing.is_empty() { problems } else { missing };
        }
        let Some(first) = problems.first() else { return Ok(()) };
        let message = format!("'data' is not as it is asked for: {}", first.message);
        let at = |problem: Problem| {
            let dot = if problem.path.is_empty() { "" } else { "." };
            Problem { path: format!("data{dot}{}", problem.path), ..problem }
        };
        Err(Error::invalid_input(message).with_problems(problems.into_iter().map(at).collect()))
    }
}

impl Flows {
    /// What a wait asks, if it is an approval.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn approval(&self, tenant: &TenantId, wait: Wait) -> Result<Option<Approval>> {
        let Some(Waiting::Approval { title, fields, by, .. }) = self.asked(tenant, &wait).await? else {
            return Ok(None);
        };
        let title = match Self::is_sealed(&wait) {
            true => {
                let run = self.store.runs().get(tenant, &wait.run).await?;
                if run.agent().is_some() {
                    let title = masked_fields(&title);
                    return Ok(Some(Approval { wait, title, fields, by, is_of_agent: true }));
                }
                let data = self.store.runs().data(tenant, &run.id).await?;
                self.secrets_of(&run, &data).await.masked(title)
            }
            false => title,
        };
        Ok(Some(Approval { wait, title, fields, by, is_of_agent: false }))
    }

    /// The caller may decide so.
    ///
    /// # Errors
    /// `Denied` for those who are not asked, or are by a name that others have, too; `InvalidInput` for what was not
    /// filled in as asked.
    pub async fn may_decide(
        &self,
        tenant: &TenantId,
        approval: &Approval,
        caller: &Caller,
        decision: &Decision,
    ) -> Result<()> {
        let name = &caller.name;
        if !approval.is_for(caller) {
            return Err(Error::denied(format!("{name} may not decide this; it is asked of others")));
        }
        if let Some(asking) = approval.by["except"].as_str() {
            let keys = self.store.keys();
            let id = caller.identity.id();
            if keys.person_behind(asking).await? == keys.person_behind(id).await? {
                let message = format!("{name} is of whoever asked; another manager has to decide this");
                return Err(Error::denied(message));
            }
        }
        if approval.is_by_name_alone(caller) && self.store.keys().count_called(tenant, name).await? > 1 {
            return Err(Error::denied(format!(
                "several keys, users or instances are called '{name}', so that nobody can tell who is asked; name the id in 'by'"
            )));
        }
        approval.check(decision)
    }

    /// The approvals that the run waits for, and those of runs that it waits for.
    pub(super) fn approvals_of<'a>(
        &'a self,
        tenant: &'a TenantId,
        run: RunId,
        depth: u32,
    ) -> BoxFuture<'a, Result<Vec<Approval>>> {
        Box::pin(async move {
            let waits = self.waits(tenant, &run).await?;
            let has_children = waits.iter().any(|wait| wait.kind == "child");
            let mut found = Vec::new();
            for wait in waits.into_iter().filter(|wait| wait.kind == "approval") {
                found.extend(self.approval(tenant, wait).await?);
            }
            if has_children && depth < super::start::MAX_DEPTH {
                for child in self.live_children(tenant, run).await? {
                    found.extend(self.approvals_of(tenant, child, depth + 1).await?);
                }
            }
            Ok(found)
        })
    }

    /// The runs of sub-flows that have not ended.
    pub(super) async fn live_children(&self, tenant: &TenantId, run: RunId) -> store::Result<Vec<RunId>> {
        let of_run = RunFilter { parent: Some(run), is_live: Some(true), ..RunFilter::default() };
        let page = PageRequest { page: 1, limit: CHILDREN };
        let children = self.store.runs().list(tenant, &of_run, page).await?.items;
        Ok(children.into_iter().map(|child| child.id).collect())
    }

    /// What may be shown of the run nowhere.
    pub async fn secrets_of(&self, run: &Run, data: &RunData) -> SecretValues {
        if !hides_inputs(run) {
            return SecretValues::default();
        }
        let given: Given = serde_json::from_str(&data.inputs).unwrap_or_default();
        spelled(&match self.version_of(run, data.source.clone()).await {
            Ok(version) => given.secrets_of(&version.flow),
            // Nobody can say any more.
            Err(_) => given.secrets(|_| true),
        })
    }

    /// What the run was given: of secret inputs their names, of others what is not secret.
    pub async fn shown_inputs(
        &self,
        run: &Run,
        data: &RunData,
        secrets: &SecretValues,
    ) -> Map<String, Value> {
        let given: Given = serde_json::from_str(&data.inputs).unwrap_or_default();
        if !hides_inputs(run) {
            return given.inputs;
        }
        let version = self.version_of(run, data.source.clone()).await.ok();
        let is_secret = |name: &str| version.as_ref().is_none_or(|version| version.flow.has_secret(name));
        let shown = |(name, value): (String, Value)| match is_secret(&name) {
            true => (name, MASK.into()),
            false => (secrets.masked_text(&name), secrets.masked(value)),
        };
        given.inputs.into_iter().map(shown).collect()
    }
}

/// All of an agent's run is sealed, and nothing of it hidden from those who may see it.
fn hides_inputs(run: &Run) -> bool {
    run.is_secret && run.agent().is_none()
}

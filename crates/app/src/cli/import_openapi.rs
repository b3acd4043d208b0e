//! `import-openapi`: an OpenAPI document as a service, printed or made on a server.

use super::remote::Remote;
use crate::Failure;
use clap::Args;
use connectors::API_SCHEME;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;
use tool::{Env, ImportRequest, ImportSource, Imported, Pattern, Secret};

/// The most bytes of a document or of settings.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Turn an OpenAPI document into a service of type api: printed as JSON, or made on a server.
#[derive(Args)]
pub(super) struct ImportOpenapi {
    /// The document, OpenAPI 2.0 to 3.1 in JSON or YAML: a file, a URL, or - for stdin
    #[arg(value_name = "FILE|URL|-")]
    source: String,
    /// The service's id [default: made of the document's title]
    #[arg(long)]
    id: Option<String>,
    /// The service's name [default: the document's title]
    #[arg(long)]
    name: Option<String>,
    /// Take only these operations: an operationId, a path, "GET /path" or tag:NAME, with * for anything
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Leave these operations out
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Where the API is, if not where the document says
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// A value for a variable in the server's address
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    server_variable: Vec<(String, String)>,
    /// Settings that the document does not have, credentials among them: JSON or @FILE
    #[arg(long, value_name = "JSON|@FILE")]
    config: Option<String>,
    /// Only show what would come of it
    #[arg(long)]
    preview: bool,
    /// Change the tools of the service there is
    #[arg(long, requires = "server", conflicts_with = "preview")]
    update: bool,
    /// With --update: also let tools go that others refer to
    #[arg(long, requires = "update")]
    force: bool,
    /// Make the service on this server instead of printing it
    #[arg(long, env = "MCP_ALL_IN_ONE_SERVER", value_name = "URL")]
    server: Option<String>,
    /// A key or token to sign in with
    #[arg(long, env = "MCP_ALL_IN_ONE_TOKEN", hide_env_values = true, value_name = "TOKEN", value_parser = super::secret)]
    token: Option<Secret>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl ImportOpenapi {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let mut config = read_config(self.config.as_deref())?;
        if let Some(base_url) = &self.base_url {
            config.insert("base_url".into(), base_url.as_str().into());
        }
        let report = match self.server.clone() {
            Some(server) => self.on_server(Remote::at(server, self.token.clone()), config).await?,
            None => self.locally(config).await?,
        };
        for line in remarks(&report) {
            super::note(&line);
        }
        if self.preview {
            super::print(&table(&report));
        } else if self.server.is_none() {
            super::print(&service(&report));
        } else {
            let verb = if self.update { "changed" } else { "made" };
            let count = tool_count(report["tools"].as_array().map_or(0, Vec::len));
            super::print(&format!("{verb} api://{} with {count}", word(&report["id"])));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn on_server(&self, remote: Remote, config: Map<String, Value>) -> Result<Value, Failure> {
        let mode = match (self.preview, self.update) {
            (true, _) => "preview",
            (false, true) => "update",
            (false, false) => "create",
        };
        let variables: BTreeMap<_, _> = self.server_variable.iter().cloned().collect();
        let mut body = json!({
            "mode": mode, "id": self.id, "name": self.name, "include": self.include, "exclude": self.exclude,
            "server_variables": variables, "config": config,
        });
        match self.read_source()? {
            ImportSource::Url(url) => body["url"] = url.into(),
            ImportSource::Text(text) => body["document"] = text.into(),
            ImportSource::Document(document) => body["document"] = document,
        }
        let query = if self.force { "?force=true" } else { "" };
        remote.post(&format!("/services/{API_SCHEME}/import{query}"), &body).await
    }

    async fn locally(&self, config: Map<String, Value>) -> Result<Value, Failure> {
        let import = connectors::find(API_SCHEME).and_then(|kind| kind.import);
        let import = import.ok_or_else(|| Failure::new("this build cannot import"))?;
        let patterns = |texts: &[String]| texts.iter().cloned().map(Pattern).collect();
        let request = ImportRequest {
            source: self.read_source()?,
            include: patterns(&self.include),
            exclude: patterns(&self.exclude),
            server_variables: self.server_variable.iter().cloned().collect(),
            config,
        };
        // Whoever runs this can reach the private network anyway.
        let env = Env { allow_private_network: true, ..Env::default() };
        let imported = (import.read)(request, env).await;
        let imported = imported.map_err(|error| Failure::new(error.in_words()))?;
        Ok(self.report(imported))
    }

    /// The same shape as a server's answer.
    fn report(&self, imported: Imported) -> Value {
        let tools: Vec<_> = imported.tools.into_iter().map(|tool| tool.definition).collect();
        let warnings = [imported.address_warnings, imported.warnings].concat();
        json!({
            "type": API_SCHEME,
            "id": self.id.clone().unwrap_or(imported.id),
            "name": self.name.clone().unwrap_or(imported.name),
            "description": imported.description,
            "config": imported.config,
            "tools": tools,
            "credentials": imported.credentials,
            "skipped": imported.skipped,
            "warnings": warnings,
        })
    }

    fn read_source(&self) -> Result<ImportSource, Failure> {
        if self.source.starts_with("http://") || self.source.starts_with("https://") {
            return Ok(ImportSource::Url(self.source.clone()));
        }
        read(&self.source).map(ImportSource::Text)
    }
}

/// The text of a file, or of stdin.
fn read(path: &str) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("'{path}' cannot be read")).because(error);
    let mut text = String::new();
    let reader: Box<dyn Read> = match path {
        "-" => Box::new(std::io::stdin()),
        _ => Box::new(std::fs::File::open(path).map_err(unreadable)?),
    };
    let length = reader.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if length as u64 > MAX_BYTES {
        return Err(Failure::new(format!("'{path}' has more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

fn read_config(given: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let Some(given) = given else { return Ok(Map::new()) };
    let text = match given.strip_prefix('@') {
        Some(path) => read(path)?,
        None => given.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::new("the settings are no JSON object")
            .because(error)
            .advice("write --config '{\"auth_config\":{\"value\":\"the key\"}}'")
    })
}

/// What stands beside the result, for whoever sits at the terminal.
fn remarks(report: &Value) -> Vec<String> {
    let each = |key: &str| report[key].as_array().cloned().unwrap_or_default();
    let mut lines = Vec::new();
    for skipped in each("skipped") {
        lines.push(format!("skipped  {}: {}", word(&skipped["operation"]), word(&skipped["reason"])));
    }
    lines.extend(each("warnings").iter().map(|warning| format!("warning  {}", word(warning))));
    for problem in each("problems") {
        lines.push(format!("problem  {}: {}", word(&problem["path"]), word(&problem["message"])));
    }
    for credential in each("credentials") {
        let (setting, what) = (word(&credential["setting"]), word(&credential["description"]));
        lines.push(format!("needed   config.{setting}: {what}"));
    }
    let changes = &report["changes"];
    for (key, verb) in [("added", "added"), ("removed", "removed")] {
        let ids = changes[key].as_array().into_iter().flatten();
        lines.extend(ids.map(|id| format!("{verb:8} {}", word(id))));
    }
    for tool in changes["changed"].as_array().into_iter().flatten() {
        let fields = tool["fields"].as_array().into_iter().flatten().map(|field| word(&field["field"]));
        lines.push(format!("changed  {}: {}", word(&tool["id"]), fields.collect::<Vec<_>>().join(", ")));
    }
    lines
}

/// The service as `POST /services` takes it.
fn service(report: &Value) -> String {
    let fields = ["type", "id", "name", "description", "config", "tools"];
    let service: Map<_, _> = fields.iter().map(|key| ((*key).to_owned(), report[*key].clone())).collect();
    serde_json::to_string_pretty(&service).unwrap_or_default()
}

/// One line for the service, one for each tool.
fn table(report: &Value) -> String {
    let (config, tools) = (&report["config"], report["tools"].as_array().cloned().unwrap_or_default());
    let sign_in = config["auth_type"].as_str().unwrap_or("none");
    let base_url = config["base_url"].as_str().unwrap_or("(no base_url)");
    let mut lines = vec![format!("api://{}  {base_url}  sign-in: {sign_in}", word(&report["id"]))];
    let width = |key: &str| tools.iter().map(|tool| word(&tool[key]).len()).max().unwrap_or_default();
    let (ids, methods) = (width("id"), width("method"));
    for tool in &tools {
        let (id, method, endpoint) = (word(&tool["id"]), word(&tool["method"]), word(&tool["endpoint"]));
        lines.push(format!("  {id:ids$}  {method:methods$}  {endpoint}"));
    }
    lines.push(tool_count(tools.len()));
    lines.join("\n")
}

fn tool_count(count: usize) -> String {
    format!("{count} tool{}", if count == 1 { "" } else { "s" })
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

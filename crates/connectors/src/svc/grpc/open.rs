//! From settings to a gRPC service, without looking whether anybody is there.

use super::bounds::refused;
use super::client::Client;
use super::connection::{Connections, Security};
use super::metadata::Metadata;
use super::schema::Schema;
use super::stream::Limits;
use super::tools::{Catalog, Manner, Selection};
use super::{Grpc, Methods, Reflected, protos};
use crate::shared::network::Resolver;
use crate::shared::sign_in::Auth;
use crate::svc::fallback::Fallbacks;
use crate::svc::open::{Common, check_common};
use crate::svc::settings::{SchemaSettings, Settings};
use crate::svc::tools::{GrpcTool, RequestSettings};
use std::collections::HashSet;
use std::sync::Arc;
use tool::{Env, Pattern, Problem, Result};

const DEFAULT_MAX_MESSAGES: usize = 1_000;

impl Grpc {
    /// The service; of use when there is no problem.
    pub(in crate::svc) fn open(
        mut settings: Settings,
        requests: Vec<RequestSettings>,
        fallbacks: &Arc<Fallbacks>,
        env: &Env,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let tools = check_tools(requests, problems);
        let selection = selection(tools, &settings, problems);
        let schema = described(&settings.schema.take().unwrap_or_default());
        let manner =
            Manner { emit_defaults: settings.emit_defaults.unwrap_or(true), fallbacks: fallbacks.clone() };
        let limits = Limits {
            messages: settings.max_messages.unwrap_or(DEFAULT_MAX_MESSAGES),
            bytes: env.result_budget_bytes,
        };
        let common = check_common(settings, env, problems);
        let client = client(common, limits, env, problems);
        let methods = match schema {
            Ok(Some(schema)) => match Catalog::new(&schema, &selection, &manner) {
                Ok(catalog) => {
                    let missing = catalog.missing.values();
                    problems.extend(missing.map(|why| Problem::new("tools", "UnknownMethod", why.clone())));
                    Methods::Described(catalog)
                }
                Err(error) => {
                    problems.extend_from_slice(error.problems());
                    return None;
                }
            },
            Ok(None) => Methods::Reflected(Reflected::new(selection, manner)),
            Err(error) => {
                problems.extend_from_slice(error.problems());
                return None;
            }
        };
        Some(Self { client, methods })
    }
}

/// A client without tools, to ask with.
pub(super) fn client(common: Common, stream: Limits, env: &Env, problems: &mut Vec<Problem>) -> Client {
    if matches!(common.auth, Auth::Query(..)) {
        let message = "gRPC has no query string for a key; send it in a header";
        problems.push(Problem::new("auth.in", "Unsupported", message));
    }
    let security = match common.is_secure {
        true => Security::Tls(Arc::new(common.tls)),
        false => Security::Plain,
    };
    let resolver = Arc::new(Resolver(common.policy.clone()));
    Client {
        connections: Connections::new(common.policy.clone(), security, env),
        fleet: common.fleet,
        policy: common.policy,
        auth: common.auth,
        tokens: fetch::Client::new(resolver, fetch::Tls::default()),
        metadata: Metadata::check(common.headers, problems),
        passed: common.passed,
        timeout: common.timeout,
        max_attempts: common.max_attempts,
        backoff: common.backoff,
        max_message_bytes: common.max_response_bytes,
        stream,
        compute: env.compute.clone(),
    }
}

/// The types where the settings have them; nothing where the service is to be asked.
pub(super) fn described(settings: &SchemaSettings) -> Result<Option<Schema>> {
    let SchemaSettings { reflection, descriptor_set, protos } = settings;
    match (reflection.unwrap_or_default(), descriptor_set, protos) {
        (_, None, None) => Ok(None),
        (false, Some(set), None) => Schema::from_base64(set).map(Some),
        (false, None, Some(files)) => protos::compile(files).map(Some),
        _ => Err(refused(
            "Ambiguous",
            "schema takes one of 'reflection', 'descriptor_set' and 'protos', not several",
        )),
    }
}

fn check_tools(requests: Vec<RequestSettings>, problems: &mut Vec<Problem>) -> Vec<GrpcTool> {
    let mut tools = Vec::new();
    let mut ids = HashSet::new();
    for (index, request) in requests.into_iter().enumerate() {
        let path = format!("tools[{index}]");
        let tool = match request {
            RequestSettings::Grpc(tool) => tool,
            RequestSettings::Http(_) | RequestSettings::Unclear(_) => {
                let message =
                    "a tool of a gRPC service has an 'rpc', e.g. loyalty.v1.Customers/List, and no endpoint";
                problems.push(Problem::new(format!("{path}.rpc"), "Required", message));
                continue;
            }
        };
        if !is_id(&tool.id) {
            let message =
                format!("'{}' is no tool id; use 1 to 64 letters, digits, '_', '.' or '-'", tool.id);
            problems.push(Problem::new(format!("{path}.id"), "InvalidId", message));
        }
        if !ids.insert(tool.id.clone()) {
            let message = format!("there are two tools with the id '{}'", tool.id);
            problems.push(Problem::new(format!("{path}.id"), "DuplicateTool", message));
        }
        if !is_rpc(&tool.rpc) {
            let message = format!("'{}' is no method; write e.g. loyalty.v1.Customers/List", tool.rpc);
            problems.push(Problem::new(format!("{path}.rpc"), "InvalidMethod", message));
        }
        tools.push(tool);
    }
    tools
}

fn is_id(id: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=64).contains(&id.len()) && id.bytes().all(is_legal)
}

fn is_rpc(rpc: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
    };
    rpc.trim_start_matches('/')
        .split_once('/')
        .is_some_and(|(service, method)| is_name(service) && is_name(method))
}

fn selection(tools: Vec<GrpcTool>, settings: &Settings, problems: &mut Vec<Problem>) -> Selection {
    let patterns = |texts: &[String]| texts.iter().cloned().map(Pattern).collect::<Vec<_>>();
    let (include, exclude) = (patterns(&settings.include), patterns(&settings.exclude));
    if tools.is_empty() {
        return Selection::Matching { include, exclude };
    }
    for (field, given) in [("include", &include), ("exclude", &exclude)] {
        if !given.is_empty() {
            let message = format!("'{field}' is for services without 'tools'; leave one of the two out");
            problems.push(Problem::new(field, "Unused", message));
        }
    }
    Selection::Listed(tools)
}

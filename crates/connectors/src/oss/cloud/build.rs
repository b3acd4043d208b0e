//! From settings to a client of one provider. Credentials are those of the settings and no others.

use super::Cloud;
use super::signer::Signer;
use super::transport::{Route, Transport};
use crate::oss::settings::{Credentials, Provider, Settings};
use fetch::Url;
use opendal::services::{Cos, Obs, Oss, S3};
use opendal::{HttpTransporter, OperationContext, Operator};
use std::sync::Arc;
use tokio_util::task::TaskTracker;
use tool::Problem;

/// What every cloud needs.
struct Account<'a> {
    bucket: &'a str,
    endpoint: Url,
    credentials: &'a Credentials,
}

pub(super) fn build(
    settings: &Settings,
    route: Route,
    tasks: TaskTracker,
    problems: &mut Vec<Problem>,
) -> Option<Cloud> {
    let account = account(settings, problems)?;
    let is_path_style = settings.path_style.unwrap_or(settings.provider == Provider::Minio);
    let region = settings.region.as_deref().unwrap_or("us-east-1");
    let operator = match settings.provider {
        Provider::Aliyun | Provider::Alioss => aliyun(&account, is_path_style),
        Provider::Cos => cos(&account),
        Provider::Obs => obs(&account),
        Provider::S3 | Provider::Minio | Provider::Fs => s3(&account, region, is_path_style),
    };
    let operator = match operator {
        Ok(operator) => operator,
        Err(error) => {
            // What it says may quote settings.
            tracing::debug!(kind = %error.kind(), "a store cannot be built");
            let message = "the store cannot be addressed like that; check endpoint and bucket";
            problems.push(Problem::new("endpoint", "Unusable", message));
            return None;
        }
    };
    let has_bucket_in_host = !is_path_style || matches!(settings.provider, Provider::Cos | Provider::Obs);
    let base_url = base_url(&account, has_bucket_in_host);
    let base = check_base(&base_url, problems)?;
    let signer =
        Signer::new(settings.provider, account.bucket, region, account.credentials, base_url.clone());
    let signer = Arc::new(signer);
    let bucket = account.bucket.to_owned();
    let transport = Transport { route, signer: signer.clone(), base, bucket, pages: None, page: None };
    let context = OperationContext::new().with_http_transport(HttpTransporter::new(transport.clone()));
    Some(Cloud { operator: operator.with_context(context), transport, signer, base_url, tasks })
}

/// What is there, with every problem of what is not.
fn account<'a>(settings: &'a Settings, problems: &mut Vec<Problem>) -> Option<Account<'a>> {
    let before = problems.len();
    let mut missing = |field: &str, what: &str| {
        problems.push(Problem::new(field, "Required", format!("the {field} is missing; {what}")));
    };
    if settings.bucket.is_none() {
        missing("bucket", "it is where the objects are");
    }
    if settings.credentials.is_none() {
        missing("credentials", "nothing of this machine takes their place");
    }
    let needs_region = matches!(settings.provider, Provider::Aliyun | Provider::Alioss)
        || settings.provider == Provider::S3 && settings.endpoint.is_none();
    if settings.region.is_none() && needs_region {
        missing("region", "it is signed along, e.g. cn-hangzhou");
    }
    let default = match (settings.provider, &settings.region) {
        (Provider::S3, Some(region)) => Some(format!("https://s3.{region}.amazonaws.com")),
        _ => None,
    };
    let endpoint = settings.endpoint.clone().or(default);
    if endpoint.is_none() && settings.provider != Provider::S3 {
        missing("endpoint", "it is the address of the store, e.g. https://oss-cn-hangzhou.aliyuncs.com");
    }
    for (field, text) in [("bucket", &settings.bucket), ("region", &settings.region)] {
        if text.as_deref().is_some_and(|text| !is_name(text)) {
            problems.push(Problem::new(
                field,
                "InvalidName",
                format!("the {field} is not made of letters, digits, '.', '_' and '-'"),
            ));
        }
    }
    if settings.path_style == Some(true) && matches!(settings.provider, Provider::Cos | Provider::Obs) {
        let message = "cos and obs have the bucket before the host only; leave path_style out";
        problems.push(Problem::new("path_style", "Unexpected", message));
    }
    let endpoint = endpoint.and_then(|text| check_endpoint(&text, problems));
    (problems.len() == before).then_some(())?;
    Some(Account {
        bucket: settings.bucket.as_deref()?,
        endpoint: endpoint?,
        credentials: settings.credentials.as_ref()?,
    })
}

fn is_name(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

fn check_endpoint(text: &str, problems: &mut Vec<Problem>) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| {
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        matches!(url.scheme(), "http" | "https")
            && is_bare
            && url.username().is_empty()
            && url.password().is_none()
    });
    if url.is_none() {
        let message = "the endpoint is no address of a host; write e.g. https://oss-cn-hangzhou.aliyuncs.com";
        problems.push(Problem::new("endpoint", "InvalidUrl", message));
    }
    url
}

fn check_base(text: &str, problems: &mut Vec<Problem>) -> Option<Url> {
    let base = Url::parse(text).ok();
    if base.is_none() {
        let message = "the bucket cannot stand before the host of the endpoint; set 'path_style'";
        problems.push(Problem::new("bucket", "InvalidName", message));
    }
    base
}

fn origin<'a>(account: &'a Account<'_>) -> &'a str {
    account.endpoint.as_str().trim_end_matches('/')
}

/// Where the bucket is, for those who may read it without us.
fn base_url(account: &Account<'_>, has_bucket_in_host: bool) -> String {
    let origin = origin(account);
    match origin.split_once("://") {
        Some((_, host)) if has_bucket_in_host && host.starts_with(&format!("{}.", account.bucket)) => {
            origin.to_owned()
        }
        Some((scheme, host)) if has_bucket_in_host => format!("{scheme}://{}.{host}", account.bucket),
        _ => format!("{origin}/{}", account.bucket),
    }
}

/// Builders sign nothing: our transport does. Those that insist on keys get some that open nothing.
const NO_KEY: &str = "none";

fn s3(account: &Account<'_>, region: &str, is_path_style: bool) -> opendal::Result<Operator> {
    let builder = S3::default()
        .bucket(account.bucket)
        .endpoint(origin(account))
        .region(region)
        .skip_signature()
        .disable_config_load()
        .disable_ec2_metadata();
    Operator::new(if is_path_style { builder } else { builder.enable_virtual_host_style() })
}

fn aliyun(account: &Account<'_>, is_path_style: bool) -> opendal::Result<Operator> {
    let builder = Oss::default().bucket(account.bucket).endpoint(origin(account)).skip_signature();
    Operator::new(builder.addressing_style(if is_path_style { "path" } else { "virtual" }))
}

fn cos(account: &Account<'_>) -> opendal::Result<Operator> {
    let builder = Cos::default().bucket(account.bucket).endpoint(origin(account));
    Operator::new(builder.secret_id(NO_KEY).secret_key(NO_KEY).disable_config_load())
}

fn obs(account: &Account<'_>) -> opendal::Result<Operator> {
    let builder = Obs::default().bucket(account.bucket).endpoint(origin(account));
    Operator::new(builder.access_key_id(NO_KEY).secret_access_key(NO_KEY))
}

//! What is counted for each service, and forgotten with it.
//!
//! The recorder of the process keeps every series that was ever begun; whoever makes and deletes services would fill
//! the memory, and the names of what is gone would stay for all to see. So these are kept here.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool::TenantId;

/// The upper ends of what times are sorted into.
pub const BUCKETS_SECONDS: [f64; 14] =
    [1e-6, 5e-6, 2e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Stands for all services of a type that need no configuration: anybody can ask for one that is not there.
pub(crate) const ALL: &str = "*";

/// The calls of one service.
#[derive(Debug, Default)]
pub(crate) struct ServiceMetrics {
    ok: AtomicU64,
    failed: AtomicU64,
    nanoseconds: AtomicU64,
    buckets: [AtomicU64; BUCKETS_SECONDS.len()],
}

impl ServiceMetrics {
    /// A call that was answered with a result.
    pub(crate) fn succeeded(&self, time: Duration) {
        self.ok.fetch_add(1, Ordering::Relaxed);
        self.took(time);
    }

    /// A call that failed, or whose tool said that it did.
    pub(crate) fn failed(&self, time: Duration) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.took(time);
    }

    fn took(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        let seconds = time.as_secs_f64();
        if let Some(bucket) = BUCKETS_SECONDS.iter().position(|end| seconds <= *end) {
            self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The calls of all services there are.
#[derive(Debug, Default)]
pub(crate) struct AllServices(Mutex<HashMap<Key, Arc<ServiceMetrics>>>);

/// Tenant, type and id.
type Key = (TenantId, String, String);

impl AllServices {
    /// The numbers of a service, which outlive its changes.
    pub(crate) fn of(&self, tenant: &TenantId, scheme: &str, id: &str) -> Arc<ServiceMetrics> {
        self.lock().entry((tenant.clone(), scheme.to_owned(), id.to_owned())).or_default().clone()
    }

    /// Forgets the services of a tenant that are not among these any more.
    pub(crate) fn keep(&self, tenant: &TenantId, services: &HashSet<(&str, &str)>) {
        let is_there = |scheme: &str, id: &str| id == ALL || services.contains(&(scheme, id));
        self.lock().retain(|(of, scheme, id), _| of != tenant || is_there(scheme, id));
    }

    /// Forgets a tenant.
    pub(crate) fn forget(&self, tenant: &TenantId) {
        self.lock().retain(|(of, ..), _| of != tenant);
    }

    /// The numbers as Prometheus reads them.
    pub(crate) fn render(&self) -> String {
        let services = self.lock();
        let mut sorted: Vec<_> = services.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        let mut text = String::new();
        about(&mut text, "calls_total", "counter", "Calls that reached a service, by how they ended");
        for (key, service) in &sorted {
            let labels = labels(key);
            for (status, count) in [("ok", &service.ok), ("error", &service.failed)] {
                let count = count.load(Ordering::Relaxed);
                let _ = writeln!(text, "mcp_all_in_one_calls_total{{{labels},status=\"{status}\"}} {count}");
            }
        }
        about(&mut text, "call_seconds", "histogram", "Time of calls, from door to shape");
        for (key, service) in &sorted {
            times(&mut text, &labels(key), service);
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<ServiceMetrics>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn about(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP mcp_all_in_one_{name} {help}\n# TYPE mcp_all_in_one_{name} {kind}");
}

fn times(text: &mut String, labels: &str, service: &ServiceMetrics) {
    const NAME: &str = "mcp_all_in_one_call_seconds";
    let mut sum = 0;
    for (end, count) in BUCKETS_SECONDS.iter().zip(&service.buckets) {
        sum += count.load(Ordering::Relaxed);
        let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"{end}\"}} {sum}");
    }
    let count = service.ok.load(Ordering::Relaxed) + service.failed.load(Ordering::Relaxed);
    let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {}", count.max(sum));
    let seconds = Duration::from_nanos(service.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
    let _ = writeln!(text, "{NAME}_sum{{{labels}}} {seconds}");
    let _ = writeln!(text, "{NAME}_count{{{labels}}} {}", count.max(sum));
}

fn labels((tenant, scheme, id): &Key) -> String {
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!(
        "tenant=\"{}\",type=\"{}\",service=\"{}\"",
        escaped(tenant.as_str()),
        escaped(scheme),
        escaped(id)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_is_there_and_forgets_what_is_not() {
        let all = AllServices::default();
        let tenant = TenantId::default_tenant();
        let crm = all.of(&tenant, "api", "c\"r\\m");
        crm.succeeded(Duration::from_millis(2));
        crm.failed(Duration::from_secs(60));
        all.of(&tenant, "api", "old").succeeded(Duration::ZERO);
        all.of(&tenant, "table", ALL).succeeded(Duration::ZERO);
        all.keep(&tenant, &HashSet::from([("api", "c\"r\\m")]));
        let text = all.render();
        let labels = r#"tenant="default",type="api",service="c\"r\\m""#;
        for line in [
            format!("mcp_all_in_one_calls_total{{{labels},status=\"ok\"}} 1"),
            format!("mcp_all_in_one_calls_total{{{labels},status=\"error\"}} 1"),
            format!("mcp_all_in_one_call_seconds_bucket{{{labels},le=\"0.001\"}} 0"),
            format!("mcp_all_in_one_call_seconds_bucket{{{labels},le=\"0.005\"}} 1"),
            format!("mcp_all_in_one_call_seconds_bucket{{{labels},le=\"30\"}} 1"),
            format!("mcp_all_in_one_call_seconds_bucket{{{labels},le=\"+Inf\"}} 2"),
            format!("mcp_all_in_one_call_seconds_sum{{{labels}}} 60.002"),
            format!("mcp_all_in_one_call_seconds_count{{{labels}}} 2"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("old") && text.contains("service=\"*\""), "{text}");
        all.forget(&tenant);
        assert!(!all.render().contains("default"));
    }
}

//! `/stats`: calls over time, counted from the audit itself, so that the sums are its own.

mod numbers;
pub(super) mod overview;
mod shown;

use super::audit::FLUSH;
use super::time;
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::Query;
use axum::Json as Answer;
use axum::extract::State;
use numbers::Numbers;
use serde::{Deserialize, Serialize};
use shown::Shown;
use std::collections::{BTreeMap, HashMap};
use store::{AuditKey, Tally, Window, within};
use utoipa::ToSchema;

const DAY_SECONDS: i64 = 24 * 60 * 60;
const LONGEST_WINDOW_SECONDS: i64 = 31 * DAY_SECONDS;
/// A figure has no room for more.
const MAX_STEPS: i64 = 1000;
/// Those with fewer calls are one series together, with those that the reader may not know of.
const MAX_SERIES: usize = 50;
const OTHERS: &str = "…";

#[derive(Deserialize)]
pub(super) struct StatsQuery {
    by: Option<String>,
    window: Option<i64>,
    step: Option<i64>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct Stats {
    /// When the first step begins.
    #[schema(format = DateTime)]
    from: String,
    step_s: i64,
    /// The busiest first. Beyond fifty, and beyond what is on an allow-list, the rest is one series with the key `…`.
    series: Vec<Series>,
}

/// One number for each step; `null` where there were no calls to tell it from.
#[derive(Serialize, ToSchema)]
#[schema(as = StatsSeries)]
pub(super) struct Series {
    /// The tool, the service, …; empty where calls have none.
    key: String,
    calls: Vec<i64>,
    /// Those that ran and failed.
    errors: Vec<i64>,
    /// Those that were turned away.
    refused: Vec<i64>,
    /// Of those that were not turned away.
    p50_ms: Vec<Option<f64>>,
    p95_ms: Vec<Option<f64>>,
    /// The size of all results.
    bytes: Vec<i64>,
}

/// Calls over time. Callers see their own.
#[utoipa::path(get, path = "/stats", tag = "audit",
    params(("by" = inline(Option<words::StatsKey>), Query, description = "One series for each; all calls together unless given"),
        ("window" = Option<i64>, Query, description = "How far back, in seconds; an hour unless given, at most 31 days", minimum = 1, maximum = 2_678_400),
        ("step" = Option<i64>, Query, description = "How long each step is, in seconds; a sixtieth of the window unless given", minimum = 1, maximum = 2_678_400)),
    responses((status = 200, body = Stats), (status = 422)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<StatsQuery>,
) -> Result<Answer<Stats>> {
    signed_in.may_read()?;
    let keys = query.keys()?;
    if keys.contains(&AuditKey::Caller) && signed_in.only_own().is_none() {
        // Whose calls those are is for those who look after the tenant.
        signed_in.may_manage()?;
    }
    let (window, steps) = query.window(signed_in.only_own())?;
    state.gateway.audit().flush(FLUSH).await;
    let tallies = state.store.audit().tally(&signed_in.tenant, &window, &keys);
    let mut tallies = within(state.options.store_timeout, tallies).await?;
    let shown = Shown::to(&state, &signed_in).await?;
    for tally in tallies.iter_mut().filter(|tally| !shown.tally(&keys, tally)) {
        tally.keys = vec![OTHERS.to_owned()];
    }
    let series = series_of(tallies, steps);
    Ok(Answer(Stats { from: time::show(window.from), step_s: window.step / 1000, series }))
}

impl StatsQuery {
    fn keys(&self) -> Result<Vec<AuditKey>> {
        Ok(match self.by.as_deref() {
            None => Vec::new(),
            Some("tool") => vec![AuditKey::Tool],
            Some("service") => vec![AuditKey::Service, AuditKey::Scheme],
            Some("door") => vec![AuditKey::Door],
            Some("caller") => vec![AuditKey::Caller],
            Some("status") => vec![AuditKey::Status],
            Some("code") => vec![AuditKey::Code],
            Some(other) => {
                let known = "'tool', 'service', 'door', 'caller', 'status' or 'code'";
                return Err(Problem::bad_request(format!("by is {known}, not '{other}'")));
            }
        })
    }

    /// Whole steps up to now, so that the last one grows.
    fn window(&self, caller: Option<String>) -> Result<(Window, usize)> {
        let within = |field: &str, value: i64| match (1..=LONGEST_WINDOW_SECONDS).contains(&value) {
            true => Ok(value),
            false => {
                let message = format!("'{field}' is a number of seconds from 1 to {LONGEST_WINDOW_SECONDS}");
                Err(Problem::invalid_field(field, message))
            }
        };
        let seconds = within("window", self.window.unwrap_or(60 * 60))?;
        let step = within("step", self.step.unwrap_or((seconds / 60).max(1)))?;
        let steps = (seconds + step - 1) / step;
        if steps > MAX_STEPS {
            let message = format!(
                "the window has {steps} such steps, at most {MAX_STEPS} are counted; take larger ones"
            );
            return Err(Problem::invalid_field("step", message));
        }
        let step = step * 1000;
        let to = (chrono::Utc::now().timestamp_millis() / step + 1) * step;
        Ok((Window { from: to - steps * step, to, step, caller }, usize::try_from(steps).unwrap_or_default()))
    }
}

/// Only steps with calls: of a hundred thousand keys most have few, and all steps of each would fill the memory.
type Slots = BTreeMap<usize, Numbers>;

fn series_of(tallies: Vec<Tally>, steps: usize) -> Vec<Series> {
    let mut by_key: HashMap<String, Slots> = HashMap::new();
    for tally in tallies {
        let Some(slot) = usize::try_from(tally.slot).ok().filter(|slot| *slot < steps) else { continue };
        let key = tally.keys.first().cloned().unwrap_or_default();
        by_key.entry(key).or_default().entry(slot).or_default().add(&tally);
    }
    let calls = |slots: &Slots| slots.values().map(|numbers| numbers.calls).sum::<i64>();
    let mut together = by_key.remove(OTHERS).unwrap_or_default();
    let mut all: Vec<_> = by_key.into_iter().map(|(key, slots)| (calls(&slots), key, slots)).collect();
    all.sort_by(|(calls, key, _), (others, other, _)| others.cmp(calls).then_with(|| key.cmp(other)));
    if all.len() + usize::from(!together.is_empty()) > MAX_SERIES {
        for (slot, numbers) in all.split_off(MAX_SERIES - 1).into_iter().flat_map(|(_, _, slots)| slots) {
            together.entry(slot).or_default().merge(numbers);
        }
    }
    if !together.is_empty() {
        all.push((calls(&together), OTHERS.to_owned(), together));
    }
    all.into_iter().map(|(_, key, slots)| Series::new(key, &dense(slots, steps))).collect()
}

fn dense(mut slots: Slots, steps: usize) -> Vec<Numbers> {
    (0..steps).map(|slot| slots.remove(&slot).unwrap_or_default()).collect()
}

impl Series {
    fn new(key: String, slots: &[Numbers]) -> Self {
        let each = |number: fn(&Numbers) -> i64| slots.iter().map(number).collect();
        Self {
            key,
            calls: each(|numbers| numbers.calls),
            errors: each(|numbers| numbers.errors),
            refused: each(|numbers| numbers.refused),
            p50_ms: slots.iter().map(|numbers| numbers.percentile_ms(50)).collect(),
            p95_ms: slots.iter().map(|numbers| numbers.percentile_ms(95)).collect(),
            bytes: each(|numbers| numbers.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred thousand keys, each with all of a thousand steps, would be more than any machine has.
    #[test]
    fn many_keys_take_no_more_room_than_their_calls() {
        let steps = usize::try_from(MAX_STEPS).unwrap();
        let tally = |key: usize, slot: usize, calls: i64| Tally {
            keys: vec![format!("tool{key:06}")],
            slot: i64::try_from(slot).unwrap(),
            status: "ok".into(),
            duration_us: 1000,
            calls,
            bytes: 1,
        };
        let mut tallies: Vec<_> = (0..100_000).map(|key| tally(key, key % steps, 1)).collect();
        tallies.push(tally(77_777, 0, 5));
        let series = series_of(tallies, steps);
        assert_eq!((series.len(), series[0].key.as_str()), (MAX_SERIES, "tool077777"));
        assert_eq!((series[0].calls[0], series[0].calls[777], series[0].calls.len()), (5, 1, steps));
        let rest = series.last().unwrap();
        assert_eq!((rest.key.as_str(), rest.calls.iter().sum::<i64>()), (OTHERS, 100_000 - 49));
        assert_eq!(rest.p50_ms[0], Some(1.0));
    }
}

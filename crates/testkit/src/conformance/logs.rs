//! The rule about secrets, with every log line of the process caught.

use super::calls::run;
use super::{Sample, Subject, Verdict, context, ensure, schema};
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tool::Events;
use tracing::field::{Field, Visit};
use tracing::span;

pub(super) async fn secrets_stay_secret(subject: &Subject) -> Verdict {
    let subject = subject.clone();
    let settings = schema::properties(subject.tested.kind.settings_schema());
    let has_secrets = settings.iter().any(|(_, property)| property["writeOnly"] == true);
    ensure(!subject.secrets.is_empty() || !has_secrets, || {
        "name the secrets of the settings, if only one made up for the test".to_owned()
    })?;
    // A thread and a runtime of its own, so that everything it starts logs to our subscriber.
    tokio::task::spawn_blocking(move || in_own_runtime(&subject))
        .await
        .map_err(|error| format!("the check panicked: {error}"))?
}

fn in_own_runtime(subject: &Subject) -> Verdict {
    let sink = Sink::default();
    // Fails when another test of the process has set a logger; tracing still works then.
    if log::set_boxed_logger(Box::new(sink.clone())).is_ok() {
        log::set_max_level(log::LevelFilter::Trace);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let said =
        tracing::subscriber::with_default(sink.clone(), || runtime.block_on(everything_said(subject)))?;
    let logged = sink.0.lock().unwrap_or_else(PoisonError::into_inner);
    for secret in &subject.secrets {
        for (what, text) in said.iter().map(|(what, text)| (*what, text)).chain([("the log", &*logged)]) {
            ensure(!text.contains(secret.as_str()), || {
                let at = text.find(secret.as_str()).unwrap_or_default();
                let before: String = text[..at].chars().rev().take(60).collect();
                let before: String = before.chars().rev().collect();
                format!("{what} shows a secret after …{before}")
            })?;
        }
    }
    Ok(())
}

/// Debug output, errors and events of good and bad calls, on a live and on a dead remote.
async fn everything_said(subject: &Subject) -> Result<Vec<(&'static str, String)>, String> {
    let mut said = vec![("Debug of the settings", (subject.tested.debug)(subject.settings.clone()))];
    let unknown = Sample::new("no_such_tool", subject.good.arguments.clone());
    let samples = [&subject.good, &subject.bad, &unknown].into_iter().chain(subject.slow.get());
    for connector in [Some(subject.open()?), subject.open_dead()?].into_iter().flatten() {
        for sample in samples.clone() {
            let mut cx = context(Duration::from_millis(500));
            let (events, mut rx) = Events::channel(64);
            cx.events = events;
            if let Err(error) = run(&*connector, &cx, sample).await {
                said.push(("an error", format!("{error} {error:?} {}", error.full_message())));
            }
            while let Some(event) = rx.take() {
                said.push(("an event", format!("{event:?}")));
            }
        }
        if let Err(error) = connector.health(&context(Duration::from_millis(500))).await {
            said.push(("an error of health", format!("{error:?} {}", error.full_message())));
        }
    }
    let mut broken = subject.settings.clone();
    broken["no_such_setting"] = true.into();
    if let Err(error) = subject.tested.kind.open(broken, &subject.env) {
        said.push(("an error of open", format!("{error:?}")));
    }
    Ok(said)
}

/// Takes every log line and every span, of `tracing` and of `log`.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<String>>);

impl Sink {
    fn write(&self, text: fmt::Arguments<'_>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a String does not fail.
        let _ = writeln!(all, "{text}");
    }
}

impl Visit for &Sink {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(format_args!("{field}={value:?}"));
    }
}

impl tracing::Subscriber for Sink {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut &*self);
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut &*self);
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut &*self);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl log::Log for Sink {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        self.write(format_args!("{}: {}", record.target(), record.args()));
    }
    fn flush(&self) {}
}

//! What is told while a call runs, and how it reaches whoever listens.

use crate::Content;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Something worth telling while a call runs.
#[derive(Debug)]
pub enum Event {
    /// How far the call has come.
    Progress {
        /// Grows with each event.
        progress: f64,
        /// Where it ends, if known.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// A log entry of the service.
    Log {
        /// How grave it is, from `debug` to `emergency`.
        level: String,
        /// The entry, as the service wrote it.
        entry: Box<RawValue>,
    },
    /// A part of the answer, ahead of the whole.
    Content(Content),
    /// A step of the work, as JSON for programs that follow it.
    Step(Box<RawValue>),
}

/// Where events go. Nobody has to listen: an event that finds no room is dropped. Whoever listens is told how many log
/// entries were.
///
/// Every call has its own, so it is made of one piece, and nobody is woken when it ends.
#[derive(Debug, Clone, Default)]
pub struct Events(Option<Arc<Mutex<Queue>>>);

/// The end where events come out.
#[derive(Debug)]
pub struct EventReceiver(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    events: VecDeque<Event>,
    capacity: usize,
    listener: Option<Waker>,
    /// Log entries that found no room since that was last told.
    dropped_logs: u64,
}

impl Queue {
    fn pop(&mut self) -> Option<Event> {
        let waiting = self.events.pop_front();
        waiting.or_else(|| dropped(std::mem::take(&mut self.dropped_logs)))
    }
}

/// What is told in the place of log entries that found no room.
fn dropped(count: u64) -> Option<Event> {
    const LEVEL: &str = "warning";
    let entries = match count {
        0 => return None,
        1 => "1 log entry was".to_owned(),
        _ => format!("{count} log entries were"),
    };
    let data = format!("{entries} dropped here: they came faster than they were read");
    let entry = json!({ "level": LEVEL, "logger": "mcp-all-in-one", "data": data });
    Some(Event::Log { level: LEVEL.to_owned(), entry: to_raw_value(&entry).ok()? })
}

impl Events {
    /// Events and the end where they come out; at most `capacity` wait there.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, EventReceiver) {
        let queue = Arc::new(Mutex::new(Queue {
            events: VecDeque::new(),
            capacity,
            listener: None,
            dropped_logs: 0,
        }));
        (Self(Some(queue.clone())), EventReceiver(queue))
    }

    /// Somebody was to listen when the call began.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Tells whoever listens; never waits.
    pub fn emit(&self, event: Event) {
        let Some(queue) = &self.0 else { return };
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.events.len() < queue.capacity {
            queue.events.push_back(event);
            let listener = queue.listener.take();
            drop(queue);
            if let Some(listener) = listener {
                listener.wake();
            }
        } else if let Event::Log { .. } = event {
            queue.dropped_logs += 1;
        }
    }
}

impl EventReceiver {
    /// The next event. Waits for ever when none comes.
    pub async fn next(&mut self) -> Event {
        poll_fn(|cx| {
            let mut queue = self.queue();
            match queue.pop() {
                Some(event) => Poll::Ready(event),
                None => {
                    queue.listener.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The next event that waits already.
    pub fn take(&mut self) -> Option<Event> {
        self.queue().pop()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        // What nobody will hear need not be kept.
        let mut queue = self.queue();
        queue.capacity = 0;
        queue.events = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(progress: f64) -> Event {
        Event::Progress { progress, total: None, message: None }
    }

    #[test]
    fn events_without_a_listener_change_nothing() {
        let (events, rx) = Events::channel(1);
        drop(rx);
        events.emit(progress(1.0));
        Events::default().emit(Event::Content(Content::text("x")));
    }

    #[tokio::test]
    async fn events_come_in_order_and_those_without_room_are_dropped() {
        let (events, mut rx) = Events::channel(2);
        let heard = tokio::spawn(async move {
            let first = rx.next().await;
            (first, rx)
        });
        tokio::task::yield_now().await;
        events.emit(progress(1.0));
        let (first, mut rx) = heard.await.unwrap();
        assert!(matches!(first, Event::Progress { progress: 1.0, .. }));
        for number in [2.0, 3.0, 4.0] {
            events.emit(progress(number));
        }
        assert!(matches!(rx.take(), Some(Event::Progress { progress: 2.0, .. })));
        assert!(matches!(rx.next().await, Event::Progress { progress: 3.0, .. }));
        assert!(rx.take().is_none());
    }

    #[test]
    fn a_burst_of_log_entries_says_how_many_were_dropped() {
        let (events, mut rx) = Events::channel(2);
        let told = |rx: &mut EventReceiver| match rx.take() {
            Some(Event::Log { entry, .. }) => entry.get().to_owned(),
            other => panic!("{other:?}"),
        };
        for number in 0..5 {
            events.emit(Event::Log { level: "info".into(), entry: to_raw_value(&number).unwrap() });
        }
        events.emit(progress(1.0));
        assert_eq!([told(&mut rx), told(&mut rx)], ["0", "1"]);
        assert!(told(&mut rx).contains("3 log entries were dropped here"), "progress is no log entry");
        assert!(rx.take().is_none(), "it is said once");
    }
}

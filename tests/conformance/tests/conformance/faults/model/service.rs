//! The service behind every network of the model: it follows the script and records what it sees.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    watch,
};

use super::event::{Act, Event, Evidence, VALUED};

/// A signal that a test reacts to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    /// The peer is silent until a time limit ends the attempt.
    Silent,
    /// The client waits before a retry.
    Delay(Duration),
}

/// A request as the service saw it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) key: Option<String>,
    /// The bytes of the body.
    pub(super) received: usize,
    pub(super) is_complete: bool,
    /// Whether the service has executed it, or an earlier one under the same key.
    pub(super) executed: bool,
    /// Whether the client can't rule out that it was executed.
    pub(super) may_be_executed: bool,
}

/// All clones are one service.
#[derive(Clone)]
pub(super) struct Service {
    state: Arc<Mutex<State>>,
    signals: UnboundedSender<Signal>,
    /// The number of response heads that the client has read.
    heads: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    events: VecDeque<&'static Event>,
    requests: Vec<Request>,
    keys: BTreeSet<String>,
    executions: usize,
}

/// The event that happens to a request.
#[derive(Clone, Copy)]
pub(super) struct Met {
    pub(super) event: &'static Event,
    /// How many response heads the client had read.
    heads: usize,
}

impl Service {
    pub(super) fn new() -> (Self, UnboundedReceiver<Signal>) {
        let (signals, receiver) = unbounded_channel();
        (Self { state: Arc::default(), signals, heads: watch::Sender::default() }, receiver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Forgets everything, and starts a script.
    pub(super) fn start(&self, events: &[&'static Event]) {
        *self.state() = State { events: events.iter().copied().collect(), ..State::default() };
    }

    /// Starts another script.
    pub(super) fn start_again(&self, event: &'static Event) {
        self.state().events = VecDeque::from([event]);
    }

    pub(super) fn signal(&self, signal: Signal) {
        // Without a receiver, nothing reacts.
        let _ = self.signals.send(signal);
    }

    pub(super) fn signals(&self) -> UnboundedSender<Signal> {
        self.signals.clone()
    }

    /// Returns the next event if it leaves the client without a connection.
    pub(super) fn next_without_connection(&self) -> Option<&'static Event> {
        let events = &mut self.state().events;
        events.front().filter(|event| !event.act.connects())?;
        events.pop_front()
    }

    /// Returns the event of a request that arrives. A request beyond the script succeeds, so that only the record shows it.
    pub(super) fn next(&self) -> Met {
        let event = self.state().events.pop_front();
        Met { event: event.unwrap_or(&VALUED), heads: *self.heads.borrow() }
    }

    /// Records a request, and executes it if the event says so.
    pub(super) fn receive(&self, met: Met, key: Option<String>, received: usize) {
        let is_complete = met.event.act != Act::CutRequest;
        let mut state = self.state();
        if met.event.executes && key.as_ref().is_none_or(|key| state.keys.insert(key.clone())) {
            state.executions += 1;
        }
        let executed = met.event.executes || key.as_ref().is_some_and(|key| state.keys.contains(key));
        let may_be_executed = met.event.evidence != Evidence::Rejected;
        state.requests.push(Request { key, received, is_complete, executed, may_be_executed });
    }

    pub(super) fn head_arrived(&self) {
        self.heads.send_modify(|heads| *heads += 1);
    }

    /// Waits until the client has read the head of the response to a request.
    pub(super) async fn head_read(&self, met: Met) {
        let mut heads = self.heads.subscribe();
        let _ = heads.wait_for(|heads| *heads > met.heads).await;
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// How often the operation was executed.
    pub(super) fn executions(&self) -> usize {
        self.state().executions
    }
}

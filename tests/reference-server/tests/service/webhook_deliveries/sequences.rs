//! The service against the [`Model`] of webhook delivery: every short sequence of operations, and long random ones.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use idempost_reference_server::{Posted, WebhookPost};
use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::model::{Event, Model, Request};
use super::{Attempt, signature, text, webhook};
use crate::support::{Sandbox, exhaustive};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Send,
    ReplayOldest,
    ReplayNewest,
    /// Makes every pending attempt; the endpoint responds with this status, or not at all.
    Deliver(Option<u16>),
    /// Starts one attempt and leaves it in flight.
    Start,
    /// Completes the oldest attempt in flight.
    EndOldest(Option<u16>),
    /// Completes the newest attempt in flight.
    EndNewest(Option<u16>),
    Disable,
    Enable,
    Move,
    Delete,
    Rotate,
    Advance(u64),
    /// Moves the clock to the second before the next scheduled attempt.
    AdvanceAlmost,
    /// Moves the clock to the next scheduled attempt.
    AdvanceToNext,
}

use Operation::*;

/// The endpoint's response timeout in seconds.
const TIMEOUT: u64 = 15;

/// The operations of the short sequences.
const FEW: &[Operation] = &[
    Send,
    ReplayOldest,
    Deliver(Some(200)),
    Deliver(None),
    Start,
    EndOldest(Some(500)),
    Disable,
    Enable,
    Move,
    Delete,
    Rotate,
    AdvanceToNext,
];

/// The operations of the long sequences, weighted toward those that complete few attempts.
const MANY: &[Operation] = &[
    Send,
    Send,
    ReplayOldest,
    ReplayOldest,
    ReplayNewest,
    ReplayNewest,
    Deliver(Some(200)),
    Deliver(Some(500)),
    Deliver(Some(500)),
    Deliver(Some(302)),
    Deliver(None),
    Deliver(None),
    Start,
    Start,
    Start,
    EndOldest(Some(299)),
    EndOldest(Some(500)),
    EndOldest(None),
    EndNewest(Some(200)),
    EndNewest(Some(410)),
    EndNewest(None),
    Disable,
    Enable,
    Enable,
    Enable,
    Move,
    Rotate,
    Advance(1),
    Advance(TIMEOUT),
    Advance(3 * 3_600),
    Advance(86_400),
    AdvanceAlmost,
    AdvanceToNext,
    AdvanceToNext,
    AdvanceToNext,
    AdvanceToNext,
    AdvanceToNext,
];

/// The service and its model, side by side.
struct Pair {
    sandbox: Sandbox,
    start: Timestamp,
    path: String,
    secrets: Vec<String>,
    /// The ids of the events, oldest first.
    ids: Vec<String>,
    bodies: Vec<Option<Bytes>>,
    in_flight: VecDeque<WebhookPost>,
    model: Model,
}

impl Pair {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let (path, secret) = webhook(&sandbox, &["topic.created"]);
        Self {
            start: sandbox.service.clock().now(),
            sandbox,
            path,
            secrets: vec![secret],
            ids: Vec::new(),
            bodies: Vec::new(),
            in_flight: VecDeque::new(),
            model: Model::new(),
        }
    }

    /// Applies one operation to both sides.
    fn apply(&mut self, operation: Operation) {
        match operation {
            Send => self.send(),
            ReplayOldest => self.replay(0),
            ReplayNewest => self.replay(self.ids.len().saturating_sub(1)),
            Deliver(answer) => {
                while self.start_attempt() {
                    self.finish_attempt(self.in_flight.len() - 1, answer);
                }
            }
            Start => drop(self.start_attempt()),
            EndOldest(answer) => self.finish_attempt(0, answer),
            EndNewest(answer) => self.finish_attempt(self.in_flight.len().saturating_sub(1), answer),
            Disable => self.enable(false),
            Enable => self.enable(true),
            Move => {
                self.model.moves += 1;
                self.endpoint(self.model.moves);
            }
            Delete => {
                let answer = self.sandbox.delete(&*self.path);
                assert_eq!(answer.status, if self.model.deleted { 404 } else { 200 });
                self.model.deleted = true;
            }
            Rotate => self.rotate(),
            Advance(seconds) => self.advance(seconds),
            AdvanceAlmost => self.advance(self.model.next_due().map_or(1, |seconds| seconds - 1)),
            AdvanceToNext => self.advance(self.model.next_due().unwrap_or(1)),
        }
    }

    fn send(&mut self) {
        let sent = self.sandbox.post("/_/events", &json!({ "type": "topic.created" })).json();
        let deliveries = sent["deliveries"].as_array().unwrap();
        self.ids.extend(deliveries.iter().map(|delivery| text(&delivery["event_id"])));
        self.bodies.resize(self.ids.len(), None);
        self.model.send();
        assert_eq!(self.ids.len(), self.model.events.len());
    }

    fn replay(&mut self, event: usize) {
        let Some(id) = self.ids.get(event) else { return };
        let answer = self.sandbox.post(&format!("{}/events/{id}/replay", self.path), &json!({}));
        let expected = match (self.model.deleted, self.model.enabled) {
            (true, _) => 404,
            (false, false) => 403,
            (false, true) => 200,
        };
        assert_eq!(answer.status, expected, "{}", answer.text());
        match expected {
            200 => self.model.replay(event),
            403 => answer.rejected(403, "validation_error", ""),
            _ => {}
        }
    }

    /// Starts one attempt on both sides; returns whether one was pending.
    fn start_attempt(&mut self) -> bool {
        let expected = self.model.start();
        let Some(post) = self.sandbox.service.next_post() else {
            assert_eq!(expected, None, "no attempt started");
            return false;
        };
        let Some(Request { event, moves, secrets }) = expected else {
            panic!("an attempt started that the model doesn't have: {post:?}");
        };
        let attempt =
            Attempt { url: post.url.clone(), headers: post.headers.clone(), body: post.body.clone() };
        assert_eq!(attempt.header("svix-id"), self.ids[event]);
        assert_eq!(attempt.url, address(moves));
        let signatures: Vec<_> =
            secrets.iter().map(|number| signature(&self.secrets[*number], &attempt)).collect();
        assert_eq!(attempt.header("svix-signature"), signatures.join(" "), "secrets {secrets:?} sign");
        assert_eq!(self.bodies[event].get_or_insert_with(|| attempt.body.clone()), &attempt.body);
        self.in_flight.push_back(post);
        true
    }

    fn finish_attempt(&mut self, place: usize, status: Option<u16>) {
        let Some(post) = self.in_flight.remove(place) else { return };
        self.model.finish(place, status.unwrap_or_default());
        self.sandbox.service.finish_post(post, Posted { status, response: String::new() });
    }

    fn enable(&mut self, enabled: bool) {
        let status = if enabled { "enabled" } else { "disabled" };
        self.patch(&json!({ "status": status }));
        self.model.enabled = enabled;
    }

    fn endpoint(&mut self, moves: u32) {
        self.patch(&json!({ "endpoint": address(moves) }));
    }

    fn patch(&mut self, change: &Value) {
        let answer = self.sandbox.patch(&*self.path, change);
        assert_eq!(answer.status, if self.model.deleted { 404 } else { 200 }, "{}", answer.text());
    }

    fn rotate(&mut self) {
        let answer = self.sandbox.post(&format!("{}/signing-secret/rotate", self.path), &json!({}));
        if self.model.deleted {
            assert_eq!(answer.status, 404);
            return;
        }
        self.secrets.push(text(&answer.json()["signing_secret"]));
        self.model.rotate();
    }

    fn advance(&mut self, seconds: u64) {
        self.sandbox.advance(seconds);
        self.model.advance(seconds);
    }

    /// Compares the API with the model: the status of every event, and all details of those at `places`.
    fn compare(&self, places: impl Iterator<Item = usize>) {
        let list = self.sandbox.get(format!("{}/events?limit=100", self.path));
        if self.model.deleted {
            assert_eq!(list.status, 404);
            return;
        }
        let list = list.json();
        let shown: Vec<_> = list["data"].as_array().unwrap().iter().rev().map(|one| &one["status"]).collect();
        let expected: Vec<_> = self.model.events.iter().map(Event::status).collect();
        assert_eq!(shown, expected);
        places.for_each(|place| self.compare_event(place));
    }

    fn compare_event(&self, place: usize) {
        let Some(expected) = self.model.events.get(place) else { return };
        let event = format!("{}/events/{}", self.path, self.ids[place]);
        let shown = self.sandbox.get(&*event).json();
        let due = shown["next_attempt_at"].as_str().map(|at| at.parse::<Timestamp>().unwrap());
        let expected_due = expected.next_attempt_at().map(|at| self.timestamp_after(at));
        assert_eq!((&shown["status"], due), (&json!(expected.status()), expected_due));
        let attempts = self.sandbox.get(format!("{event}/attempts?limit=100")).json();
        let attempts = attempts["data"].as_array().unwrap().iter().rev();
        assert_eq!(attempts.map(|one| &one["http_status_code"]).collect::<Vec<_>>(), expected.attempts);
    }

    fn timestamp_after(&self, seconds: u64) -> Timestamp {
        self.start + SignedDuration::from_secs(seconds.try_into().unwrap())
    }
}

fn address(moves: u32) -> String {
    let path = if moves == 0 { "hook".to_owned() } else { format!("hook/{moves}") };
    format!("http://127.0.0.1:9/{path}")
}

/// Every sequence of `length` operations.
fn sequences(depth: u32) -> impl Iterator<Item = Vec<Operation>> + Clone + std::marker::Send {
    let sequence = move |number: usize| {
        let digit = |place| number / FEW.len().pow(place) % FEW.len();
        (0..depth).map(|place| FEW[digit(place)]).collect()
    };
    (0..FEW.len().pow(depth)).map(sequence)
}

/// A long random sequence, reproducible from its seed.
fn random_sequence(seed: u64) -> Vec<Operation> {
    let mut random = StdRng::seed_from_u64(seed);
    let length = random.gen_range(10..60);
    let mut sequence: Vec<_> = (0..length).map(|_| MANY[random.gen_range(0..MANY.len())]).collect();
    if random.gen_bool(0.25) {
        sequence.insert(random.gen_range(0..length), Delete);
    }
    sequence
}

/// Runs a sequence after a first email; compares both sides at the end, or after each operation.
fn matches_model(sequence: &[Operation], at_each: bool) -> bool {
    let run = || {
        let mut pair = Pair::new();
        pair.apply(Send);
        for (step, operation) in sequence.iter().enumerate() {
            pair.apply(*operation);
            if at_each {
                pair.compare(std::iter::once(step % pair.ids.len()));
            }
        }
        pair.compare(0..pair.ids.len());
    };
    catch_unwind(AssertUnwindSafe(run)).is_ok()
}

/// Removes every operation the mismatch doesn't depend on.
fn shrink(mut sequence: Vec<Operation>) -> Vec<Operation> {
    let mut place = 0;
    while place < sequence.len() {
        let mut shorter = sequence.clone();
        shorter.remove(place);
        if matches_model(&shorter, true) {
            place += 1;
        } else {
            sequence = shorter;
        }
    }
    sequence
}

/// Runs all sequences on all cores; returns their number.
fn check(
    sequences: &(impl Iterator<Item = Vec<Operation>> + Clone + std::marker::Send),
    at_each: bool,
) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let mine = sequences.clone().skip(worker).step_by(threads);
                scope.spawn(move || {
                    let mut count = 0;
                    for sequence in mine {
                        assert!(
                            matches_model(&sequence, at_each),
                            "they disagree after {:?}",
                            shrink(sequence)
                        );
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    })
}

#[test]
fn evt_12_webhook_delivery_matches_its_model_for_every_short_sequence_of_operations() {
    // EVT-01, EVT-03, EVT-04, EVT-11, EVT-12
    let longest = if exhaustive() { 4 } else { 3 };
    let count: usize = (1..=longest).map(|depth| check(&sequences(depth), false)).sum();
    println!("{count} sequences of up to {longest} operations");
    assert!(count > FEW.len().pow(longest));
}

#[test]
fn evt_12_webhook_delivery_matches_its_model_for_long_random_sequences_of_operations() {
    // EVT-01, EVT-03, EVT-04, EVT-11, EVT-12
    let count = check(&(0..if exhaustive() { 600 } else { 60 }).map(random_sequence), true);
    println!("{count} sequences of 10 to 60 operations");
}

#[test]
fn evt_12_sequences_that_the_others_rarely_contain_match_the_model() {
    // EVT-12
    let rare: [&[Operation]; 2] = [
        // A scheduled attempt is still queued when the webhook is disabled.
        &[Deliver(None), ReplayOldest, AdvanceToNext, Start, EndOldest(Some(200)), Disable, Start],
        // An attempt that was due before the first secret's retirement ended is made after another rotation.
        &[Rotate, Advance(86_400), Rotate, Deliver(Some(500))],
    ];
    for sequence in rare {
        assert!(matches_model(sequence, true), "{sequence:?}");
    }
}

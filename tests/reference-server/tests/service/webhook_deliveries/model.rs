//! A pure model of the delivery of one webhook's events: no service, no sockets, and a clock that counts seconds.

use std::collections::VecDeque;

/// Seconds from a failed scheduled attempt to the next one (EVT-12).
const BACKOFF: [u64; 7] = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];
/// Seconds for which a rotated secret continues to sign.
const SECRET_OVERLAP: u64 = 86_400;
/// Maximum attempts in flight per webhook.
const MAX_IN_FLIGHT: usize = 8;

/// A webhook and its events.
pub(super) struct Model {
    /// Seconds since the start.
    pub(super) now: u64,
    pub(super) enabled: bool,
    pub(super) deleted: bool,
    /// Number of endpoint changes.
    pub(super) moves: u32,
    /// Secrets by number, newest first, each with its expiry.
    secrets: Vec<(usize, Option<u64>)>,
    /// Oldest first.
    pub(super) events: Vec<Event>,
    waiting: VecDeque<Attempt>,
    in_flight: VecDeque<Attempt>,
    scheduled: u64,
}

/// One event for the webhook.
pub(super) struct Event {
    state: Schedule,
    /// Scheduled attempts that have failed.
    failed: usize,
    in_flight: usize,
    /// Status codes, oldest first; 0 for no response.
    pub(super) attempts: Vec<u16>,
}

#[derive(Clone, Copy, PartialEq)]
enum Schedule {
    /// `order` breaks ties between attempts due at the same time.
    Due {
        at: u64,
        order: u64,
    },
    InFlight,
    Delivered,
    GivenUp,
}

#[derive(Clone, Copy)]
struct Attempt {
    event: usize,
    due: u64,
    replay: bool,
}

/// The expected request of an attempt.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) event: usize,
    pub(super) moves: u32,
    /// The signing secrets, by number.
    pub(super) secrets: Vec<usize>,
}

impl Event {
    pub(super) fn status(&self) -> &'static str {
        match self.state {
            Schedule::Delivered => "success",
            _ if self.in_flight > 0 => "attempting",
            Schedule::Due { .. } => "pending",
            Schedule::InFlight | Schedule::GivenUp => "failed",
        }
    }

    pub(super) fn next_attempt_at(&self) -> Option<u64> {
        match self.state {
            Schedule::Due { at, .. } => Some(at),
            _ => None,
        }
    }
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            enabled: true,
            deleted: false,
            moves: 0,
            secrets: vec![(0, None)],
            events: Vec::new(),
            waiting: VecDeque::new(),
            in_flight: VecDeque::new(),
            scheduled: 0,
        }
    }

    pub(super) fn send(&mut self) {
        if self.enabled && !self.deleted {
            let state = self.due(self.now);
            self.events.push(Event { state, failed: 0, in_flight: 0, attempts: Vec::new() });
            self.enqueue(Attempt { event: self.events.len() - 1, due: self.now, replay: false });
        }
    }

    fn due(&mut self, at: u64) -> Schedule {
        self.scheduled += 1;
        Schedule::Due { at, order: self.scheduled }
    }

    /// Adds an attempt after those that are due no later.
    fn enqueue(&mut self, attempt: Attempt) {
        let place = self.waiting.partition_point(|other| other.due <= attempt.due);
        self.waiting.insert(place, attempt);
    }

    pub(super) fn replay(&mut self, event: usize) {
        self.enqueue(Attempt { event, due: self.now, replay: true });
    }

    pub(super) fn rotate(&mut self) {
        let number = self.secrets[0].0 + 1;
        self.secrets[0].1 = Some(self.now + SECRET_OVERLAP);
        self.secrets.insert(0, (number, None));
    }

    /// Advances the clock; scheduled attempts that fall due are queued.
    pub(super) fn advance(&mut self, seconds: u64) {
        let before = self.now;
        self.now += seconds;
        let mut due: Vec<_> = (0..self.events.len())
            .filter_map(|event| match self.events[event].state {
                Schedule::Due { at, order } if before < at && at <= self.now => Some((at, order, event)),
                _ => None,
            })
            .collect();
        due.sort_unstable();
        for (due, _, event) in due {
            self.enqueue(Attempt { event, due, replay: false });
        }
    }

    /// Starts the next queued attempt, unless the limit is reached or an attempt in flight was due earlier.
    pub(super) fn start(&mut self) -> Option<Request> {
        while self.in_flight.len() < MAX_IN_FLIGHT {
            let due = self.waiting.front()?.due;
            if self.in_flight.iter().any(|other| other.due < due) {
                return None;
            }
            let attempt = self.waiting.pop_front()?;
            let event = &mut self.events[attempt.event];
            let waits = matches!(event.state, Schedule::Due { .. });
            if self.deleted || (!attempt.replay && !waits) {
                continue;
            }
            if !self.enabled {
                if !attempt.replay {
                    event.state = Schedule::GivenUp;
                }
                continue;
            }
            if !attempt.replay {
                event.state = Schedule::InFlight;
            }
            event.in_flight += 1;
            self.in_flight.push_back(attempt);
            let signs = self.secrets.iter().filter(|(_, until)| until.is_none_or(|until| due < until));
            let secrets = signs.map(|(number, _)| *number).collect();
            return Some(Request { event: attempt.event, moves: self.moves, secrets });
        }
        None
    }

    /// Completes the attempt at this position among those in flight, oldest first.
    pub(super) fn finish(&mut self, place: usize, code: u16) {
        let Some(attempt) = self.in_flight.remove(place) else { return };
        let event = &mut self.events[attempt.event];
        event.in_flight -= 1;
        event.attempts.push(code);
        if (200..300).contains(&code) {
            event.state = Schedule::Delivered;
        } else if !attempt.replay && event.state == Schedule::InFlight {
            event.failed += 1;
            let pause = BACKOFF.get(event.failed - 1).copied();
            let due = pause.map(|pause| attempt.due + pause);
            self.events[attempt.event].state = due.map_or(Schedule::GivenUp, |due| self.due(due));
            if let Some(due) = due.filter(|due| *due <= self.now) {
                self.enqueue(Attempt { due, ..attempt });
            }
        }
    }

    /// Seconds until the next scheduled attempt.
    pub(super) fn next_due(&self) -> Option<u64> {
        let due = self.events.iter().filter_map(Event::next_attempt_at);
        due.filter(|at| *at > self.now).min().map(|at| at - self.now)
    }
}

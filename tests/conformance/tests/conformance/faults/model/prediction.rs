//! The model: the effect of a sequence of events on a call, from the documentation alone. It shares no code with the SDK.

use std::time::Duration;

use idempost::Outcome;

use super::{
    event::{Act, Event, Evidence},
    setting::{ATTEMPT, Drop, Limiter, Operation, Setting},
};

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Value,
    /// Without a response, or without a connection.
    NoResponse,
    ErrorResponse,
    /// With a success that has no value.
    Unreadable,
    /// Before the first attempt: the rate limiter has no slot in time.
    TooLate,
    /// With the second rejection of an access token.
    TokenRejected,
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prediction {
    pub(super) end: End,
    pub(super) outcome: Outcome,
    pub(super) is_retryable: bool,
    pub(super) budget_exhausted: bool,
    pub(super) attempts: u32,
    /// The requests that arrive, as a whole or in part.
    pub(super) requests: usize,
}

/// Predicts the end of a call, or returns `None` if the call continues after these events.
pub(super) fn predict(
    operation: Operation,
    setting: &Setting,
    events: &[&'static Event],
) -> Option<Prediction> {
    let mut call = Call::new(operation, setting);
    let mut events = events.iter();
    let end = loop {
        if let Some(end) = call.wait_for_slot() {
            break end;
        }
        if let Some(end) = call.attempt(events.next()?) {
            break end;
        }
    };
    assert!(events.next().is_none(), "the call ends before the last event");
    Some(call.predicted(end))
}

/// A time since the beginning of the call; delays contain random parts.
#[derive(Clone, Copy, PartialEq)]
struct Span {
    least: Duration,
    most: Duration,
}

impl Span {
    const ZERO: Self = Self { least: Duration::ZERO, most: Duration::ZERO };

    fn plus(self, least: Duration, most: Duration) -> Self {
        Self { least: self.least + least, most: self.most + most }
    }

    fn max(self, other: Self) -> Self {
        Self { least: self.least.max(other.least), most: self.most.max(other.most) }
    }

    fn is_before(self, limit: Option<Duration>) -> bool {
        let Some(limit) = limit else { return true };
        assert!(self.most < limit || self.least >= limit, "the model can't decide");
        self.most < limit
    }
}

/// Longer than the timer takes.
const TICK: Duration = Duration::from_millis(20);
/// Longer than a learned limit delays a request.
const LEARNED: Duration = Duration::from_mins(1);
/// Successes pay for a retry.
const SUCCESSES_PER_RETRY: u32 = 5;

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Call<'a> {
    operation: Operation,
    setting: &'a Setting,
    now: Span,
    /// When the limiter admits the next request.
    slot: Option<Span>,
    attempts: u32,
    requests: usize,
    /// Whether a response has shown that the service has executed the request.
    proved: bool,
    /// Whether the service may have executed it.
    open: bool,
    last: Outcome,
    /// The end, if the last attempt was the last.
    end: Option<End>,
    passes: bool,
    misread: bool,
    reauthorized: bool,
    /// In successes, like the amount that this call has withdrawn.
    budget: u32,
    withdrawn: u32,
    budget_exhausted: bool,
}

impl<'a> Call<'a> {
    fn new(operation: Operation, setting: &'a Setting) -> Self {
        let slot = match setting.limiter {
            Limiter::Every(interval) => Some(Span::ZERO.plus(interval.saturating_sub(TICK), interval)),
            Limiter::Off | Limiter::Adaptive => None,
        };
        Self {
            operation,
            setting,
            now: Span::ZERO,
            slot,
            attempts: 0,
            requests: 0,
            proved: false,
            open: false,
            last: Outcome::NotSent,
            end: None,
            passes: false,
            misread: false,
            reauthorized: false,
            budget: setting.budget * SUCCESSES_PER_RETRY,
            withdrawn: 0,
            budget_exhausted: false,
        }
    }

    fn wait_for_slot(&mut self) -> Option<End> {
        let slot = self.slot.filter(|slot| slot.most > self.now.least)?;
        if self.setting.drop == Some(Drop::Limiter) {
            return Some(End::Dropped);
        }
        if !slot.is_before(self.setting.deadline) {
            return Some(self.end.unwrap_or(End::TooLate));
        }
        self.now = self.now.max(slot);
        None
    }

    /// Returns how the call ends, unless another attempt follows.
    fn attempt(&mut self, event: &Event) -> Option<End> {
        self.attempts += 1;
        if event.act.connects() {
            self.requests += 1;
            if let Limiter::Every(interval) = self.setting.limiter {
                self.slot = Some(self.now.plus(interval.saturating_sub(TICK), interval));
            }
        }
        if event.act.stalls() {
            if self.setting.drop == Some(Drop::Stall) {
                return Some(End::Dropped);
            }
            let limit = self.setting.deadline.unwrap_or(Duration::MAX);
            let end = self.now.plus(ATTEMPT, ATTEMPT + TICK);
            self.now = Span { least: end.least.min(limit), most: end.most.min(limit.saturating_add(TICK)) };
        }
        let end = match self.learn(event) {
            End::Value => return Some(End::Value),
            _ if self.proved => End::Unreadable,
            end => end,
        };
        self.end = Some(end);
        let rejects_token = self.setting.session && event.rejects_token();
        if rejects_token && std::mem::replace(&mut self.reauthorized, true) {
            self.passes = false;
            return Some(match end {
                End::Unreadable => end,
                _ if self.open => End::NoResponse,
                _ => End::TokenRejected,
            });
        }
        if rejects_token {
            self.passes = true;
            return (self.attempts == self.setting.max_attempts).then_some(end);
        }
        self.delay(event).map_or(Some(end), |dropped| dropped.then_some(End::Dropped))
    }

    /// Records the evidence of the attempt, and returns how the call ends if no other attempt follows.
    fn learn(&mut self, event: &Event) -> End {
        let (keyed, reads) = (self.operation.is_keyed(), self.operation == Operation::Read);
        let nothing_sent = (Outcome::NotSent, event.passes, End::NoResponse);
        let (outcome, passes, end) = match event.evidence {
            Evidence::Value => return End::Value,
            Evidence::NotSent => nothing_sent,
            Evidence::NoResponse | Evidence::Unreadable { complete: false, .. } if reads => nothing_sent,
            Evidence::NoResponse => (Outcome::Unknown, event.passes, End::NoResponse),
            Evidence::Rejected => (Outcome::Rejected, event.passes, End::ErrorResponse),
            Evidence::Undecided if reads => (Outcome::Rejected, event.passes, End::ErrorResponse),
            Evidence::Undecided => (Outcome::Unknown, event.passes, End::ErrorResponse),
            // A read of any path has any JSON as its value.
            Evidence::Unreadable { complete: true, is_json: true, .. } if reads => return End::Value,
            // Only under a key can the response be fetched again.
            Evidence::Unreadable { by_service: true, .. } => (Outcome::Accepted, keyed, End::Unreadable),
            Evidence::Unreadable { .. } if reads => (Outcome::Rejected, keyed, End::Unreadable),
            Evidence::Unreadable { .. } => (Outcome::Unknown, keyed, End::Unreadable),
        };
        self.proved |= outcome == Outcome::Accepted;
        self.open |= outcome == Outcome::Unknown;
        (self.last, self.passes) = (outcome, passes);
        if outcome == Outcome::Accepted {
            // A call that succeeds gives its retries back.
            let full = self.setting.budget * SUCCESSES_PER_RETRY;
            self.budget = (self.budget + 1 + std::mem::take(&mut self.withdrawn)).min(full);
        }
        end
    }

    /// Returns `None` if there is no other attempt, and otherwise whether the caller drops the call before it.
    fn delay(&mut self, event: &Event) -> Option<bool> {
        let seen_twice = matches!(event.evidence, Evidence::Unreadable { complete: true, .. })
            && std::mem::replace(&mut self.misread, true);
        if !self.is_retryable() || seen_twice || self.attempts == self.setting.max_attempts {
            return None;
        }
        let status = event.act.response().map(|response| response.status);
        let least = event.least_delay();
        if least > Duration::from_mins(1) {
            return None;
        }
        let resumed = self.now.plus(least, least + least / 4 + TICK);
        if !resumed.is_before(self.setting.deadline) {
            return None;
        }
        let times_out = match event.act {
            Act::Stall => true,
            Act::StallBody(_) => self.operation == Operation::Read,
            _ => false,
        };
        let cost = if status == Some(429) { 0 } else { 1 + u32::from(times_out) } * SUCCESSES_PER_RETRY;
        if self.budget < cost {
            self.budget_exhausted = true;
            return None;
        }
        self.budget -= cost;
        self.withdrawn += cost;
        if let (Some(slot), Some(429)) = (&mut self.slot, status) {
            *slot = slot.max(self.now.plus(least, LEARNED));
        }
        self.now = resumed;
        Some(self.setting.drop == Some(Drop::Delay))
    }

    fn outcome(&self) -> Outcome {
        match (self.proved, self.open) {
            (true, _) => Outcome::Accepted,
            (_, true) => Outcome::Unknown,
            _ => self.last,
        }
    }

    fn is_retryable(&self) -> bool {
        self.passes && (self.operation.is_idempotent() || !(self.proved || self.open))
    }

    fn predicted(&self, end: End) -> Prediction {
        Prediction {
            end,
            outcome: if end == End::Value { Outcome::Accepted } else { self.outcome() },
            is_retryable: if end == End::TooLate { true } else { self.is_retryable() },
            budget_exhausted: self.budget_exhausted,
            attempts: self.attempts,
            requests: self.requests,
        }
    }
}

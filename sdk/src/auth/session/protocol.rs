//! The refresh protocol as a state machine without I/O: it takes an event and the current time, and returns the next command.
//!
//! It never sees a token: the driver holds the record and passes on only the relevant state ([`Held`]). The same state machine can therefore run both
//! in a program and in an exhaustive search over all interleavings (`model_check`).

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use crate::{
    auth::record::RefreshPending,
    error::{EndReason, Ended},
};

/// The maximum settle time between two attempts with the same refresh token.
const MAX_SETTLE: Duration = Duration::from_secs(10 * 60);
/// The maximum age of the mark when the request is sent. A stale mark is written again, so that the settle time never starts too early.
const STALE_MARK: Duration = Duration::from_secs(10);
/// The maximum number of requests in one refresh, if earlier ones weren't sent or were throttled.
const MAX_SENDS: u8 = 3;
/// The maximum number of attempts to save the new tokens.
const MAX_SAVES: u8 = 3;

/// The settings of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Policy {
    /// The time after which a request without a response can no longer arrive.
    pub(crate) settle: Duration,
    /// How long the service accepts a replaced refresh token as a retry; zero according to the specification.
    pub(crate) grace: Duration,
    /// The maximum time that a refresh waits for others while there is no valid access token.
    pub(crate) max_wait: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { settle: Duration::from_secs(60), grace: Duration::ZERO, max_wait: Duration::from_secs(75) }
    }
}

/// Readings of both clocks. The wall clock's is stored and shared; the monotonic clock's never goes back, but is meaningless in another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Now {
    pub(crate) wall: SystemTime,
    pub(crate) monotonic: Duration,
}

/// The relevant state of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    /// A fingerprint of the refresh token.
    pub(crate) token: u64,
    /// The remaining lifetime of the access token; zero if there is none, or if the service rejected it.
    pub(crate) left: Duration,
    /// The remaining lifetime above which no refresh is needed.
    pub(crate) enough: Duration,
    pub(crate) pending: Option<RefreshPending>,
    pub(crate) ended: bool,
    /// Whether the record is newer than the stored one, because an earlier save failed.
    pub(crate) unsaved: bool,
}

/// The outcome of presenting the refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// The token was replaced.
    Tokens,
    /// The token remains valid, and there is a new access token.
    Kept {
        left: Duration,
    },
    /// Nothing was sent; the flag says whether an immediate retry makes sense.
    NotSent {
        again: bool,
    },
    /// Rejected before any processing; the token wasn't used.
    Throttled {
        retry_after: Option<Duration>,
    },
    /// A rejection for a reason other than the token.
    Rejected,
    InvalidGrant,
    /// The outcome is unknown.
    Unknown,
}

/// An event for the state machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// A refresh is requested; the current access token is valid for this long. Below the hard limit, waiting for others is worthwhile.
    Wanted {
        left: Duration,
        hard: Duration,
    },
    Locked,
    /// Another process holds the lock.
    Busy,
    Found(Option<Held>),
    Written,
    /// The store failed to execute the last command.
    Failed,
    RefreshOutcome(Outcome),
    Resumed,
    Unlocked,
}

/// A command for the driver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Command {
    Lock {
        timeout: Duration,
    },
    Read,
    Write(Change),
    /// Send the refresh token, once.
    Exchange,
    Pause(Duration),
    Unlock,
    Finish(Verdict),
}

/// A change to write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// The same record with this mark, or with none.
    Pending(Option<RefreshPending>),
    /// The next generation with the new tokens.
    Tokens,
    /// A new access token for the same refresh token, without a mark.
    AccessToken,
    /// The record in memory, because an earlier save failed.
    Again,
    /// The tombstone.
    Ended(Ended),
}

/// The result of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verdict {
    /// Use the current access token.
    Use,
    /// Use the current access token, which isn't saved in the store.
    UseUnsaved,
    LoggedOut,
    Ended,
    /// Another process holds the lock.
    Busy,
    /// A response is missing, and it is too early for a retry.
    Wait(Duration),
    /// The store or the service has already reported the error.
    Failed,
}

/// One refresh.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Refresh {
    policy: Policy,
    phase: Phase,
    /// Whether the refresh gives up rather than wait for other holders of the lock.
    soft: bool,
    /// The deadline for waiting for others.
    deadline: Duration,
    /// The time until which the current access token can be used.
    usable_until: Duration,
    /// The refresh token to send.
    token: u64,
    /// The mark of an earlier attempt with this token.
    before: Option<RefreshPending>,
    /// The mark of this refresh, and when it was written.
    mark: Option<(RefreshPending, Duration)>,
    sends: u8,
    /// A mark whose settle time this process has waited for, regardless of the wall clock.
    settled: Option<RefreshPending>,
    /// Whether a writer without the lock has replaced the record.
    foreign_writer: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Locking,
    Reading,
    SavingAgain(Held),
    Marking,
    Sending,
    /// Waiting before the next send, while holding the lock.
    Pausing,
    Saving {
        tries: u8,
    },
    PausingSave {
        tries: u8,
    },
    SavingAccessToken,
    Restoring(Verdict),
    /// Reading again after `invalid_grant`.
    Rereading,
    Ending,
    Unlocking(After),
    /// Waiting without the lock.
    Waiting(RefreshPending),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum After {
    Finish(Verdict),
    Wait(Duration, RefreshPending),
}

impl Refresh {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            phase: Phase::New,
            soft: false,
            deadline: Duration::ZERO,
            usable_until: Duration::ZERO,
            token: 0,
            before: None,
            mark: None,
            sends: 0,
            settled: None,
            foreign_writer: false,
        }
    }

    /// Processes an event and returns the next command. [`Command::Finish`] is the last one.
    pub(crate) fn next(&mut self, event: Event, now: Now) -> Command {
        match (self.phase.clone(), event) {
            (Phase::New, Event::Wanted { left, hard }) => {
                self.soft = left > hard;
                self.deadline = now.monotonic.saturating_add(self.policy.max_wait);
                self.usable_until = now.monotonic.saturating_add(left);
                self.lock(now)
            }
            (Phase::Waiting(mark), Event::Resumed) => {
                self.settled = Some(mark);
                self.soft = false;
                self.lock(now)
            }
            (Phase::Locking, Event::Locked) => self.transition(Phase::Reading, Command::Read),
            // Nothing is ever sent without holding the lock.
            (Phase::Locking, Event::Busy) => Command::Finish(self.or_current_token(Verdict::Busy, now)),
            (Phase::Locking, Event::Failed) => Command::Finish(self.or_current_token(Verdict::Failed, now)),
            (Phase::Reading, Event::Found(Some(held))) => self.decide(held, now),
            (Phase::Reading | Phase::Rereading, Event::Found(None)) => self.unlock(Verdict::LoggedOut),
            (Phase::SavingAgain(held), Event::Written) => self.decide(Held { unsaved: false, ..held }, now),
            // If these tokens can't be saved now, tokens from another exchange couldn't be saved either.
            (Phase::SavingAgain(held), Event::Failed) => {
                let verdict = if held.left.is_zero() { Verdict::Failed } else { Verdict::UseUnsaved };
                self.unlock(verdict)
            }
            (Phase::Marking, Event::Written) => match &self.mark {
                // The machine may have slept since.
                Some((_, made)) if now.monotonic.saturating_sub(*made) > STALE_MARK => {
                    // A store that is always this slow can't be used for refreshes.
                    if now.monotonic > self.deadline { self.restore(now) } else { self.write_mark(now) }
                }
                _ => {
                    self.sends += 1;
                    self.transition(Phase::Sending, Command::Exchange)
                }
            },
            (Phase::Sending, Event::RefreshOutcome(outcome)) => self.handle_outcome(outcome, now),
            (Phase::Pausing, Event::Resumed) => self.write_mark(now),
            (Phase::Saving { .. } | Phase::SavingAccessToken, Event::Written)
            | (Phase::SavingAccessToken, Event::Failed) => self.unlock(Verdict::Use),
            (Phase::Saving { tries }, Event::Failed) if tries < MAX_SAVES => self.transition(
                Phase::PausingSave { tries },
                Command::Pause(Duration::from_millis(100) * tries.into()),
            ),
            (Phase::Saving { .. }, Event::Failed) => self.unlock(Verdict::UseUnsaved),
            (Phase::PausingSave { tries }, Event::Resumed) => self.save(tries + 1),
            // A leftover mark only causes a delay.
            (Phase::Restoring(verdict), Event::Written | Event::Failed) => self.unlock(verdict),
            (Phase::Rereading, Event::Found(Some(held))) if held.ended => self.unlock(Verdict::Ended),
            (Phase::Rereading, Event::Found(Some(held)))
                if held.token != self.token && !self.foreign_writer =>
            {
                self.foreign_writer = true;
                self.decide(held, now)
            }
            (Phase::Rereading, Event::Found(Some(_))) => {
                let reason = match &self.before {
                    Some(lost) => EndReason::ResponseLost { since: lost.since },
                    None => EndReason::Rejected,
                };
                self.transition(Phase::Ending, Command::Write(Change::Ended(Ended { reason, at: now.wall })))
            }
            (Phase::Ending, Event::Written | Event::Failed) => self.unlock(Verdict::Ended),
            (Phase::Unlocking(After::Finish(verdict)), Event::Unlocked) => Command::Finish(verdict),
            (Phase::Unlocking(After::Wait(pause, mark)), Event::Unlocked) => {
                self.transition(Phase::Waiting(mark), Command::Pause(pause))
            }
            // The store failed before anything was sent (or after `invalid_grant`): giving up loses nothing.
            (_, Event::Failed) => {
                let verdict = self.or_current_token(Verdict::Failed, now);
                self.unlock(verdict)
            }
            // No other event is possible here; if one occurs, nothing is sent.
            _ => self.unlock(Verdict::Failed),
        }
    }

    /// Takes the lock. If the access token is still valid, makes one attempt (soft); otherwise, keeps trying until the deadline (hard).
    fn lock(&mut self, now: Now) -> Command {
        let timeout = if self.soft { Duration::ZERO } else { self.deadline.saturating_sub(now.monotonic) };
        self.transition(Phase::Locking, Command::Lock { timeout })
    }

    /// Decides the next step under the lock, from the current record.
    fn decide(&mut self, held: Held, now: Now) -> Command {
        if held.ended {
            return self.unlock(Verdict::Ended);
        }
        if held.unsaved {
            return self.transition(Phase::SavingAgain(held), Command::Write(Change::Again));
        }
        self.usable_until = now.monotonic.saturating_add(held.left);
        if held.left > held.enough {
            return self.unlock(Verdict::Use);
        }
        if let Some(mark) = &held.pending {
            // The previous attempt may have been executed and its response lost: a retry would revoke the access token, which is still valid.
            if !held.left.is_zero() {
                return self.unlock(Verdict::Use);
            }
            let wait = self.remaining_wait(mark, now);
            if !wait.is_zero() {
                let mark = mark.clone();
                return if now.monotonic.saturating_add(wait) > self.deadline {
                    self.unlock(Verdict::Wait(wait))
                } else {
                    self.transition(Phase::Unlocking(After::Wait(wait, mark)), Command::Unlock)
                };
            }
        }
        self.token = held.token;
        self.before = held.pending;
        self.mark = None;
        self.write_mark(now)
    }

    /// Returns the time until an attempt after this mark is safe.
    fn remaining_wait(&self, mark: &RefreshPending, now: Now) -> Duration {
        // If the mark is from the future, the wall clock was set back and its age is unknown.
        let elapsed = now.wall.duration_since(mark.since).unwrap_or_default();
        if elapsed < self.policy.grace || self.settled.as_ref() == Some(mark) {
            return Duration::ZERO;
        }
        let longest = MAX_SETTLE.max(self.policy.settle);
        let doubled = 2_u32.saturating_pow(mark.attempts.saturating_sub(1));
        let settle = self.policy.settle.saturating_mul(doubled).min(longest);
        settle.saturating_add(self.policy.grace).saturating_sub(elapsed)
    }

    /// Writes the mark, which proves that the store is writable and informs all later processes.
    fn write_mark(&mut self, now: Now) -> Command {
        let earlier = self.before.as_ref();
        // Within the grace period, all attempts count as one, made at the time of the first.
        let within = |mark: &&RefreshPending| {
            now.wall.duration_since(mark.since).unwrap_or_default() < self.policy.grace
        };
        let since = earlier.filter(within).map(|mark| mark.since);
        let attempts = earlier.map_or(0, |mark| mark.attempts).saturating_add(1);
        let mark = RefreshPending { since: since.unwrap_or(now.wall), attempts };
        self.mark = Some((mark.clone(), now.monotonic));
        self.transition(Phase::Marking, Command::Write(Change::Pending(Some(mark))))
    }

    fn handle_outcome(&mut self, outcome: Outcome, now: Now) -> Command {
        let again = self.sends < MAX_SENDS && !self.is_usable(now);
        match outcome {
            // Save before considering anything else in the response: the old token has been used up.
            Outcome::Tokens => self.save(1),
            Outcome::NotSent { again: true } if again => {
                let pause = Duration::from_millis(500) * self.sends.into();
                self.transition(Phase::Pausing, Command::Pause(pause))
            }
            Outcome::Throttled { retry_after } => {
                let pause = retry_after.unwrap_or(Duration::from_secs(1));
                if again && now.monotonic.saturating_add(pause) <= self.deadline {
                    self.transition(Phase::Pausing, Command::Pause(pause))
                } else {
                    self.restore(now)
                }
            }
            Outcome::NotSent { .. } | Outcome::Rejected => self.restore(now),
            // A writer without the lock may have been faster.
            Outcome::InvalidGrant => self.transition(Phase::Rereading, Command::Read),
            Outcome::Kept { left } => {
                self.usable_until = now.monotonic.saturating_add(left);
                self.transition(Phase::SavingAccessToken, Command::Write(Change::AccessToken))
            }
            Outcome::Unknown => {
                let Some((mark, _)) = self.mark.clone() else { return self.unlock(Verdict::Failed) };
                let elapsed = now.wall.duration_since(mark.since).unwrap_or_default();
                if again && elapsed < self.policy.grace {
                    self.before = Some(mark);
                    return self.write_mark(now);
                }
                let verdict = self.or_current_token(Verdict::Wait(self.remaining_wait(&mark, now)), now);
                self.unlock(verdict)
            }
        }
    }

    fn save(&mut self, tries: u8) -> Command {
        self.transition(Phase::Saving { tries }, Command::Write(Change::Tokens))
    }

    /// Removes this attempt's mark, since nothing was executed. An earlier attempt's mark stays, since its outcome is unknown.
    fn restore(&mut self, now: Now) -> Command {
        let verdict = self.or_current_token(Verdict::Failed, now);
        self.transition(Phase::Restoring(verdict), Command::Write(Change::Pending(self.before.clone())))
    }

    fn is_usable(&self, now: Now) -> bool {
        now.monotonic < self.usable_until
    }

    /// Returns `Use` if the access token is still valid, otherwise the verdict.
    fn or_current_token(&self, verdict: Verdict, now: Now) -> Verdict {
        if self.is_usable(now) { Verdict::Use } else { verdict }
    }

    fn unlock(&mut self, verdict: Verdict) -> Command {
        self.transition(Phase::Unlocking(After::Finish(verdict)), Command::Unlock)
    }

    fn transition(&mut self, phase: Phase, command: Command) -> Command {
        self.phase = phase;
        command
    }
}

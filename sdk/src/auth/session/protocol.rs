//! The refresh protocol as a state machine without I/O: it takes an event and the time, and returns the next command.
//!
//! It sees no token: the driver holds the record, and passes on what matters of it ([`Held`]). So the very same machine runs
//! in a program and under a search over all interleavings (`model_check`), whose states are its own.

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use crate::{
    auth::record::RefreshPending,
    error::{EndReason, Ended},
};

/// The longest pause between two attempts with the same refresh token.
const LONGEST_SETTLE: Duration = Duration::from_mins(10);
/// From the mark's time to the request: later, the mark is written anew, so that the settle time is never counted from too early.
const STALE_MARK: Duration = Duration::from_secs(10);
/// How often one renewal sends, when nothing of it arrived or it was turned away.
const SENDS: u8 = 3;
/// How often the new tokens are offered to the store.
const SAVES: u8 = 3;

/// What a renewal goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Policy {
    /// After so long a request that got no answer can no longer arrive.
    pub(crate) settle: Duration,
    /// For so long the service takes a replaced refresh token for a repetition. The specification's takes none: zero.
    pub(crate) grace: Duration,
    /// The longest that a renewal waits for others, when there is no usable access token.
    pub(crate) max_wait: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { settle: Duration::from_mins(1), grace: Duration::ZERO, max_wait: Duration::from_secs(75) }
    }
}

/// The two clocks. The one on the wall is written down and shared; the other one is never set, but means nothing in another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Now {
    pub(crate) wall: SystemTime,
    pub(crate) monotonic: Duration,
}

/// What matters of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    /// Tells refresh tokens apart.
    pub(crate) token: u64,
    /// How long the access token is still good; nothing if there is none, or if the service refused it.
    pub(crate) left: Duration,
    /// With more than so much left nothing is to be done.
    pub(crate) enough: Duration,
    pub(crate) pending: Option<RefreshPending>,
    pub(crate) ended: bool,
    /// It is newer than what the store has: an earlier save failed.
    pub(crate) unsaved: bool,
}

/// What came of showing the refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// It was replaced.
    Tokens,
    /// Nothing left; whether it makes sense to try again at once.
    NotSent {
        again: bool,
    },
    /// Rejected before any work.
    Throttled {
        retry_after: Option<Duration>,
    },
    /// A refusal that says nothing of the token.
    Refused,
    InvalidGrant,
    /// The outcome is unknown; the response may have held an access token alone.
    Unknown {
        access_for: Option<Duration>,
    },
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// A renewal is wanted; the access token at hand is good for so long. Below the hard limit it is worth waiting for others.
    Wanted {
        left: Duration,
        hard: Duration,
    },
    Locked,
    /// Another process holds the lock.
    Busy,
    Found(Option<Held>),
    Written,
    /// The store failed at the last command.
    Failed,
    RefreshOutcome(Outcome),
    Resumed,
    Unlocked,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Command {
    Lock {
        timeout: Duration,
    },
    Read,
    Write(Change),
    /// Show the refresh token, once.
    Exchange,
    Pause(Duration),
    Unlock,
    Finish(Verdict),
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// The same record with this mark, or without one.
    Pending(Option<RefreshPending>),
    /// The next generation: what the exchange brought.
    Tokens,
    /// The access token that came without a refresh token.
    AccessToken,
    /// The record as it is held: an earlier save failed.
    Again,
    /// The tombstone.
    Ended(Ended),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verdict {
    /// The access token that is held is the one to use.
    Use,
    /// So it is, but the store does not have it.
    UseUnsaved,
    LoggedOut,
    Ended,
    /// Another process holds the lock.
    Busy,
    /// An answer is missing, and it is too early to ask again.
    Wait(Duration),
    /// The store or the service said why.
    Failed,
}

/// One renewal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Renewal {
    policy: Policy,
    phase: Phase,
    /// Doesn't wait for other holders of the lock.
    soft: bool,
    /// Until when others may be waited for.
    deadline: Duration,
    /// Until when the access token that is held can be used.
    usable_until: Duration,
    /// The refresh token that is shown.
    token: u64,
    /// The mark of an earlier attempt with it.
    before: Option<RefreshPending>,
    /// Our own mark, and when it was made.
    mark: Option<(RefreshPending, Duration)>,
    sends: u8,
    /// The mark whose settle time was waited for here, whatever the wall clock says.
    settled: Option<RefreshPending>,
    /// A writer that takes no lock has replaced the record.
    stranger: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    New,
    Locking,
    Reading,
    SavingAgain(Held),
    Marking,
    Sending,
    /// Under the lock, before the next send.
    Pausing,
    Saving {
        tries: u8,
    },
    PausingSave {
        tries: u8,
    },
    SavingAccessToken,
    Restoring(Verdict),
    /// After `invalid_grant`.
    Rereading,
    Ending,
    Unlocking(After),
    /// Without the lock.
    Waiting(RefreshPending),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum After {
    Finish(Verdict),
    Wait(Duration, RefreshPending),
}

impl Renewal {
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
            stranger: false,
        }
    }

    /// Takes what happened and says what to do next. After [`Command::Finish`] it is over.
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
            (Phase::Locking, Event::Locked) => self.go(Phase::Reading, Command::Read),
            // Without the lock nothing is ever sent.
            (Phase::Locking, Event::Busy) => Command::Finish(self.or_use(Verdict::Busy, now)),
            (Phase::Locking, Event::Failed) => Command::Finish(self.or_use(Verdict::Failed, now)),
            (Phase::Reading, Event::Found(Some(held))) => self.judge(held, now),
            (Phase::Reading | Phase::Rereading, Event::Found(None)) => self.unlock(Verdict::LoggedOut),
            (Phase::SavingAgain(held), Event::Written) => self.judge(Held { unsaved: false, ..held }, now),
            // What can't be saved now could not be saved after another exchange either.
            (Phase::SavingAgain(held), Event::Failed) => {
                let verdict = if held.left.is_zero() { Verdict::Failed } else { Verdict::UseUnsaved };
                self.unlock(verdict)
            }
            (Phase::Marking, Event::Written) => match &self.mark {
                // The machine may have slept in between.
                Some((_, made)) if now.monotonic.saturating_sub(*made) > STALE_MARK => {
                    // A store that is always so slow is no store to renew with.
                    if now.monotonic > self.deadline { self.restore(now) } else { self.mark(now) }
                }
                _ => {
                    self.sends += 1;
                    self.go(Phase::Sending, Command::Exchange)
                }
            },
            (Phase::Sending, Event::RefreshOutcome(outcome)) => self.exchanged(outcome, now),
            (Phase::Pausing, Event::Resumed) => self.mark(now),
            (Phase::Saving { .. } | Phase::SavingAccessToken, Event::Written)
            | (Phase::SavingAccessToken, Event::Failed) => self.unlock(Verdict::Use),
            (Phase::Saving { tries }, Event::Failed) if tries < SAVES => self
                .go(Phase::PausingSave { tries }, Command::Pause(Duration::from_millis(100) * tries.into())),
            (Phase::Saving { .. }, Event::Failed) => self.unlock(Verdict::UseUnsaved),
            (Phase::PausingSave { tries }, Event::Resumed) => self.save(tries + 1),
            // A mark that stays costs a pause and no more.
            (Phase::Restoring(verdict), Event::Written | Event::Failed) => self.unlock(verdict),
            (Phase::Rereading, Event::Found(Some(held))) if held.ended => self.unlock(Verdict::Ended),
            (Phase::Rereading, Event::Found(Some(held))) if held.token != self.token && !self.stranger => {
                self.stranger = true;
                self.judge(held, now)
            }
            (Phase::Rereading, Event::Found(Some(_))) => {
                let why = match &self.before {
                    Some(lost) => EndReason::LostAnswer { since: lost.since },
                    None => EndReason::Rejected,
                };
                self.go(Phase::Ending, Command::Write(Change::Ended(Ended { why, at: now.wall })))
            }
            (Phase::Ending, Event::Written | Event::Failed) => self.unlock(Verdict::Ended),
            (Phase::Unlocking(After::Finish(verdict)), Event::Unlocked) => Command::Finish(verdict),
            (Phase::Unlocking(After::Wait(pause, mark)), Event::Unlocked) => {
                self.go(Phase::Waiting(mark), Command::Pause(pause))
            }
            // The store failed before anything was sent (or after `invalid_grant`): nothing is lost by giving up.
            (_, Event::Failed) => {
                let verdict = self.or_use(Verdict::Failed, now);
                self.unlock(verdict)
            }
            // Nothing else can follow; if it does, nothing is sent.
            _ => self.unlock(Verdict::Failed),
        }
    }

    /// Soft, while the access token is valid: one try. Hard, when it isn't: until the deadline.
    fn lock(&mut self, now: Now) -> Command {
        let timeout = if self.soft { Duration::ZERO } else { self.deadline.saturating_sub(now.monotonic) };
        self.go(Phase::Locking, Command::Lock { timeout })
    }

    /// Under the lock, with the record as it is now.
    fn judge(&mut self, held: Held, now: Now) -> Command {
        if held.ended {
            return self.unlock(Verdict::Ended);
        }
        if held.unsaved {
            return self.go(Phase::SavingAgain(held), Command::Write(Change::Again));
        }
        self.usable_until = now.monotonic.saturating_add(held.left);
        if held.left > held.enough {
            return self.unlock(Verdict::Use);
        }
        if let Some(mark) = &held.pending {
            // The one before us may have been lost after it was executed: asking again would end what the access token can still do.
            if !held.left.is_zero() {
                return self.unlock(Verdict::Use);
            }
            let wait = self.due(mark, now);
            if !wait.is_zero() {
                let mark = mark.clone();
                return if now.monotonic.saturating_add(wait) > self.deadline {
                    self.unlock(Verdict::Wait(wait))
                } else {
                    self.go(Phase::Unlocking(After::Wait(wait, mark)), Command::Unlock)
                };
            }
        }
        self.token = held.token;
        self.before = held.pending;
        self.mark = None;
        self.mark(now)
    }

    /// How long until an attempt after this mark can do no harm.
    fn due(&self, mark: &RefreshPending, now: Now) -> Duration {
        // A mark from the future: the wall clock was set back, so its age is unknown.
        let elapsed = now.wall.duration_since(mark.since).unwrap_or_default();
        if elapsed < self.policy.grace || self.settled.as_ref() == Some(mark) {
            return Duration::ZERO;
        }
        let longest = LONGEST_SETTLE.max(self.policy.settle);
        let doubled = 2_u32.saturating_pow(mark.attempts.saturating_sub(1));
        let settle = self.policy.settle.saturating_mul(doubled).min(longest);
        settle.saturating_add(self.policy.grace).saturating_sub(elapsed)
    }

    /// Writes the mark: it proves that the store can be written, and tells everybody who comes later.
    fn mark(&mut self, now: Now) -> Command {
        let earlier = self.before.as_ref();
        // Within the grace time all attempts are one, whose time is the first one's.
        let within = |mark: &&RefreshPending| {
            now.wall.duration_since(mark.since).unwrap_or_default() < self.policy.grace
        };
        let since = earlier.filter(within).map(|mark| mark.since);
        let attempts = earlier.map_or(0, |mark| mark.attempts).saturating_add(1);
        let mark = RefreshPending { since: since.unwrap_or(now.wall), attempts };
        self.mark = Some((mark.clone(), now.monotonic));
        self.go(Phase::Marking, Command::Write(Change::Pending(Some(mark))))
    }

    fn exchanged(&mut self, outcome: Outcome, now: Now) -> Command {
        let again = self.sends < SENDS && !self.usable(now);
        match outcome {
            // Before anything else in the answer is looked at: the old one is spent.
            Outcome::Tokens => self.save(1),
            Outcome::NotSent { again: true } if again => {
                let pause = Duration::from_millis(500) * self.sends.into();
                self.go(Phase::Pausing, Command::Pause(pause))
            }
            Outcome::Throttled { retry_after } => {
                let pause = retry_after.unwrap_or(Duration::from_secs(1));
                if again && now.monotonic.saturating_add(pause) <= self.deadline {
                    self.go(Phase::Pausing, Command::Pause(pause))
                } else {
                    self.restore(now)
                }
            }
            Outcome::NotSent { .. } | Outcome::Refused => self.restore(now),
            // A writer that takes no lock may have been faster.
            Outcome::InvalidGrant => self.go(Phase::Rereading, Command::Read),
            Outcome::Unknown { access_for: Some(left) } => {
                self.usable_until = now.monotonic.saturating_add(left);
                self.go(Phase::SavingAccessToken, Command::Write(Change::AccessToken))
            }
            Outcome::Unknown { access_for: None } => {
                let Some((mark, _)) = self.mark.clone() else { return self.unlock(Verdict::Failed) };
                let elapsed = now.wall.duration_since(mark.since).unwrap_or_default();
                if again && elapsed < self.policy.grace {
                    self.before = Some(mark);
                    return self.mark(now);
                }
                let verdict = self.or_use(Verdict::Wait(self.due(&mark, now)), now);
                self.unlock(verdict)
            }
        }
    }

    fn save(&mut self, tries: u8) -> Command {
        self.go(Phase::Saving { tries }, Command::Write(Change::Tokens))
    }

    /// Nothing of this attempt was executed: removes its mark. That of an earlier attempt stays, since its outcome is unknown.
    fn restore(&mut self, now: Now) -> Command {
        let verdict = self.or_use(Verdict::Failed, now);
        self.go(Phase::Restoring(verdict), Command::Write(Change::Pending(self.before.clone())))
    }

    fn usable(&self, now: Now) -> bool {
        now.monotonic < self.usable_until
    }

    /// An access token that is still good makes up for what went wrong.
    fn or_use(&self, verdict: Verdict, now: Now) -> Verdict {
        if self.usable(now) { Verdict::Use } else { verdict }
    }

    fn unlock(&mut self, verdict: Verdict) -> Command {
        self.go(Phase::Unlocking(After::Finish(verdict)), Command::Unlock)
    }

    fn go(&mut self, phase: Phase, command: Command) -> Command {
        self.phase = phase;
        command
    }
}

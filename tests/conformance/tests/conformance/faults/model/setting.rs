//! The operations, and the settings that limit or end a call.

use std::time::Duration;

/// The time limit of one attempt.
pub(super) const ATTEMPT: Duration = Duration::from_secs(4);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// `POST /emails`: executed once per idempotency key.
    Send,
    /// `POST /events/send`: executed as often as it is sent.
    Event,
    /// `POST /emails/{id}/cancel`: a second execution changes nothing.
    Cancel,
    /// `GET`: changes nothing.
    Read,
}

impl Operation {
    pub(super) const ALL: [Self; 4] = [Self::Send, Self::Event, Self::Cancel, Self::Read];
    pub(super) const POSTS: [Self; 2] = [Self::Send, Self::Event];
    pub(super) const KEYLESS: [Self; 2] = [Self::Cancel, Self::Read];

    pub(super) fn is_keyed(self) -> bool {
        self == Self::Send
    }

    pub(super) fn is_idempotent(self) -> bool {
        self != Self::Event
    }
}

/// Where the caller drops the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drop {
    /// At the first silence of the peer.
    Stall,
    /// In the first delay before a retry.
    Delay,
    /// While it waits for the client's rate limiter.
    Limiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limiter {
    Off,
    Adaptive,
    /// One request per interval, one of which was just sent.
    Every(Duration),
}

/// The conditions of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) max_attempts: u32,
    /// The time limit of the whole call.
    pub(super) deadline: Option<Duration>,
    /// In retries.
    pub(super) budget: u32,
    pub(super) limiter: Limiter,
    pub(super) drop: Option<Drop>,
    /// Whether the credential is an access token that can be refreshed.
    pub(super) session: bool,
}

impl Setting {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            max_attempts: 3,
            deadline: None,
            budget: 100,
            limiter: Limiter::Off,
            drop: None,
            session: false,
        }
    }

    pub(super) const fn deadline(self, limit: Duration) -> Self {
        Self { deadline: Some(limit), ..self }
    }

    const fn budget(self, budget: u32) -> Self {
        Self { budget, ..self }
    }

    const fn limiter(self, limiter: Limiter) -> Self {
        Self { limiter, ..self }
    }

    const fn dropped(self, drop: Drop) -> Self {
        Self { drop: Some(drop), ..self }
    }
}

const SECOND: Duration = Duration::from_secs(1);
/// Shorter than each attempt's time limit and each delay.
const SHORT: Duration = Duration::from_millis(500);

pub(super) static PLAIN: Setting = Setting::new("plain");
pub(super) static NO_BUDGET: Setting = Setting::new("no budget").budget(0);
pub(super) static SMALL_BUDGET: Setting = Setting::new("small budget").budget(1);
pub(super) static DEADLINE: Setting = Setting::new("deadline").deadline(SHORT);
/// Between one and two attempts that time out, and one and two delays of three seconds.
pub(super) static LATE_DEADLINE: Setting = Setting::new("late deadline").deadline(Duration::from_secs(6));
pub(super) static LIMITED: Setting = Setting::new("limited").limiter(Limiter::Every(SECOND));
/// Ends between the first two slots.
pub(super) static LIMITED_DEADLINE: Setting =
    Setting::new("limited, deadline").limiter(Limiter::Every(SECOND)).deadline(Duration::from_millis(1_500));
pub(super) static LIMITED_TOO_LATE: Setting =
    Setting::new("limited, too late").limiter(Limiter::Every(Duration::from_secs(100))).deadline(SHORT);
pub(super) static ADAPTIVE: Setting = Setting::new("adaptive").limiter(Limiter::Adaptive);
pub(super) static DROPPED_STALL: Setting = Setting::new("dropped stall").dropped(Drop::Stall);
pub(super) static DROPPED_DELAY: Setting = Setting::new("dropped delay").dropped(Drop::Delay);
pub(super) static DROPPED_LIMITER: Setting =
    Setting::new("dropped wait").limiter(Limiter::Every(SECOND)).dropped(Drop::Limiter);
pub(super) static SESSION: Setting = Setting { session: true, ..Setting::new("session") };

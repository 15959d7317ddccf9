//! An exhaustive search over all interleavings of a few processes, a strict service, and a network that loses and delays requests, while processes
//! are killed. It runs the same state machine that is shipped.
//!
//! Time advances in steps of the settle time, and only while no request is in flight or about to be sent, as the definition of the settle time
//! implies. A process can be killed before each of its steps. A store writes whole records or nothing; the store's own tests cover partial writes.

use std::{
    hash::BuildHasher as _,
    thread,
    time::{Duration, SystemTime},
};

use foldhash::{HashSet, HashSetExt as _, quality::RandomState};

use super::protocol::{Change, Command, Event, Held, Now, Outcome, Policy, Refresh, Verdict};
use crate::auth::record::RefreshPending;

const STEP: Duration = Duration::from_mins(1);
const HARD: Duration = Duration::from_secs(10);
const ENOUGH: Duration = Duration::from_mins(2);
/// The lifetime of an access token, in steps.
const LIFE: u8 = 15;
/// The last step of the search, after which every delay in the protocol is over.
const LAST_STEP: u8 = 4;

/// The protocol, or a plausible simplification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Ours,
    /// Every process refreshes without coordination.
    NoLock,
    /// A lock that counts as abandoned when it is old, while its holder is merely slow.
    LockBrokenByAge,
    /// A lock and a second read under the lock, but no record of attempts.
    NoMark,
    /// A mark without a settle time.
    RetryAtOnce,
    /// A mark and a settle time, but without waiting for the old access token to expire.
    RetryWhileAccessLives,
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    variant: Variant,
    processes: usize,
    /// The number of consecutive calls by each process.
    calls: u8,
    faults: u8,
    /// The number of steps until the stored access token expires.
    left: u8,
    /// Whether another process logs out at some point.
    logout: bool,
}

/// Harm done by the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Harm {
    /// A reuse revoked a grant although a process held its refresh token.
    KilledALiveSession,
    /// A reuse revoked an access token that was still valid.
    KilledAnAccessToken,
    /// A session ended, or a call failed, without a fault.
    FailedWithoutAFault,
    /// Without a fault, one expiry caused no refresh, or more than one.
    NotOneRefresh,
    /// No process can continue.
    Stuck,
    /// A record was written after a logout had removed it.
    RestoredAfterLogout,
}

/// The progress of the logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Logout {
    None,
    Waiting,
    /// The lock is held; the grant is not revoked yet.
    Locked,
    /// The revocation was executed or has failed.
    Revoked,
    Removed,
    Done,
    Killed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Stored {
    token: u8,
    /// The step at which the access token expires.
    until: u8,
    pending: Option<RefreshPending>,
    ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Process {
    Idle,
    /// About to execute this command, issued at this step.
    About {
        machine: Refresh,
        held: Stored,
        received: Option<u8>,
        command: Command,
        since: u8,
    },
    /// The request is in flight.
    Sent {
        machine: Refresh,
        held: Stored,
    },
    /// The response is in flight: a new token, or `invalid_grant`.
    Answered {
        machine: Refresh,
        held: Stored,
        answer: Option<u8>,
    },
    Killed,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    step: u8,
    /// The refresh token that the service accepts, and whether the grant is still valid.
    good: u8,
    revoked: bool,
    /// `None` after a logout.
    stored: Option<Stored>,
    /// The process that holds the lock; the logout has the index after the last process.
    holder: Option<usize>,
    logout: Logout,
    processes: Vec<(Process, u8)>,
    /// Requests in flight whose sender has given up.
    strays: Vec<u8>,
    faults: u8,
}

impl World {
    fn new(setting: Setting) -> Self {
        Self {
            step: 0,
            good: 1,
            revoked: false,
            stored: Some(Stored { token: 1, until: setting.left, pending: None, ended: false }),
            holder: None,
            logout: if setting.logout { Logout::Waiting } else { Logout::None },
            processes: vec![(Process::Idle, setting.calls); setting.processes],
            strays: Vec::new(),
            faults: setting.faults,
        }
    }

    fn now(&self) -> Now {
        let elapsed = STEP * self.step.into();
        Now { wall: SystemTime::UNIX_EPOCH + elapsed, monotonic: elapsed }
    }

    fn remaining_lifetime(&self, stored: &Stored) -> Duration {
        STEP * stored.until.saturating_sub(self.step).into()
    }

    /// Passes every possible next world, or the harm done by a step, to `search`.
    fn next(&self, setting: Setting, search: &mut impl FnMut(Result<Self, Harm>)) {
        for who in 0..self.processes.len() {
            self.process(who, setting, search);
            if self.faults > 0 {
                self.fault(who, search);
            }
        }
        self.log_out(search);
        for (at, &token) in self.strays.iter().enumerate() {
            let mut gone = self.clone();
            gone.strays.swap_remove(at);
            let mut late = gone.clone();
            search(Ok(gone));
            search(late.show(token).map(|_| late));
        }
        if self.step < LAST_STEP && self.strays.is_empty() && self.waits() {
            search(Ok(Self { step: self.step + 1, ..self.clone() }));
        }
    }

    /// Performs the next step of the logout.
    fn log_out(&self, search: &mut impl FnMut(Result<Self, Harm>)) {
        let who = self.processes.len();
        let mut next = self.clone();
        match self.logout {
            Logout::Waiting if self.holder.is_none() => {
                (next.holder, next.logout) = (Some(who), Logout::Locked);
            }
            Logout::Locked => {
                next.logout = Logout::Revoked;
                // The revocation fails.
                if self.faults > 0 {
                    search(Ok(Self { faults: self.faults - 1, ..next.clone() }));
                }
                next.revoked |= next.stored.as_ref().is_some_and(|stored| !stored.ended);
            }
            Logout::Revoked => (next.stored, next.logout) = (None, Logout::Removed),
            Logout::Removed => (next.holder, next.logout) = (None, Logout::Done),
            _ => return,
        }
        search(Ok(next));
        if self.faults > 0 && self.logout != Logout::Waiting {
            let holder = self.holder.filter(|holder| *holder != who);
            search(Ok(Self { faults: self.faults - 1, logout: Logout::Killed, holder, ..self.clone() }));
        }
    }

    /// Returns whether time can advance: nothing is in flight, and every process is waiting or has ended.
    fn waits(&self) -> bool {
        if matches!(self.logout, Logout::Locked | Logout::Revoked | Logout::Removed) {
            return false;
        }
        let (mut sent, mut pausing, mut quiet) = (false, false, true);
        for (process, calls) in &self.processes {
            match process {
                // Nothing happens between a process's last reading of the clock and its request.
                Process::Sent { .. } | Process::About { command: Command::Exchange, .. } => sent = true,
                Process::About { command: Command::Pause(pause), .. } if *pause >= STEP / 2 => pausing = true,
                Process::Idle if *calls > 0 => {}
                Process::Killed | Process::Done => {}
                _ => quiet = false,
            }
        }
        !sent && (pausing || quiet)
    }

    /// Presents a refresh token to the service.
    fn show(&mut self, token: u8) -> Result<Option<u8>, Harm> {
        if self.revoked {
            return Ok(None);
        }
        if token == self.good {
            self.good += 1;
            return Ok(Some(self.good));
        }
        let on_the_way = self.processes.iter().any(|(process, _)| match process {
            Process::Answered { answer, .. } => *answer == Some(self.good),
            Process::About { received, .. } => *received == Some(self.good),
            _ => false,
        });
        if on_the_way || self.stored.as_ref().is_some_and(|stored| stored.token == self.good && !stored.ended)
        {
            return Err(Harm::KilledALiveSession);
        }
        if self.stored.as_ref().is_some_and(|stored| !self.remaining_lifetime(stored).is_zero()) {
            return Err(Harm::KilledAnAccessToken);
        }
        self.revoked = true;
        Ok(None)
    }

    fn process(&self, who: usize, setting: Setting, search: &mut impl FnMut(Result<Self, Harm>)) {
        let mut next = self.clone();
        let (process, calls) = self.processes[who].clone();
        match process {
            Process::Killed | Process::Done => {}
            Process::Idle if calls == 0 => {
                next.processes[who].0 = Process::Done;
                search(Ok(next));
            }
            Process::Idle => {
                next.processes[who].1 -= 1;
                // Without a record, the call fails.
                if let Some(stored) = &self.stored
                    && self.remaining_lifetime(stored) <= ENOUGH
                {
                    let left = self.remaining_lifetime(stored);
                    let settle = if setting.variant == Variant::RetryAtOnce { Duration::ZERO } else { STEP };
                    let machine = Refresh::new(Policy { settle, ..Policy::default() });
                    next.step_process(who, machine, stored.clone(), None, Event::Wanted { left, hard: HARD });
                }
                search(Ok(next));
            }
            Process::Sent { machine, held } => search(next.show(held.token).map(|answer| {
                next.processes[who].0 = Process::Answered { machine, held, answer };
                next
            })),
            Process::Answered { machine, held, answer } => {
                let outcome = if answer.is_some() { Outcome::Tokens } else { Outcome::InvalidGrant };
                next.step_process(who, machine, held, answer, Event::RefreshOutcome(outcome));
                search(Ok(next));
            }
            Process::About { machine, held, received, command, since } => {
                if matches!(command, Command::Write(_)) && self.stored.is_none() {
                    search(Err(Harm::RestoredAfterLogout));
                }
                let harm = self.faults == setting.faults && !setting.logout && is_failure(&command);
                match next.execute(who, setting, machine, held, received, command, since) {
                    _ if harm => search(Err(Harm::FailedWithoutAFault)),
                    true => search(Ok(next)),
                    false => {}
                }
            }
        }
    }

    /// Passes an event to a process and stores its next command. Steps that no other process can observe are executed immediately.
    fn step_process(
        &mut self,
        who: usize,
        mut machine: Refresh,
        held: Stored,
        received: Option<u8>,
        event: Event,
    ) {
        let command = machine.next(event, self.now());
        if matches!(command, Command::Finish(Verdict::Use)) {
            self.processes[who].0 = Process::Idle;
            return;
        }
        self.processes[who].0 = Process::About { machine, held, received, command, since: self.step };
    }

    /// Executes a command, if that is possible now.
    #[expect(clippy::too_many_arguments, reason = "the parts of a process, taken apart once")]
    fn execute(
        &mut self,
        who: usize,
        setting: Setting,
        machine: Refresh,
        mut held: Stored,
        received: Option<u8>,
        command: Command,
        since: u8,
    ) -> bool {
        let waited = STEP * (self.step - since).into();
        let event = match command {
            Command::Lock { timeout } => match (self.holder, setting.variant) {
                (None, _) | (_, Variant::NoLock | Variant::LockBrokenByAge) => {
                    self.holder = Some(who);
                    Event::Locked
                }
                (Some(_), _) if waited >= timeout => Event::Busy,
                (Some(_), _) => return false,
            },
            Command::Read if self.stored.is_none() => Event::Found(None),
            Command::Read => {
                held = self.stored.clone().unwrap_or(held);
                let early = setting.variant == Variant::RetryWhileAccessLives && held.pending.is_some();
                let left = if early { Duration::ZERO } else { self.remaining_lifetime(&held) };
                Event::Found(Some(Held {
                    token: held.token.into(),
                    left,
                    enough: ENOUGH,
                    pending: held.pending.clone(),
                    ended: held.ended,
                    unsaved: false,
                }))
            }
            Command::Write(change) => {
                match change {
                    Change::Pending(_) if setting.variant == Variant::NoMark => {}
                    Change::Pending(pending) => held.pending = pending,
                    Change::Tokens => {
                        let (token, until) = (received.unwrap_or_default(), self.step + LIFE);
                        held = Stored { token, until, pending: None, ended: false };
                    }
                    Change::Ended(_) => held.ended = true,
                    Change::AccessToken | Change::Again => {}
                }
                self.stored = Some(held.clone());
                self.step_process(who, machine, held, None, Event::Written);
                return true;
            }
            Command::Exchange => {
                self.processes[who].0 = Process::Sent { machine, held };
                return true;
            }
            Command::Pause(pause) if pause > waited + STEP / 2 => return false,
            Command::Pause(_) => Event::Resumed,
            Command::Unlock => {
                self.holder = self.holder.filter(|holder| *holder != who);
                Event::Unlocked
            }
            Command::Finish(_) => {
                self.processes[who].0 = Process::Idle;
                return true;
            }
        };
        self.step_process(who, machine, held, received, event);
        true
    }

    /// Adds everything that can fail for one process at this point.
    fn fault(&self, who: usize, search: &mut impl FnMut(Result<Self, Harm>)) {
        let one = || Self { faults: self.faults - 1, ..self.clone() };
        let process = &self.processes[who].0;
        let lost = Event::RefreshOutcome(Outcome::Unknown);
        if let Process::Sent { machine, held } = process {
            // The request is lost.
            let mut next = one();
            next.step_process(who, machine.clone(), held.clone(), None, lost.clone());
            search(Ok(next));
            // The client gives up while the request is still in flight.
            let mut next = one();
            next.strays.push(held.token);
            next.step_process(who, machine.clone(), held.clone(), None, lost.clone());
            search(Ok(next));
        }
        if let Process::Answered { machine, held, .. } = process {
            let mut next = one();
            next.step_process(who, machine.clone(), held.clone(), None, lost);
            search(Ok(next));
        }
        if !matches!(process, Process::Idle | Process::Killed | Process::Done) {
            let mut next = one();
            next.holder = next.holder.filter(|holder| *holder != who);
            if let Process::Sent { held, .. } = process {
                next.strays.push(held.token);
            }
            next.processes[who].0 = Process::Killed;
            search(Ok(next));
        }
    }

    /// Returns the harm in a world without successors.
    fn final_harm(&self, setting: Setting) -> Option<Harm> {
        if !self.processes.iter().all(|(process, _)| matches!(process, Process::Killed | Process::Done)) {
            // Nothing was searched beyond the last step.
            return (self.step < LAST_STEP).then_some(Harm::Stuck);
        }
        let untouched = self.faults == setting.faults;
        (untouched && !setting.logout && self.good != 2).then_some(Harm::NotOneRefresh)
    }

    /// Returns the same world with its processes sorted, since their identity doesn't matter.
    fn sorted(mut self, hasher: &RandomState) -> Self {
        let mut order: Vec<_> = (0..self.processes.len()).collect();
        order.sort_by_cached_key(|&who| hasher.hash_one((&self.processes[who], self.holder == Some(who))));
        if self.holder != Some(order.len()) {
            self.holder = order.iter().position(|&who| self.holder == Some(who));
        }
        self.processes = order.iter().map(|&who| self.processes[who].clone()).collect();
        self.strays.sort_unstable();
        self
    }
}

fn is_failure(command: &Command) -> bool {
    matches!(command, Command::Finish(verdict) if *verdict != Verdict::Use)
}

/// Searches all possible worlds. Returns their number and the harm found.
fn search(setting: Setting) -> (usize, HashSet<Harm>) {
    let hashers = (RandomState::default(), RandomState::default());
    let (mut seen, mut harms) = (HashSet::new(), HashSet::new());
    let mut open = vec![World::new(setting)];
    while let Some(world) = open.pop() {
        let mut followed = false;
        world.next(setting, &mut |next| {
            followed = true;
            match next {
                Err(harm) => {
                    harms.insert(harm);
                }
                Ok(next) => {
                    let next = next.sorted(&hashers.0);
                    if seen.insert((hashers.0.hash_one(&next), hashers.1.hash_one(&next))) {
                        open.push(next);
                    }
                }
            }
        });
        if !followed {
            harms.extend(world.final_harm(setting));
        }
    }
    (seen.len(), harms)
}

fn setting(variant: Variant, processes: usize, calls: u8, faults: u8, left: u8) -> Setting {
    Setting { variant, processes, calls, faults, left, logout: false }
}

fn harms(variant: Variant, faults: u8) -> HashSet<Harm> {
    [0, 1, 2].into_iter().flat_map(|left| search(setting(variant, 2, 1, faults, left)).1).collect()
}

/// Returns how many settings to search: the first ones, or all with `IDEMPOST_EXHAUSTIVE`.
fn settings(first: usize) -> usize {
    if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { usize::MAX } else { first }
}

#[test]
fn without_faults_each_expiry_causes_one_refresh_and_no_session_ends() {
    for (processes, calls) in [(1, 2), (2, 1), (2, 2), (3, 1)] {
        for left in [0, 1, 2] {
            let setting = setting(Variant::Ours, processes, calls, 0, left);
            assert_eq!(search(setting).1, HashSet::new(), "{setting:?}");
        }
    }
}

#[test]
fn no_token_reuse_ends_a_live_session_whatever_is_lost_delayed_or_killed() {
    // TOK-28, D-05
    let settings = [(2, 1), (3, 1), (2, 2)].into_iter().take(settings(2)).flat_map(|(processes, calls)| {
        [0, 1, 2].map(|left| setting(Variant::Ours, processes, calls, 2, left))
    });
    thread::scope(|scope| {
        for setting in settings {
            scope.spawn(move || {
                let (worlds, harms) = search(setting);
                assert!(worlds > 2_000, "{setting:?}: {worlds}");
                assert_eq!(harms, HashSet::new(), "{setting:?}");
            });
        }
    });
}

#[test]
fn no_refresh_restores_a_login_after_its_logout() {
    // D-20
    for (processes, calls, faults) in
        [(1, 2, 2), (2, 1, 2), (3, 1, 1), (2, 2, 1)].into_iter().take(settings(2))
    {
        for left in [0, 1, 2] {
            let setting = Setting { logout: true, ..setting(Variant::Ours, processes, calls, faults, left) };
            let (worlds, harms) = search(setting);
            assert!(worlds > 200, "{setting:?}: {worlds}");
            assert_eq!(harms, HashSet::new(), "{setting:?}");
        }
    }
    // The search detects this if the lock is left out.
    let unlocked = Setting { logout: true, ..setting(Variant::NoLock, 1, 1, 0, 0) };
    assert!(search(unlocked).1.contains(&Harm::RestoredAfterLogout));
}

#[test]
fn every_part_of_the_protocol_is_necessary() {
    for variant in [Variant::NoLock, Variant::LockBrokenByAge] {
        let harms = harms(variant, 0);
        assert!(harms.contains(&Harm::KilledALiveSession), "{variant:?}: {harms:?}");
    }
    for variant in [Variant::NoMark, Variant::RetryAtOnce] {
        assert_eq!(harms(variant, 0), HashSet::new(), "{variant:?}");
        let harms = harms(variant, 1);
        assert!(harms.contains(&Harm::KilledALiveSession), "{variant:?}: {harms:?}");
    }
    let harms = harms(Variant::RetryWhileAccessLives, 1);
    assert_eq!(harms, HashSet::from_iter([Harm::KilledAnAccessToken]));
}

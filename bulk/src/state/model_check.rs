//! An exhaustive search over sequences of attempts, crashes and resumptions of one batch, against a service that remembers a key for 24 hours. It
//! runs the shipped decision code.
//!
//! A process can crash before and after each step, and a crash may lose a note. A request or its response can be lost, and a request can arrive half
//! an hour late. A rejected batch is sent email by email. Between two processes, the wall clock can be set back or forward, and the content can
//! change. One case is left to [`clock`](crate::clock), which asks the service: a clock that was set back but is still ahead of the journal.

use std::time::Duration;

use foldhash::{HashSet, HashSetExt as _};

use super::{
    AttemptResult, BatchState, BatchStates, BeforeAttempt, Decision, EmailState, Next, Situation, Slot,
    Split, decide,
};
use crate::journal::{EmailOutcome, Job, Record, SentId, UnixMillis};

const ATTEMPTS: u8 = 5;
/// The number of attempts if rejected batches are split; the split uses the first one.
const SPLIT_ATTEMPTS: u8 = 3;
const EMAILS: usize = 2;
const HOUR: u64 = 3_600_000;
/// The time before an attempt. The sums are close to the limits of 23 and 24 hours.
const PAUSES: [u64; 3] = [0, 10 * HOUR, 27 * HOUR / 2];
/// Errors of the wall clock.
const SKEWS: [i64; 4] =
    [0, -HOUR.cast_signed() / 12, -1_000 * HOUR.cast_signed(), 1_000 * HOUR.cast_signed()];
const KEY_LIFE: u64 = 24 * HOUR;
const DELAY: u64 = HOUR / 2;

/// The shipped decisions, or a plausible simplification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Shipped,
    /// A 429 always makes the batch fresh.
    ThrottledIsFresh,
    /// A batch is resent at any age.
    NoExpiry,
    /// A batch is resent with any content.
    AnyContent,
    /// The request leaves before the intent is durable.
    SendBeforeIntent,
    /// The wall clock is never behind the journal.
    TrustedClock,
    /// Attempts by earlier processes don't count as uncertain.
    ForgottenAttempts,
    /// A batch is rejected even if an earlier attempt may have been executed.
    RejectedInDoubt,
    /// A process doesn't know that an earlier process split the batch.
    ForgottenSplit,
    /// The request of an email of a split batch leaves before its intent is durable.
    SendBeforeEmailIntent,
}

/// Harm done to a recipient or to the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    SentTwice,
    DoneButNotSent,
    FreshButSent,
    /// A retry would send the rejected emails again.
    RejectedButSent,
    NeverEnds,
}

/// The outcome of one request.
#[derive(Clone, Copy, Debug)]
enum Network {
    Answered,
    ResponseLost,
    RequestLost,
    RequestDelayed,
    NotConnected,
    Throttled,
    Quota,
    Unauthorized,
    Rejected,
    KeyUsed,
    /// A 200 response with too few IDs.
    Unclear,
}

const NETWORK: [Network; 11] = [
    Network::Answered,
    Network::ResponseLost,
    Network::RequestLost,
    Network::RequestDelayed,
    Network::NotConnected,
    Network::Throttled,
    Network::Quota,
    Network::Unauthorized,
    Network::Rejected,
    Network::KeyUsed,
    Network::Unclear,
];

#[derive(Clone, Debug)]
struct Process {
    states: BatchStates,
    /// The difference between the process's clock and the true time.
    skew: i64,
    /// The outcomes of the first emails of a split batch.
    outcomes: Vec<EmailOutcome>,
}

/// The unit that has its own key at the service: the batch, or one of its emails.
type Request = usize;

#[derive(Clone, Debug)]
struct World {
    /// Whether rejected batches are split.
    splits: bool,
    /// The true time.
    now: u64,
    /// The journal as a replay reads it, and a note that is waiting to be written.
    durable: BatchStates,
    note: Option<Record>,
    process: Option<Process>,
    /// The batch's current content.
    content: u8,
    /// How many times the service sent each email, and when it last executed each request, by content.
    sent: [u8; EMAILS],
    remembered: [[Option<u64>; 1 + EMAILS]; 2],
    /// A delayed request: when it was sent, and its content.
    stray: Option<(u64, u8, Request)>,
    /// The outcomes that the result of a split batch records.
    outcomes: Vec<EmailOutcome>,
}

/// The identity of a world, with times relative to the present.
type Key = (
    ((Slot, Option<Split>, i64), String, u8),
    Option<(Slot, Option<Split>, i64, Vec<EmailOutcome>)>,
    [u8; EMAILS],
    [[Option<u64>; 1 + EMAILS]; 2],
    Option<(u64, u8, Request)>,
    Vec<EmailOutcome>,
);

impl World {
    fn new(splits: bool) -> Self {
        let now = 10_000 * HOUR;
        let mut durable = BatchStates::new(1);
        let job = Job { id: "j".into(), started: UnixMillis(now) };
        durable.apply(&Record::Job(job)).unwrap();
        Self {
            splits,
            now,
            durable,
            note: None,
            process: None,
            content: 0,
            sent: [0; EMAILS],
            remembered: [[None; 1 + EMAILS]; 2],
            stray: None,
            outcomes: Vec::new(),
        }
    }

    fn key(&self) -> Key {
        let now = self.now;
        let relative = |states: &BatchStates| {
            let mut slot = states.slots[0];
            slot.first_attempt.0 = slot.first_attempt.0.wrapping_sub(now);
            let mut split = states.splits.get(&0).cloned();
            for email in split.iter_mut().flat_map(|split| &mut split.emails) {
                if let EmailState::Maybe(attempted) = email {
                    attempted.first.0 = attempted.first.0.wrapping_sub(now);
                }
            }
            (slot, split, states.newest.0.cast_signed() - now.cast_signed())
        };
        let process = self.process.as_ref().map(|process| {
            let (slot, split, _) = relative(&process.states);
            (slot, split, process.skew, process.outcomes.clone())
        });
        let ages = |times: [Option<u64>; 1 + EMAILS]| times.map(|at| at.map(|at| (now - at).min(KEY_LIFE)));
        let stray = self.stray.map(|(at, content, request)| (now - at, content, request));
        let journal = (relative(&self.durable), format!("{:?}", self.note), self.content);
        (journal, process, self.sent, self.remembered.map(ages), stray, self.outcomes.clone())
    }

    fn harm(&self) -> Option<Harm> {
        let outcomes = self.process.as_ref().map_or(&self.outcomes, |process| &process.outcomes);
        let is_wrong = |wrong: fn(&EmailOutcome) -> bool, sent: bool| {
            outcomes.iter().zip(self.sent).any(|(outcome, times)| wrong(outcome) && (times > 0) == sent)
        };
        match self.durable.state(0)? {
            _ if self.sent.iter().any(|sent| *sent > 1) => Some(Harm::SentTwice),
            BatchState::Done if self.sent.contains(&0) => Some(Harm::DoneButNotSent),
            _ if is_wrong(|outcome| matches!(outcome, EmailOutcome::Accepted(_)), false) => {
                Some(Harm::DoneButNotSent)
            }
            _ if is_wrong(EmailOutcome::is_rejected, true) => Some(Harm::RejectedButSent),
            BatchState::Fresh if self.sent != [0; EMAILS] => Some(Harm::FreshButSent),
            BatchState::Rejected if self.sent != [0; EMAILS] => Some(Harm::RejectedButSent),
            _ => None,
        }
    }

    /// Lets the service receive a request.
    fn receive(&mut self, content: u8, request: Request, at: u64) {
        let remembered = &mut self.remembered[usize::from(content)][request];
        if remembered.is_none_or(|first| at - first >= KEY_LIFE) {
            *remembered = Some(at);
            let emails = if request == 0 { 0..EMAILS } else { request - 1..request };
            self.sent[emails].iter_mut().for_each(|sent| *sent += 1);
        }
    }

    /// Returns the worlds after a pause: a delayed request arrives or doesn't.
    fn after(&self, pause: u64) -> Vec<Self> {
        let mut lost = Self { now: self.now + pause, ..self.clone() };
        let Some((left, content, request)) = lost.stray.take() else { return vec![lost] };
        let mut arrived = lost.clone();
        arrived.receive(content, request, lost.now.min(left + DELAY));
        let mut worlds = vec![lost, arrived];
        if pause == 0 {
            worlds.push(self.clone());
        }
        worlds
    }

    /// Returns the worlds in which a process is running.
    fn running(self, variant: Variant) -> Vec<Self> {
        if self.process.is_some() {
            return vec![self];
        }
        let mut worlds = Vec::new();
        for skew in SKEWS {
            for content in [0, 1] {
                let mut states = self.durable.clone();
                let wall = UnixMillis(self.now.saturating_add_signed(skew));
                states.resume(wall);
                match variant {
                    Variant::TrustedClock => states.slots[0].age_unknown = false,
                    Variant::ForgottenAttempts => states.slots[0].uncertain = false,
                    Variant::ForgottenSplit => states.splits.clear(),
                    _ => {}
                }
                let skew = wall.max(states.newest).0.cast_signed() - self.now.cast_signed();
                let process = Some(Process { states, skew, outcomes: Vec::new() });
                worlds.push(Self { process, content, ..self.clone() });
            }
        }
        worlds
    }

    /// Adds the worlds after a crash: a note is lost or isn't.
    fn crash(&self, worlds: &mut Vec<Self>) {
        let lost = Self { note: None, process: None, ..self.clone() };
        if self.note.is_some() {
            let mut written = Self { process: None, ..self.clone() };
            written.flush();
            worlds.push(written);
        }
        worlds.push(lost);
    }

    fn flush(&mut self) {
        if let Some(note) = self.note.take() {
            self.durable.apply(&note).unwrap();
        }
    }

    /// Journals a record durably.
    fn write(&mut self, record: &Record) {
        self.flush();
        self.durable.apply(record).unwrap();
        self.states().apply(record).unwrap();
    }

    /// Journals a record that a crash may lose.
    fn note(&mut self, record: Record) {
        self.flush();
        self.states().apply(&record).unwrap();
        self.note = Some(record);
    }

    /// Journals what is known about the current email of a split batch.
    fn note_email(&mut self, outcome: Option<EmailOutcome>) {
        let email = u16::try_from(self.process.as_ref().unwrap().outcomes.len()).unwrap();
        self.note(Record::EmailResult { batch: 0, email, outcome });
    }

    /// Journals a request's result, and that of a split batch once all emails have one.
    fn settle(&mut self, record: &Record) {
        if !self.states().is_split(0) {
            return self.write(record);
        }
        let outcome = match record {
            Record::Result { ids, .. } => EmailOutcome::Accepted(ids[0].clone()),
            Record::Rejected { message, .. } => EmailOutcome::Rejected(message.clone()),
            _ => EmailOutcome::Unknown,
        };
        self.note_email(Some(outcome.clone()).filter(|outcome| !outcome.is_rejected()));
        self.process.as_mut().unwrap().outcomes.push(outcome);
        self.select_email();
    }

    /// Selects the next email of a split batch that has no outcome, or journals the batch's result.
    fn select_email(&mut self) {
        let Process { states, outcomes, .. } = self.process.as_mut().unwrap();
        while let Some(outcome) = states.select_email(0, outcomes.len()) {
            outcomes.push(outcome.clone());
        }
        if outcomes.len() == EMAILS && states.is_split(0) {
            self.outcomes.clone_from(outcomes);
            let emails = outcomes.clone();
            self.write(&Record::Partial { batch: 0, emails });
        }
    }

    fn states(&mut self) -> &mut BatchStates {
        &mut self.process.as_mut().unwrap().states
    }

    /// Decides what to do after a result, like a delivery.
    fn decide(&mut self, result: AttemptResult, now: UnixMillis) -> Decision {
        let states = self.states();
        let mut situation = states.situation(0, now);
        if states.is_split(0) {
            situation = Situation { emails: 1, ..situation };
        }
        if matches!(result, AttemptResult::Uncertain(_)) {
            states.set_uncertain(0);
        }
        decide(&situation, result, now)
    }

    fn clock(&self) -> UnixMillis {
        UnixMillis(self.now.saturating_add_signed(self.process.as_ref().unwrap().skew))
    }

    /// Returns the worlds after one more attempt.
    fn next(&self, variant: Variant) -> Vec<Self> {
        let mut worlds = Vec::new();
        for pause in PAUSES {
            for world in self.after(pause).into_iter().flat_map(|world| world.running(variant)) {
                world.attempt(variant, &NETWORK, &mut worlds);
            }
        }
        worlds
    }

    fn attempt(mut self, variant: Variant, network: &[Network], worlds: &mut Vec<Self>) {
        let (now, content) = (self.clock(), self.content);
        self.select_email();
        if variant == Variant::NoExpiry {
            self.states().slots[0].first_attempt = now;
        }
        let hash = match variant {
            Variant::AnyContent if self.states().slots[0].hash != [0; 16] => self.states().slots[0].hash,
            _ => [content + 1; 16],
        };
        let mut intent = None;
        match self.states().before_attempt(0, u16::try_from(EMAILS).unwrap(), hash, now) {
            BeforeAttempt::Ended => return,
            BeforeAttempt::Settle(record) => {
                self.crash(worlds);
                self.settle(&record);
                self.crash(worlds);
                return worlds.push(self);
            }
            BeforeAttempt::Start(record @ Record::EmailIntent { .. })
                if variant == Variant::SendBeforeEmailIntent =>
            {
                self.states().apply(&record).unwrap();
                intent = Some(record);
            }
            BeforeAttempt::Start(record @ Record::Intent { .. }) if variant == Variant::SendBeforeIntent => {
                intent = Some(record);
            }
            BeforeAttempt::Start(record) => {
                self.crash(worlds);
                self.write(&record);
                self.crash(worlds);
            }
            BeforeAttempt::Resend => {}
        }
        for network in network {
            let mut world = self.clone();
            let result = world.send(*network);
            world.crash(worlds);
            if let Some(intent) = &intent {
                world.write(intent);
            }
            if matches!(
                (variant, &result),
                (Variant::ThrottledIsFresh, AttemptResult::Throttled { .. })
                    | (Variant::RejectedInDoubt, AttemptResult::Rejected { .. })
            ) {
                world.states().slots[0].uncertain = false;
            }
            let Decision { record, next } = world.decide(result, now);
            let is_split = world.states().is_split(0);
            match record {
                Some(Record::NotSent { .. }) if is_split => world.note_email(None),
                Some(record @ Record::NotSent { .. }) => world.note(record),
                Some(Record::Rejected { .. }) if world.splits && !is_split => {
                    world.write(&Record::Split { batch: 0 });
                }
                Some(record) => world.settle(&record),
                None => {}
            }
            world.crash(worlds);
            if matches!(next, Next::StopJob(_) | Next::PauseJob { .. }) {
                world.flush();
                world.process = None;
            }
            worlds.push(world);
        }
    }

    /// Sends the request and returns its result.
    fn send(&mut self, network: Network) -> AttemptResult {
        let (now, content) = (self.now, self.content);
        let request =
            if self.states().is_split(0) { 1 + self.process.as_ref().unwrap().outcomes.len() } else { 0 };
        let ids = vec![SentId::Text("x".into()); if request == 0 { EMAILS } else { 1 }];
        let lost = || AttemptResult::Uncertain("timeout".into());
        match network {
            Network::Answered => {
                self.receive(content, request, now);
                AttemptResult::Accepted { ids }
            }
            Network::ResponseLost => {
                self.receive(content, request, now);
                lost()
            }
            Network::RequestLost => lost(),
            Network::RequestDelayed => {
                self.stray = Some((now, content, request));
                lost()
            }
            Network::NotConnected => AttemptResult::NotSent("refused".into()),
            Network::Throttled => AttemptResult::Throttled { retry_after: Some(Duration::from_secs(1)) },
            Network::Quota => AttemptResult::Quota { name: "daily".into(), retry_after: None },
            Network::Unauthorized => AttemptResult::Unauthorized { status: 401, message: "no".into() },
            Network::Rejected => AttemptResult::Rejected { status: 422, message: "no".into() },
            Network::KeyUsed => AttemptResult::KeyUsed,
            Network::Unclear => {
                self.receive(content, request, now);
                AttemptResult::Accepted { ids: ids[1..].to_vec() }
            }
        }
    }

    /// Returns whether the batch reaches a terminal state after attempts without faults.
    fn ends(&self) -> bool {
        let ended = |world: &World| world.durable.state(0).is_some_and(BatchState::is_terminal);
        let mut worlds = self.clone().running(Variant::Shipped);
        for _ in 0..EMAILS {
            worlds.retain(|world| !ended(world));
            let mut next = Vec::new();
            for world in worlds {
                world.attempt(Variant::Shipped, &[Network::Answered], &mut next);
            }
            next.retain(|world| world.process.is_some());
            worlds = next;
        }
        worlds.iter().all(ended)
    }
}

/// Searches all worlds, those after fewer attempts first. Returns the first harm and the number of attempts before it, or the number of worlds.
fn search(variant: Variant, splits: bool) -> Result<usize, (Harm, u8)> {
    let attempts = if splits { SPLIT_ATTEMPTS } else { ATTEMPTS };
    let (mut seen, mut worlds) = (HashSet::new(), vec![World::new(splits)]);
    for attempt in 1..=attempts {
        let mut next = Vec::new();
        for world in worlds.iter().flat_map(|world| world.next(variant)) {
            if !seen.insert(world.key()) {
                continue;
            }
            let ends = || if world.ends() { None } else { Some(Harm::NeverEnds) };
            if let Some(harm) = world.harm().or_else(ends) {
                return Err((harm, attempt));
            }
            next.push(world);
        }
        worlds = next;
    }
    Ok(seen.len())
}

#[test]
fn no_sequence_of_attempts_crashes_and_resumptions_sends_twice_or_loses_silently() {
    // F-09
    let worlds = search(Variant::Shipped, false).unwrap();
    println!("{worlds} worlds");
    assert!(worlds > 1_000, "{worlds}");
}

#[test]
fn no_sequence_of_attempts_of_a_split_batch_sends_twice_or_loses_silently() {
    // F-09
    let worlds = search(Variant::Shipped, true).unwrap();
    println!("{worlds} worlds");
    assert!(worlds > 1_000, "{worlds}");
}

#[test]
fn every_simplification_of_the_decisions_does_harm() {
    for variant in [
        Variant::ThrottledIsFresh,
        Variant::NoExpiry,
        Variant::AnyContent,
        Variant::SendBeforeIntent,
        Variant::TrustedClock,
        Variant::ForgottenAttempts,
        Variant::RejectedInDoubt,
        Variant::ForgottenSplit,
        Variant::SendBeforeEmailIntent,
    ] {
        let splits = matches!(variant, Variant::ForgottenSplit | Variant::SendBeforeEmailIntent);
        let (harm, _) = search(variant, splits).expect_err(&format!("{variant:?} does no harm"));
        assert_ne!(harm, Harm::NeverEnds, "{variant:?}");
    }
}

//! Selects the sequences of events to try.

use rand::{SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

use super::{
    call::Case,
    event::{Act, EVENTS, Event},
    setting::{Operation, Setting},
};

/// The cases of these operations, settings and events.
pub(super) struct Sequences {
    operations: Vec<Operation>,
    settings: Vec<&'static Setting>,
    events: Vec<&'static Event>,
}

impl Sequences {
    /// With all events that exist in a network.
    pub(super) fn new(
        operations: &[Operation],
        settings: &[&'static Setting],
        exists: impl Fn(Act) -> bool,
    ) -> Self {
        let events = EVENTS.iter().filter(|event| exists(event.act)).collect();
        Self { operations: operations.to_vec(), settings: settings.to_vec(), events }
    }

    /// Leaves out all other events.
    pub(super) fn only(mut self, is_kept: impl Fn(&Event) -> bool) -> Self {
        self.events.retain(|event| is_kept(event));
        self
    }

    /// All cases whose call ends within `longest` events, or with `IDEMPOST_EXHAUSTIVE` within `exhaustive` ones, and `random` cases with more
    /// than `longest`.
    pub(super) fn chosen(&self, longest: usize, random: usize, exhaustive: usize) -> Vec<Case> {
        let is_exhaustive = std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some();
        let mut cases = self.all(if is_exhaustive { exhaustive } else { longest });
        cases.extend(self.random(longest, random));
        cases
    }

    fn all(&self, longest: usize) -> Vec<Case> {
        let mut ended = Vec::new();
        for operation in self.operations.iter().copied() {
            for setting in &self.settings {
                let mut case = Case { operation, setting: **setting, events: Vec::new() };
                self.extend(&mut case, longest, &mut ended);
            }
        }
        ended
    }

    fn extend(&self, case: &mut Case, longest: usize, ended: &mut Vec<Case>) {
        if case.predict().is_some() {
            ended.push(case.clone());
        } else if case.events.len() < longest {
            for event in &self.events {
                case.events.push(event);
                self.extend(case, longest, ended);
                case.events.pop();
            }
        }
    }

    /// Cases with more than `longest` events.
    fn random(&self, longest: usize, count: usize) -> impl Iterator<Item = Case> {
        let mut random = StdRng::seed_from_u64(17);
        let cases = std::iter::repeat_with(move || {
            let operation = *self.operations.choose(&mut random).unwrap();
            let setting = **self.settings.choose(&mut random).unwrap();
            let mut case = Case { operation, setting, events: Vec::new() };
            while case.predict().is_none() {
                case.events.push(self.events.choose(&mut random).unwrap());
            }
            case
        });
        cases.filter(move |case| case.events.len() > longest).take(count)
    }
}

//! Identifiers: random, or from a seed so that a test sees the same ones every time.

use std::sync::Mutex;

use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use uuid::{Builder, Uuid};

use crate::lock::lock;

/// A source of UUIDs (version 4), the form that `SPEC.md` asks for every identifier.
#[derive(Debug)]
pub(crate) struct Ids {
    seeded: Option<Mutex<StdRng>>,
}

impl Ids {
    /// `stream` keeps sources of one seed apart, so that using one does not shift the others.
    pub(crate) fn new(seed: Option<u64>, stream: u64) -> Self {
        let seeded = seed.map(|seed| Mutex::new(StdRng::seed_from_u64(seed ^ stream.rotate_left(32))));
        Self { seeded }
    }

    pub(crate) fn next(&self) -> Uuid {
        let Some(seeded) = &self.seeded else { return Uuid::new_v4() };
        let mut bytes = [0; 16];
        lock(seeded).fill_bytes(&mut bytes);
        Builder::from_random_bytes(bytes).into_uuid()
    }
}

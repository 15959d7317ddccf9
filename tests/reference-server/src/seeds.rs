//! Identifiers: random, or repeatable from a seed.

use std::sync::Mutex;

use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use uuid::{Builder, Uuid};

use crate::lock::lock;

/// A source of UUIDs (version 4), the form that `docs/specification.md` requires for every identifier.
///
/// Without a seed, the system's random source seeds a cryptographic generator (ChaCha12) once: a send needs several IDs, and each would
/// cost a system call.
#[derive(Debug)]
pub struct Ids(Mutex<StdRng>);

impl Ids {
    /// `stream` separates the sources of one seed, so that using one doesn't shift the others.
    pub fn new(seed: Option<u64>, stream: u64) -> Self {
        Self(Mutex::new(match seed {
            Some(seed) => StdRng::seed_from_u64(seed ^ stream.rotate_left(32)),
            None => StdRng::from_entropy(),
        }))
    }

    pub fn next(&self) -> Uuid {
        let mut bytes = [0; 16];
        lock(&self.0).fill_bytes(&mut bytes);
        Builder::from_random_bytes(bytes).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseeded_sources_differ_and_equal_seeds_agree() {
        let take = |ids: &Ids| (0..100).map(|_| ids.next()).collect::<Vec<_>>();
        let (one, other) = (take(&Ids::new(None, 0)), take(&Ids::new(None, 0)));
        assert_eq!(one.len(), 100);
        assert!(one.iter().all(|id| !other.contains(id) && id.get_version_num() == 4));
        assert_eq!(take(&Ids::new(Some(7), 1)), take(&Ids::new(Some(7), 1)));
        assert_ne!(take(&Ids::new(Some(7), 1)), take(&Ids::new(Some(7), 2)));
    }
}

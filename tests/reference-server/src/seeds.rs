//! Identifiers and random bytes: from the system, or repeatable from a seed.

use std::fmt;
use std::sync::Mutex;

use ring::rand::{SecureRandom as _, SystemRandom};
use uuid::{Builder, Uuid};

use crate::lock::lock;

/// A source of UUIDs (version 4), the form that `docs/specification.md` requires for every identifier.
#[derive(Debug)]
pub struct Ids(Mutex<RandomBytes>);

impl Ids {
    /// `stream` separates the sources of one seed, so that using one doesn't shift the others.
    pub fn new(seed: Option<u64>, stream: u64) -> Self {
        Self(Mutex::new(RandomBytes::new(seed.map(|seed| seed ^ stream.rotate_left(32)))))
    }

    pub fn next(&self) -> Uuid {
        Builder::from_random_bytes(lock(&self.0).take()).into_uuid()
    }
}

/// A source of random bytes: cryptographically secure without a seed, repeatable with one.
pub enum RandomBytes {
    /// Read from the system, many at a time: a send needs several IDs, and each would cost a system call. From `used` on, they are unused.
    System {
        bytes: Box<[u8; 4096]>,
        used: usize,
    },
    Seeded(fastrand::Rng),
}

impl fmt::Debug for RandomBytes {
    /// Omits the bytes: secrets are made of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomBytes").finish_non_exhaustive()
    }
}

impl RandomBytes {
    pub fn new(seed: Option<u64>) -> Self {
        match seed {
            Some(seed) => Self::Seeded(fastrand::Rng::with_seed(seed)),
            None => Self::System { bytes: Box::new([0; 4096]), used: 4096 },
        }
    }

    /// The next bytes, at most 4096.
    ///
    /// # Panics
    /// If the system provides no random numbers.
    pub fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        match self {
            Self::Seeded(numbers) => numbers.fill(&mut taken),
            Self::System { bytes, used } => {
                if bytes.len() - *used < N {
                    SystemRandom::new().fill(&mut bytes[..]).expect("random numbers");
                    *used = 0;
                }
                taken.copy_from_slice(&bytes[*used..*used + N]);
                *used += N;
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unseeded_sources_differ_and_equal_seeds_agree() {
        let take = |ids: &Ids| (0..1_000).map(|_| ids.next()).collect::<Vec<_>>();
        let ids = [take(&Ids::new(None, 0)), take(&Ids::new(None, 0))].concat();
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!((ids.len(), distinct.len()), (2_000, 2_000));
        assert!(ids.iter().all(|id| id.get_version_num() == 4));
        assert_eq!(take(&Ids::new(Some(7), 1)), take(&Ids::new(Some(7), 1)));
        assert_ne!(take(&Ids::new(Some(7), 1)), take(&Ids::new(Some(7), 2)));
    }
}

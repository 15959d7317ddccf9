//! The memory of data in flight: request bodies, responses that clients haven't read yet, messages of SMTP sessions, and attachments that are
//! being fetched.
//!
//! All of them share one budget, so that many clients need no more memory than a few. Bodies wait their turn; other requests are rejected.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::lock::lock;

/// The unit of the budget in bytes.
const UNIT: usize = 1 << 10;
/// The minimum counted size: a connection itself needs as much.
pub const UNCOUNTED: usize = 16 << 10;
/// The number of slow requests that are handled at the same time: their responses count only once they exist, so a smaller budget permits fewer.
const SLOW: std::ops::RangeInclusive<usize> = 4..=16;
/// The size of a response that all of them may have at the same time.
const LARGE_RESPONSE: usize = 8 << 20;

/// The budget.
#[derive(Debug)]
pub struct InFlight {
    units: Arc<Semaphore>,
    total: usize,
    extending: Mutex<()>,
    /// A permit for each slow request that is being handled.
    pub slow: Semaphore,
}

/// Memory that counts until it is dropped.
#[derive(Debug, Default)]
pub struct Reservation(Option<OwnedSemaphorePermit>);

impl Reservation {
    /// Bytes that count until the last copy is dropped.
    pub fn guard_bytes(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        struct Held<T>(
            T,
            #[expect(dead_code, reason = "it counts until it is dropped")] OwnedSemaphorePermit,
        );
        impl<T: AsRef<[u8]>> AsRef<[u8]> for Held<T> {
            fn as_ref(&self) -> &[u8] {
                self.0.as_ref()
            }
        }
        match self.0 {
            Some(permit) => Bytes::from_owner(Held(bytes, permit)),
            None => Bytes::from_owner(bytes),
        }
    }
}

impl InFlight {
    /// A budget of this number of bytes.
    pub fn new(bytes: usize) -> Self {
        let total = (bytes / UNIT).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        let slow = (bytes / LARGE_RESPONSE).clamp(*SLOW.start(), *SLOW.end());
        Self {
            units: Arc::new(Semaphore::new(total)),
            total,
            extending: Mutex::default(),
            slow: Semaphore::new(slow),
        }
    }

    /// The units of this number of bytes. A larger reservation takes the whole budget.
    fn units(&self, bytes: usize) -> u32 {
        let units = if bytes <= UNCOUNTED { 0 } else { bytes.div_ceil(UNIT).min(self.total) };
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// Reserves memory, if it is available immediately.
    pub fn try_reserve(&self, bytes: usize) -> Option<Reservation> {
        match self.units(bytes) {
            0 => Some(Reservation(None)),
            units => {
                Arc::clone(&self.units).try_acquire_many_owned(units).ok().map(|held| Reservation(Some(held)))
            }
        }
    }

    /// Reserves memory, in the order of the calls.
    pub async fn reserve(&self, bytes: usize, limit: Duration) -> Option<Reservation> {
        match self.units(bytes) {
            0 => Some(Reservation(None)),
            units => {
                let acquired = timeout(limit, Arc::clone(&self.units).acquire_many_owned(units)).await;
                acquired.ok()?.ok().map(|held| Reservation(Some(held)))
            }
        }
    }

    /// Extends a reservation to this number of bytes if they are available immediately, and gives it up otherwise. Both happen under a lock: of those
    /// that need each other's memory, the last one gets it.
    pub fn extend(&self, reserved: &mut Reservation, bytes: usize) -> bool {
        let held = reserved.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = self.units(bytes).saturating_sub(u32::try_from(held).unwrap_or(u32::MAX));
        if missing == 0 {
            return true;
        }
        let _extending = lock(&self.extending);
        let Ok(more) = Arc::clone(&self.units).try_acquire_many_owned(missing) else {
            reserved.0 = None;
            return false;
        };
        match &mut reserved.0 {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        true
    }

    /// The bytes that aren't reserved.
    pub fn available(&self) -> usize {
        self.units.available_permits() * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_never_exceed_the_budget() {
        let budget = InFlight::new(100 << 10);
        let first = budget.try_reserve(60 << 10).unwrap();
        assert!(budget.try_reserve(50 << 10).is_none());
        assert!(budget.try_reserve(UNCOUNTED).is_some(), "small ones aren't counted");
        let mut second = budget.try_reserve(20 << 10).unwrap();
        assert!(budget.extend(&mut second, 40 << 10));
        assert_eq!(budget.available(), 0);
        assert!(!budget.extend(&mut second, 41 << 10));
        assert_eq!(budget.available(), 40 << 10, "it is given up");
        drop(first);
        assert!(budget.extend(&mut second, 1 << 30), "what exceeds the budget takes all of it");
        assert_eq!(budget.available(), 0);
        drop(second);
        assert_eq!(budget.available(), 100 << 10);
    }

    #[test]
    fn of_two_that_need_all_of_the_memory_one_gets_it() {
        let budget = InFlight::new(100 << 10);
        for _ in 0..1_000 {
            let both_hold_some = std::sync::Barrier::new(2);
            let extended = || {
                let mut held = budget.try_reserve(50 << 10).unwrap();
                both_hold_some.wait();
                let extended = budget.extend(&mut held, 100 << 10);
                both_hold_some.wait();
                extended
            };
            let extended = std::thread::scope(|scope| {
                let other = scope.spawn(extended);
                [extended(), other.join().unwrap()]
            });
            assert!(extended[0] != extended[1], "{extended:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reservation_waits_its_turn_for_a_limited_time() {
        let budget = Arc::new(InFlight::new(100 << 10));
        let held = budget.try_reserve(80 << 10).unwrap();
        assert!(budget.reserve(30 << 10, Duration::from_secs(30)).await.is_none());
        let waiting = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { budget.reserve(30 << 10, Duration::from_secs(30)).await.is_some() }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(held);
        assert!(waiting.await.unwrap());
    }
}

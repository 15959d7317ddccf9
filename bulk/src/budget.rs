//! A limit on the memory of rendered requests.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The maximum total size of rendered requests, in bytes. A single larger request is still allowed.
pub(crate) const RENDERED: usize = 64 * 1024 * 1024;

/// A budget of bytes, shared by requests.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    limit: usize,
    used: Mutex<usize>,
    released: Condvar,
}

/// A part of a budget, returned when this value is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ByteBudget {
    /// Creates a budget of `limit` bytes.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: Mutex::default(), released: Condvar::new() })
    }

    /// Blocks until this many bytes are available. More than the limit can be reserved once nothing else is.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize) -> Reserved {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |used: &mut usize| *used > 0 && used.saturating_add(bytes) > self.limit;
        let mut used = self.released.wait_while(used, is_full).unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_add(bytes);
        Reserved { budget: Arc::clone(self), bytes }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut used = self.budget.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(self.bytes);
        drop(used);
        self.budget.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    #[test]
    fn a_reservation_waits_until_enough_is_released_and_a_larger_one_until_all_is() {
        let budget = ByteBudget::new(10);
        let (first, second) = (budget.reserve(6), budget.reserve(4));
        let (send, receive) = mpsc::channel();
        let waiting = thread::spawn({
            let budget = Arc::clone(&budget);
            move || {
                send.send(0).unwrap();
                let large = budget.reserve(100);
                send.send(large.bytes).unwrap();
            }
        });
        assert_eq!(receive.recv(), Ok(0));
        drop(first);
        assert_eq!(*budget.used.lock().unwrap(), 4, "the large one still waits");
        assert!(receive.try_recv().is_err());
        drop(second);
        assert_eq!(receive.recv(), Ok(100));
        waiting.join().unwrap();
        assert_eq!(*budget.used.lock().unwrap(), 0);
    }
}

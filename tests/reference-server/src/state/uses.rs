//! The order in which tenants were used.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The minimum number of outdated uses that are kept.
const MIN_USES: usize = 1_024;

/// A value with the number of its last use.
pub trait Used {
    fn last_used(&self) -> &AtomicU64;
}

/// The uses of tenants. Each tenant has one entry per use, of which the newest counts. A search for one without data checks each use once, so a use
/// and both searches take constant time on average.
#[derive(Debug)]
pub struct Uses<T> {
    last: u64,
    /// Oldest first.
    order: VecDeque<(u64, Weak<T>)>,
    /// The uses of tenants that had data when one without was searched for. A tenant whose data is deleted is used again.
    filled: BTreeMap<u64, Weak<T>>,
    /// The number of entries at which all but the newest of each tenant are removed.
    compact_at: usize,
}

impl<T> Default for Uses<T> {
    fn default() -> Self {
        Self { last: 0, order: VecDeque::new(), filled: BTreeMap::new(), compact_at: 0 }
    }
}

/// The tenant of a use, if this is the newest use of a tenant that still exists.
fn current_tenant<T: Used>(number: u64, tenant: &Weak<T>) -> Option<Arc<T>> {
    tenant.upgrade().filter(|tenant| tenant.last_used().load(Ordering::Relaxed) == number)
}

impl<T: Used> Uses<T> {
    /// The last uses of these tenants, oldest first.
    pub fn new<'a>(tenants: impl Iterator<Item = &'a Arc<T>>) -> Self
    where
        T: 'a,
    {
        let uses = tenants.map(|tenant| (tenant.last_used().load(Ordering::Relaxed), Arc::downgrade(tenant)));
        let order: VecDeque<_> = uses.collect();
        Self { last: order.back().map_or(0, |(last, _)| *last), order, ..Self::default() }
    }

    pub fn add(&mut self, tenant: &Arc<T>) {
        self.last += 1;
        tenant.last_used().store(self.last, Ordering::Relaxed);
        let entry = (self.last, Arc::downgrade(tenant));
        match self.order.back_mut() {
            Some(back) if back.1.ptr_eq(&entry.1) => *back = entry,
            _ => self.order.push_back(entry),
        }
        if self.order.len() + self.filled.len() > self.compact_at {
            self.order.retain(|(number, tenant)| current_tenant(*number, tenant).is_some());
            self.filled.retain(|number, tenant| current_tenant(*number, tenant).is_some());
            self.compact_at = 2 * (self.order.len() + self.filled.len()) + MIN_USES;
        }
    }

    /// Takes the least recently used tenant without data. A request may be about to add some: it shares the tenant, unlike the index and this
    /// call, which is why the index must be locked.
    pub fn take_empty(&mut self, is_empty: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let mut shared = Vec::new();
        let found = loop {
            let Some((number, tenant)) = self.order.pop_front() else { break None };
            let Some(used) = current_tenant(number, &tenant) else { continue };
            if !is_empty(&used) {
                self.filled.insert(number, tenant);
            } else if Arc::strong_count(&used) > 2 {
                shared.push((number, tenant));
            } else {
                break Some(used);
            }
        };
        for entry in shared.into_iter().rev() {
            self.order.push_front(entry);
        }
        found
    }

    /// Takes the least recently used tenant.
    pub fn take_oldest(&mut self) -> Option<Arc<T>> {
        loop {
            let (front, filled) = (self.order.front(), self.filled.first_key_value());
            let is_filled = filled.is_some_and(|(filled, _)| front.is_none_or(|(number, _)| filled < number));
            let entry = if is_filled { self.filled.pop_first() } else { self.order.pop_front() };
            let (number, tenant) = entry?;
            if let Some(tenant) = current_tenant(number, &tenant) {
                return Some(tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A tenant with or without data.
    struct Account {
        last_used: AtomicU64,
        number: usize,
        is_empty: bool,
    }

    impl Used for Account {
        fn last_used(&self) -> &AtomicU64 {
            &self.last_used
        }
    }

    fn account(number: usize, is_empty: bool) -> Arc<Account> {
        Arc::new(Account { last_used: AtomicU64::new(0), number, is_empty })
    }

    #[test]
    fn each_account_is_checked_once_however_many_there_are() {
        const ACCOUNTS: usize = 100_000;
        const NEW: usize = 10_000;
        let mut accounts: BTreeMap<_, _> =
            (0..ACCOUNTS).map(|number| (number, account(number, false))).collect();
        let mut uses = Uses::default();
        for one in accounts.values() {
            uses.add(one);
        }
        let checks = Cell::new(0);
        let is_empty = |one: &Account| {
            checks.set(checks.get() + 1);
            one.is_empty
        };
        for number in ACCOUNTS..ACCOUNTS + NEW {
            // A request still uses the new one.
            let added = account(number, number % 2 == 0);
            uses.add(&added);
            accounts.insert(number, Arc::clone(&added));
            let evicted =
                uses.take_empty(is_empty).or_else(|| uses.take_oldest()).expect("there are too many");
            accounts.remove(&evicted.number);
        }
        // The first finds only accounts with data, and all others an empty one from before in half of the cases.
        assert!(checks.get() <= ACCOUNTS + 3 * NEW, "{} checks", checks.get());
        assert_eq!(accounts.len(), ACCOUNTS);
        let oldest_kept = accounts.keys().next().copied();
        assert_eq!(oldest_kept, Some(NEW / 2), "the others had no data");
    }

    #[test]
    fn the_memory_of_uses_is_bounded() {
        let (a, b) = (account(0, true), account(1, false));
        let (mut uses, _request) = (Uses::default(), Arc::clone(&a));
        for _ in 0..10 * MIN_USES {
            uses.add(&a);
            uses.add(&b);
            assert!(uses.take_empty(|one| one.is_empty).is_none(), "it is shared");
        }
        assert!(uses.order.len() + uses.filled.len() <= 2 * MIN_USES + 4);
        assert_eq!(uses.take_oldest().map(|one| one.number), Some(0));
        assert_eq!(uses.take_oldest().map(|one| one.number), Some(1));
        assert!(uses.take_oldest().is_none());
    }
}

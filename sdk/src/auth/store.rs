//! Token storage: the contract of every store, and a store in memory.

mod contract;
mod memory;

pub use contract::{LockedStore, TokenStore};
pub use memory::MemoryStore;

//! Token storage: the contract for stores, an in-memory store, and a file store.

mod contract;
#[cfg(not(target_family = "wasm"))]
mod file;
#[cfg(not(target_family = "wasm"))]
pub mod files;
mod memory;

pub use contract::{LockedStore, TokenStore};
#[cfg(not(target_family = "wasm"))]
pub use file::FileStore;
pub use memory::MemoryStore;

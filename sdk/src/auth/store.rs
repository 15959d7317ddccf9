//! Token storage: the contract of every store, a store in memory, and one in a file.

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

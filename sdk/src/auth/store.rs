//! Token storage: the contract of every store, a store in memory, and one in a file.

mod contract;
mod file;
pub mod files;
mod memory;

pub use contract::{LockedStore, TokenStore};
pub use file::FileStore;
pub use memory::MemoryStore;

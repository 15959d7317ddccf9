//! The client: settings, lists, waits, and requests to operations without a typed method.

#[cfg(feature = "blocking")]
mod blocking;
mod builder;
mod handle;
pub(crate) mod page;
mod wait;

#[cfg(feature = "blocking")]
pub(crate) use blocking::block_on;
#[cfg(feature = "blocking")]
pub use blocking::{Blocking, BlockingIter};
pub use builder::ClientBuilder;
pub use handle::Client;
pub(crate) use page::Item;
pub use page::{List, Page};
pub(crate) use wait::State;
pub use wait::Wait;

//! Segments: groups of contacts that broadcasts are sent to.

mod new;
mod operations;

pub use operations::Segments;

pub use super::shared::Segment;

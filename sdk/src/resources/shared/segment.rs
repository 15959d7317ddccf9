//! Segments, in lists of segments and of a contact's segments.

use crate::types::{SegmentId, Timestamp};

record! {
    /// A segment (`SPEC.md`, Segment and audience).
    pub struct Segment {
        /// The segment's ID. Broadcasts are sent to it: [`NewBroadcast::new`](crate::broadcasts::NewBroadcast::new).
        pub id: SegmentId,
        /// The segment's name.
        pub name: Option<String>,
        /// When the segment was created.
        pub created_at: Option<Timestamp>,
    }
}

items!(Segment);

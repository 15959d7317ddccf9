//! Segments, in the segment list and in a contact's list of segments.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::check_id;
use crate::{
    problem::Validator,
    types::{
        SegmentId, Timestamp,
        fields::{FieldValue, Kind, Reader},
    },
};

record! {
    /// A segment (`docs/specification.md`, Segment and audience).
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

/// The segments of a new contact: `{id}` on the wire. Plain IDs are accepted as well.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Memberships(Vec<SegmentId>);

impl Memberships {
    pub(crate) fn push(&mut self, segment: SegmentId) {
        self.0.push(segment);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn validate(&self, v: &mut Validator) {
        v.for_each_item("segments", &self.0, |v, segment| check_id(v, segment.as_str()));
    }
}

impl Serialize for Memberships {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|id| json!({ "id": id })))
    }
}

impl FieldValue for Memberships {
    const KIND: Kind = Kind::List(&Kind::Text);

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        struct Named(SegmentId);

        impl FieldValue for Named {
            const KIND: Kind = Kind::Text;

            fn read(v: &mut Validator, value: &Value) -> Option<Self> {
                if value.is_object() {
                    return Reader::object(v, value, &["id"], |fields| Self(fields.required("id")));
                }
                SegmentId::read(v, value).map(Self)
            }
        }

        let named = Vec::<Named>::read(v, value)?;
        Some(Self(named.into_iter().map(|Named(id)| id).collect()))
    }
}

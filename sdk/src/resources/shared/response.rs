//! Responses that only identify a record.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::types::lenient;

/// A response that only identifies the record that was created or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reference<Id> {
    /// The record's ID.
    pub id: Id,
}

/// The response to a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Deleted<Id> {
    /// The ID of the deleted record. (For a contact, the service calls the field `contact`.)
    pub id: Id,
    /// Whether the record is deleted.
    pub deleted: bool,
}

impl<'de, Id: Deserialize<'de>> Deserialize<'de> for Deleted<Id> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = lenient::fields(deserializer, &[&["id", "contact"], &["deleted"]])?;
        let id: Value = fields.take().map_err(D::Error::custom)?;
        let deleted = fields.take().map_err(D::Error::custom)?;
        if id.is_null() {
            return Err(D::Error::missing_field("id"));
        }
        Ok(Self { id: Id::deserialize(id).map_err(D::Error::custom)?, deleted })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::types::ContactId;

    #[test]
    fn a_deletion_is_read_whatever_the_service_calls_the_id() {
        for sent in [json!({ "id": "c1", "deleted": true }), json!({ "contact": "c1", "deleted": "true" })] {
            let deleted: Deleted<ContactId> = from_value(sent).unwrap();
            assert_eq!((deleted.id.as_str(), deleted.deleted), ("c1", true));
        }
        let both: Deleted<ContactId> =
            from_value(json!({ "id": "1", "contact": "1", "deleted": null })).unwrap();
        assert_eq!((both.id.as_str(), both.deleted), ("1", false));
    }
}

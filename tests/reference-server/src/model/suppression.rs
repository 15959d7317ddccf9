//! The suppression list: addresses that receive no emails.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::table;
use crate::wire::{to_database_format, view, words};

/// An entry of the suppression list.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Suppression {
    pub id: Uuid,
    pub email: String,
    pub origin: Origin,
    /// The email that bounced or was reported as spam.
    pub source: Option<Uuid>,
    pub created_at: Timestamp,
}

impl table::Record for Suppression {
    const NOUN: &'static str = "a suppression";
    const PLURAL: &'static str = "suppressions";
    const IGNORES_CASE: bool = true;

    type Group = Origin;

    fn key(&self) -> Option<&str> {
        Some(&self.email)
    }

    fn groups(&self) -> Vec<Origin> {
        vec![self.origin]
    }
}

words! {
    /// Why an address is on the list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Origin {
        Bounce = "bounce",
        Complaint = "complaint",
        Manual = "manual",
    }
}

view! {
    pub Item of suppression: Suppression {
        id: suppression.id,
        email: suppression.email,
        origin: suppression.origin,
        source_id: suppression.source,
        created_at: to_database_format(suppression.created_at),
    }
}

view! {
    pub Detail of suppression: Suppression { object: "suppression", ..Item, }
}

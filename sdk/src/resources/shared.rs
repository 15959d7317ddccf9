//! Shapes that several resources have in common.

use serde::{Deserialize, Serialize};

use crate::{problem::Validator, types::ScheduledAt};

/// An answer that only names the thing that was made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reference<Id> {
    /// The thing's id.
    pub id: Id,
}

/// The answer to a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Deleted<Id> {
    /// The id of what was deleted. (Of a contact, the service writes it as `contact`.)
    #[serde(alias = "contact")]
    pub id: Id,
    /// Whether it is gone.
    #[serde(default)]
    pub deleted: bool,
}

/// The body that schedules an email or a broadcast.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Schedule {
    scheduled_at: ScheduledAt,
}

impl Schedule {
    pub(super) fn at(when: impl Into<ScheduledAt>) -> Self {
        Self { scheduled_at: when.into() }
    }

    fn validate(&self, v: &mut Validator) {
        v.schedule(Some(self.scheduled_at.as_str()));
    }
}

validate!(private Schedule);

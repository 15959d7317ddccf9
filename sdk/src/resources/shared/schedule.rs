//! The body that schedules an email or a broadcast.

use serde::Serialize;

use crate::{problem::Validator, types::ScheduledAt};

/// The request body that schedules an email or a broadcast.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Schedule {
    scheduled_at: ScheduledAt,
}

impl Schedule {
    pub(crate) fn new(when: impl Into<ScheduledAt>) -> Self {
        Self { scheduled_at: when.into() }
    }

    fn validate(&self, v: &mut Validator) {
        v.schedule(Some(self.scheduled_at.as_str()));
    }
}

validate!(private Schedule);

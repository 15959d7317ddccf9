//! The input of a segment creation or rename.

use serde::Serialize;

use crate::problem::Problem;

#[derive(Serialize)]
pub(super) struct Named {
    pub(super) name: String,
}

impl Named {
    pub(super) fn problems(&self) -> Vec<Problem> {
        if self.name.trim().is_empty() {
            return vec![Problem::new("/name", "required", "`name` is required")];
        }
        Vec::new()
    }
}

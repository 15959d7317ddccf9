//! The input for creating or renaming a segment.

use serde::Serialize;

use crate::problem::Validator;

#[derive(Serialize)]
pub(super) struct Named {
    pub(super) name: String,
}

impl Named {
    fn validate(&self, v: &mut Validator) {
        v.check_required("name", &self.name);
    }
}

validate!(private Named);

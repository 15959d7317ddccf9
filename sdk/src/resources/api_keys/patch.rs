//! The input of an API key rename.

use serde::Serialize;

use super::new::check_name;
use crate::problem::Validator;

#[derive(Serialize)]
pub(super) struct Named {
    pub(super) name: String,
}

impl Named {
    fn validate(&self, v: &mut Validator) {
        check_name(v, &self.name);
    }
}

validate!(private Named);

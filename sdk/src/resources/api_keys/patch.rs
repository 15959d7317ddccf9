//! The input of an API key rename.

use serde::Serialize;

use super::new::name_problem;
use crate::problem::Problem;

#[derive(Serialize)]
pub(super) struct Named {
    pub(super) name: String,
}

impl Named {
    pub(super) fn problems(&self) -> Vec<Problem> {
        name_problem(&self.name).into_iter().collect()
    }
}

//! Options of planning.

use std::path::PathBuf;

use idempost::{Email, problem::Problem, types::RecipientGuard};

use super::{Selection, problem};

/// Options of planning.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanOptions {
    /// Columns that are skipped.
    pub(crate) ignore_columns: Vec<String>,
    /// Plans only the first valid rows, for a trial. The trial is a job of its own.
    pub(crate) limit: Option<u64>,
    /// Sends all emails to this address instead, without `cc` and `bcc`. The trial is a job of its own.
    pub(crate) test_to: Option<String>,
    /// Which recipients are allowed, and where everything is redirected to. Another guard makes another job.
    pub(crate) guard: RecipientGuard,
    /// Plans another run of a job that exists.
    pub(crate) again: bool,
    /// The folder of attachments; by default the input's.
    pub(crate) attachments: Option<PathBuf>,
    /// Plans only these rows, of an earlier job. They are a job of their own.
    pub(crate) rows: Option<Selection>,
    /// The base URL of the service.
    pub(crate) origin: String,
    /// The name of the profile.
    pub(crate) profile: Option<String>,
}

impl PlanOptions {
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(address) = &self.test_to {
            let email = Email::new(address.as_str(), "a@b.c", "x").text("x");
            problems.extend(
                email.check().err().into_iter().flat_map(idempost::problem::Problems::into_vec).map(
                    |mut found| {
                        "/test_to".clone_into(&mut found.path);
                        found
                    },
                ),
            );
        }
        if self.limit == Some(0) {
            problems.push(problem("range", "the limit is at least 1 row"));
        }
        problems
    }
}

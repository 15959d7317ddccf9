//! Options of planning.

use std::{path::PathBuf, sync::Arc};

use idempost::{Email, emails::EmailFields, problem::Problem, types::RecipientGuard};

use super::{Selection, address_hash, problem};

/// Options of planning.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanOptions {
    /// Columns that are skipped.
    pub(crate) ignore_columns: Vec<String>,
    /// Plans only the first valid rows, as the first part of the job.
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
    /// The column or field that tells rows apart; without one, all values do.
    pub(crate) key: Option<String>,
    /// The name of the job; by default that of its input.
    pub(crate) name: Option<String>,
    /// Adds the rows that a job of this name doesn't have.
    pub(crate) add: bool,
    /// What is done with added rows for known recipients.
    pub(crate) changed: ChangedRows,
    /// The hashes of the addresses to which nothing is sent, sorted: 16 bytes each.
    pub(crate) suppressed: Arc<Vec<[u8; 16]>>,
    /// The same of the account's suppression list, if it is used. The list changes while the job runs, so only its use tells two plans apart.
    pub(crate) suppressed_by_account: Option<Arc<Vec<[u8; 16]>>>,
    /// The maximum number of emails in a request; `None` for the service's.
    pub(crate) batch_size: Option<u16>,
    /// The maximum size of the input, in bytes; 0 for the default.
    pub(crate) max_size: u64,
}

/// What [`Bulk::add_rows`](crate::Bulk::add_rows) does with a row that the job doesn't have, for a recipient whom it does have: the row was corrected, or
/// it is another email. Rows with a [key](crate::Bulk::key) need no such choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangedRows {
    /// Plans nothing, and fails with [`BulkError::Differs`](crate::BulkError::Differs).
    #[default]
    Reject,
    /// Sends them as emails of their own.
    Send,
    /// Leaves them out.
    Skip,
}

/// The default maximum size of an input.
const MAX_SIZE: u64 = 1 << 30;

impl PlanOptions {
    pub(super) fn max_size(&self) -> u64 {
        if self.max_size == 0 { MAX_SIZE } else { self.max_size }
    }

    /// Returns why an email isn't sent: one of its recipients is on the job's list, or all of them are on the account's.
    pub(super) fn suppression(&self, fields: &EmailFields<'_>) -> Option<&'static str> {
        let is_in = |list: &[[u8; 16]], address: &String| list.binary_search(&address_hash(address)).is_ok();
        let mut all = [fields.to, fields.cc, fields.bcc].into_iter().flatten();
        if !self.suppressed.is_empty() && all.any(|address| is_in(&self.suppressed, address)) {
            return Some("suppressed");
        }
        let by_account = self.suppressed_by_account.as_ref().filter(|list| !list.is_empty())?;
        fields.to.iter().all(|address| is_in(by_account, address)).then_some("suppressed by the account")
    }

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
            problems.push(problem("range", "the limit must be at least 1 row"));
        }
        problems
    }
}

//! Planning options.

use std::{path::PathBuf, sync::Arc};

use idempost::{Email, emails::EmailFields, problem::Problem};

use super::{address_hash, job::JobOptions};

/// Planning options.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanOptions {
    /// The options that the plan stores, without the suppression lists.
    pub(crate) job: JobOptions,
    /// Plans another run of an existing job.
    pub(crate) again: bool,
    /// The folder of attachments; by default the input's.
    pub(crate) attachments: Option<PathBuf>,
    /// The base URL of the service.
    pub(crate) origin: String,
    /// The name of the profile.
    pub(crate) profile: Option<String>,
    /// Adds the rows that aren't yet in the job of this name.
    pub(crate) add: bool,
    /// How to handle added rows for known recipients.
    pub(crate) changed: ChangedRows,
    /// The sorted hashes of suppressed addresses, 16 bytes each.
    pub(crate) suppressed: Arc<Vec<[u8; 16]>>,
    /// As above, for the account's suppression list, if it is used. The list may change while the job runs, so only its use distinguishes two plans.
    pub(crate) suppressed_by_account: Option<Arc<Vec<[u8; 16]>>>,
    /// The maximum size of the input, in bytes; 0 for the default.
    pub(crate) max_size: u64,
}

/// How [`Bulk::add_rows`](crate::Bulk::add_rows) treats a new row for a recipient that is already in the job: either the row was corrected, or it is
/// another email. Rows with a [key](crate::Bulk::key) don't need this choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangedRows {
    /// Plans nothing, and fails with [`BulkError::Differs`](crate::BulkError::Differs).
    #[default]
    Reject,
    /// Sends them as separate emails.
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

    /// Returns the options that the plan stores.
    pub(super) fn stored(&self) -> JobOptions {
        let hash = || blake3::hash(&self.suppressed.concat()).to_hex()[..32].to_owned();
        JobOptions {
            suppressed: (!self.suppressed.is_empty()).then(hash),
            account_suppressions: self.suppressed_by_account.is_some(),
            ..self.job.clone()
        }
    }

    /// Returns why an email is suppressed: one of its recipients is on the job's list, or all of them are on the account's.
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
        if let Some(address) = &self.job.test_to {
            let email = Email::new(address.as_str(), "a@b.c", "x").text("x");
            let found = email.check().err().into_iter().flat_map(idempost::problem::Problems::into_vec);
            problems.extend(found.map(|mut problem| {
                "/test_to".clone_into(&mut problem.path);
                problem
            }));
        }
        if self.job.limit == Some(0) {
            problems.push(Problem::new("", "range", "the limit must be at least 1 row"));
        }
        problems
    }
}

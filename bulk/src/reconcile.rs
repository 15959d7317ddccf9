//! Searches the service's emails for rows of unknown outcome.
//!
//! The list of emails is read from the newest one back to the first attempt of the oldest unknown row. An email matches a row if it has the same
//! recipients and subject, was created within the lifetime of the row's idempotency key, and isn't known to belong to another row. Every email
//! matches at most one row. A match is inferred: it could be an unrelated email with the same recipients and subject.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use futures_util::TryStreamExt as _;
use idempost::{Client, Timestamp, emails::SentEmailSummary};

use crate::{
    clock::TOLERANCE,
    error::{BulkError, Result},
    list::List,
    outcomes::{self, Outcome, RowOutcome},
    parts::{self, PartRows},
    plan::{Plan, normalize_address},
    report::format_time,
};

const NAME: &str = "reconciled.csv";
const HEADER: [&str; 10] = [
    "row",
    "recipient",
    "subject",
    "batch",
    "first_attempt",
    "reason",
    "result",
    "email_id",
    "created_at",
    "part",
];
/// The maximum number of unknown rows, which are held in memory: about 30 MB.
const MAX_ROWS: usize = 100_000;
/// How long after its first attempt a row may have been sent.
const KEY_LIFETIME: Duration = Duration::from_hours(24);

/// The result of searching the service's list of emails for rows of unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconciliation {
    /// The rows of unknown outcome.
    pub unknown: u64,
    /// The unknown rows that were sent, inferred from an email with the same recipients, subject and time.
    pub inferred: u64,
    /// The number of the service's emails that were compared.
    pub examined: u64,
    /// The list of unknown rows with their matches, `reconciled.csv`; `None` if no row is unknown.
    pub file: Option<PathBuf>,
}

/// A row of unknown outcome.
#[derive(Debug)]
struct Row {
    unknown: RowOutcome,
    reason: String,
    found: Option<SentEmailSummary>,
}

/// The unknown rows by recipients, and the emails known to belong to other rows.
#[derive(Debug, Default)]
struct Search {
    rows: Vec<Row>,
    by_recipients: HashMap<String, Vec<usize>>,
    taken: HashSet<String>,
}

/// Reads the service's list of emails and writes `reconciled.csv`.
pub(crate) async fn reconcile(plan: Arc<Plan>, client: &Client) -> Result<Reconciliation> {
    let mut search = plan.blocking(Search::new).await?;
    let mut examined = 0;
    if let Some(oldest) = search.rows.iter().map(|row| row.unknown.first_attempt).min() {
        let mut emails = client.emails().list().page_size(100).stream();
        while let Some(email) = emails.try_next().await? {
            if millis(&email.created_at).is_some_and(|created| created + skew() < oldest) {
                break;
            }
            examined += 1;
            search.examine(email);
        }
    }
    let write = move |plan: &Plan| {
        let (unknown, inferred) =
            (search.rows.len(), search.rows.iter().filter(|row| row.found.is_some()).count());
        let file = search.write(plan)?;
        Ok(Reconciliation { unknown: unknown as u64, inferred: inferred as u64, examined, file })
    };
    plan.blocking(write).await
}

impl Search {
    fn new(plan: &Plan) -> Result<Self> {
        let mut search = Self::default();
        let parts = parts::with_rows(plan)?;
        parts.iter().try_for_each(PartRows::check_stopped)?;
        outcomes::visit_parts(&parts, false, |row| {
            if let Outcome::Unknown { reason } = &row.outcome {
                search.rows.push(Row { reason: reason.clone(), unknown: row, found: None });
            }
            if search.rows.len() > MAX_ROWS {
                let rule = "more than 100,000 rows have an unknown outcome, which is too many to look up";
                return Err(BulkError::NotRunnable(rule.to_owned()));
            }
            Ok(())
        })?;
        if search.rows.is_empty() {
            return Ok(search);
        }
        for (i, row) in search.rows.iter().enumerate() {
            search.by_recipients.entry(recipients_key(&row.unknown.to)).or_default().push(i);
        }
        let Self { by_recipients, taken, .. } = &mut search;
        outcomes::visit_parts(&parts, true, |row| {
            if let Outcome::Sent { id } = row.outcome
                && by_recipients.contains_key(&recipients_key(&row.to))
            {
                taken.insert(id);
            }
            Ok(())
        })?;
        Ok(search)
    }

    fn examine(&mut self, email: SentEmailSummary) {
        if self.taken.contains(email.id.as_str()) {
            return;
        }
        let Some(candidates) = self.by_recipients.get(&recipients_key(&email.to)) else {
            return;
        };
        let Some(created) = millis(&email.created_at) else { return };
        let lifetime = u64::try_from(KEY_LIFETIME.as_millis()).unwrap_or(u64::MAX);
        let matching = candidates.iter().find(|i| {
            let Row { unknown: row, found, .. } = &self.rows[**i];
            found.is_none()
                && row.subject.as_ref().is_none_or(|subject| *subject == email.subject)
                && row.first_attempt <= created + skew()
                && created <= row.first_attempt + lifetime + skew()
        });
        if let Some(&i) = matching {
            self.rows[i].found = Some(email);
        }
    }

    fn write(&self, plan: &Plan) -> Result<Option<PathBuf>> {
        let mut list = List::create(&plan.dir().join(NAME), &HEADER)?;
        for Row { unknown: row, reason, found } in &self.rows {
            let (result, id, created) = match found {
                Some(email) => ("inferred_sent", email.id.as_str(), email.created_at.as_str()),
                None => ("not_found", "", ""),
            };
            list.row([
                &*row.row.to_string(),
                &row.recipient,
                row.subject.as_deref().unwrap_or_default(),
                &row.batch.to_string(),
                &format_time(row.first_attempt),
                reason,
                result,
                id,
                created,
                &row.part,
            ])?;
        }
        list.finish()
    }
}

/// Returns the addresses without names, lowercased and sorted.
fn recipients_key(addresses: &[String]) -> String {
    let mut addresses: Vec<_> = addresses.iter().map(|address| normalize_address(address)).collect();
    addresses.sort_unstable();
    addresses.join(" ")
}

fn millis(time: &Timestamp) -> Option<u64> {
    let since = time.to_system_time()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

fn skew() -> u64 {
    u64::try_from(TOLERANCE.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_case_and_order_of_recipients_do_not_matter() {
        let key = |addresses: &[&str]| {
            recipients_key(&addresses.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let one = key(&["Ada <ADA@x.test>", "b@x.test"]);
        assert_eq!(one, key(&["b@x.test", "ada@X.test"]));
        assert_ne!(one, key(&["ada@x.test"]));
    }
}

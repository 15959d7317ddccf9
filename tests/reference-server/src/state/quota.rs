//! The quotas of emails per day and month, and the headers that announce their use.
//!
//! The specification doesn't define quotas; names and headers are Resend's. Resend doesn't document what counts: here every address in to, cc
//! and bcc counts when the email is accepted, even if it is scheduled, canceled or suppressed later. Received emails count, the emails of
//! broadcasts don't. A request that would exceed a quota is rejected as a whole.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use jiff::Timestamp;

use crate::lock::lock;
use crate::model::usage::{Usage, UsageKind};
use crate::settings::Settings;
use crate::state::tenant::Tenant;
use crate::wire::{Problem, to_iso};

const DAILY: HeaderName = HeaderName::from_static("x-resend-daily-quota");
const MONTHLY: HeaderName = HeaderName::from_static("x-resend-monthly-quota");

/// The usage of the quotas after a request, announced in its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaUsed {
    /// `None` without a daily quota, as on Resend plans that have none.
    daily: Option<u64>,
    monthly: u64,
}

impl QuotaUsed {
    fn new(settings: &Settings, usage: &Usage) -> Self {
        Self { daily: settings.daily_quota.map(|_| usage.day.emails()), monthly: usage.month.emails() }
    }

    fn headers(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let daily = self.daily.map(|daily| (DAILY, daily));
        daily.into_iter().chain([(MONTHLY, self.monthly)]).map(|(name, used)| (name, used.into()))
    }

    /// Adds the headers.
    pub fn add_headers(self, headers: &mut HeaderMap) {
        headers.extend(self.headers());
    }
}

/// Counts the recipients of emails that are about to be accepted.
///
/// # Errors
/// 429 if a quota doesn't allow all of them, with the time until it resets; none is counted then.
pub fn take(
    settings: &Settings,
    tenant: &Tenant,
    recipients: usize,
    now: Timestamp,
) -> Result<QuotaUsed, Problem> {
    let mut stored = lock(&tenant.usage);
    let before = stored.get().roll_over(now);
    let mut after = before.clone();
    after.count(UsageKind::Sent(recipients as u64));
    let quotas = [
        ("daily", "daily_quota_exceeded", settings.daily_quota, &after.day),
        ("monthly", "monthly_quota_exceeded", settings.monthly_quota, &after.month),
    ];
    for (period, name, quota, counted) in quotas {
        let Some(quota) = quota.filter(|quota| counted.emails() > *quota) else { continue };
        let message = format!(
            "The {period} quota of {quota} emails is exceeded: {} are used, and this request needs {recipients} more. It resets at {}.",
            counted.emails() - recipients as u64,
            to_iso(counted.resets_at),
        );
        let resets_in = counted.resets_at.duration_since(now).as_secs().max(1);
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, name, message)
            .with_headers([(header::RETRY_AFTER, resets_in.into())])
            .with_headers(QuotaUsed::new(settings, &before).headers()));
    }
    let used = QuotaUsed::new(settings, &after);
    stored.set(after);
    Ok(used)
}

/// Counts without a limit.
pub fn count(tenant: &Tenant, counted: UsageKind, now: Timestamp) {
    let mut stored = lock(&tenant.usage);
    let mut usage = stored.get().roll_over(now);
    usage.count(counted);
    stored.set(usage);
}

/// The counters at this time.
pub fn usage(tenant: &Tenant, now: Timestamp) -> Usage {
    lock(&tenant.usage).get().roll_over(now)
}

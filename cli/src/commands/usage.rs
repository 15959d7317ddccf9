//! `usage`: the account's usage and quotas.

use idempost::usage::{EmailQuota, Usage};
use serde_json::Value;

use crate::output::record;

/// Formats a report; another response is shown as a record.
pub(crate) fn format_report(report: &Value) -> Vec<String> {
    let Ok(usage) = serde_json::from_value::<Usage>(report.clone()) else { return record::lines(report) };
    let rate = &usage.rate_limit;
    let rows = [
        ("emails today", format_quota(&usage.emails.daily)),
        ("emails this month", format_quota(&usage.emails.monthly)),
        ("contacts", format_usage(usage.contacts.used, usage.contacts.limit)),
        ("segments", format_usage(usage.segments.used, usage.segments.limit)),
        ("broadcasts", format_usage(usage.broadcasts.used, usage.broadcasts.limit)),
        ("automation runs", format_usage(usage.automation_runs.used, usage.automation_runs.limit)),
        ("domains", format_usage(usage.domains.used, usage.domains.limit)),
        ("ai credits", format_usage(usage.ai_credits.used, usage.ai_credits.limit)),
        (
            "rate limit",
            format!("{} requests per {}", format_limit(rate.limit), rate.duration.as_deref().unwrap_or("?")),
        ),
    ];
    rows.into_iter().map(|(name, text)| format!("{name:<19}{text}")).collect()
}

/// The emails used in a period: `258 of 1000 (57 sent, 201 received), resets 2026-07-17T00:00:00.000Z`.
fn format_quota(quota: &EmailQuota) -> String {
    let counts = format!("({} sent, {} received)", format_limit(quota.sent), format_limit(quota.received));
    let resets = quota.resets_at.as_ref().map(|at| format!(", resets {at}")).unwrap_or_default();
    format!("{} {counts}{resets}", format_usage(quota.used, quota.limit))
}

/// The usage of a limit: `3 of 10`.
pub(crate) fn format_usage(used: Option<u64>, limit: Option<u64>) -> String {
    match limit {
        Some(limit) => format!("{} of {limit}", format_limit(used)),
        None => format!("{}, unlimited", format_limit(used)),
    }
}

fn format_limit(number: Option<u64>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

//! `GET /usage`: the account's usage and quotas.
//!
//! The specification doesn't define it; the shape is Resend's, where some limits are never null. Here these are the sandbox's record limit, or
//! `UNLIMITED`.

use http::StatusCode;
use serde::Serialize;

use crate::context::Context;
use crate::model::usage::Period;
use crate::state::{quota, ratelimit};
use crate::wire::answers::HandlerResult;
use crate::wire::problem::json;
use crate::wire::timestamp::to_iso;

/// The limit returned where a number is required but no limit exists.
const UNLIMITED: u64 = 1_000_000_000;

/// `GET /usage`, for every credential.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let (settings, tenant) = (&context.state.settings, &context.tenant);
    let usage = quota::usage(tenant, context.now());
    let stored = |used: usize| Quota { used: used as u64, limit: Some(settings.keep_records as u64) };
    let shown = Usage {
        object: "usage",
        emails: Emails {
            daily: EmailQuota::new(&usage.day, settings.daily_quota),
            monthly: EmailQuota::new(&usage.month, settings.monthly_quota.or(Some(UNLIMITED))),
        },
        contacts: stored(tenant.contacts.lock().len()),
        segments: stored(tenant.segments.lock().len()),
        broadcasts: Quota { used: tenant.broadcasts.lock().len() as u64, limit: None },
        // The sandbox has no AI features.
        ai_credits: AiCredits { used: 0, limit: Some(0), next_increase_at: None },
        automation_runs: Runs {
            used: usage.month.automation_runs,
            limit: UNLIMITED,
            resets_at: to_iso(usage.month.resets_at),
        },
        domains: stored(tenant.domains.lock().len()),
        rate_limit: RateLimit { limit: ratelimit::announced_limit(settings.rate_limit), duration: "1000ms" },
    };
    Ok(json(StatusCode::OK, &shown))
}

#[derive(Serialize)]
struct Usage {
    object: &'static str,
    emails: Emails,
    contacts: Quota,
    segments: Quota,
    broadcasts: Quota,
    ai_credits: AiCredits,
    automation_runs: Runs,
    domains: Quota,
    rate_limit: RateLimit,
}

#[derive(Serialize)]
struct Emails {
    daily: EmailQuota,
    monthly: EmailQuota,
}

#[derive(Serialize)]
struct EmailQuota {
    used: u64,
    limit: Option<u64>,
    sent: u64,
    received: u64,
    resets_at: String,
}

impl EmailQuota {
    fn new(period: &Period, limit: Option<u64>) -> Self {
        Self {
            used: period.emails(),
            limit,
            sent: period.sent,
            received: period.received,
            resets_at: to_iso(period.resets_at),
        }
    }
}

#[derive(Serialize)]
struct Quota {
    used: u64,
    limit: Option<u64>,
}

#[derive(Serialize)]
struct AiCredits {
    used: u64,
    limit: Option<u64>,
    next_increase_at: Option<String>,
}

#[derive(Serialize)]
struct Runs {
    used: u64,
    limit: u64,
    resets_at: String,
}

#[derive(Serialize)]
struct RateLimit {
    limit: u32,
    duration: &'static str,
}

//! `GET /usage`: the account's usage and quotas.
//!
//! The specification doesn't define it; the shape is Resend's, where some limits are never null. Here these are the sandbox's record limit, or
//! `UNLIMITED`.

use http::StatusCode;
use serde_json::json;

use crate::context::Context;
use crate::model::usage::Period;
use crate::state::{quota, ratelimit};
use crate::wire::{HandlerResult, json, to_iso};

/// The limit returned where a number is required but no limit exists.
const UNLIMITED: u64 = 1_000_000_000;

/// `GET /usage`, for every API key.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let (settings, tenant) = (&context.state.settings, &context.tenant);
    let usage = quota::usage(tenant, context.now());
    let stored = |used: usize| json!({ "used": used, "limit": settings.keep_records });
    let emails = |period: &Period, limit: Option<u64>| {
        let (used, resets_at) = (period.emails(), to_iso(period.resets_at));
        json!({ "used": used, "limit": limit, "sent": period.sent, "received": period.received, "resets_at": resets_at })
    };
    let shown = json!({
        "object": "usage",
        "emails": {
            "daily": emails(&usage.day, settings.daily_quota),
            "monthly": emails(&usage.month, settings.monthly_quota.or(Some(UNLIMITED))),
        },
        "contacts": stored(tenant.contacts.lock().len()),
        "segments": stored(tenant.segments.lock().len()),
        "broadcasts": { "used": tenant.broadcasts.lock().len(), "limit": null },
        // The sandbox has no AI features.
        "ai_credits": { "used": 0, "limit": 0, "next_increase_at": null },
        "automation_runs": {
            "used": usage.month.automation_runs,
            "limit": UNLIMITED,
            "resets_at": to_iso(usage.month.resets_at),
        },
        "domains": stored(tenant.domains.lock().len()),
        "rate_limit": { "limit": ratelimit::announced_limit(settings.rate_limit), "duration": "1000ms" },
    });
    Ok(json(StatusCode::OK, &shown))
}

//! The clocks over HTTP: `GET /_/clock` reads the account's clock, `POST` moves, stops or accelerates it.
//!
//! An account's clock concerns that account only, so parallel tests with a key each don't disturb one another. With `all_accounts`, those of all
//! accounts change; if the sandbox has a password, this needs it. The jobs that become due by a move have run, in order, when the response
//! arrives.

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde_json::{Value, json};

use crate::access::{self, password};
use crate::clock::Clock;
use crate::control::body::Body;
use crate::route::Call;
use crate::wire::answers::Answer;
use crate::wire::paging::quoted;
use crate::wire::problem::{self, Problem};
use crate::wire::query::Parameters;
use crate::wire::timestamp::iso;

const FIELDS: &str = "`set`, `advance`, `scale`, `freeze`, `run`, `all_accounts`";
const CHANGES: [&str; 5] = ["set", "advance", "scale", "freeze", "run"];
/// The maximum speed: a day in less than a second.
const MAX_SCALE: f64 = 100_000.0;
const MIN_SCALE: f64 = 0.001;

/// The account's clock, or with `?all_accounts=true` the clock of accounts without their own.
pub fn show(call: &Call<'_>) -> Answer {
    let all_accounts = Parameters::of(call.query()).flag("all_accounts")?;
    clock(call, all_accounts).map(|clock| response(&clock))
}

fn clock(call: &Call<'_>, all_accounts: bool) -> Result<Clock, Problem> {
    let clock = &call.state.clock;
    if all_accounts {
        return Ok(clock.clone());
    }
    access::name_or_default(call.state, call.request).map(|account| clock.of(&account))
}

fn response(clock: &Clock) -> Response<Bytes> {
    let (now, real) = (clock.now(), Timestamp::now());
    let ahead = (now.duration_since(real).as_secs_f64() * 1_000.0).round() / 1_000.0;
    let clock = json!({
        "object": "clock", "now": iso(now), "frozen": clock.is_frozen(), "scale": clock.scale(), "ahead_seconds": ahead,
        "all_accounts": !clock.is_own(),
    });
    problem::json(StatusCode::OK, &clock)
}

/// Applies all requested changes in a sensible order: first the time, then the speed and whether the clock runs.
pub fn change(call: &Call<'_>) -> Answer {
    let mut body = Body::read(call.request.body())?;
    let clock = clock(call, body.flag("all_accounts"))?;
    let both = body.has("set") && body.has("advance");
    if !CHANGES.iter().any(|field| body.has(field)) {
        body.wrong(format!(
            "The body must have at least one of {}.",
            CHANGES.map(|field| format!("`{field}`")).join(", ")
        ));
    }
    let set = body.text("set").and_then(|text| instant(&text, &mut body));
    if both {
        body.wrong("Only one of `set` and `advance` may be given.");
    }
    let advance = body.text("advance").and_then(|text| later(clock.now(), &text, &mut body));
    let scale = body.take("scale").and_then(|value| scale(&value, &mut body));
    let (freeze, run) = (body.flag("freeze"), body.flag("run"));
    if freeze && run {
        body.wrong("Only one of `freeze` and `run` may be given.");
    }
    body.finish(FIELDS)?;
    if let Some(account) = clock.account() {
        // The clock lives as long as the account.
        let _guard = call.state.snapshot_lock.enter();
        call.state.tenants.tenant(account);
    } else if let Some(refusal) = password::refusal(call.state, call.request) {
        return Ok(refusal);
    }
    if freeze {
        clock.freeze();
    }
    if let Some(to) = set {
        clock.set(to);
    }
    if let Some(to) = advance {
        clock.advance(to.duration_since(clock.now()).unsigned_abs());
    }
    if let Some(scale) = scale {
        clock.run_at(scale);
    }
    if run {
        clock.resume();
    }
    Ok(response(&clock))
}

fn instant(text: &str, body: &mut Body) -> Option<Timestamp> {
    if text == "now" {
        return Some(Timestamp::now());
    }
    let date =
        || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    let instant = text.parse().ok().or_else(date);
    if instant.is_none() {
        body.wrong(format!(
            "`set` must be a time such as `2026-03-02T12:00:00Z` or a day such as `2026-03-02`, both in UTC, or `now`, which is the \
             system's time; found {}.",
            quoted(text)
        ));
    }
    within("set", instant?, body)
}

/// Adds a duration by the calendar: a month after January 31 is February 28.
fn later(now: Timestamp, text: &str, body: &mut Body) -> Option<Timestamp> {
    let words =
        text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_digit()) && !text.ends_with("ago");
    let span = if words { text.parse::<Span>().ok() } else { None };
    let Some(span) = span.filter(|span| !span.is_zero() && !span.is_negative()) else {
        body.wrong(format!(
            "`advance` must be a time in words such as `90s`, `1h 30m` or `2 days`; found {}.",
            quoted(text)
        ));
        return None;
    };
    let Ok(then) = now.to_zoned(TimeZone::UTC).checked_add(span) else {
        body.wrong(format!("`advance` exceeds the range of valid timestamps; found {}.", quoted(text)));
        return None;
    };
    within("advance", then.timestamp(), body)
}

/// Restricts timestamps to those that every client can parse.
fn within(field: &str, instant: Timestamp, body: &mut Body) -> Option<Timestamp> {
    let year = instant.to_zoned(TimeZone::UTC).year();
    if !(1970..=2999).contains(&year) {
        body.wrong(format!(
            "`{field}` must lead to a time in the years 1970 to 2999; it leads to {}.",
            iso(instant)
        ));
        return None;
    }
    Some(instant)
}

fn scale(value: &Value, body: &mut Body) -> Option<f64> {
    let scale = value.as_f64().filter(|scale| (MIN_SCALE..=MAX_SCALE).contains(scale));
    scale.or_else(|| body.refuse("scale", &format!("a number from {MIN_SCALE} to {MAX_SCALE}"), value))
}

//! The clocks over HTTP: `GET /_/clock` reads the account's clock, `POST` moves, stops or accelerates it.
//!
//! An account's clock concerns that account only, so parallel tests, each with its own key, don't interfere with each other. With `all_accounts`, the
//! clocks of all accounts change; this requires the password, if the sandbox has one. Jobs that a move makes due run, in order, before the response
//! is sent; a mount that can wait also waits for the attempts of webhook deliveries.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::access::{self, password};
use crate::clock::Clock;
use crate::reply::Reply;
use crate::route::Call;
use crate::wire::{Checked, Field, Fields, HandlerResult, Input, Kind, Problem, described, problem, to_iso};

/// The fields of a change.
pub const FIELDS: &[Input] = &[
    Input::new(
        "set",
        Kind::Text,
        "The new time: RFC 3339, a day in UTC, or `now`, which is the system's time",
    ),
    Input::new(
        "advance",
        Kind::Text,
        "The duration to move the clock by, such as `90s`, `1h 30m` or `2 days`",
    ),
    SCALE,
    Input::new("freeze", Kind::Boolean, "Whether to stop the clock"),
    Input::new("run", Kind::Boolean, "Whether to let the clock run again"),
    ALL_ACCOUNTS,
];
const SCALE: Input = Input::new(
    "scale",
    Kind::Number(MIN_SCALE, MAX_SCALE),
    "Seconds on this clock per second of system time",
);
/// The fields of which a body must contain at least one.
const CHANGES: &[Input] = FIELDS.split_at(5).0;
/// The parameters of a request for the clock.
pub const QUERY: &[Input] = &[ALL_ACCOUNTS];
const ALL_ACCOUNTS: Input =
    Input::new("all_accounts", Kind::Boolean, "Whether it concerns the clocks of all accounts");
/// The maximum speed: a day in less than a second.
const MAX_SCALE: f64 = 100_000.0;
const MIN_SCALE: f64 = 0.001;
/// The rule for the resulting time.
const RANGE: &str = "must result in a time from 1970 to 2999";

/// The account's clock, or with `?all_accounts=true` the clock of accounts without their own.
pub fn show(call: &Call<'_>) -> HandlerResult {
    let all_accounts = call.parameters().flag(ALL_ACCOUNTS.name)?;
    clock(call, all_accounts).map(|clock| response(&clock))
}

fn clock(call: &Call<'_>, all_accounts: bool) -> Result<Clock, Problem> {
    let clock = &call.state.clock;
    if all_accounts {
        return Ok(clock.clone());
    }
    access::name_or_default(call.state, call.request).map(|account| clock.for_account(&account))
}

fn response(clock: &Clock) -> Response<Bytes> {
    problem::json(StatusCode::OK, &ClockState::new(clock, clock.now(), Timestamp::now()))
}

described! {
    /// A clock.
    pub struct ClockState(clock: &Clock, at: Timestamp, real: Timestamp) {
        object: &'static str = "clock",
        /// The time (RFC 3339).
        now: String = to_iso(at),
        /// Whether it is stopped.
        frozen: bool = clock.is_frozen(),
        /// Seconds on this clock per second of system time.
        scale: f64 = clock.scale(),
        /// How many seconds it is ahead of the system's time.
        // Plus zero, which turns -0.0 into 0.0.
        ahead_seconds: f64 = (at.duration_since(real).as_secs_f64() * 1_000.0).round() / 1_000.0 + 0.0,
        /// Whether it is the clock of all accounts without their own.
        all_accounts: bool = !clock.is_own(),
    }
}

/// Applies all requested changes in a sensible order: first the time, then the speed and whether the clock runs.
pub fn change(call: &Call<'_>) -> Result<Reply, Problem> {
    let Change { clock, to, scale, freeze, run } = call.body(|fields| Change::read(fields, call))??;
    if let Some(account) = clock.account() {
        // The clock lives as long as the account.
        let _guard = call.state.snapshot_lock.enter();
        call.state.tenants.tenant(account);
    } else {
        password::require(call.state, call.request)?;
    }
    if freeze {
        clock.freeze();
    }
    match to {
        Some(Target::At(to)) => clock.set(to),
        Some(Target::Later(to)) => clock.advance(to.duration_since(clock.now()).unsigned_abs()),
        None => {}
    }
    if let Some(scale) = scale {
        clock.run_at(scale);
    }
    if run {
        clock.resume();
    }
    Ok(Reply::wait(response(&clock), move |state| async move {
        let tenant = clock.account().map(|account| state.tenants.find_or_empty(account));
        state.outbox.wait_for_skipped(tenant.map(|tenant| Arc::as_ptr(&tenant).addr())).await;
        response(&clock)
    }))
}

/// The requested changes of a clock.
struct Change {
    clock: Clock,
    to: Option<Target>,
    scale: Option<f64>,
    freeze: bool,
    run: bool,
}

enum Target {
    At(Timestamp),
    Later(Timestamp),
}

impl Change {
    /// Reads the changes, or the reason why the account has no clock.
    fn read(fields: &mut Fields<'_>, call: &Call<'_>) -> Checked<Result<Self, Problem>> {
        let clock = match clock(call, fields.flag(ALL_ACCOUNTS.name)?) {
            Ok(clock) => clock,
            Err(problem) => return Ok(Err(problem)),
        };
        let report = fields.report();
        if !CHANGES.iter().any(|field| fields.has(field.name)) {
            let names: Vec<_> = CHANGES.iter().map(|field| format!("`{}`", field.name)).collect();
            report.report(format_args!("The body must have at least one of {}.", names.join(", ")));
        }
        if fields.has("set") && fields.has("advance") {
            report.report("Only one of `set` and `advance` may be given.");
        }
        let set = fields.optional("set", read_instant);
        let advance = fields.optional("advance", |field| read_advance(clock.now(), field));
        let scale = fields.optional(SCALE.name, read_scale);
        let (freeze, run) = (fields.flag("freeze"), fields.flag("run"));
        if (freeze, run) == (Ok(true), Ok(true)) {
            report.report("Only one of `freeze` and `run` may be given.");
        }
        let to = set?.map(Target::At).or(advance?.map(Target::Later));
        Ok(Ok(Self { clock, to, scale: scale?, freeze: freeze?, run: run? }))
    }
}

fn read_instant(field: &Field<'_>) -> Checked<Timestamp> {
    let instant = field.parse_with(|text| {
        let day = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
        let instant = if text == "now" { Some(Timestamp::now()) } else { text.parse().ok().or_else(day) };
        // A valid time may be beyond the last timestamp.
        instant.ok_or(if Pieces::parse(text).is_ok() {
            RANGE
        } else {
            "must be a time such as `2026-03-02T12:00:00Z` or a day such as `2026-03-02`, both in UTC, or `now`, which is the system's time"
        })
    })?;
    check_range(field, instant)
}

/// Adds a duration by the calendar: a month after January 31 is February 28.
fn read_advance(now: Timestamp, field: &Field<'_>) -> Checked<Timestamp> {
    let then = field.parse_with(|text| {
        let words = text.len() <= 64
            && text.starts_with(|first: char| first.is_ascii_digit())
            && !text.ends_with("ago");
        let span = if words { text.parse::<Span>().ok() } else { None };
        let span = span
            .filter(|span| !span.is_zero() && !span.is_negative())
            .ok_or("must be a duration such as `90s`, `1h 30m` or `2 days`")?;
        now.to_zoned(TimeZone::UTC).checked_add(span).map_err(|_| "exceeds the range of valid timestamps")
    })?;
    check_range(field, then.timestamp())
}

/// Restricts timestamps to those that every client can parse.
fn check_range(field: &Field<'_>, instant: Timestamp) -> Checked<Timestamp> {
    if (1970..=2999).contains(&instant.to_zoned(TimeZone::UTC).year()) {
        return Ok(instant);
    }
    let at = to_iso(instant);
    Err(field.reject(format_args!("{RANGE}; found {at}")))
}

fn read_scale(field: &Field<'_>) -> Checked<f64> {
    let scale = field.value().and_then(|value| value.as_f64());
    let scale = scale.filter(|scale| (MIN_SCALE..=MAX_SCALE).contains(scale));
    scale.ok_or_else(|| field.reject_type(format_args!("a number from {MIN_SCALE} to {MAX_SCALE}")))
}

//! OAuth clients and tokens, and how long each is valid.

pub(crate) mod clients;
pub(crate) mod events;
pub(crate) mod jwt;

use std::time::Duration;

/// The scopes of the service (`SPEC.md`, Authentication 3).
pub(crate) const SCOPES: [&str; 2] = ["full_access", "emails:send"];
/// How long an access token lives (`SPEC.md`, Limits).
pub(crate) const ACCESS_TOKEN: Duration = Duration::from_mins(15);
/// How long a refresh token lives from its issue (`SPEC.md`, Limits).
pub(crate) const REFRESH_TOKEN: Duration = Duration::from_hours(60 * 24);
/// How long a code lives (`SPEC.md`, Limits). The specification is silent on how long a person may think; it is as long.
pub(crate) const CODE: Duration = Duration::from_mins(10);

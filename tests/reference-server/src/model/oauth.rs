//! OAuth clients and tokens, and their lifetimes.

pub mod clients;
pub mod events;
pub mod grant;
pub mod jwt;

use std::time::Duration;

/// The scopes of the service (`docs/specification.md`, Authentication 3).
pub const SCOPES: [&str; 2] = ["full_access", "emails:send"];
/// The prefix of a refresh token, and of an authorization code. They look like API keys of the sandbox, but aren't.
pub const REFRESH_TOKEN_PREFIX: &str = "sb_rt_";
pub const CODE_PREFIX: &str = "sb_code_";
/// The lifetime of an access token (`docs/specification.md`, Limits).
pub const ACCESS_TOKEN: Duration = Duration::from_mins(15);
/// The lifetime of a refresh token from its issue (`docs/specification.md`, Limits).
pub const REFRESH_TOKEN: Duration = Duration::from_hours(60 * 24);
/// The lifetime of a code (`docs/specification.md`, Limits). The specification doesn't limit the time for consent; the same limit applies.
pub const CODE: Duration = Duration::from_mins(10);

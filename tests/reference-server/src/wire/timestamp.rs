//! The two timestamp formats of the service.

use jiff::Timestamp;

/// ISO 8601 in UTC, the format of received emails and of `expires_at` (`docs/specification.md`, Conventions).
pub fn to_iso(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// `YYYY-MM-DD HH:MM:SS.ffffff+00`, the format of most resources (`docs/specification.md`, Conventions).
pub fn to_database_format(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
}

//! Instants in the two forms that the service writes.

use jiff::Timestamp;

/// `YYYY-MM-DD HH:MM:SS.ffffff+00`, the form of most resources (`SPEC.md`, Conventions).
pub(crate) fn database(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
}

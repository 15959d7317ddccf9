//! Output: results on standard output, messages on standard error.

pub(crate) mod color;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
pub(crate) mod hidden;
pub(crate) mod http_trace;
pub(crate) mod jq;
pub(crate) mod json;
pub(crate) mod out;
pub(crate) mod pager;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod secret;
pub(crate) mod snippet;
pub(crate) mod suggestion;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod time;

pub(crate) use out::{
    Out, OutputOptions, sleep_while_read, was_stdout_closed, write_stderr, write_stderr_json,
    write_stderr_secret, write_stdout,
};
pub(crate) use terminal::Terminal;

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}

/// `1,000,000`.
pub(crate) fn format_number(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}

/// `1 row`, `1,000 rows`, `2 batches`.
pub(crate) fn format_count(n: impl TryInto<u64>, one: &str) -> String {
    match (n.try_into().unwrap_or(u64::MAX), one) {
        (1, _) => format!("1 {one}"),
        (n, "batch") => format!("{} batches", format_number(n)),
        (n, _) => format!("{} {one}s", format_number(n)),
    }
}

//! Human-readable numbers and times.

use std::time::Duration;

use idempost_bulk::Counts;

pub(super) use crate::output::{format_count, format_number};

/// `0.4 s`, `12 s`, `17 min`, `3 h 20 min`.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// What became of the rows of a canceled job that weren't sent or rejected: `150 rows won't be sent, and 100 rows may have been sent`.
pub(super) fn describe_canceled(counts: &Counts) -> String {
    let remaining = format!("{} won't be sent", format_count(counts.remaining, "row"));
    match counts.unknown {
        0 => remaining,
        rows => format!("{remaining}, and {} may have been sent", format_count(rows, "row")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_times_a_unit() {
        assert_eq!(
            (format_count(1, "row"), format_count(1_000_000, "row")),
            ("1 row".into(), "1,000,000 rows".into())
        );
        assert_eq!(
            (format_count(1, "batch"), format_count(0, "batch")),
            ("1 batch".into(), "0 batches".into())
        );
        let shown = |seconds| duration(Duration::from_secs_f64(seconds));
        assert_eq!([0.44, 61.0, 1_000.0, 12_000.0].map(shown), ["0.4 s", "61 s", "17 min", "3 h 20 min"]);
    }
}

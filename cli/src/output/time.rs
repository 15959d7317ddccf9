//! Times for terminals and pipes.

use jiff::Timestamp;

/// Parses a time in any form that the service uses: RFC 3339, or `2026-04-03 22:13:42.674981+00`.
pub(crate) fn read(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// For a pipe: RFC 3339 in UTC. Any other text is returned unchanged.
pub(crate) fn to_rfc3339(text: &str) -> String {
    read(text).map_or_else(|| text.to_owned(), |at| at.to_string())
}

/// Human-readable: `4s ago`, `2m ago`, `in 3h`; after 30 days the date. Any other text is returned unchanged.
///
/// The past is rounded down, the future to the nearest unit: what starts in 15 minutes is still `in 15m` after a second.
pub(crate) fn format_relative(text: &str, now: Timestamp) -> String {
    let Some(at) = read(text) else { return text.to_owned() };
    let seconds = now.as_second() - at.as_second();
    let (past, seconds) = (seconds >= 0, seconds.unsigned_abs());
    let half_a_unit = match seconds {
        _ if past => 0,
        ..60 => 0,
        60..3570 => 30,
        3570..84_600 => 1800,
        _ => 43_200,
    };
    let seconds = seconds + half_a_unit;
    let span = match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        86_400..2_592_000 => format!("{}d", seconds / 86_400),
        _ => return at.strftime("%Y-%m-%d").to_string(),
    };
    if past { format!("{span} ago") } else { format!("in {span}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_time_uses_the_largest_unit() {
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        for (text, shown) in [
            ("2026-03-01T11:59:56.9Z", "4s ago"),
            ("2026-03-01 11:58:00.000001+00", "2m ago"),
            ("2026-03-01T00:00:00Z", "12h ago"),
            ("2026-02-19T12:00:00Z", "10d ago"),
            ("2026-01-01T12:00:00Z", "2026-01-01"),
            ("2026-03-01T12:05:00Z", "in 5m"),
            ("2026-03-01T12:14:59Z", "in 15m"),
            ("2026-03-01T12:59:31Z", "in 1h"),
            ("2026-03-02T11:31:00Z", "in 1d"),
            ("2026-03-02T13:00:00Z", "in 1d"),
            ("soon", "soon"),
        ] {
            assert_eq!(format_relative(text, now), shown, "{text}");
        }
    }

    #[test]
    fn a_pipe_always_gets_rfc_3339() {
        assert_eq!(to_rfc3339("2026-04-03 22:13:42.674981+00"), "2026-04-03T22:13:42.674981Z");
        assert_eq!(to_rfc3339("2026-04-03T22:13:42.674+02:00"), "2026-04-03T20:13:42.674Z");
        assert_eq!(to_rfc3339("never"), "never");
    }
}

//! `emails list`: sent emails, newest first.

use idempost::emails::LastEvent;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde_json::Value;

use super::TABLE;
use crate::actions::pages::{self, Match};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::table::at;
use crate::output::time;

/// List sent emails, newest first
///
/// Without --limit, the service returns 20. With a limit above 100 or --all, all pages are fetched and shown as one list:
/// one JSON document with --json, a line per email as it arrives with -o ndjson.
///
/// The service doesn't filter: --to, --from, --subject, --status and --since are applied here, to the newest 2,000 emails, or to all of them
/// with --all, until --limit emails match (default 20).
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, to, subject, last_event, created_at; optional: from, cc, bcc, reply_to, message_id, scheduled_at\n\n\
    Examples:\n  \
    idempost emails list --limit 3\n  \
    idempost emails list --to ada@example.com --since 7d\n  \
    idempost emails list --status bounced,suppressed --since 2026-11-01 --all\n  \
    idempost emails list --columns id,from,subject\n  \
    idempost emails list --json --jq '.data[0].last_event'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    part: pages::Args,
    #[command(flatten)]
    filter: FilterArgs,
    /// Last event, such as delivered or bounced; several separated by commas
    #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = Choices(LastEvent::KNOWN), hide_possible_values = true)]
    status: Vec<String>,
    /// Only emails created since then: a time, a date (UTC) or an age, such as 2h or 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

/// Filter
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct FilterArgs {
    /// Part of the address or name of a recipient: to, cc or bcc
    #[arg(long, value_name = "TEXT")]
    to: Option<String>,
    /// Part of the sender's address or name
    #[arg(long, value_name = "TEXT")]
    from: Option<String>,
    /// Part of the subject
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
}

/// Which emails to show; all conditions must match.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Names of text fields, and what one of them contains, in lower case.
    parts: Vec<(&'static [&'static str], String)>,
    status: Vec<String>,
    since: Option<Timestamp>,
}

impl FilterArgs {
    pub(super) fn read(self) -> Filter {
        let Self { to, from, subject } = self;
        let parts: [(&[&str], _); 3] =
            [(&["to", "cc", "bcc"], to), (&["from"], from), (&["subject"], subject)];
        let parts = parts.into_iter().filter_map(|(fields, text)| Some((fields, text?.to_lowercase())));
        Filter { parts: parts.collect(), ..Filter::default() }
    }
}

impl Filter {
    pub(super) fn check(&self, email: &Value) -> Match {
        let created_at = || time::read(&at(email, "/created_at"));
        if let Some(since) = self.since
            && created_at().is_some_and(|created_at| created_at < since)
        {
            return Match::TooOld;
        }
        let has = |field: &str, part: &str| match &email[field] {
            Value::String(text) => text.to_lowercase().contains(part),
            Value::Array(texts) => {
                texts.iter().filter_map(Value::as_str).any(|text| text.to_lowercase().contains(part))
            }
            _ => false,
        };
        let is_kept = self.parts.iter().all(|(fields, part)| fields.iter().any(|field| has(field, part)))
            && (self.status.is_empty() || self.status.contains(&at(email, "/last_event")));
        if is_kept { Match::Yes } else { Match::No }
    }
}

/// Prints the list.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let mut flags = Flags::default();
    let part = flags.take(args.part.plan());
    let mut filter = args.filter.read();
    let is_unknown = |event: &&String| !LastEvent::KNOWN.contains(&event.as_str());
    for (n, event) in args.status.iter().enumerate().filter(|(_, event)| is_unknown(event)) {
        let rule = format!("--status must be one of {}", LastEvent::KNOWN.join(", "));
        flags.wrong_nth("type", rule, "--status", n + 1, event);
    }
    filter.status = args.status;
    if let Some(text) = args.since {
        filter.since = since(&text, Timestamp::now());
        if filter.since.is_none() {
            let rule =
                "--since must be a time such as 2026-11-26T09:00:00Z, a date, or an age such as 2h or 7d";
            flags.wrong("type", rule, "--since", &text);
        }
    }
    flags.finish()?;
    let Some(part) = part else { return Ok(()) };
    let client = context.client()?;
    let check = |email: &Value| filter.check(email);
    let check = (filter != Filter::default()).then_some(&check as pages::Filter<'_>);
    let shown = pages::show(client.emails().list(), &part, check, &columns, context).await?;
    pages::footer(&shown, if check.is_some() { "no matching emails" } else { TABLE.nothing }, context);
    Ok(())
}

/// Parses a time, the beginning of a date in UTC, or an age.
fn since(text: &str, now: Timestamp) -> Option<Timestamp> {
    let in_utc = now.to_zoned(TimeZone::UTC);
    let date = || Some(text.parse::<jiff::civil::Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let age = || text.parse::<Span>().ok().filter(|age| age.is_positive());
    let back = || Some(in_utc.checked_sub(age()?).ok()?.timestamp());
    text.parse().ok().or_else(date).or_else(back)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_beginning_is_a_time_a_date_or_an_age() {
        let now: Timestamp = "2026-11-26T09:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-11-25T10:00:00+01:00", "2026-11-25T09:00:00Z"),
            ("2026-11-25", "2026-11-25T00:00:00Z"),
            ("7d", "2026-11-19T09:00:00Z"),
            ("2h 30m", "2026-11-26T06:30:00Z"),
        ] {
            assert_eq!(since(text, now), expected.parse().ok(), "{text}");
        }
        for wrong in ["", "soon", "-2h", "0s", "7", "2026-13-01"] {
            assert_eq!(since(wrong, now), None, "{wrong}");
        }
    }

    #[test]
    fn an_email_must_match_every_filter() {
        let text = |text: &str| Some(text.to_owned());
        let args = FilterArgs { to: text("ADA@"), from: None, subject: text("week") };
        let filter = Filter { status: vec!["sent".into()], ..args.read() };
        let email = json!({"to": ["bob@example.com"], "cc": ["Ada <ada@example.com>"], "subject": "Week 47", "last_event": "sent"});
        assert_eq!(filter.check(&email), Match::Yes);
        for (field, value) in
            [("cc", json!(null)), ("subject", json!("Month")), ("last_event", json!("opened"))]
        {
            let mut other = email.clone();
            other[field] = value;
            assert_eq!(filter.check(&other), Match::No, "{other}");
        }
    }
}

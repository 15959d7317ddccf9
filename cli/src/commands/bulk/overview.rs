//! A preview of the emails that a plan sends.

use std::time::Duration;

use idempost_bulk::{Plan, PreviewEmail};
use serde_json::{Value, json};

use super::words::{duration, format_count, format_number};
use crate::context::{Context, Identity};
use crate::diagnostics::Fail;
use crate::output::json::extend;
use crate::output::terminal::shorten;

/// The number of rendered emails.
const SHOWN: usize = 3;
/// The number of lines shown of a body.
const BODY_LINES: usize = 8;
/// The rate of estimates, unless `--max-rps` is lower.
const ESTIMATED_RPS: f64 = 10.0;
/// A job of more emails without `List-Unsubscribe` may be a newsletter that lacks it.
const CAMPAIGN: u64 = 1_000;

/// A plan with its first emails rendered.
pub(super) struct Overview<'a> {
    plan: &'a Plan,
    identity: Identity,
    emails: Vec<PreviewEmail>,
    rps: f64,
    /// The number of days on which the schedule sends it.
    pub(super) days: Option<u64>,
}

impl<'a> Overview<'a> {
    /// Renders the first emails.
    pub(super) fn new(plan: &'a Plan, max_rps: Option<f64>, context: &Context) -> Result<Self, Fail> {
        let emails = plan.preview(SHOWN)?;
        let rps = max_rps.unwrap_or(ESTIMATED_RPS);
        Ok(Self { plan, identity: context.identity()?, emails, rps, days: None })
    }

    /// The time that requests take at the estimated rate.
    fn estimated_duration(&self, requests: u32) -> Duration {
        Duration::from_secs_f64(f64::from(requests) / self.rps)
    }

    /// The estimate as a sentence: `1,000,000 rows = 10,000 requests; 17 min at 10 requests/s`.
    pub(super) fn estimate_line(&self) -> String {
        let requests = format_count(self.plan.batches(), "request");
        let rows = format_count(self.plan.counts().valid, "row");
        let days =
            self.days.map(|days| format!(", on at least {}", format_count(days, "day"))).unwrap_or_default();
        format!(
            "{rows} = {requests}; {} at {} requests/s{days}",
            duration(self.estimated_duration(self.plan.batches())),
            self.rps
        )
    }

    /// Warnings about probable mistakes.
    pub(super) fn warnings(&self) -> Vec<String> {
        let counts = self.plan.counts();
        let mut warnings = Vec::new();
        if counts.singles > 0 {
            let time = self.estimated_duration(u32::try_from(counts.singles).unwrap_or(u32::MAX));
            warnings.push(format!(
                "{} with an attachment or scheduled_at: one request each, which takes {}",
                format_count(counts.singles, "email"),
                duration(time)
            ));
        }
        let offers = |preview: &PreviewEmail| {
            preview
                .email
                .fields()
                .headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("List-Unsubscribe"))
        };
        if counts.valid > CAMPAIGN && !self.emails.iter().any(offers) {
            warnings.push(
                "the emails have no List-Unsubscribe header, which Gmail and Yahoo require for newsletters; set it with --list-unsubscribe"
                    .to_owned(),
            );
        }
        warnings
    }

    fn bytes_per_email(&self) -> u64 {
        let counts = self.plan.counts();
        counts.bytes.checked_div(counts.valid).unwrap_or_default()
    }

    /// The human-readable lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let counts = self.plan.counts();
        let mut rows =
            format!("{} valid, {} invalid", format_number(counts.valid), format_number(counts.invalid));
        if counts.blank > 0 {
            rows = format!("{rows}, {} blank", format_number(counts.blank));
        }
        for (n, what) in [
            (counts.repeated, "repeated"),
            (counts.known, "in an earlier part of the job"),
            (counts.skipped, "changed and skipped"),
            (counts.suppressed, "suppressed"),
        ] {
            if n > 0 {
                rows = format!("{rows}, {} {what}", format_number(n));
            }
        }
        let duplicates = match counts.duplicates {
            0 => "no duplicates".to_owned(),
            n => format!("{} with the recipients of an earlier row", format_number(n)),
        };
        let mut lines = vec![
            format!(
                "job         {}",
                self.plan.name().map_or_else(
                    || self.plan.id().to_owned(),
                    |name| format!("{} ({})", shorten(name), self.plan.id())
                )
            ),
            format!("as          {}", self.identity),
            format!("rows        {} ({rows})", format_number(counts.rows)),
            format!("recipients  {} ({duplicates})", format_number(counts.recipients)),
            format!("emails      {} bytes each", format_number(self.bytes_per_email())),
            format!("estimate    {}", self.estimate_line()),
        ];
        for PreviewEmail { row, email, attachments, .. } in &self.emails {
            let fields = email.fields();
            lines.push(String::new());
            lines.push(format!("row {row}"));
            let mut field = |name: &str, text: String| {
                if !text.is_empty() {
                    lines.push(format!("  {name:<10}{}", shorten(&text)));
                }
            };
            field("from", fields.from.unwrap_or_default().to_owned());
            field("to", fields.to.join(", "));
            field("cc", fields.cc.join(", "));
            field("bcc", fields.bcc.join(", "));
            field("subject", fields.subject.unwrap_or_default().to_owned());
            field("template", fields.template.map(|template| template.id.to_string()).unwrap_or_default());
            field("attach", attachments.join(", "));
            for body in [fields.text, fields.html].into_iter().flatten() {
                lines.extend(body.lines().take(BODY_LINES).map(|line| format!("  | {}", shorten(line))));
                let more = body.lines().count().saturating_sub(BODY_LINES);
                if more > 0 {
                    lines.push(format!("  … {}", format_count(more as u64, "more line")));
                }
            }
        }
        lines
    }

    /// The JSON object.
    pub(super) fn document(&self) -> Value {
        let emails = self.emails.iter().map(|preview| {
            json!({ "row": preview.row, "email": preview.email, "attachments": preview.attachments })
        });
        let mut document = json!({
            "object": "bulk_plan",
            "job": self.plan.id(),
            "name": self.plan.name(),
            "after": self.plan.earlier_parts(),
            "folder": self.plan.dir(),
            "input": self.plan.input_name(),
            "requests": self.plan.batches(),
            "bytes_per_email": self.bytes_per_email(),
            "estimate_seconds": self.estimated_duration(self.plan.batches()).as_secs(),
            "estimate_days": self.days,
            "invalid_rows": self.plan.invalid_rows(),
            "skipped_rows": self.plan.skipped_rows(),
            "emails": emails.collect::<Vec<_>>(),
        });
        self.identity.add_to(&mut document);
        extend(&mut document, self.plan.counts());
        document
    }

    /// The question before sending: number of emails, sender, subject, first recipient.
    pub(super) fn question(&self, remaining: u64) -> String {
        let emails = format_count(remaining, "email");
        let Some(PreviewEmail { email, .. }) = self.emails.first() else {
            return format!("Send {emails}?");
        };
        let fields = email.fields();
        let from = fields.from.map(|from| format!(" from {}", shorten(from))).unwrap_or_default();
        let subject = match (fields.subject, fields.template) {
            (Some(subject), _) => format!(", subject \"{}\"", shorten(subject)),
            (None, Some(template)) => format!(", template {}", template.id),
            (None, None) => String::new(),
        };
        format!("Send {emails}{from}{subject}, the first to {}?", shorten(&fields.to.join(", ")))
    }
}

//! `emails metrics`: how many emails were sent, delivered, opened and so on.

use posthaste::{
    BroadcastId, DomainId, EmailId, EmailMetric, EmailMetricsQuery, MetricsDimension, MetricsGranularity,
};
use serde_json::{Value, json};

use crate::actions::{mutation, trace};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::table::{Column, Kind};
use crate::settings::Form;

const METRICS: Choices = Choices(EmailMetric::KNOWN);
const DIMENSIONS: Choices = Choices(MetricsDimension::KNOWN);
const GRANULARITIES: Choices = Choices(MetricsGranularity::KNOWN);
/// The columns of a table if no metrics are named.
const DEFAULT: [&str; 7] =
    ["sent", "delivered", "bounced", "opened", "clicked", "complained", "delivery_rate"];
/// The length of the longest bar, in characters.
const BAR: usize = 24;

/// Show how many emails were sent, delivered, opened and so on
///
/// Without --dimensions, shows the totals; otherwise a table with one row per combination, and at a terminal with bars for the first metric.
/// The range is the last seven days by default. Rates are percentages.
///
/// Metrics: received (accepted by the service), sent, delivered, delivery_delayed, failed, suppressed, bounced, bounced_transient,
/// bounced_permanent, bounced_undetermined, opened, unique_opened, clicked, unique_clicked, complained, unsubscribed, delivery_rate, bounce_rate,
/// open_rate, click_rate, complaint_rate, unsubscribe_rate.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste emails metrics\n  \
    posthaste emails metrics --dimensions period --metrics sent,open_rate --start-date 2026-07-01 --timezone Europe/Berlin\n  \
    posthaste emails metrics --dimensions period,domain --granularity weekly -o tsv\n  \
    posthaste emails metrics --broadcast-id 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --jq .totals.click_rate")]
pub(crate) struct Args {
    /// Beginning: a date (UTC) or a date and time, in ISO 8601 [default: six days before the end]
    #[arg(long, value_name = "DATE")]
    start_date: Option<String>,
    /// End, included: a date means its whole day [default: now]
    #[arg(long, value_name = "DATE")]
    end_date: Option<String>,
    /// IANA name of the time zone of the periods, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Length of the periods: hourly, daily, weekly or monthly [default: daily]
    #[arg(long, value_name = "GRANULARITY", value_parser = GRANULARITIES, hide_possible_values = true)]
    granularity: Option<String>,
    /// Metrics to show, separated by commas [default: all; in a table the most common ones]
    #[arg(long, value_name = "METRICS", value_delimiter = ',', value_parser = METRICS, hide_possible_values = true)]
    metrics: Vec<String>,
    /// Rows by these, separated by commas: period, domain, and email or broadcast
    #[arg(long, value_name = "DIMENSIONS", value_delimiter = ',', value_parser = DIMENSIONS, hide_possible_values = true)]
    dimensions: Vec<String>,
    /// Only emails from these domains, separated by commas, at most 100
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    domain_id: Vec<String>,
    /// Only these emails
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    email_id: Vec<String>,
    /// Only the emails of these broadcasts
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    broadcast_id: Vec<String>,
}

/// Every column, of which a table shows the requested ones.
const COLUMNS: &[Column] = &[
    Column::new("period", "PERIOD", Kind::Id),
    Column::new("domain_name", "DOMAIN", Kind::Shrinks),
    Column::new("email_id", "EMAIL", Kind::Id),
    Column::new("broadcast_name", "BROADCAST", Kind::Shrinks),
    Column::new("domain_id", "DOMAIN ID", Kind::Id),
    Column::new("broadcast_id", "BROADCAST ID", Kind::Id),
    Column::new("received", "RECEIVED", Kind::Text),
    Column::new("sent", "SENT", Kind::Text),
    Column::new("delivered", "DELIVERED", Kind::Text),
    Column::new("delivery_delayed", "DELAYED", Kind::Text),
    Column::new("failed", "FAILED", Kind::Text),
    Column::new("suppressed", "SUPPRESSED", Kind::Text),
    Column::new("bounced", "BOUNCED", Kind::Text),
    Column::new("bounced_transient", "TRANSIENT", Kind::Text),
    Column::new("bounced_permanent", "PERMANENT", Kind::Text),
    Column::new("bounced_undetermined", "UNDETERMINED", Kind::Text),
    Column::new("opened", "OPENED", Kind::Text),
    Column::new("unique_opened", "OPENED ONCE", Kind::Text),
    Column::new("clicked", "CLICKED", Kind::Text),
    Column::new("unique_clicked", "CLICKED ONCE", Kind::Text),
    Column::new("complained", "COMPLAINED", Kind::Text),
    Column::new("unsubscribed", "UNSUBSCRIBED", Kind::Text),
    Column::new("delivery_rate", "DELIVERY %", Kind::Text),
    Column::new("bounce_rate", "BOUNCE %", Kind::Text),
    Column::new("open_rate", "OPEN %", Kind::Text),
    Column::new("click_rate", "CLICK %", Kind::Text),
    Column::new("complaint_rate", "COMPLAINT %", Kind::Text),
    Column::new("unsubscribe_rate", "UNSUBSCRIBE %", Kind::Text),
];

/// The columns of the totals.
const TOTALS: &[Column] =
    &[Column::new("metric", "METRIC", Kind::Text), Column::new("value", "VALUE", Kind::Text)];

impl Args {
    /// Validates the flags.
    fn plan(&self) -> Result<EmailMetricsQuery, Fail> {
        let mut flags = Flags::default();
        flags.field("/start_date", "--start-date", self.start_date.as_deref());
        flags.field("/end_date", "--end-date", self.end_date.as_deref());
        flags.field("/timezone", "--timezone", self.timezone.as_deref());
        flags.field("/dimensions", "--dimensions", self.dimensions.last().map(String::as_str));
        flags.list("/domain_id", "--domain-id", &self.domain_id);
        flags.list("/email_id", "--email-id", &self.email_id);
        flags.list("/broadcast_id", "--broadcast-id", &self.broadcast_id);
        for (flag, known, values) in [
            ("--granularity", MetricsGranularity::KNOWN, self.granularity.as_slice()),
            ("--metrics", EmailMetric::KNOWN, &self.metrics),
            ("--dimensions", MetricsDimension::KNOWN, &self.dimensions),
        ] {
            for value in values.iter().filter(|value| !known.contains(&value.as_str())) {
                flags.wrong("type", format!("{flag} must be one of {}", known.join(", ")), flag, value);
            }
        }
        let mut query = EmailMetricsQuery::new()
            .metrics(self.metrics.iter().map(|name| EmailMetric::from(name.as_str())))
            .dimensions(self.dimensions.iter().map(|name| MetricsDimension::from(name.as_str())))
            .domains(self.domain_id.iter().map(DomainId::from))
            .emails(self.email_id.iter().map(EmailId::from))
            .broadcasts(self.broadcast_id.iter().map(BroadcastId::from));
        if let Some(date) = &self.start_date {
            query = query.start_date(date);
        }
        if let Some(date) = &self.end_date {
            query = query.end_date(date);
        }
        if let Some(name) = &self.timezone {
            query = query.timezone(name);
        }
        if let Some(granularity) = &self.granularity {
            query = query.granularity(MetricsGranularity::from(granularity.as_str()));
        }
        flags.add_problems(query.check());
        flags.finish()?;
        Ok(query)
    }

    /// The metrics in the columns of a table.
    fn shown(&self) -> Vec<&str> {
        if self.metrics.is_empty() {
            DEFAULT.to_vec()
        } else {
            self.metrics.iter().map(String::as_str).collect()
        }
    }

    /// The columns of a table by default.
    fn columns(&self) -> Vec<Column> {
        let dimensions = self.dimensions.iter().map(|dimension| match dimension.as_str() {
            "domain" => "domain_name",
            "email" => "email_id",
            "broadcast" => "broadcast_name",
            other => other,
        });
        let names = dimensions.chain(self.shown());
        names.filter_map(|name| COLUMNS.iter().find(|column| column.name == name)).copied().collect()
    }
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let query = args.plan()?;
    let by_default = context.global.columns.is_empty();
    let out = &context.out;
    let totals_only = args.dimensions.is_empty();
    let mut columns = match (totals_only, by_default) {
        (true, _) => TOTALS.to_vec(),
        (false, true) => args.columns(),
        (false, false) => COLUMNS.to_vec(),
    };
    // Fails on an unknown column before the request.
    let mut shown = out.columns(&columns)?;
    let client = context.client()?;
    let response = trace::execute(context, || client.emails().metrics(&query)).await?;
    let document = mutation::document(&response);
    if out.form() == Form::Json {
        return out.document(&document);
    }
    let mut rows = if totals_only { totals(&document) } else { data(&document) };
    if out.form() == Form::Human && out.terminal.stdout && by_default && !totals_only {
        add_bars(&mut rows, args.shown().first().copied().unwrap_or_default());
        columns.push(Column::new("bar", "", Kind::Text));
        shown = out.columns(&columns)?;
    }
    let is_empty = rows.is_empty();
    out.list(&json!({ "object": "list", "data": rows, "has_more": false }), &shown)?;
    if is_empty && !out.is_json() {
        out.note("no emails in this range");
    }
    Ok(())
}

/// One row per metric.
fn totals(document: &Value) -> Vec<Value> {
    let totals = document.get("totals").and_then(Value::as_object).into_iter().flatten();
    totals.map(|(metric, value)| json!({ "metric": metric, "value": value })).collect()
}

fn data(document: &Value) -> Vec<Value> {
    document.get("data").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Adds a bar for the values of this metric to each row.
fn add_bars(rows: &mut [Value], metric: &str) {
    let value = |row: &Value| row.get(metric).and_then(Value::as_f64).unwrap_or_default();
    let max = rows.iter().map(value).fold(0.0, f64::max);
    for row in rows {
        let bar = bar(value(row), max);
        if let Some(row) = row.as_object_mut() {
            row.insert("bar".to_owned(), bar.into());
        }
    }
}

/// A bar of up to [`BAR`] characters, exact to an eighth of one.
fn bar(value: f64, max: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if max <= 0.0 {
        return String::new();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the result is at most 8 * BAR"
    )]
    let eighths = (value / max * (8 * BAR) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_proportional_to_the_largest_value() {
        assert_eq!(bar(10.0, 10.0), "█".repeat(BAR));
        assert_eq!(bar(5.0, 10.0), "█".repeat(BAR / 2));
        assert_eq!(bar(0.1, 10.0), "▎");
        assert_eq!((bar(0.0, 10.0), bar(0.0, 0.0)), (String::new(), String::new()));
    }

    #[test]
    fn every_metric_has_a_column() {
        for metric in EmailMetric::KNOWN {
            assert!(COLUMNS.iter().any(|column| column.name == *metric), "{metric}");
        }
    }
}

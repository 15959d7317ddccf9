//! `emails metrics`: numbers of emails by event.

use idempost::{
    BroadcastId, DomainId, EmailId,
    emails::{EmailMetric, EmailMetricsQuery, MetricsDimension, MetricsGranularity},
};

use crate::actions::metrics;
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

/// Show email metrics: sent, delivered, opened and more
///
/// Without --dimensions, shows the totals; otherwise a table with one row per combination, and at a terminal with bars for the first metric.
/// The range is the last seven days by default. Rates are percentages.
///
/// Metrics: received (accepted by the service), sent, delivered, delivery_delayed, failed, suppressed, bounced, bounced_transient,
/// bounced_permanent, bounced_undetermined, opened, unique_opened, clicked, unique_clicked, complained, unsubscribed, delivery_rate, bounce_rate,
/// open_rate, click_rate, complaint_rate, unsubscribe_rate.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost emails metrics\n  \
    idempost emails metrics --dimensions period --metrics sent,open_rate --start-date 2026-07-01 --timezone Europe/Berlin\n  \
    idempost emails metrics --dimensions period,domain --granularity weekly -o tsv\n  \
    idempost emails metrics --broadcast-id 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --jq .totals.click_rate")]
pub(crate) struct Args {
    /// Beginning: a date (UTC) or a date and time, in ISO 8601 [default: six days before the end]
    #[arg(long, value_name = "DATE")]
    start_date: Option<String>,
    /// End, inclusive; a date covers its whole day [default: now]
    #[arg(long, value_name = "DATE")]
    end_date: Option<String>,
    /// Time zone of the periods (IANA name), such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Length of the periods: hourly, daily, weekly or monthly [default: daily]
    #[arg(long, value_name = "GRANULARITY", value_parser = GRANULARITIES, hide_possible_values = true)]
    granularity: Option<String>,
    /// Metrics to show, separated by commas [default: all; in a table the most common ones]
    #[arg(long, value_name = "METRICS", value_delimiter = ',', value_parser = METRICS, hide_possible_values = true)]
    metrics: Vec<String>,
    /// Dimensions to group by, separated by commas: period, domain, and email or broadcast
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

/// All columns; a table shows the requested ones.
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

impl Args {
    /// Validates the flags.
    fn plan(&self) -> Result<EmailMetricsQuery, Fail> {
        let mut flags = Flags::default();
        flags.field("/start_date", "--start-date", self.start_date.as_deref());
        flags.field("/end_date", "--end-date", self.end_date.as_deref());
        flags.field("/timezone", "--timezone", self.timezone.as_deref());
        flags.field("/dimensions", "--dimensions", self.dimensions.last().map(String::as_str));
        flags.declare_list("/domain_id", "--domain-id", &self.domain_id);
        flags.declare_list("/email_id", "--email-id", &self.email_id);
        flags.declare_list("/broadcast_id", "--broadcast-id", &self.broadcast_id);
        for (flag, known, values) in [
            ("--granularity", MetricsGranularity::KNOWN, self.granularity.as_slice()),
            ("--metrics", EmailMetric::KNOWN, &self.metrics),
            ("--dimensions", MetricsDimension::KNOWN, &self.dimensions),
        ] {
            for value in values.iter().filter(|value| !known.contains(&value.as_str())) {
                flags.reject("type", format!("{flag} must be one of {}", known.join(", ")), flag, value);
            }
        }
        let query = EmailMetricsQuery::new()
            .metrics(self.metrics.iter().map(|name| EmailMetric::from(name.as_str())))
            .dimensions(self.dimensions.iter().map(|name| MetricsDimension::from(name.as_str())))
            .domains(self.domain_id.iter().map(DomainId::from))
            .emails(self.email_id.iter().map(EmailId::from))
            .broadcasts(self.broadcast_id.iter().map(BroadcastId::from));
        let query = self.start_date.iter().fold(query, EmailMetricsQuery::start_date);
        let query = self.end_date.iter().fold(query, EmailMetricsQuery::end_date);
        let query = self.timezone.iter().fold(query, EmailMetricsQuery::timezone);
        let granularity = self.granularity.as_deref();
        let query = granularity.into_iter().fold(query, EmailMetricsQuery::granularity);
        flags.add_problems(query.check());
        flags.finish()?;
        Ok(query)
    }

    /// The metrics in the columns of a table.
    fn table_columns(&self) -> Vec<&str> {
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
        let names = dimensions.chain(self.table_columns());
        names.filter_map(column).collect()
    }
}

fn column(name: &str) -> Option<Column> {
    COLUMNS.iter().find(|column| column.name == name).copied()
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let query = args.plan()?;
    let by_default = context.global.columns.is_empty();
    let out = &context.out;
    let mut columns = if by_default { args.columns() } else { COLUMNS.to_vec() };
    if out.form == Form::Human && out.terminal.stdout && by_default {
        columns.extend(args.table_columns().first().and_then(|name| column(name)).map(Column::bars));
    }
    let columns = Some(columns.as_slice()).filter(|_| !args.dimensions.is_empty());
    metrics::show(columns, "no emails in this range", context, |client| client.emails().metrics(&query)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_column() {
        for metric in EmailMetric::KNOWN {
            assert!(COLUMNS.iter().any(|column| column.name == *metric), "{metric}");
        }
    }
}

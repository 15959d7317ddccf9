//! `emails metrics`: numbers of emails by event.

use idempost::emails::EmailMetricsQuery;

use crate::actions::metrics;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::rows::prelude::*;
use crate::settings::Form;

/// The columns of a table if no metrics are named.
const DEFAULT: [&str; 7] =
    ["sent", "delivered", "bounced", "opened", "clicked", "complained", "delivery_rate"];

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

/// Prints the totals, or a row per combination of the dimensions.
pub(super) async fn run(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let mut flags = given.flags(context).await;
    let (metrics, dimensions) = (given.texts("metrics"), given.texts("dimensions"));
    let query = EmailMetricsQuery::new()
        .metrics(metrics.iter().map(String::as_str))
        .dimensions(dimensions.iter().map(String::as_str))
        .domains(given.texts("domain_id"))
        .emails(given.texts("email_id"))
        .broadcasts(given.texts("broadcast_id"));
    let query = given.text("start_date").into_iter().fold(query, EmailMetricsQuery::start_date);
    let query = given.text("end_date").into_iter().fold(query, EmailMetricsQuery::end_date);
    let query = given.text("timezone").into_iter().fold(query, EmailMetricsQuery::timezone);
    let query = given.text("granularity").into_iter().fold(query, EmailMetricsQuery::granularity);
    flags.field("/dimensions", "--dimensions", dimensions.last().map(String::as_str));
    flags.add_problems(query.check());
    flags.finish()?;
    let metrics: Vec<&str> = match metrics.as_slice() {
        [] => DEFAULT.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let by_default = context.global.columns.is_empty();
    let out = &context.out;
    let mut columns = if by_default { columns(&dimensions, &metrics) } else { COLUMNS.to_vec() };
    if out.form == Form::Human && out.terminal.stdout && by_default {
        columns.extend(column(metrics[0]).map(Column::bars));
    }
    let columns = Some(columns.as_slice()).filter(|_| !dimensions.is_empty());
    metrics::show(columns, "no emails in this range", context, |client| client.emails().metrics(&query)).await
}

/// The columns of a table by default.
fn columns(dimensions: &[String], metrics: &[&str]) -> Vec<Column> {
    let dimensions = dimensions.iter().map(|dimension| match dimension.as_str() {
        "domain" => "domain_name",
        "email" => "email_id",
        "broadcast" => "broadcast_name",
        other => other,
    });
    dimensions.chain(metrics.iter().copied()).filter_map(column).collect()
}

fn column(name: &str) -> Option<Column> {
    COLUMNS.iter().find(|column| column.name == name).copied()
}

#[cfg(test)]
mod tests {
    use idempost::emails::EmailMetric;

    use super::*;

    #[test]
    fn every_metric_has_a_column() {
        for metric in EmailMetric::KNOWN {
            assert!(COLUMNS.iter().any(|column| column.name == *metric), "{metric}");
        }
    }
}

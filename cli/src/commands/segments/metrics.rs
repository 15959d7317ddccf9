//! `segments metrics`: how many contacts there are, in total and by segment.

use idempost::segments::{SegmentMetric, SegmentMetricsQuery};

use crate::actions::metrics;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::table::{Column, Kind};

const METRICS: Choices = Choices(SegmentMetric::KNOWN);
const DIMENSIONS: Choices = Choices(&["segment"]);

/// Show how many contacts are subscribed, in total and by segment
///
/// Totals count a contact once, rows in each of its segments. Metrics: all_contacts, subscribers, unsubscribers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns with --dimensions: name, all_contacts, subscribers, unsubscribers, id\n\n\
    Examples:\n  \
    idempost segments metrics --dimensions segment\n  \
    idempost segments metrics --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --jq .totals.subscribers")]
pub(crate) struct Args {
    /// Metrics to show, separated by commas [default: all]
    #[arg(long, value_name = "METRICS", value_delimiter = ',', value_parser = METRICS, hide_possible_values = true)]
    metrics: Vec<String>,
    /// Rows by this: segment
    #[arg(long, value_name = "DIMENSION", value_delimiter = ',', value_parser = DIMENSIONS, hide_possible_values = true)]
    dimensions: Vec<String>,
    /// Only contacts of these segments, separated by commas, at most 100
    #[arg(long, value_name = "ID", value_delimiter = ',', visible_alias = "segment")]
    segment_id: Vec<String>,
}

const COLUMNS: &[Column] = &[
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("all_contacts", "CONTACTS", Kind::Text),
    Column::new("subscribers", "SUBSCRIBED", Kind::Text),
    Column::new("unsubscribers", "UNSUBSCRIBED", Kind::Text),
    Column::new("id", "ID", Kind::Id),
];

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    flags.list("/segment_id", "--segment-id", &args.segment_id);
    for (flag, known, values) in
        [("--metrics", SegmentMetric::KNOWN, &args.metrics), ("--dimensions", DIMENSIONS.0, &args.dimensions)]
    {
        for value in values.iter().filter(|value| !known.contains(&value.as_str())) {
            flags.wrong("type", format!("{flag} must be one of {}", known.join(", ")), flag, value);
        }
    }
    let by_segment = !args.dimensions.is_empty();
    let query = SegmentMetricsQuery::new()
        .metrics(args.metrics.iter().map(|name| SegmentMetric::from(name.as_str())))
        .segments(&args.segment_id);
    let query = if by_segment { query.by_segment() } else { query };
    flags.add_problems(query.check());
    flags.finish()?;
    let requested = |column: &&Column| {
        args.metrics.is_empty()
            || args.metrics.iter().any(|name| name == column.name)
            || matches!(column.name, "id" | "name")
    };
    let by_default = context.global.columns.is_empty();
    let columns: Vec<_> = COLUMNS.iter().filter(|column| !by_default || requested(column)).copied().collect();
    let columns = Some(columns.as_slice()).filter(|_| by_segment);
    metrics::show(columns, "no segments", context, |client| client.segments().metrics(&query)).await
}

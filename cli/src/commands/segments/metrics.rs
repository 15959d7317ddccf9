//! `segments metrics`: how many contacts there are, in total and by segment.

use idempost::segments::{SegmentMetric, SegmentMetricsQuery};

use crate::actions;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};
use crate::rows::given::Given;

const COLUMNS: &[Column] = &[
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("all_contacts", "CONTACTS", Kind::Text),
    Column::new("subscribers", "SUBSCRIBED", Kind::Text),
    Column::new("unsubscribers", "UNSUBSCRIBED", Kind::Text),
    Column::new("id", "ID", Kind::Id),
];

pub(super) async fn run(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let mut flags = given.flags(context).await;
    let metrics = given.texts("metrics");
    let by_segment = !given.texts("dimensions").is_empty();
    let query = SegmentMetricsQuery::new()
        .metrics(metrics.iter().map(|name| SegmentMetric::from(name.as_str())))
        .segments(given.texts("segment_id"));
    let query = if by_segment { query.by_segment() } else { query };
    flags.add_problems(query.check());
    flags.finish()?;
    let requested = |column: &&Column| {
        metrics.is_empty()
            || metrics.iter().any(|name| name == column.name)
            || matches!(column.name, "id" | "name")
    };
    let by_default = context.global.columns.is_empty();
    let columns: Vec<_> = COLUMNS.iter().filter(|column| !by_default || requested(column)).copied().collect();
    let columns = Some(columns.as_slice()).filter(|_| by_segment);
    actions::metrics::show(columns, "no segments", context, |client| client.segments().metrics(&query)).await
}

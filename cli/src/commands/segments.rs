//! `segments`: groups of contacts.

use idempost::segments::{SegmentMetric, SegmentMetricsQuery};
use idempost::types::fields::Kind;

use crate::actions::metrics;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table;
use crate::rows::prelude::*;

noun!(Segments, "Manage segments, the groups of contacts that receive broadcasts", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Create an empty segment and print its ID",
        &Name(|client, _, name| client.segments().create(name)),
    )
    .fields(&[Field::positional_or_flag("name", "NAME", "Name of the segment")])
    .unknown_outcome("the segment may have been created; check: idempost segments list --limit 1")
    .examples(&["segments create 'Readers of the weekly'"]),
    Verb::list(
        "List segments, newest first",
        &TABLE,
        &Pages(Paging::Complete, |client, _| client.segments().list()),
    )
    .detail("Without --limit, the service returns all of them.")
    .examples(&["segments list --columns id,name"]),
    Verb::new("get", "Show one segment", &Show(|client, ids| client.segments().get(ids[0])))
        .ids(ID)
        .web(Page { dashboard: "audience/segments/{}", inbox: None })
        .examples(&["segments get 78261eea-8f8b-4381-83c6-79fa7120f1cf"]),
    Verb::new("rename", "Rename a segment", &Name(|client, ids, name| client.segments().rename(ids[0], name)))
        .alias("update")
        .ids(SEGMENT)
        .fields(&[Field::positional_or_flag("name", "NAME", "Name of the resource")])
        .unknown_outcome("the segment may have been renamed; check: idempost segments get {0}")
        .examples(&["segments rename 78261eea-8f8b-4381-83c6-79fa7120f1cf 'Readers of the monthly'"]),
    Verb::delete(
        "Delete a segment; its contacts aren't deleted",
        "the segment may have been deleted; check: idempost segments get {0}",
        &Delete(|client, ids| client.segments().delete(ids[0])),
    )
    .detail("The service returns the same response for a segment that doesn't exist.")
    .ids(ID)
    .examples(&["segments delete 78261eea-8f8b-4381-83c6-79fa7120f1cf"]),
    Verb::new(
        "contacts",
        "List the contacts in a segment, newest first",
        &Pages(Paging::Complete, |client, given| client.segments().contacts(given.ids[0])),
    )
    .detail("Without --limit, the service returns all of them.")
    .ids(SEGMENT)
    .table(&super::contacts::table::TABLE)
    .examples(&["segments contacts 78261eea-8f8b-4381-83c6-79fa7120f1cf --limit 10"]),
    Verb::new(
        "metrics",
        "Count subscribed contacts, in total or by segment",
        &Run(Arguments::Nothing, show_metrics),
    )
    .detail("Totals count a contact once, rows in each of its segments. Metrics: all_contacts, subscribers, unsubscribers.")
    .fields(&[
        Field::new("metrics", "METRICS", "Metrics to show, separated by commas [default: all]")
            .list(&Kind::Choice(SegmentMetric::KNOWN))
            .delimited(),
        Field::new("dimensions", "DIMENSION", "Dimension to group by: segment").list(&Kind::Choice(&["segment"])).delimited(),
        Field::new("segment_id", "ID", "Only contacts of these segments, separated by commas, at most 100")
            .list(&Kind::Text)
            .delimited()
            .alias("segment"),
    ])
    .after_help("Columns with --dimensions: name, all_contacts, subscribers, unsubscribers, id\n\n\
        Examples:\n  \
        idempost segments metrics --dimensions segment\n  \
        idempost segments metrics --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --jq .totals.subscribers"),
];

const SEGMENT: &[Field] = &[Field::positional("id", "ID", "ID of the segment")];

/// Columns of a list of segments.
pub(crate) const TABLE: Table = Table::new(&[
    Column::new("id", "ID", table::Kind::Id),
    Column::new("name", "NAME", table::Kind::Shrinks),
    Column::new("created_at", "CREATED", table::Kind::Time),
])
.nothing("no segments");

const METRICS: &[Column] = &[
    Column::new("name", "NAME", table::Kind::Shrinks),
    Column::new("all_contacts", "CONTACTS", table::Kind::Text),
    Column::new("subscribers", "SUBSCRIBED", table::Kind::Text),
    Column::new("unsubscribers", "UNSUBSCRIBED", table::Kind::Text),
    Column::new("id", "ID", table::Kind::Id),
];

/// Shows the totals, or with a dimension the segments.
async fn show_metrics(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let mut flags = given.flags(context).await;
    let names = given.texts("metrics");
    let by_segment = !given.texts("dimensions").is_empty();
    let query = SegmentMetricsQuery::new()
        .metrics(names.iter().map(|name| SegmentMetric::from(name.as_str())))
        .segments(given.texts("segment_id"));
    let query = if by_segment { query.by_segment() } else { query };
    flags.add_problems(query.check());
    flags.finish()?;
    let requested = |column: &&Column| {
        names.is_empty()
            || names.iter().any(|name| name == column.name)
            || matches!(column.name, "id" | "name")
    };
    let by_default = context.global.columns.is_empty();
    let columns: Vec<_> = METRICS.iter().filter(|column| !by_default || requested(column)).copied().collect();
    let columns = Some(columns.as_slice()).filter(|_| by_segment);
    metrics::show(columns, "no segments", context, |client| client.segments().metrics(&query)).await
}

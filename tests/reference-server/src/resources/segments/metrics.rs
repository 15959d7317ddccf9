//! `GET /segments/metrics`: numbers of contacts, in total and by segment.
//!
//! The specification doesn't define it; the shape is Resend's, where it is in private beta and up to 15 minutes old. Totals count a contact once;
//! rows count it in each of its segments. Without `segment_id`, the totals include all contacts, even those without a segment.

use std::collections::HashSet;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::context::Context;
use crate::model::contact::Group;
use crate::state::tenant::Tenant;
use crate::wire::{HandlerResult, Problem, Window, json, words};

/// The maximum number of IDs in the filter.
const MAX_IDS: usize = 100;

words! {
    #[derive(Clone, Copy)]
    enum Metric {
        AllContacts = "all_contacts",
        Subscribers = "subscribers",
        Unsubscribers = "unsubscribers",
    }
}

words! {
    #[derive(Clone, Copy)]
    enum Dimension {
        Segment = "segment",
    }
}

/// `GET /segments/metrics`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let tenant = &context.tenant;
    let parameters = context.parameters();
    let metrics = parameters.word_list("metrics", Metric::WORDS)?;
    let metrics = metrics.unwrap_or_else(|| Metric::WORDS.iter().map(|(_, metric)| *metric).collect());
    let dimensions = parameters.word_list("dimensions", Dimension::WORDS)?.unwrap_or_default();
    let segments = parameters.ids("segment_id", MAX_IDS)?;
    if let Some(unknown) = segments.iter().flatten().find(|id| tenant.segments.get(**id).is_none()) {
        let message = format!("`segment_id` must have the ids of segments; there is no segment {unknown}.");
        return Err(Problem::validation(message));
    }
    let totals = values(&metrics, count_contacts(tenant, segments.as_deref()));
    let data = if dimensions.is_empty() { None } else { Some(rows(tenant, segments, &metrics)?) };
    let metrics = metrics.iter().map(|metric| metric.as_str()).collect();
    let dimensions = dimensions.iter().map(|dimension| dimension.as_str()).collect();
    Ok(json(StatusCode::OK, &Report { object: "metrics", metrics, dimensions, totals, data }))
}

#[derive(Serialize)]
struct Report {
    object: &'static str,
    metrics: Vec<&'static str>,
    dimensions: Vec<&'static str>,
    totals: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Vec<Map<String, Value>>>,
}

/// Numbers of contacts.
#[derive(Clone, Copy)]
struct Counts {
    all: usize,
    unsubscribed: usize,
}

/// The numbers of all contacts, or of the members of any of these segments.
fn count_contacts(tenant: &Tenant, segments: Option<&[Uuid]>) -> Counts {
    match segments {
        None => {
            let contacts = tenant.contacts.lock();
            Counts { all: contacts.len(), unsubscribed: contacts.count_of(&Group::Unsubscribed) }
        }
        Some([segment]) => count_segment(tenant, *segment),
        Some(segments) => {
            let (mut seen, mut unsubscribed) = (HashSet::new(), 0);
            for contact in segments.iter().flat_map(|id| tenant.contacts.members(&Group::Member(*id))) {
                unsubscribed += usize::from(seen.insert(contact.id) && contact.unsubscribed);
            }
            Counts { all: seen.len(), unsubscribed }
        }
    }
}

fn count_segment(tenant: &Tenant, segment: Uuid) -> Counts {
    let contacts = tenant.contacts.lock();
    Counts {
        all: contacts.count_of(&Group::Member(segment)),
        unsubscribed: contacts.count_of(&Group::UnsubscribedMember(segment)),
    }
}

/// One row per segment, newest first.
fn rows(
    tenant: &Tenant,
    segments: Option<Vec<Uuid>>,
    metrics: &[Metric],
) -> Result<Vec<Map<String, Value>>, Problem> {
    let segments = match segments {
        None => tenant.segments.all(),
        Some(ids) => tenant.segments.page_with(&Window::default(), ids)?.items,
    };
    let row = |segment: &crate::model::segment::Segment| {
        let mut row = Map::new();
        row.insert("id".to_owned(), segment.id.to_string().into());
        row.insert("name".to_owned(), segment.name.clone().into());
        row.extend(values(metrics, count_segment(tenant, segment.id)));
        row
    };
    Ok(segments.iter().map(|segment| row(segment)).collect())
}

/// The requested metrics.
fn values(metrics: &[Metric], counts: Counts) -> Map<String, Value> {
    let value = |metric: &Metric| match metric {
        Metric::AllContacts => counts.all,
        Metric::Subscribers => counts.all - counts.unsubscribed,
        Metric::Unsubscribers => counts.unsubscribed,
    };
    metrics.iter().map(|metric| (metric.as_str().to_owned(), value(metric).into())).collect()
}

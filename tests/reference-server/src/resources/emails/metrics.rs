//! `GET /emails/metrics`: numbers of emails by event.
//!
//! The specification doesn't define it; parameters and shapes are Resend's. The metrics are computed from the events of the emails that the sandbox
//! keeps, so they are never out of date, and nothing is clamped to a retention period. These details are unpublished, and decided here:
//!
//! - An email counts once per event, however many recipients it has. Only its first open and its first click are unique.
//! - A date without a time means the whole day in UTC; the range includes both ends. A missing start is the beginning of the day six days
//!   before the end.
//! - A period is named after its first day, an hour after its start with the offset from UTC. Weeks start on Monday.
//! - With `period` as the only dimension, every period has a row; otherwise only combinations with events.
//! - Senders' domains that aren't registered have no `domain_id`, and emails outside broadcasts form a row without `broadcast_id`.
//! - An ID of an unknown record matches nothing, since records may have been deleted. At most `MAX_ROWS` rows are returned.

pub mod periods;
pub mod query;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use self::periods::Periods;
use self::query::{Dimension, Query, Selection};
use crate::context::Context;
use crate::lock::lock;
use crate::model::email::Email;
use crate::model::metric::{Counts, Metric};
use crate::state::tenant::Tenant;
use crate::wire::{HandlerResult, Parameters, Problem, described, json, to_iso};

/// The maximum number of rows.
const MAX_ROWS: usize = 10_000;

/// `GET /emails/metrics`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    report(&context.tenant, &context.parameters(), context.now())
}

/// The metrics of a tenant.
pub fn report(tenant: &Tenant, parameters: &Parameters<'_>, now: Timestamp) -> HandlerResult {
    let query = Query::read(parameters, now)?;
    let by_period = query.dimensions.contains(&Dimension::Period);
    let periods = by_period.then(|| Periods::from_query(&query)).transpose()?;
    let mut table = Table::new(&query, periods.as_ref(), tenant);
    for email in emails(tenant, &query) {
        table.count(&email)?;
    }
    let totals = values(&query, &table.totals);
    let data = (!query.dimensions.is_empty()).then(|| table.show(tenant));
    Ok(json(StatusCode::OK, &MetricsReport::new(&query, totals, data)))
}

type Row = Map<String, Value>;

described! {
    /// The metrics of an account.
    pub struct MetricsReport(query: &Query, sums: Row, rows: Option<Vec<Row>>) {
        object: &'static str = "metrics",
        start_date: String = to_iso(query.start),
        end_date: String = to_iso(query.end),
        metrics: Vec<&'static str> = query.metrics.iter().map(|metric| metric.as_str()).collect(),
        dimensions: Vec<&'static str> = query.dimensions.iter().map(|dimension| dimension.as_str()).collect(),
        granularity: &'static str = query.granularity.as_str(),
        totals: Row = sums,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Vec<Row>> = rows,
    }
}

/// The emails that may have an event in the range.
fn emails(tenant: &Tenant, query: &Query) -> Vec<Arc<Email>> {
    match &query.selection {
        Selection::Emails(ids) => {
            let emails = lock(&tenant.emails);
            ids.iter().filter_map(|id| emails.get(*id).cloned()).collect()
        }
        Selection::Broadcasts(ids) => {
            ids.iter().flat_map(|id| tenant.emails_of_broadcast(*id, Metric::Received)).collect()
        }
        Selection::All => tenant.emails_in_range(query.start, query.end),
    }
}

/// The shared fields of an email's rows.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Group {
    domain: Option<String>,
    email: Option<(Timestamp, Uuid)>,
    broadcast: Option<Uuid>,
}

/// The counts by period and group.
struct Table<'a> {
    query: &'a Query,
    periods: Option<&'a Periods>,
    /// The names of the selected domains.
    domains: Option<HashSet<String>>,
    totals: Counts,
    groups: Vec<Group>,
    known: HashMap<Group, usize>,
    /// By the indexes of the period and the group.
    rows: HashMap<(usize, usize), Counts>,
}

impl<'a> Table<'a> {
    fn new(query: &'a Query, periods: Option<&'a Periods>, tenant: &Tenant) -> Self {
        let name = |id: &Uuid| tenant.domains.get(*id).map(|domain| domain.setup.name.to_ascii_lowercase());
        let domains = query.domains.as_ref().map(|ids| ids.iter().filter_map(name).collect());
        let mut table = Self {
            query,
            periods,
            domains,
            totals: Counts::default(),
            groups: Vec::new(),
            known: HashMap::new(),
            rows: HashMap::new(),
        };
        if let (Some(periods), [Dimension::Period]) = (periods, &*query.dimensions) {
            // Every period has a row.
            table.group(Group { domain: None, email: None, broadcast: None });
            table.rows.extend((0..periods.len()).map(|period| ((period, 0), Counts::default())));
        }
        table
    }

    fn group(&mut self, group: Group) -> usize {
        *self.known.entry(group).or_insert_with_key(|group| {
            self.groups.push(group.clone());
            self.groups.len() - 1
        })
    }

    /// Counts the events of an email in the range.
    fn count(&mut self, email: &Email) -> Result<(), Problem> {
        let domain = email.sender_domain();
        if self.domains.as_ref().is_some_and(|wanted| !wanted.contains(&domain)) {
            return Ok(());
        }
        let by = |dimension| self.query.dimensions.contains(&dimension);
        let group = Group {
            domain: by(Dimension::Domain).then_some(domain),
            email: by(Dimension::Email).then_some((email.created_at, email.id)),
            broadcast: email.origin.broadcast.filter(|_| by(Dimension::Broadcast)),
        };
        let mut place = None;
        for (at, metric) in email.facts() {
            if at < self.query.start || at > self.query.end {
                continue;
            }
            self.totals.add(metric);
            if self.query.dimensions.is_empty() {
                continue;
            }
            let group = *place.get_or_insert_with(|| self.group(group.clone()));
            let period = self.periods.map(|periods| periods.index_at(at)).unwrap_or_default();
            self.rows.entry((period, group)).or_default().add(metric);
            if self.rows.len() > MAX_ROWS {
                return Err(Problem::validation(format!(
                    "`dimensions` result in more than {MAX_ROWS} rows, the maximum of this sandbox; use fewer dimensions or filters."
                )));
            }
        }
        Ok(())
    }

    /// The rows: by period, then by domain, then the newest first.
    fn show(self, tenant: &Tenant) -> Vec<Map<String, Value>> {
        let Self { query, periods, groups, rows, .. } = self;
        let broadcast = |group: &Group| tenant.broadcasts.get(group.broadcast?);
        let broadcasts: Vec<_> = groups.iter().map(broadcast).collect();
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by_key(|((period, group), _)| {
            let Group { domain, email, broadcast } = &groups[*group];
            let created_at = broadcasts[*group].as_ref().map(|broadcast| broadcast.created_at);
            (*period, domain, Reverse(*email), Reverse((created_at, *broadcast)))
        });
        let shown = rows.into_iter().map(|((period, group), counts)| {
            let (mut row, group_at) = (Map::new(), group);
            let group = &groups[group_at];
            for dimension in &query.dimensions {
                match dimension {
                    Dimension::Period => {
                        let name = periods.map(|periods| periods.name(period));
                        row.insert("period".to_owned(), name.into());
                    }
                    Dimension::Domain => {
                        let id = group
                            .domain
                            .as_deref()
                            .and_then(|name| tenant.domain(name))
                            .map(|domain| domain.id);
                        row.insert("domain_id".to_owned(), id.map(|id| id.to_string()).into());
                        row.insert("domain_name".to_owned(), group.domain.clone().into());
                    }
                    Dimension::Email => {
                        row.insert("email_id".to_owned(), group.email.map(|(_, id)| id.to_string()).into());
                    }
                    Dimension::Broadcast => {
                        let name =
                            broadcasts[group_at].as_ref().map(|broadcast| broadcast.message.display_name());
                        row.insert(
                            "broadcast_id".to_owned(),
                            group.broadcast.map(|id| id.to_string()).into(),
                        );
                        row.insert("broadcast_name".to_owned(), name.into());
                    }
                }
            }
            row.extend(values(query, &counts));
            row
        });
        shown.collect()
    }
}

/// The requested metrics.
fn values(query: &Query, counts: &Counts) -> Map<String, Value> {
    query.metrics.iter().map(|metric| (metric.as_str().to_owned(), counts.value(*metric))).collect()
}

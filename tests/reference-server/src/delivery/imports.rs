//! Runs contact imports.
//!
//! Rows are applied in steps on the service's clock, 10,000 at a time, so that other jobs run in between; requests are handled after every few
//! rows. If a segment, topic or property is deleted, the remaining rows ignore it.

use jiff::{SignedDuration, Timestamp};

use crate::clock::saturating_add;
use crate::delivery::contacts::RowEffect;
use crate::model::contact_import::rows::TooLong;
use crate::model::contact_import::{Counts, Status};
use crate::state::job::{ImportTask, Work};
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;

/// The number of rows per step.
const STEP_SIZE: u64 = 10_000;
/// The number of rows applied together within a step.
const BATCH_SIZE: u64 = 25;
/// The maximum number of bytes applied together.
const BATCH_BYTES: usize = 256 << 10;
/// The delay before each step.
const STEP_DELAY: SignedDuration = SignedDuration::from_millis(100);

/// Schedules the next step.
pub fn schedule(moment: Moment<'_>, import: Box<ImportTask>) {
    moment.schedule(saturating_add(moment.at, STEP_DELAY), Work::ContinueImport(import));
}

/// Applies the next rows, and returns the remainder of the same step.
pub fn apply_next(moment: Moment<'_>, mut task: Box<ImportTask>) -> Option<Box<ImportTask>> {
    let Moment { tenant, at, .. } = moment;
    task.segments.retain(|segment| tenant.segments.get(*segment).is_some());
    task.topics.retain(|topic, _| tenant.topics.get(*topic).is_some());
    task.columns.properties.retain(|key, (_, kind)| {
        tenant.contact_properties.find_by_key(key).is_some_and(|property| property.r#type == *kind)
    });
    let (mut counts, mut end) = (Counts::default(), None);
    let start = task.rows.position();
    while counts.total < BATCH_SIZE && task.rows.position() - start < BATCH_BYTES {
        let row = match task.rows.next() {
            Ok(Some(cells)) => task.columns.read(cells),
            Ok(None) => {
                end = Some(Status::Completed);
                break;
            }
            Err(TooLong) => {
                end = Some(Status::Failed);
                break;
            }
        };
        let (segments, topics) = (&task.segments, &task.topics);
        let effect = row.map(|row| {
            let email = row.email.clone();
            moment.import_contact(&email, task.overwrites, |contact| {
                row.apply(contact);
                for segment in segments {
                    contact.join(*segment);
                }
                contact.topics.extend(topics);
            })
        });
        counts.total += 1;
        *match effect {
            Some(Ok(RowEffect::Created)) => &mut counts.created,
            Some(Ok(RowEffect::Updated)) => &mut counts.updated,
            Some(Ok(RowEffect::Skipped)) => &mut counts.skipped,
            // An invalid row, or too many contacts.
            None | Some(Err(_)) => &mut counts.failed,
        } += 1;
    }
    tenant.contact_imports.change(task.import, |import| {
        import.status = Status::InProgress;
        import.counts.add(counts);
        if let Some(status) = end {
            import.finish(status, at);
        }
    })?;
    if end.is_some() {
        return None;
    }
    task.step += counts.total;
    if task.step < STEP_SIZE {
        return Some(task);
    }
    task.step = 0;
    schedule(moment, task);
    None
}

/// Fails the imports interrupted by a restart. Contacts that were already imported remain.
pub fn fail_unfinished(tenant: &Tenant, now: Timestamp) {
    for status in Status::UNFINISHED {
        tenant.contact_imports.change_all(&status, |import| import.finish(Status::Failed, now));
    }
}

//! Jobs whose input or message changes before they finish.

mod damage;
mod deletion;
mod retries;
mod sequences;

use idempost::types::RecipientGuard;

use super::*;
use crate::{BulkError, ChangedRows, Differences, Retry};

/// A folder with an input whose rows are a recipient and a name.
struct Inputs {
    folder: tempfile::TempDir,
    subject: &'static str,
    key: Option<&'static str>,
}

impl Inputs {
    fn new() -> Self {
        Self { folder: folder(), subject: "Hello {{{NAME}}}", key: None }
    }

    fn bulk(&self, rows: &[(usize, usize)]) -> Bulk {
        let mut csv = String::from("to,NAME\n");
        for (recipient, name) in rows {
            writeln!(csv, "r{recipient}@example.com,{name}").unwrap();
        }
        let path = self.folder.path().join("people.csv");
        std::fs::write(&path, csv).unwrap();
        let message = Message::new().from("hi@acme.test").subject(self.subject).text("It works");
        self.key.into_iter().fold(Bulk::new(Input::csv(path), message), Bulk::key)
    }

    /// The same rows from an application, which give the job no name.
    async fn unnamed(&self, rows: &[(usize, usize)]) -> Bulk {
        let rows = rows.iter().map(|(recipient, name)| {
            serde_json::json!({ "to": format!("r{recipient}@example.com"), "variables": { "NAME": name } })
        });
        let rows = futures_util::stream::iter(rows.collect::<Vec<_>>());
        let input = Input::rows(rows, self.folder.path().join("jobs")).await.unwrap();
        Bulk::new(input, Message::new().from("hi@acme.test").subject(self.subject).text("It works"))
    }

    async fn plan(&self, bulk: Bulk) -> crate::Result<BulkJob> {
        let client = Client::new("http://127.0.0.1:1", "re_x").unwrap();
        bulk.plan(&client, self.folder.path().join("jobs")).await
    }

    async fn differences(&self, bulk: Bulk) -> Differences {
        match self.plan(bulk).await.unwrap_err() {
            BulkError::Differs(differences) => *differences,
            other => panic!("{other}"),
        }
    }

    fn jobs(&self) -> usize {
        let entries = std::fs::read_dir(self.folder.path().join("jobs")).unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().path().join("job.json").exists()).count()
    }
}

fn rows(recipients: std::ops::Range<usize>) -> Vec<(usize, usize)> {
    recipients.map(|recipient| (recipient, 0)).collect()
}

/// Runs a job until the service's quota is exhausted, after this number of requests, or to its end.
async fn run(job: &BulkJob, service: &Arc<Service>, requests: u64) -> Report {
    service.quota.store(service.requests() + requests, Ordering::SeqCst);
    let report = job.start_with(Arc::clone(service), patient_options().concurrency(1)).finish().await;
    service.quota.store(u64::MAX, Ordering::SeqCst);
    report.unwrap()
}

async fn finish(job: &BulkJob, service: &Arc<Service>) -> Report {
    finish_with(job, service, patient_options()).await
}

#[tokio::test(start_paused = true)]
async fn a_row_appended_to_a_stopped_job_stops_the_plan_and_is_added_by_choice() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..2_000))).await.unwrap();
    let sent = run(&first, &service, 7).await.counts.sent;
    assert!((700..2_000).contains(&sent), "{sent}");
    let appended = rows(0..2_001);
    let found = inputs.differences(inputs.bulk(&appended)).await;
    assert_eq!((found.name.as_str(), found.job.as_str()), ("people.csv", first.plan().id()));
    assert_eq!((found.known, found.new, found.changed, found.missing), (2_000, 1, 0, 0));
    assert_eq!((found.remaining, found.fields), (2_000 - sent, Vec::<String>::new()));
    assert_eq!(service.delivered(), (sent.try_into().unwrap(), 1));
    let reordered: Vec<_> = appended.into_iter().rev().collect();
    let job = inputs.plan(inputs.bulk(&reordered).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!((job.plan().counts().valid, job.plan().counts().known), (1, 2_000));
    assert_eq!(job.plan().earlier_parts(), [first.plan().id()]);
    let status = job.status().await.unwrap();
    assert_eq!((status.state, status.counts.remaining), (JobState::Stopped, 2_001 - sent));
    let report = finish(&job, &service).await;
    assert!(report.all_sent());
    assert_eq!((report.ending, report.counts.sent), (Ending::Finished, 2_001));
    assert_eq!(service.delivered(), (2_001, 1));
    assert_eq!(job.status().await.unwrap().state, JobState::Finished);
    // Planning it again adds nothing.
    let again = inputs.plan(inputs.bulk(&rows(5..900)).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!(again.plan().id(), job.plan().id());
    finish(&again, &service).await;
    assert_eq!((service.delivered(), inputs.jobs()), ((2_001, 1), 2));
}

#[tokio::test(start_paused = true)]
async fn a_corrected_message_stops_the_plan_of_an_unfinished_job() {
    let (mut inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..500))).await.unwrap();
    run(&first, &service, 2).await;
    inputs.subject = "Dear {{{NAME}}}";
    let found = inputs.differences(inputs.bulk(&rows(0..500))).await;
    assert_eq!((found.fields, found.known, found.new), (vec!["subject".to_owned()], 500, 0));
    assert!(found.remaining > 0);
    // Another name is another job, and so is another run of a finished one.
    let other = inputs.plan(inputs.bulk(&rows(0..500)).job("second try")).await.unwrap();
    assert_eq!((other.plan().name(), other.plan().counts().valid), (Some("second try"), 500));
    finish(&first, &service).await;
    let next = inputs.plan(inputs.bulk(&rows(0..500))).await.unwrap();
    assert_eq!((next.plan().counts().valid, next.plan().earlier_parts().len()), (500, 0));
    assert_eq!(service.delivered(), (500, 1));
}

#[tokio::test(start_paused = true)]
async fn a_canceled_job_releases_the_rows_that_it_has_not_sent() {
    let (mut inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..1_000))).await.unwrap();
    let sent = run(&first, &service, 4).await.counts.sent;
    first.cancel().await.unwrap();
    inputs.subject = "Corrected: {{{NAME}}}";
    let job = inputs.plan(inputs.bulk(&rows(0..1_000)).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!(job.plan().counts().valid, 1_000 - sent);
    let report = finish(&job, &service).await;
    assert_eq!((report.counts.sent, report.counts.remaining), (1_000, 0));
    assert_eq!(service.delivered(), (1_000, 1));
    assert_canceled(&first, &service).await;
}

#[tokio::test(start_paused = true)]
async fn a_canceled_job_without_a_name_sends_no_row_again() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.unnamed(&rows(0..1_000)).await).await.unwrap();
    let sent = run(&first, &service, 4).await.counts.sent;
    first.cancel().await.unwrap();
    let again = inputs.unnamed(&rows(0..1_000)).await.add_rows(ChangedRows::Reject);
    let job = inputs.plan(again).await.unwrap();
    assert_eq!((job.plan().name(), job.plan().counts().valid), (None, 1_000 - sent));
    assert!(finish(&job, &service).await.all_sent());
    assert_eq!(service.delivered(), (1_000, 1));
    // Other rows are another job.
    let other = inputs.unnamed(&rows(500..1_001)).await.add_rows(ChangedRows::Reject);
    assert_eq!(inputs.plan(other).await.unwrap().plan().counts().valid, 501);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_job_sends_no_row_again_after_its_file_is_renamed() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..1_000))).await.unwrap();
    run(&first, &service, 4).await;
    first.cancel().await.unwrap();
    let renamed = inputs.folder.path().join("renamed.csv");
    std::fs::rename(inputs.folder.path().join("people.csv"), &renamed).unwrap();
    let bulk = Bulk::new(Input::csv(renamed), first.plan().message().clone());
    let job = inputs.plan(bulk.add_rows(ChangedRows::Reject)).await.unwrap();
    finish(&job, &service).await;
    assert_eq!(service.delivered(), (1_000, 1));
}

#[tokio::test(start_paused = true)]
async fn a_canceled_part_takes_the_other_parts_of_its_job_with_it() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = add_rows(&inputs, &rows(0..3), &service, 1).await;
    let second = add_rows(&inputs, &rows(0..5), &service, 0).await;
    let third = inputs.plan(inputs.bulk(&rows(0..6)).batch_size(1).add_rows(ChangedRows::Reject)).await;
    let third = third.unwrap();
    first.cancel().await.unwrap();
    for part in [&first, &second, &third] {
        assert_eq!(part.status().await.unwrap().state, JobState::Canceled);
        assert_canceled(part, &service).await;
    }
    // What none of them has sent is planned again, whatever the last plan had.
    let job = inputs.plan(inputs.bulk(&rows(0..6)).batch_size(1).add_rows(ChangedRows::Reject)).await;
    let job = job.unwrap();
    assert_eq!(job.plan().counts().valid, 5);
    finish(&job, &service).await;
    assert_eq!(service.delivered(), (6, 1));
}

#[tokio::test(start_paused = true)]
async fn a_canceled_job_counts_the_unsent_rows_of_all_parts() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let counts = |sent, remaining| Counts { sent, remaining, ..Counts::default() };
    add_rows(&inputs, &rows(0..3), &service, 1).await;
    let second = add_rows(&inputs, &rows(0..5), &service, 0).await;
    second.cancel().await.unwrap();
    assert_eq!(second.status().await.unwrap().counts, counts(1, 4));
    // Only the rows that are still in the input are left to send.
    let third = add_rows(&inputs, &rows(0..3), &service, 0).await;
    assert_eq!(third.plan().counts().retried_unsent, 2);
    assert_eq!(third.status().await.unwrap().counts, counts(1, 2));
    third.cancel().await.unwrap();
    assert_eq!(third.status().await.unwrap().counts, counts(1, 4));
    let fourth = add_rows(&inputs, &rows(0..5), &service, 4).await;
    assert_eq!(fourth.status().await.unwrap().counts, counts(5, 0));
    assert_eq!(service.delivered(), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_job_can_be_canceled_while_an_earlier_part_of_it_runs() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = add_rows(&inputs, &rows(0..300), &service, 1).await;
    let second = add_rows(&inputs, &rows(0..301), &service, 0).await;
    let mut running = second.start_with(Arc::clone(&service), patient_options().concurrency(1));
    let until = service.requests() + 2;
    while service.requests() < until && running.next().await.is_some() {}
    for _ in 0..2 {
        second.cancel().await.unwrap();
        first.cancel().await.unwrap();
        second.status().await.unwrap();
    }
    assert_eq!(running.finish().await.unwrap().ending, Ending::Stopped);
    assert!(service.delivered().0 < 300);
}

#[tokio::test(start_paused = true)]
async fn a_request_to_stop_during_the_last_request_of_a_part_applies_to_the_next_one() {
    // F-10
    for (request, state) in
        [(folder::Request::Pause, JobState::Stopped), (folder::Request::Cancel, JobState::Canceled)]
    {
        let (inputs, service) = (Inputs::new(), Service::reliable());
        let first = inputs.plan(inputs.bulk(&rows(0..20))).await.unwrap();
        run(&first, &service, 0).await;
        let all = inputs.bulk(&rows(0..40)).add_rows(ChangedRows::Reject);
        let job = inputs.plan(all).await.unwrap();
        // A request to an earlier run is dropped.
        job.pause().await.unwrap();
        let dirs: Vec<_> = job.plan().part_dirs().collect();
        service.set_script(move |_, _| {
            for dir in &dirs {
                folder::request(dir, request).unwrap();
            }
            None
        });
        let report = finish(&job, &service).await;
        assert_eq!(report.ending, Ending::Stopped, "{request:?}");
        assert_eq!(report.counts, Counts { sent: 20, remaining: 20, ..Counts::default() }, "{request:?}");
        assert_eq!(job.status().await.unwrap().state, state);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_back_hides_no_part_of_a_job() {
    // F-11
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..3))).await.unwrap();
    first.plan().redate("2100-01-01T00:00:00Z");
    for n in [3, 4, 5, 5] {
        let job = inputs.plan(inputs.bulk(&rows(0..n)).add_rows(ChangedRows::Reject)).await.unwrap();
        assert_eq!(finish(&job, &service).await.counts.sent, n as u64);
    }
    assert_eq!(service.delivered(), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn other_options_do_not_send_a_finished_job_again() {
    // F-09
    let (mut inputs, service) = (Inputs::new(), Service::reliable());
    let bulk = || inputs.bulk(&rows(0..30)).batch_size(5);
    let first = inputs.plan(bulk()).await.unwrap();
    finish(&first, &service).await;
    // Requests of another size are the same emails.
    let same = inputs.plan(bulk().batch_size(10)).await.unwrap();
    assert_eq!(same.plan().id(), first.plan().id());
    let found = inputs.differences(bulk().suppress(["r0@example.com"])).await;
    assert_eq!((found.known, found.new, found.fields), (30, 0, vec!["suppressed".to_owned()]));
    let found = inputs.differences(bulk().ignore_column("Notes")).await;
    assert_eq!((found.known, found.fields), (30, vec!["ignore_columns".to_owned()]));
    inputs.key = Some("to");
    let found = inputs.differences(inputs.bulk(&rows(0..31))).await;
    assert_eq!((found.known, found.new, found.fields), (30, 1, vec!["key".to_owned()]));
    assert_eq!(service.delivered(), (30, 1));
}

#[tokio::test(start_paused = true)]
async fn other_options_do_not_send_a_job_without_a_name_again() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.unnamed(&rows(0..1_000)).await).await.unwrap();
    run(&first, &service, 4).await;
    let listed = async || inputs.unnamed(&rows(0..1_000)).await.suppress(["r999@example.com"]);
    let found = inputs.differences(listed().await).await;
    assert_eq!((found.name.as_str(), found.known), (first.plan().id(), 1_000));
    assert_eq!((found.new, found.what().as_str()), (0, "suppressed"));
    first.cancel().await.unwrap();
    let job = inputs.plan(listed().await.add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!(job.plan().counts().suppressed, 1);
    finish(&job, &service).await;
    assert_eq!(service.delivered(), (999, 1));
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_allows_other_recipients_sends_no_row_again() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    finish(&inputs.plan(inputs.bulk(&rows(0..3))).await.unwrap(), &service).await;
    let plan = async |guard: RecipientGuard, bulk: Bulk| {
        let client = Client::builder().base_url("http://127.0.0.1:1").api_key("re_x").recipient_guard(guard);
        bulk.plan(&client.build().unwrap(), inputs.folder.path().join("jobs")).await
    };
    let allow = || RecipientGuard::new().allow_to(["*@example.com"]).unwrap();
    let found = plan(allow(), inputs.bulk(&rows(0..4))).await.unwrap_err();
    let BulkError::Differs(found) = found else { panic!("{found}") };
    assert_eq!((found.known, found.new, found.what().as_str()), (3, 1, "rows, guard"));
    let added = plan(allow(), inputs.bulk(&rows(0..4)).add_rows(ChangedRows::Reject)).await.unwrap();
    finish(&added, &service).await;
    assert_eq!(service.delivered(), (4, 1));
    // A redirected job reaches none of these recipients.
    let redirect = RecipientGuard::new().redirect_to(["qa@example.com"]).unwrap();
    let trial = plan(redirect, inputs.bulk(&rows(0..4)).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!((trial.plan().counts().known, trial.plan().counts().valid), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn a_changed_row_of_a_known_recipient_needs_a_choice_unless_it_has_a_key() {
    let (mut inputs, service) = (Inputs::new(), Service::reliable());
    finish(&inputs.plan(inputs.bulk(&rows(0..300))).await.unwrap(), &service).await;
    let mut changed = rows(0..301);
    changed[7].1 = 1;
    let found = inputs.differences(inputs.bulk(&changed).add_rows(ChangedRows::Reject)).await;
    assert_eq!((found.known, found.new, found.changed, found.missing), (299, 2, 1, 1));
    assert_eq!(found.first_changed, [(8, "r7@example.com".to_owned())]);
    assert!(found.to_string().contains("row 8: r7@example.com"), "{found}");
    let skipped = inputs.plan(inputs.bulk(&changed).add_rows(ChangedRows::Skip)).await.unwrap();
    finish(&skipped, &service).await;
    assert_eq!(service.delivered(), (301, 1));
    let sent = inputs.plan(inputs.bulk(&[(7, 1)]).add_rows(ChangedRows::Send)).await.unwrap();
    finish(&sent, &service).await;
    assert_eq!(service.delivered(), (302, 1), "a second email for recipient 7");
    inputs.key = Some("to");
    let keyed = inputs.plan(inputs.bulk(&[(7, 2), (400, 0)]).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!((keyed.plan().counts().valid, keyed.plan().counts().known), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn added_and_retried_rows_fit_into_the_schedule_that_the_job_keeps() {
    // F-09
    let (inputs, wall) = (Inputs::new(), WallClock::without_waits());
    let service = Service::new(|_, _| Some(Fault::Invalid));
    *service.wall.lock().unwrap() = wall.clone();
    let options = || patient_options().wall_clock(&wall).max_rejections(0);
    let first = inputs.plan(inputs.bulk(&rows(0..50))).await.unwrap();
    assert_eq!(finish_with(&first, &service, options()).await.counts.rejected, 50);
    service.set_script(|_, _| None);
    let schedule = crate::Schedule::new().domain_rate("example.com=40/min").unwrap();
    let scheduled = inputs.bulk(&rows(50..60)).schedule(schedule).add_rows(ChangedRows::Reject);
    finish_with(&inputs.plan(scheduled).await.unwrap(), &service, options()).await;
    let added = inputs.plan(inputs.bulk(&rows(60..120)).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!((added.plan().counts().valid, added.plan().batches()), (60, 2));
    finish_with(&added, &service, options()).await;
    let retried = added.retry(Retry::Rejected).await.unwrap().unwrap();
    assert_eq!((retried.plan().counts().valid, retried.plan().batches()), (50, 2));
    finish_with(&retried, &service, options()).await;
    assert_eq!(service.delivered(), (120, 1));
}

#[tokio::test(start_paused = true)]
async fn a_rule_counts_the_rows_of_all_parts_of_a_job() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    finish(&inputs.plan(inputs.bulk(&rows(0..2_000))).await.unwrap(), &service).await;
    service.set_script(|_, _| Some(Fault::Invalid));
    let added = inputs.bulk(&rows(0..2_010)).batch_size(1).add_rows(ChangedRows::Reject);
    let added = inputs.plan(added).await.unwrap();
    let rule = |text: &str| patient_options().concurrency(1).stop_on(text.parse().unwrap());
    let report = finish_with(&added, &service, rule("rejected>1%")).await;
    assert_eq!((report.ending, report.counts.rejected), (Ending::Finished, 10));
}

#[tokio::test(start_paused = true)]
async fn a_limited_trial_is_the_first_part_of_its_job_with_or_without_a_name() {
    // F-09
    for is_named in [true, false] {
        let (inputs, service) = (Inputs::new(), Service::reliable());
        let all = async || {
            if is_named { inputs.bulk(&rows(0..250)) } else { inputs.unnamed(&rows(0..250)).await }
        };
        for (limit, delivered) in [(Some(10), 10), (Some(15), 15), (None, 250), (Some(20), 250)] {
            let bulk = limit.into_iter().fold(all().await, Bulk::limit);
            finish(&inputs.plan(bulk).await.unwrap(), &service).await;
            assert_eq!(service.delivered(), (delivered, 1), "{limit:?}");
        }
        let again = inputs.plan(all().await.new_run()).await.unwrap();
        assert_eq!((again.plan().earlier_parts().len(), again.plan().counts().valid), (0, 250));
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_sends_no_other_rows_of_an_unfinished_job() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let limited = |limit| inputs.bulk(&rows(0..20)).batch_size(1).limit(limit);
    let whole = add_rows(&inputs, &rows(0..20), &service, 5).await;
    for bulk in [limited(10), limited(10).add_rows(ChangedRows::Reject)] {
        let error = inputs.plan(bulk).await.unwrap_err();
        let BulkError::BeyondLimit { job, rows, limit } = &error else { panic!("{error}") };
        assert_eq!((job.as_str(), *rows, *limit), (whole.plan().id(), 10, 10));
    }
    // All rows that are left are within this limit.
    assert_eq!(inputs.plan(limited(20)).await.unwrap().plan().id(), whole.plan().id());
    whole.cancel().await.unwrap();
    let job = inputs.plan(limited(10).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!(job.plan().counts().valid, 5);
    service.set_script(|n, _| (n > 8).then_some(Fault::Quota));
    finish(&job, &service).await;
    service.set_script(|_, _| None);
    // A larger limit continues a smaller one.
    finish(&inputs.plan(limited(12).add_rows(ChangedRows::Reject)).await.unwrap(), &service).await;
    assert_eq!(service.delivered(), (12, 1));
}

#[tokio::test(start_paused = true)]
async fn a_part_that_is_opened_again_replaces_a_later_plan() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = add_rows(&inputs, &rows(0..3), &service, 1).await;
    let bulk = || inputs.bulk(&rows(0..4)).batch_size(1).add_rows(ChangedRows::Reject);
    let later = inputs.plan(bulk()).await.unwrap();
    assert_eq!(inputs.plan(bulk()).await.unwrap().plan().id(), later.plan().id());
    let opened = add_rows(&inputs, &rows(0..3), &service, 1).await;
    assert_eq!((opened.plan().id(), inputs.jobs()), (first.plan().id(), 1));
    let error = later.start_with(Arc::clone(&service), patient_options()).finish().await.unwrap_err();
    assert!(error.to_string().ends_with("was deleted, or replaced by another plan"), "{error}");
    finish(&inputs.plan(bulk()).await.unwrap(), &service).await;
    assert_eq!(service.delivered(), (4, 1));
    // So does one that has all rows of another input.
    inputs.plan(inputs.bulk(&rows(0..5)).add_rows(ChangedRows::Reject)).await.unwrap();
    let opened = inputs.plan(inputs.bulk(&rows(1..3)).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!((opened.plan().counts().valid, inputs.jobs()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_was_never_started_is_replaced_by_the_next_one() {
    let (mut inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..200))).await.unwrap();
    inputs.subject = "Corrected: {{{NAME}}}";
    let second = inputs.plan(inputs.bulk(&rows(0..199))).await.unwrap();
    assert_eq!((inputs.jobs(), second.plan().counts().valid), (1, 199));
    let error = first.start_with(Arc::clone(&service), patient_options()).finish().await.unwrap_err();
    assert!(error.to_string().ends_with("was deleted, or replaced by another plan"), "{error}");
    finish(&second, &service).await;
    assert_eq!(service.delivered(), (199, 1));
}

/// Two rows with an attachment each.
fn with_attachments(inputs: &Inputs) -> Bulk {
    let path = inputs.folder.path().join("people.csv");
    std::fs::write(&path, "to,attachment\nr0@example.com,a.txt\nr1@example.com,b.txt\n").unwrap();
    Bulk::new(Input::csv(path), Message::new().from("hi@acme.test").subject("Offer").text("It works"))
}

#[tokio::test(start_paused = true)]
async fn a_plan_whose_attachment_has_changed_is_replaced_until_it_is_started() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let attach = |name, content| std::fs::write(inputs.folder.path().join(name), content).unwrap();
    attach("a.txt", "1");
    let incomplete = inputs.plan(with_attachments(&inputs)).await.unwrap();
    assert_eq!(incomplete.plan().counts().invalid, 1);
    attach("b.txt", "1");
    let first = inputs.plan(with_attachments(&inputs)).await.unwrap();
    assert_eq!((first.plan().counts().valid, inputs.jobs()), (2, 1));
    let same = inputs.plan(with_attachments(&inputs)).await.unwrap();
    assert_eq!(same.plan().id(), first.plan().id());
    attach("b.txt", "2");
    let second = inputs.plan(with_attachments(&inputs)).await.unwrap();
    assert_eq!((second.plan().counts().valid, inputs.jobs()), (2, 1));
    assert_ne!(second.plan().id(), first.plan().id());
    finish(&second, &service).await;
    // A job that was started stays as it is.
    attach("b.txt", "3");
    let finished = inputs.plan(with_attachments(&inputs)).await.unwrap();
    assert_eq!(finished.plan().id(), second.plan().id());
    assert_eq!(service.delivered(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn an_attachment_that_changes_during_a_job_is_named_and_canceling_the_job_is_the_way_out() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let attach = |name, content| std::fs::write(inputs.folder.path().join(name), content).unwrap();
    attach("a.txt", "1");
    attach("b.txt", "1");
    let job = inputs.plan(with_attachments(&inputs)).await.unwrap();
    for (name, sent) in [("a.txt", ""), ("b.txt", " more")] {
        attach(name, "2");
        let error = job.start_with(Arc::clone(&service), patient_options()).finish().await.unwrap_err();
        let expected = format!(
            "attachment `{name}`, job.json or this program's version changed; nothing{sent} was sent"
        );
        assert!(error.to_string().ends_with(&expected), "{error}");
        attach(name, "1");
        if sent.is_empty() {
            run(&job, &service, 1).await;
        }
    }
    attach("b.txt", "2");
    job.cancel().await.unwrap();
    let rest = inputs.plan(with_attachments(&inputs).add_rows(ChangedRows::Reject)).await.unwrap();
    assert!(finish(&rest, &service).await.all_sent());
    assert_eq!(service.delivered(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn the_same_rows_in_another_form_are_the_same_job() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let job = inputs.plan(inputs.bulk(&rows(0..3)).batch_size(1)).await.unwrap();
    run(&job, &service, 1).await;
    let message = job.plan().message().clone();
    for csv in [
        "\u{feff}to,NAME\nr0@example.com,0\nr1@example.com,0\nr2@example.com,0\n",
        "to,NAME\r\nr0@example.com,0\r\nr1@example.com,0\r\nr2@example.com,0\r\n",
        "NAME,to\n0,r2@example.com\n0,r1@example.com\n0,r0@example.com\n",
    ] {
        let path = inputs.folder.path().join("people.csv");
        std::fs::write(&path, csv).unwrap();
        let same = inputs.plan(Bulk::new(Input::csv(path), message.clone()).batch_size(1)).await.unwrap();
        assert_eq!(same.plan().id(), job.plan().id(), "{csv:?}");
        assert!(finish(&same, &service).await.all_sent());
    }
    let found = inputs.differences(inputs.bulk(&rows(0..2)).batch_size(1)).await;
    assert_eq!((found.what(), found.remaining, found.missing), ("rows".to_owned(), 0, 1));
    assert_eq!((service.delivered(), inputs.jobs()), ((3, 1), 1));
}

#[tokio::test(start_paused = true)]
async fn another_base_url_sends_no_row_of_a_started_job() {
    // F-13
    let (mut inputs, service) = (Inputs::new(), Service::reliable());
    let other = Client::new("http://localhost:1", "re_x").unwrap();
    let jobs = inputs.folder.path().join("jobs");
    // A plan that was never started is replaced.
    inputs.bulk(&rows(0..200)).plan(&other, &jobs).await.unwrap();
    let first = inputs.plan(inputs.bulk(&rows(0..200))).await.unwrap();
    assert_eq!((first.plan().origin(), inputs.jobs()), ("http://127.0.0.1:1/", 1));
    run(&first, &service, 1).await;
    let again = async |bulk: Bulk| {
        let error = bulk.plan(&other, &jobs).await.unwrap_err();
        let found = matches!(&error, BulkError::Account(crate::AccountError::OtherService { .. }));
        assert!(found, "{error}");
        assert!(
            error.to_string().contains("127.0.0.1") && error.to_string().contains("localhost"),
            "{error}"
        );
    };
    for recipients in [200, 201] {
        again(inputs.bulk(&rows(0..recipients))).await;
        again(inputs.bulk(&rows(0..recipients)).limit(3)).await;
        again(inputs.bulk(&rows(0..recipients)).add_rows(ChangedRows::Send)).await;
    }
    finish(&first, &service).await;
    let unnamed = inputs.plan(inputs.unnamed(&rows(0..3)).await).await.unwrap();
    finish(&unnamed, &service).await;
    again(inputs.unnamed(&rows(0..3)).await).await;
    // Another mailing doesn't change that.
    inputs.subject = "Goodbye {{{NAME}}}";
    finish(&inputs.plan(inputs.bulk(&rows(0..200))).await.unwrap(), &service).await;
    inputs.subject = "Hello {{{NAME}}}";
    again(inputs.bulk(&rows(0..200))).await;
    assert!(inputs.bulk(&rows(0..200)).job("live").plan(&other, &jobs).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_report_counts_the_requests_for_all_parts_of_the_run() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    add_rows(&inputs, &rows(0..3), &service, 1).await;
    let job = add_rows(&inputs, &rows(0..5), &service, 0).await;
    let before = service.requests();
    let report = finish(&job, &service).await;
    assert_eq!((report.requests, service.requests() - before), (4, 4));
    assert_eq!(job.report().await.unwrap(), Some(report));
}

/// Plans these rows as another part of the job if they are new, and runs the job until a quota is exhausted after this many requests.
async fn add_rows(
    inputs: &Inputs,
    rows: &[(usize, usize)],
    service: &Arc<Service>,
    accepted: u64,
) -> BulkJob {
    service.set_script(|_, _| None);
    let job = inputs.plan(inputs.bulk(rows).batch_size(1).add_rows(ChangedRows::Reject)).await.unwrap();
    let report = run(&job, service, accepted).await;
    assert_eq!(report.job, job.plan().id(), "whichever part was interrupted");
    job
}

#[tokio::test(start_paused = true)]
async fn an_added_row_is_sent_even_if_the_input_is_the_earlier_one_again() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = add_rows(&inputs, &rows(0..2), &service, 1).await;
    let second = add_rows(&inputs, &rows(0..3), &service, 0).await;
    assert_eq!(second.plan().earlier_parts(), [first.plan().id()]);
    let found = inputs.differences(inputs.bulk(&rows(0..2)).batch_size(1)).await;
    assert_eq!((found.job.as_str(), found.remaining), (second.plan().id(), 2));
    assert_eq!((found.known, found.new, found.missing), (2, 0, 1));
    let again = add_rows(&inputs, &rows(0..2), &service, 0).await;
    assert_eq!(again.plan().id(), second.plan().id());
    let report = finish(&again, &service).await;
    assert_eq!((report.ending, report.counts.sent), (Ending::Finished, 3));
    assert_eq!((service.delivered(), inputs.jobs()), ((3, 1), 2));
    // There is nothing to continue in a finished job.
    let repeated = inputs.plan(inputs.bulk(&rows(0..2)).batch_size(1)).await.unwrap();
    assert_eq!(repeated.plan().id(), first.plan().id());
}

#[tokio::test(start_paused = true)]
async fn a_limited_plan_sends_only_its_rows_while_a_later_part_is_unfinished() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let trial = || inputs.bulk(&rows(0..5)).batch_size(1).limit(2);
    let first = inputs.plan(trial()).await.unwrap();
    finish(&first, &service).await;
    add_rows(&inputs, &rows(0..5), &service, 1).await;
    let again = inputs.plan(trial().add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!(again.plan().id(), first.plan().id());
}

#[tokio::test(start_paused = true)]
async fn another_run_of_a_job_is_not_continued_by_an_earlier_input() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    add_rows(&inputs, &rows(0..3), &service, 1).await;
    let second = add_rows(&inputs, &rows(0..4), &service, 0).await;
    let other = inputs.plan(inputs.bulk(&rows(0..1)).batch_size(1).new_run()).await.unwrap();
    finish(&other, &service).await;
    let job = add_rows(&inputs, &rows(0..3), &service, 0).await;
    assert_eq!(job.plan().id(), second.plan().id());
}

#[tokio::test(start_paused = true)]
async fn the_same_command_reports_the_job_whose_retry_is_unfinished() {
    let inputs = Inputs::new();
    let service = Service::new(|_, _| Some(Fault::Partial));
    let first = inputs.plan(inputs.bulk(&rows(0..2)).batch_size(1)).await.unwrap();
    assert_eq!(finish(&first, &service).await.counts.rejected, 2);
    let retry = first.retry(Retry::Rejected).await.unwrap().unwrap();
    service.set_script(|_, _| Some(Fault::Quota));
    finish(&retry, &service).await;
    let same = inputs.plan(inputs.bulk(&rows(0..2)).batch_size(1)).await.unwrap();
    assert_eq!(same.plan().id(), first.plan().id());
    let continued = add_rows(&inputs, &rows(0..2), &service, 2).await;
    assert_eq!(continued.plan().id(), retry.plan().id());
    assert_eq!(continued.status().await.unwrap().counts.sent, 2);
}

/// Rows are appended, edited, reordered and dropped between runs that end at any request, and some parts are canceled.
#[tokio::test(start_paused = true)]
async fn no_sequence_of_changed_inputs_sends_a_row_twice_or_loses_one() {
    // F-09
    for seed in 0..40 {
        let mut random = StdRng::seed_from_u64(seed);
        let inputs = Inputs::new();
        let service = Service::faulty(seed, 0.2);
        let mut input = rows(0..random.gen_range(1..40));
        let (mut all, mut owed) = (input.clone(), Vec::new());
        let mut next = 1_000;
        for _ in 0..random.gen_range(2..6) {
            for _ in 0..random.gen_range(1..4) {
                let at = random.gen_range(0..input.len());
                match random.gen_range(0..4) {
                    0 => {
                        input.extend((next..next + random.gen_range(1..12)).map(|recipient| (recipient, 0)));
                        next += 12;
                    }
                    1 => input[at].1 += 1,
                    2 => input.rotate_left(at),
                    _ => drop(input.split_off(at.max(1))),
                }
            }
            all.extend(&input);
            let bulk = inputs.bulk(&input).batch_size(10).add_rows(ChangedRows::Send);
            let job = inputs.plan(bulk).await.unwrap();
            run(&job, &service, random.gen_range(0..4)).await;
            if random.gen_bool(0.2) {
                job.cancel().await.unwrap();
                owed.clear();
            } else {
                owed.extend(input.clone());
            }
        }
        let bulk = inputs.bulk(&input).batch_size(10).add_rows(ChangedRows::Send);
        let job = inputs.plan(bulk).await.unwrap();
        let report = finish(&job, &service).await;
        assert_eq!(report.ending, Ending::Finished, "{seed}");
        owed.extend(input);
        let state = service.state.lock().unwrap();
        let key = |(recipient, name): &(usize, usize)| format!("r{recipient}@example.com Hello {name}");
        let missing = owed.iter().map(key).filter(|row| !state.deliveries.contains_key(row));
        let missing: std::collections::HashSet<_> = missing.collect();
        // A canceled part can't determine the outcomes of its requests in flight.
        assert!(missing.len() as u64 <= report.counts.unknown, "{seed}: {missing:?}");
        let planned: std::collections::HashSet<_> = all.iter().map(key).collect();
        let wrong: Vec<_> =
            state.deliveries.iter().filter(|(row, times)| **times != 1 || !planned.contains(*row)).collect();
        assert!(wrong.is_empty(), "{seed}: {wrong:?}");
    }
}

//! Jobs whose journals are damaged at any offset and in many ways, then salvaged and resumed.

use std::{collections::HashSet, fs};

use tempfile::TempDir;

use super::*;
use crate::{
    Salvage, SalvageOptions, Schedule,
    journal::{self, Record},
};

const ROWS: usize = 300;

/// The damage to a journal at an offset.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Flipped,
    Zeroed(usize),
    Overwritten(usize),
    CutOut(usize),
    Truncated,
}

const DAMAGE: [Damage; 9] = [
    Damage::Flipped,
    Damage::Zeroed(8),
    Damage::Zeroed(100),
    Damage::Zeroed(1_024),
    Damage::Overwritten(30),
    Damage::Overwritten(600),
    Damage::CutOut(25),
    Damage::CutOut(700),
    Damage::Truncated,
];

impl Damage {
    fn apply(self, journal: &mut Vec<u8>, at: usize, random: &mut StdRng) {
        let size = journal.len();
        let range = |len: usize| at..size.min(at + len);
        match self {
            Self::Flipped => journal[at] ^= 1 << random.gen_range(0..8),
            Self::Zeroed(len) => journal[range(len)].fill(0),
            Self::Overwritten(len) => {
                let range = range(len);
                random.fill(&mut journal[range]);
            }
            Self::CutOut(len) => drop(journal.drain(range(len))),
            Self::Truncated => journal.truncate(at),
        }
    }

    fn options(self) -> SalvageOptions {
        let options = SalvageOptions::default();
        if matches!(self, Self::Truncated) { options.assume_truncated() } else { options }
    }
}

/// A job and its service after several runs.
struct Snapshot {
    folder: TempDir,
    id: String,
    state: State,
    counts: Counts,
    journal: Vec<u8>,
}

impl Snapshot {
    /// Runs a job in batches of two and kills it several times, the last time when most or all of it has been sent.
    async fn new(seed: u64, is_finished: bool) -> Self {
        let folder = folder();
        let job = plan_job_in_batches(folder.path(), ROWS, 2).await;
        let service = strict_service(seed, 0.1, &[7, 31, 130, 211]);
        let mut random = StdRng::seed_from_u64(seed);
        while service.delivered().0 < ROWS * 2 / 3 {
            abort_after(&job, &service, patient_options(), random.gen_range(10..60)).await;
        }
        if is_finished {
            finish_with(&job, &service, patient_options()).await;
        }
        let journal = fs::read(job.plan().dir().join("journal")).unwrap();
        let counts = job.status().await.unwrap().counts;
        let state = service.state.lock().unwrap().clone();
        Self { folder, id: job.plan().id().to_owned(), state, counts, journal }
    }

    /// Returns a copy of the job with another journal, and a copy of its service.
    async fn copy(&self, journal: &[u8]) -> (TempDir, BulkJob, Arc<Service>) {
        let copy = folder();
        let (from, to) = (self.folder.path().join("jobs").join(&self.id), copy.path().join(&self.id));
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
        fs::write(to.join("journal"), journal).unwrap();
        let service = Service::reliable();
        *service.state.lock().unwrap() = self.state.clone();
        (copy, BulkJob::open(to).await.unwrap(), service)
    }
}

/// Salvages and resumes a copy of the job with this journal. Returns the salvage results and the report, or `None` if the damage is undetectable.
async fn salvage_and_resume(
    snapshot: &Snapshot,
    journal: &[u8],
    options: SalvageOptions,
    have_keys_expired: bool,
) -> Option<(Salvage, Report)> {
    let (_folder, job, service) = snapshot.copy(journal).await;
    let [salvage] = job.salvage(options).await.unwrap().try_into().ok()?;
    assert_eq!(fs::read(salvage.damaged.as_ref().unwrap()).unwrap(), journal);
    assert_eq!(job.status().await.unwrap().counts, salvage.counts);
    service.forgets_keys.store(have_keys_expired, Ordering::SeqCst);
    let hours = if have_keys_expired { 24 } else { 0 };
    let run =
        job.start_with(Arc::clone(&service), patient_options().clock_offset(Duration::from_hours(hours)));
    let report = run.finish().await.unwrap();
    assert_eq!((&report.ending, report.counts.remaining), (&Ending::Finished, 0));
    let Counts { sent, rejected, unknown, .. } = report.counts;
    assert_eq!(sent + rejected + unknown, ROWS as u64);
    assert!(service.delivered().1 <= 1, "an email was sent twice");
    let rows = outcomes(&job).await;
    let state = service.state.lock().unwrap();
    let delivered: HashSet<&str> =
        state.deliveries.keys().filter_map(|email| email.split_once(' ')).map(|(to, _)| to).collect();
    for row in rows {
        let is_delivered = delivered.contains(&*row.recipient);
        match row.outcome {
            Outcome::Sent { .. } => assert!(is_delivered, "row {} is lost", row.row),
            Outcome::Rejected { .. } => assert!(!is_delivered, "row {} was sent", row.row),
            Outcome::Unknown { .. } => {}
        }
    }
    Some((salvage, report))
}

#[tokio::test(start_paused = true)]
async fn a_salvaged_job_sends_no_email_twice_and_loses_none_silently() {
    // F-09
    let mut random = StdRng::seed_from_u64(1);
    let (mut cases, mut unseen, mut unknown) = (0_u32, 0_u32, 0);
    // All eighths of the journal with `IDEMPOST_EXHAUSTIVE`; otherwise two or three, starting at a different one for each damage.
    let step = if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { 1 } else { 3 };
    for (seed, is_finished) in [(1, false), (2, true)] {
        let snapshot = Snapshot::new(seed, is_finished).await;
        for damage in DAMAGE {
            for have_keys_expired in [false, true] {
                for sample in (cases as usize % step..8).step_by(step) {
                    let size = snapshot.journal.len() / 8;
                    let at = sample * size + random.gen_range(0..size);
                    let mut journal = snapshot.journal.clone();
                    damage.apply(&mut journal, at, &mut random);
                    cases += 1;
                    let case = format!("seed {seed}, {damage:?} at {at}, keys expired: {have_keys_expired}");
                    println!("{case}");
                    match salvage_and_resume(&snapshot, &journal, damage.options(), have_keys_expired).await {
                        Some((_, report)) => unknown += report.counts.unknown,
                        None => unseen += 1,
                    }
                }
            }
        }
    }
    println!("{cases} cases, {unseen} unseen, {unknown} unknown");
    assert!(unseen * 20 < cases, "{unseen} of {cases}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_record_of_a_settled_batch_makes_no_other_row_unknown() {
    let snapshot = Snapshot::new(3, true).await;
    // One bit in the middle of a job: everything before and after it is known.
    let len = snapshot.journal.len();
    for at in (len / 4..len / 2).step_by(97) {
        let mut journal = snapshot.journal.clone();
        journal[at] ^= 1;
        for have_keys_expired in [false, true] {
            let (salvage, report) =
                salvage_and_resume(&snapshot, &journal, SalvageOptions::default(), have_keys_expired)
                    .await
                    .unwrap();
            assert!(report.counts.unknown <= snapshot.counts.unknown + 2, "{at}: {report:?}");
            assert!(salvage.counts.sent + 4 >= snapshot.counts.sent, "{at}: {salvage:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_undamaged_journal_and_a_dry_run_change_nothing() {
    let snapshot = Snapshot::new(4, false).await;
    let (_folder, job, _) = snapshot.copy(&snapshot.journal).await;
    assert!(job.salvage(SalvageOptions::default()).await.unwrap().is_empty());
    let mut damaged = snapshot.journal.clone();
    let at = damaged.len() / 2;
    damaged[at..at + 50].fill(0);
    let (_folder, job, service) = snapshot.copy(&damaged).await;
    let dry = job.salvage(SalvageOptions::default().dry_run()).await.unwrap().remove(0);
    assert!(dry.damaged.is_none() && dry.records > 0 && dry.lost.len() == 1, "{dry:?}");
    assert_eq!(fs::read(job.plan().dir().join("journal")).unwrap(), damaged);
    assert!(job.status().await.is_err());
    let salvage = job.salvage(SalvageOptions::default()).await.unwrap().remove(0);
    assert_eq!(Salvage { damaged: None, ..salvage }, dry);
    // A second salvage keeps both damaged journals.
    let path = job.plan().dir().join("journal");
    let mut journal = fs::read(&path).unwrap();
    journal[100] ^= 1;
    fs::write(&path, journal).unwrap();
    let again = job.salvage(SalvageOptions::default()).await.unwrap().remove(0);
    assert!(again.damaged.as_ref().unwrap().ends_with("journal.damaged-2"), "{again:?}");
    let report = job.start_with(service, patient_options()).finish().await.unwrap();
    assert_eq!(report.ending, Ending::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_later_attempt_with_a_lost_intent_makes_no_key_seem_new() {
    // F-09
    let (folder, wall) = (folder(), WallClock::without_waits());
    let past = i64::try_from(wall.now().as_millis()).unwrap() % (24 * 3_600_000);
    wall.advance_millis(12 * 3_600_000 - past);
    let job = plan_job_in_batches(folder.path(), 10, 10).await;
    let (moved, mut attempts) = (wall.clone(), 0);
    let service = Service::new(move |_, _| {
        attempts += 1;
        if attempts == 1 {
            // To the next day, before the key expires.
            moved.pass(Duration::from_hours(20));
        }
        Some(Fault::TimedOut { executed: true })
    });
    let schedule = Schedule::new().daily([10]).unwrap().time_zone("UTC").unwrap();
    let options = || patient_options().wall_clock(&wall);
    abort_after(&job, &service, options().schedule(schedule), 2).await;

    let path = job.plan().dir().join("journal");
    let (mut journal, mut records) = (fs::read(&path).unwrap(), Vec::new());
    journal::read(&path, |record| {
        records.push(record);
        Ok(())
    })
    .unwrap();
    let is_expected =
        matches!(records[..], [Record::Job(_), Record::Intent { .. }, Record::Attempt { .. }, ..]);
    assert!(is_expected, "{records:?}");
    // One bit of the intent.
    let mut before = Vec::new();
    journal::damage::write(&mut before, &records[0]).unwrap();
    journal[before.len() + 12] ^= 1;
    fs::write(&path, &journal).unwrap();
    job.salvage(SalvageOptions::default()).await.unwrap();

    wall.pass(Duration::from_hours(5));
    service.forgets_keys.store(true, Ordering::SeqCst);
    service.set_script(|_, _| None);
    let report = finish_with(&job, &service, options()).await;
    assert_eq!(report.counts, Counts { unknown: 10, ..Counts::default() });
    assert_eq!(service.delivered(), (10, 1));
}

#[tokio::test(start_paused = true)]
async fn salvaging_replaces_the_lists_of_rejected_and_unknown_rows() {
    // F-09
    let (_folder, job) = planned_job(200).await;
    let service = Service::new(|_, request| request.key.contains("/1/").then_some(Fault::Partial));
    finish_with(&job, &service, patient_options()).await;
    let [journal, rejected, unknown] =
        ["journal", "rejected.csv", "unknown.csv"].map(|name| job.plan().dir().join(name));
    assert!(rejected.exists() && !unknown.exists());
    let records = fs::read(&journal).unwrap();
    fs::write(&journal, &records[..200]).unwrap();
    let truncated = SalvageOptions::default().assume_truncated();
    job.salvage(truncated.dry_run()).await.unwrap();
    assert!(rejected.exists() && !unknown.exists());
    assert_eq!(job.salvage(truncated).await.unwrap()[0].counts.unknown, 200);
    assert!(!rejected.exists());
    assert_eq!(fs::read_to_string(unknown).unwrap().lines().count(), 201);
}

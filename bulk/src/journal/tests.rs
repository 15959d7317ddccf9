mod memory;

use std::{
    iter,
    path::Path,
    sync::mpsc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, future::join_all};
use proptest::prelude::*;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use self::memory::{Disk, Fault};
use super::*;
use crate::state::{BatchState, BatchStates};

const BATCHES: u32 = 5;

fn job() -> Record {
    Record::Job(Job { id: "j".into(), started: UnixMillis(5) })
}

fn intent(batch: u32) -> Record {
    Record::Intent { batch, emails: 2, at: UnixMillis(10), hash: [9; 16] }
}

fn ids(count: u128) -> Vec<SentId> {
    (0..count).map(|id| SentId::Uuid(uuid::Uuid::from_u128(id))).collect()
}

/// A group of records to append, including the preceding notes.
type Step = Vec<Record>;

/// Batches with every outcome, individually and in groups.
fn script() -> Vec<Step> {
    let partial = vec![EmailOutcome::Accepted(SentId::from("a")), EmailOutcome::Rejected("no".into())];
    vec![
        vec![job()],
        vec![intent(0)],
        vec![intent(1), intent(2)],
        vec![Record::Result { batch: 0, ids: ids(2) }],
        vec![Record::NotSent { batch: 1 }, Record::Rate(2.5), intent(1)],
        vec![Record::Unknown { batch: 2, reason: "t".into() }, Record::Partial { batch: 1, emails: partial }],
        vec![intent(3), intent(4)],
        vec![Record::Rejected { batch: 4, status: 422, message: "m".into() }],
    ]
}

/// Replays the journal from the disk.
fn replay(disk: &Disk) -> Result<(Journal, Vec<Record>)> {
    let mut records = Vec::new();
    let journal = Journal::open(disk.clone(), |record| {
        records.push(record);
        Ok(())
    })?;
    Ok((journal, records))
}

/// Runs steps until one fails, and returns the number of confirmed steps.
async fn run(disk: &Disk, steps: &[Step]) -> usize {
    let Ok((journal, _)) = replay(disk) else { return 0 };
    for (at, step) in steps.iter().enumerate() {
        // Append all but the last record as notes, to test their order.
        let (last, notes) = step.split_last().unwrap();
        let result = if at % 2 == 0 {
            for note in notes {
                journal.note(note);
            }
            journal.append(last).await
        } else {
            journal.append_all(step).await
        };
        if result.is_err() {
            return at;
        }
    }
    steps.len()
}

/// Checks that what a crash left contains every confirmed record and nothing that wasn't appended. Returns the number of records.
fn check(image: &Disk, steps: &[Step], confirmed: usize) -> usize {
    let issued = steps.concat();
    let confirmed = steps[..confirmed].concat().len();
    let (_, records) = replay(image).unwrap();
    assert_eq!(records, issued[..records.len()], "the records are a prefix of the appended ones");
    assert!(records.len() >= confirmed, "{} of {confirmed} confirmed records are left", records.len());

    let mut states = BatchStates::new(BATCHES);
    for record in &records {
        states.apply(record).unwrap();
    }
    for record in &issued[..confirmed] {
        match record {
            Record::Intent { batch, .. } if !issued.contains(&Record::NotSent { batch: *batch }) => {
                assert_ne!(states.state(*batch), Some(BatchState::Fresh));
            }
            Record::Result { batch, .. } => assert_eq!(states.state(*batch), Some(BatchState::Done)),
            _ => {}
        }
    }
    records.len()
}

/// Every byte with `IDEMPOST_EXHAUSTIVE`; otherwise every fifth, starting at a different one for each operation.
fn step() -> usize {
    if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { 1 } else { 5 }
}

async fn operations() -> usize {
    let disk = Disk::default();
    assert_eq!(run(&disk, &script()).await, script().len());
    disk.lock().operations
}

#[tokio::test]
async fn a_crash_at_any_operation_and_any_byte_loses_no_confirmed_record() {
    // F-09
    for crash in 0..operations().await {
        let disk = Disk::default().fail_at(crash, Fault::Crash);
        let confirmed = run(&disk, &script()).await;
        for image in disk.torn_states().into_iter().skip(crash % step()).step_by(step()) {
            let disk = Disk::from_bytes(image);
            let left = check(&disk, &script(), confirmed);
            // A resumption completes the job.
            let rest: Vec<_> = script().concat()[left..].iter().map(|record| vec![record.clone()]).collect();
            assert_eq!(run(&disk, &rest).await, rest.len());
            assert_eq!(replay(&disk).unwrap().1, script().concat());
        }
        // If only the process crashed, later crashes of the machine lose none of the records that the next process has read.
        disk.repair();
        let read = replay(&disk).unwrap().1.len();
        for image in disk.torn_states() {
            assert_eq!(check(&Disk::from_bytes(image), &script(), confirmed), read);
        }
    }
}

#[tokio::test]
async fn a_second_crash_during_recovery_loses_no_confirmed_record() {
    for crash in 0..operations().await {
        let disk = Disk::default().fail_at(crash, Fault::Crash);
        let confirmed = run(&disk, &script()).await;
        for image in disk.torn_states().into_iter().skip(3 * (crash % step())).step_by(3 * step()) {
            for second in 0..3 {
                let disk = Disk::from_bytes(image.clone()).fail_at(second, Fault::Crash);
                let _ = replay(&disk);
                for image in disk.torn_states() {
                    check(&Disk::from_bytes(image), &script(), confirmed);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_crash_that_leaves_gaps_loses_no_confirmed_record() {
    let large = |batch| vec![Record::Unknown { batch, reason: "x".repeat(450).into() }; 8];
    let steps: Vec<_> =
        iter::once(vec![job()]).chain((0..4).flat_map(|batch| [vec![intent(batch)], large(batch)])).collect();
    let (mut random, mut gaps) = (StdRng::seed_from_u64(1), 0);
    for crash in 3..3 + 2 * steps.len() {
        let disk = Disk::default().fail_at(crash, Fault::Crash);
        let confirmed = run(&disk, &steps).await;
        for _ in 0..20 {
            let image = disk.with_gaps(512, || random.gen_bool(0.6));
            gaps += usize::from(image.windows(500).any(|window| window.iter().all(|byte| *byte == 0)));
            check(&Disk::from_bytes(image), &steps, confirmed);
        }
    }
    assert!(gaps > 50, "{gaps}");
}

#[tokio::test]
async fn a_full_disk_fails_all_later_appends_and_a_resumption_continues() {
    // F-10
    for full in 0..operations().await {
        for fits in [0, 1, 20] {
            let disk = Disk::default().fail_at(full, Fault::Full(fits));
            let confirmed = match replay(&disk) {
                Err(error) => {
                    assert!(is_full(&error), "{error:?}");
                    0
                }
                Ok((journal, _)) => {
                    let (mut confirmed, mut failed) = (0, false);
                    for step in script() {
                        match journal.append_all(&step).await {
                            Ok(()) => {
                                assert!(!failed, "an append succeeds after a failed one");
                                confirmed += 1;
                            }
                            Err(error) => {
                                assert!(is_full(&error), "{error:?}");
                                failed = true;
                                disk.repair();
                            }
                        }
                    }
                    assert!(is_full(&journal.append(&job()).await.unwrap_err()));
                    assert!(is_full(&journal.append_all(&[]).await.unwrap_err()));
                    confirmed
                }
            };
            disk.repair();
            let left = check(&disk, &script(), confirmed);
            let rest = [script().concat()[left..].to_vec(), vec![Record::Rate(1.0)]].concat();
            assert_eq!(run(&disk, &[rest]).await, 1);
            assert_eq!(replay(&disk).unwrap().1, [script().concat(), vec![Record::Rate(1.0)]].concat());
        }
    }
}

fn is_full(error: &BulkError) -> bool {
    matches!(error, BulkError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
}

#[tokio::test]
async fn damage_before_the_last_group_is_reported_with_its_offset() {
    // F-10
    let disk = Disk::default();
    run(&disk, &script()).await;
    let (bytes, last) = (disk.bytes(), *group_starts(&disk.bytes()).last().unwrap());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        let image = Disk::from_bytes(damaged.clone());
        match replay(&image) {
            Ok((_, records)) => {
                assert!(at >= last, "byte {at}");
                assert_eq!(records, script().concat()[..records.len()]);
            }
            Err(BulkError::JournalDamaged { path, offset }) => {
                assert!(at < last, "byte {at}");
                let offset = usize::try_from(offset).unwrap();
                assert!(offset <= at && at - offset < 60, "byte {at}, reported as {offset}");
                assert_eq!(path, Path::new("memory"));
                assert_eq!(image.bytes(), damaged, "a damaged journal isn't changed");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns the offsets of the frames that start a group.
fn group_starts(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut starts) = (recovery::HEADER.len(), Vec::new());
    while let Some(frame) = frame::parse(&bytes[at..]) {
        if frame.unsynced == 0 {
            starts.push(at);
        }
        at += frame.len();
    }
    assert_eq!(at, bytes.len());
    starts
}

#[tokio::test]
async fn a_record_that_contradicts_the_others_is_damage() {
    // F-10
    let disk = Disk::default();
    run(&disk, &[vec![job()], vec![intent(0)], vec![intent(BATCHES)]]).await;
    let mut states = BatchStates::new(BATCHES);
    let opened = Journal::open(disk.clone(), |record| states.apply(&record));
    let last = *group_starts(&disk.bytes()).last().unwrap() as u64;
    assert!(matches!(opened, Err(BulkError::JournalDamaged { offset, .. }) if offset == last));
}

#[test]
fn a_file_of_another_format_is_never_overwritten() {
    for (bytes, newer) in [
        ("BULKJ2\n", true),
        ("BULKJ2\n and more", true),
        ("something else", false),
        ("x", false),
        ("BULKJ1 \n", false),
        ("\0\0\0\0\0\0\0\0", false),
    ] {
        for disk in [Disk::from_bytes(bytes), Disk::from_bytes(bytes).with_reads_of(1)] {
            match replay(&disk).unwrap_err() {
                BulkError::JournalDamaged { offset: 0, .. } => assert!(!newer, "{bytes}"),
                BulkError::NotRunnable(message) => {
                    assert!(newer && message.contains("newer version"), "{message}");
                }
                error => panic!("{error}"),
            }
            assert_eq!(disk.bytes(), bytes.as_bytes());
        }
    }
    for bytes in [&b""[..], b"BULK", b"\0\0\0", b"BU\0\0\0\0\0"] {
        let disk = Disk::from_bytes(bytes);
        assert!(replay(&disk).unwrap().1.is_empty());
        assert_eq!(disk.bytes(), recovery::HEADER);
    }
}

proptest! {
    #[test]
    fn recovering_arbitrary_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = replay(&Disk::from_bytes([recovery::HEADER, &bytes].concat()));
        let _ = replay(&Disk::from_bytes(bytes));
    }

    #[test]
    fn a_mutated_journal_yields_a_prefix_of_its_records_or_is_damaged(
        records in prop::collection::vec((record::tests::any_record(), any::<bool>()), 0..12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut bytes, mut group) = (recovery::HEADER.to_vec(), Vec::new());
        for (record, sync) in &records {
            frame::push(&mut group, record).unwrap();
            if *sync {
                bytes.append(&mut group);
            }
        }
        bytes.append(&mut group);
        bytes.truncate(cut.index(bytes.len() + 1));
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        if let Ok((_, found)) = replay(&Disk::from_bytes(bytes)) {
            prop_assert!(records.iter().map(|(record, _)| record).take(found.len()).eq(&found));
        }
    }
}

#[tokio::test]
async fn concurrent_appends_share_one_sync() {
    let disk = Disk::default();
    let (journal, _) = replay(&disk).unwrap();
    let records: Vec<_> = (0..500).map(intent).collect();
    let before = disk.lock().syncs;
    let mut appends = join_all(records.iter().map(|record| journal.append(record)));
    {
        // The disk is busy with the first append while the others arrive.
        let _busy = disk.lock();
        assert!((&mut appends).now_or_never().is_none());
    }
    let appends = appends.await;
    assert!(appends.len() == 500 && appends.iter().all(Result::is_ok));
    let syncs = disk.lock().syncs - before;
    assert!((1..=2).contains(&syncs), "{syncs}");
    drop(journal);
    assert_eq!(replay(&disk).unwrap().1, records);
}

#[tokio::test]
async fn a_note_is_written_with_the_next_record_or_when_the_journal_is_closed() {
    let disk = Disk::default();
    let (journal, _) = replay(&disk).unwrap();
    let empty = disk.bytes();
    journal.note(&Record::Rate(1.0));
    assert_eq!(disk.bytes(), empty);
    journal.append(&intent(0)).await.unwrap();
    journal.note(&Record::Rate(2.0));
    journal.append_all(&[]).await.unwrap();
    assert_eq!(replay(&disk).unwrap().1, [Record::Rate(1.0), intent(0), Record::Rate(2.0)]);

    let (journal, _) = replay(&disk).unwrap();
    journal.note(&Record::Rate(3.0));
    drop(journal);
    assert_eq!(replay(&disk).unwrap().1.last(), Some(&Record::Rate(3.0)));
}

#[test]
fn many_notes_are_written_without_another_record() {
    let (sender, appended) = mpsc::channel();
    let watched = move |bytes: &[u8]| sender.send(bytes.len()).unwrap();
    let journal = Journal::open(Watched(Disk::default(), watched), |_| Ok(())).unwrap();
    assert_eq!(appended.recv(), Ok(recovery::HEADER.len()));
    let frame = frame::OVERHEAD + 4;
    let enough = 64 * 1024 / frame + 1;
    for _ in 0..enough {
        journal.note(&Record::NotSent { batch: 0 });
    }
    assert_eq!(appended.recv_timeout(Duration::from_mins(1)), Ok(enough * frame));
}

#[tokio::test]
async fn a_record_that_is_too_large_fails_alone() {
    let disk = Disk::default();
    let (journal, _) = replay(&disk).unwrap();
    let emails = vec![EmailOutcome::Rejected("x".repeat(1024).into()); 1_100];
    let error = journal.append_all(&[intent(0), Record::Partial { batch: 0, emails }]).await.unwrap_err();
    assert!(matches!(&error, BulkError::Io { source, .. } if source.kind() == io::ErrorKind::InvalidInput));
    journal.append(&intent(1)).await.unwrap();
    drop(journal);
    assert_eq!(replay(&disk).unwrap().1, [intent(1)]);
}

/// A storage that calls a function before each append.
struct Watched<F>(Disk, F);

impl<F: FnMut(&[u8]) + Send + 'static> Storage for Watched<F> {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1(bytes);
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }
}

#[tokio::test]
async fn a_panic_of_the_writer_fails_all_appends() {
    let panicking = |bytes: &[u8]| assert!(bytes == recovery::HEADER, "a simulated panic of the writer");
    let journal = Journal::open(Watched(Disk::default(), panicking), |_| Ok(())).unwrap();
    journal.append(&intent(0)).await.unwrap_err();
    let error = journal.append(&intent(0)).await.unwrap_err();
    assert!(
        matches!(&error, BulkError::Io { source, .. } if source.to_string() == "the journal is closed"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_file_keeps_the_journal_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = Journal::open(FileStorage::open(&path).unwrap(), |_| panic!()).unwrap();
    for step in script() {
        journal.append_all(&step).await.unwrap();
    }
    drop(journal);
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777,
        0o600
    );

    // The end of the last write is lost.
    let len = path.metadata().unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len - 1).unwrap();
    let mut records = Vec::new();
    let journal = Journal::open(FileStorage::open(&path).unwrap(), |record| {
        records.push(record);
        Ok(())
    })
    .unwrap();
    let mut expected = script().concat();
    expected.pop();
    assert_eq!(records, expected);
    journal.append(&Record::Rate(1.0)).await.unwrap();
    drop(journal);
    let mut last = None;
    Journal::open(FileStorage::open(&path).unwrap(), |record| {
        last = Some(record);
        Ok(())
    })
    .unwrap();
    assert_eq!(last, Some(Record::Rate(1.0)));
}

#[tokio::test]
async fn a_journal_that_is_only_read_keeps_its_torn_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    read(&path, |_| panic!("there is no journal")).unwrap();

    let disk = Disk::default();
    run(&disk, &script()).await;
    let torn = &disk.bytes()[..disk.bytes().len() - 1];
    std::fs::write(&path, torn).unwrap();
    let mut records = Vec::new();
    read(&path, |record| {
        records.push(record);
        Ok(())
    })
    .unwrap();
    assert_eq!(records, script().concat()[..records.len()]);
    assert_eq!(records.len() + 1, script().concat().len());
    assert_eq!(std::fs::read(&path).unwrap(), torn);

    let below_a_file = read(&path.join("journal"), |_| Ok(()));
    assert!(cfg!(windows) || matches!(below_a_file, Err(BulkError::Io { action: "read", .. })));
}

/// Writes the journal of a job with a million emails to a file, replays it, and prints both times (goal for the replay: 100 ms in release mode).
#[tokio::test]
async fn a_million_emails_take_at_most_20_bytes_each() {
    const MANY: u32 = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = Journal::open(FileStorage::open(&path).unwrap(), |_| Ok(())).unwrap();
    journal.append(&job()).await.unwrap();
    let start = Instant::now();
    for first in (0..MANY).step_by(100) {
        let batches = first..first + 100;
        let intents = batches.clone().map(|batch| Record::Intent {
            batch,
            emails: 100,
            at: UnixMillis(10),
            hash: [9; 16],
        });
        journal.append_all(&intents.collect::<Vec<_>>()).await.unwrap();
        let results = batches.map(|batch| Record::Result { batch, ids: ids(100) });
        journal.append_all(&results.collect::<Vec<_>>()).await.unwrap();
    }
    let written = start.elapsed();
    drop(journal);

    // The fastest of several runs, since the machine also runs other tests.
    let replay = || {
        let start = Instant::now();
        let mut states = BatchStates::new(MANY);
        drop(Journal::open(FileStorage::open(&path).unwrap(), |record| states.apply(&record)).unwrap());
        let replayed = start.elapsed();
        assert!(states.is_complete());
        assert_eq!(states.settled_counts().sent, 1_000_000);
        replayed
    };
    let attempts = if cfg!(debug_assertions) { 1 } else { 10 };
    let replayed = iter::repeat_with(replay).take(attempts).min().unwrap();
    let len = path.metadata().unwrap().len();
    println!("{len} bytes, written in {written:?}, replayed in {replayed:?}");
    assert!(len <= 20_000_000, "{len}");
}

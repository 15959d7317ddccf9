//! Journals of a job: frames with valid checksums around the bytes of the input, or these bytes alone.
//!
//! An input is a list of frames: type, length of the payload, payload. A first byte of 255 selects a journal without frames.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use idempost::Client;
use idempost_bulk::{Bulk, BulkError, Input, Job, Message, Status};
use tokio::runtime::Runtime;

const HEADER: &[u8] = b"BULKJ1\n";

struct Planned {
    job: Job,
    journal: PathBuf,
    runtime: Runtime,
    _folder: tempfile::TempDir,
}

pub(crate) fn run(data: &[u8]) {
    let planned = planned();
    let (journal, ends) = match data.split_first() {
        Some((255, raw)) => (raw.to_vec(), vec![raw.len() / 2]),
        _ => framed(data),
    };
    let Ok(whole) = status(planned, &journal) else { return };
    // What an interrupted write has left is a state of the past.
    for end in ends {
        for cut in [end, (end + 1).min(journal.len()), (end + 20).min(journal.len())] {
            let past = match status(planned, &journal[..cut]) {
                Ok(past) => past.counts,
                // Records that contradict the plan may add up at the end only.
                Err(BulkError::CountMismatch(_)) => continue,
                Err(error) => panic!("a journal that was cut is valid: {error}"),
            };
            let whole = whole.counts;
            assert!(past.remaining >= whole.remaining, "{past:?} before {whole:?}");
            assert!(
                past.sent <= whole.sent && past.rejected <= whole.rejected && past.unknown <= whole.unknown
            );
        }
    }
}

/// The state of the job with this journal.
fn status(planned: &Planned, journal: &[u8]) -> Result<Status, BulkError> {
    fs::write(&planned.journal, journal).expect("the journal can be written");
    planned.runtime.block_on(async {
        let status = planned.job.status().await?;
        status.counts.check(planned.job.plan().counts().valid).expect("the counts of a valid journal add up");
        let _ = planned.job.outcomes(|_| Ok(())).await;
        let _ = planned.job.report().await;
        Ok(status)
    })
}

/// The journal, and the ends of its frames.
fn framed(mut data: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut journal, mut ends) = (HEADER.to_vec(), vec![HEADER.len()]);
    while let [kind, length, rest @ ..] = data {
        let (payload, after) = rest.split_at(usize::from(*length).min(rest.len()));
        data = after;
        let mut covered = vec![*kind, 0, 0, 0, 0];
        covered.extend_from_slice(payload);
        journal.extend(u32::try_from(covered.len()).expect("a payload has at most 255 bytes").to_le_bytes());
        journal.extend(crc32fast::hash(&covered).to_le_bytes());
        journal.extend(covered);
        ends.push(journal.len());
    }
    (journal, ends)
}

fn planned() -> &'static Planned {
    static PLANNED: OnceLock<Planned> = OnceLock::new();
    PLANNED.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let client = Client::new("http://127.0.0.1:9", "re_test").expect("the settings are valid");
        let rows =
            "to,scheduled_at\nr0@example.com,\nr1@example.com,in 1 hour\nr2@example.com,\nr3@example.com,\n";
        let message = Message::new().from("hi@acme.test").subject("Hello").text("It works");
        let bulk = Bulk::new(Input::reader("input", std::io::Cursor::new(rows)), message);
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime without I/O starts");
        let job = runtime.block_on(bulk.plan(&client, folder.path())).expect("the input is valid");
        let journal = job.plan().dir().join("journal");
        Planned { job, journal, runtime, _folder: folder }
    })
}

//! Planning needs the same memory for an input of any size, counted by the allocator of this process.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use idempost::Client;
use idempost_bulk::{Bulk, ChangedRows, Input, Message};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The maximum heap size, regardless of the size of the input.
const MAX_HEAP: usize = 8 << 20;

/// Returns the number of rows of the input, which is appended to once: a million with `IDEMPOST_EXHAUSTIVE`. Either half exceeds what is sorted in memory.
fn rows() -> u64 {
    if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { 1_000_000 } else { 136_000 }
}

/// Writes rows, and the first ones once more.
fn write(path: &Path, rows: u64, repeated: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    writeln!(file, "to").unwrap();
    for row in (0..rows).chain(0..repeated) {
        writeln!(file, "r{row}@example.com").unwrap();
    }
    file.flush().unwrap();
}

#[tokio::test]
async fn planning_rows_and_adding_to_them_keeps_none_of_them_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (path, jobs) = (folder.path().join("people.csv"), folder.path().join("jobs"));
    let client = Client::new("http://127.0.0.1:9", "re_x").unwrap();
    let message = Message::new().from("hi@acme.test").subject("Hi").text("It works");
    let bulk = || Bulk::new(Input::csv(&path), message.clone());

    let (rows, repeated) = (rows(), rows() / 100);
    write(&path, rows / 2, repeated);
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let job = bulk().plan(&client, &jobs).await.unwrap();
    let counts = job.plan().counts();
    assert_eq!((counts.valid, counts.repeated, counts.duplicates), (rows / 2, repeated, 0));
    // It has begun, so that the next plan is another part of it.
    File::create(job.plan().dir().join("journal")).unwrap();

    write(&path, rows, repeated);
    let job = bulk().add_rows(ChangedRows::default()).plan(&client, &jobs).await.unwrap();
    let counts = job.plan().counts();
    assert_eq!((counts.valid, counts.known), (rows / 2, rows / 2 + repeated));
    let heap = HEAP.peak_usage() - before;
    println!("{} KiB", heap >> 10);
    assert!(heap < MAX_HEAP, "{} KiB", heap >> 10);
}

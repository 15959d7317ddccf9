//! Sequences of changed inputs and interruptions, searched exhaustively.

use std::collections::HashSet;

use super::*;

/// The user's change between two runs.
#[derive(Clone, Copy, Debug)]
enum Change {
    Append,
    Edit,
    Reorder,
    Drop,
    Cancel,
}

const CHANGES: [Change; 5] = [Change::Append, Change::Edit, Change::Reorder, Change::Drop, Change::Cancel];

/// How a run is interrupted: after this many accepted requests, by this fault of the next one.
type Interruption = (u64, Option<Fault>);

const INTERRUPTIONS: [Interruption; 4] = [
    (0, None),
    (1, None),
    (0, Some(Fault::TimedOut { executed: true })),
    (1, Some(Fault::TimedOut { executed: false })),
];

/// Plans the input and runs the job until it is interrupted.
async fn run_interrupted(
    inputs: &Inputs,
    input: &[(usize, usize)],
    service: &Arc<Service>,
    (accepted, fault): Interruption,
) -> BulkJob {
    let mut requests = 0;
    service.set_script(move |_, _| {
        requests += 1;
        match requests - 1 {
            n if n < accepted => None,
            n if n == accepted && fault.is_some() => fault,
            _ => Some(Fault::Quota),
        }
    });
    let job = inputs.plan(inputs.bulk(input).batch_size(1).add_rows(ChangedRows::Send)).await.unwrap();
    finish_with(&job, service, patient_options().concurrency(1)).await;
    job
}

/// Which cases are searched: all with `IDEMPOST_EXHAUSTIVE`, otherwise every 37th, which covers each change with each interruption twice.
fn step() -> usize {
    if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { 1 } else { 37 }
}

/// Searches sequences of two changes, and interruptions before, between and after them.
#[tokio::test(start_paused = true)]
async fn no_two_changes_between_interruptions_send_a_row_twice_or_lose_one() {
    // F-09
    let steps = || CHANGES.into_iter().flat_map(|change| INTERRUPTIONS.map(|at| (change, at)));
    let all = INTERRUPTIONS
        .into_iter()
        .flat_map(|first| steps().flat_map(move |second| steps().map(move |third| (first, second, third))));
    assert_eq!(all.clone().count(), 4 * 20 * 20);
    for (first, second, third) in all.step_by(step()) {
        let case = format!("{first:?} {second:?} {third:?}");
        let (inputs, service) = (Inputs::new(), Service::reliable());
        let mut input = rows(0..3);
        let mut job = run_interrupted(&inputs, &input, &service, first).await;
        let mut owed = input.clone();
        for (n, (change, interruption)) in [second, third].into_iter().enumerate() {
            match change {
                Change::Append => input.push((10 + n, 0)),
                Change::Edit => input[0].1 += 1,
                Change::Reorder => input.rotate_left(1),
                Change::Drop => input.truncate(input.len() - 1),
                Change::Cancel => {
                    job.cancel().await.unwrap();
                    owed.clear();
                }
            }
            job = run_interrupted(&inputs, &input, &service, interruption).await;
            owed.extend(&input);
        }
        service.set_script(|_, _| None);
        let report = finish(&job, &service).await;
        assert_eq!((report.ending, report.counts.remaining), (Ending::Finished, 0), "{case}");
        let state = service.state.lock().unwrap();
        let key = |(to, name): &(usize, usize)| format!("r{to}@example.com Hello {name}");
        let missing: HashSet<_> =
            owed.iter().map(key).filter(|row| !state.deliveries.contains_key(row)).collect();
        // A canceled part can't determine the outcomes of its requests in flight.
        assert!(missing.len() as u64 <= report.counts.unknown, "{case}: {missing:?}");
        let twice: Vec<_> = state.deliveries.iter().filter(|(_, times)| **times != 1).collect();
        assert!(twice.is_empty(), "{case}: {twice:?}");
    }
}

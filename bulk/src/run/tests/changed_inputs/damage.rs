//! Damaged files of a job.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_damaged_part_stops_the_plan() {
    type Place = fn(&[u8]) -> usize;
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..200))).await.unwrap();
    finish(&first, &service).await;
    let second = inputs.plan(inputs.bulk(&rows(0..300)).add_rows(ChangedRows::Reject)).await.unwrap();
    finish(&second, &service).await;
    let half: Place = |text| text.len() / 2;
    // A file can be damaged and still readable.
    let digit: Place = |text| text.iter().rposition(u8::is_ascii_digit).unwrap();
    let name: Place = |text| text.windows(10).position(|bytes| bytes == b"people.csv").unwrap();
    let first_byte: Place = |_| 0;
    let places = [
        ("job.json", first_byte),
        ("job.json", name),
        ("job.json", digit),
        ("plan.rows", digit),
        ("plan.idx", half),
        ("input", half),
    ];
    for (part, (file, place)) in places.iter().flat_map(|place| [(&first, place), (&second, place)]) {
        let path = part.plan().dir().join(file);
        let intact = std::fs::read(&path).unwrap();
        let mut damaged = intact.clone();
        damaged[place(&intact)] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        for add in [false, true] {
            let bulk = inputs.bulk(&rows(0..301));
            let bulk = if add { bulk.add_rows(ChangedRows::Reject) } else { bulk };
            let error = inputs.plan(bulk).await.unwrap_err();
            let BulkError::PlanChanged(message) = &error else { panic!("{file}: {error}") };
            assert!(
                message.contains(&path.display().to_string()) && message.contains("damaged"),
                "{message}"
            );
        }
        std::fs::write(&path, intact).unwrap();
    }
    let third = inputs.plan(inputs.bulk(&rows(0..301)).add_rows(ChangedRows::Reject)).await.unwrap();
    finish(&third, &service).await;
    assert_eq!(service.delivered(), (301, 1));
}

#[tokio::test(start_paused = true)]
async fn a_damaged_job_does_not_keep_another_one_from_being_paused_and_canceled() {
    let mut inputs = Inputs::new();
    let job = inputs.plan(inputs.bulk(&rows(0..2_000))).await.unwrap();
    run(&job, &Service::reliable(), 1).await;
    inputs.subject = "Goodbye {{{NAME}}}";
    let damaged = inputs.plan(inputs.bulk(&rows(0..200)).job("other")).await.unwrap();
    std::fs::write(damaged.plan().dir().join("job.json"), "{").unwrap();
    job.pause().await.unwrap();
    job.cancel().await.unwrap();
    assert_eq!(job.status().await.unwrap().state, JobState::Canceled);
}

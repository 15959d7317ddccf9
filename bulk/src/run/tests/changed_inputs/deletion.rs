//! Deleted jobs.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_deleted_job_leaves_only_its_id_behind_so_that_the_same_rows_are_sent_again() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..10))).await.unwrap();
    finish(&first, &service).await;
    let job = inputs.plan(inputs.bulk(&rows(0..11)).add_rows(ChangedRows::Reject)).await.unwrap();
    // The later part would send the rows of the first one again.
    let error = first.clone().delete().await.unwrap_err();
    assert!(error.to_string().ends_with(&format!("delete job {} instead", job.plan().id())), "{error}");
    job.delete().await.unwrap();
    let folder = inputs.folder.path().join("jobs");
    let mut left: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left.iter().map(|name| &name[..9]).collect::<Vec<_>>(),
        [".deleted-", ".deleted-", ".planning"]
    );
    // The service still knows the keys of the deleted job.
    let job = inputs.plan(inputs.bulk(&rows(0..10))).await.unwrap();
    assert_ne!(job.plan().id(), first.plan().id());
    finish(&job, &service).await;
    assert_eq!(service.delivered(), (10, 2));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_another_process_is_deleting_sends_nothing() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let job = inputs.plan(inputs.bulk(&rows(0..3))).await.unwrap();
    // Its folder is removed last.
    std::fs::remove_file(job.plan().dir().join("job.json")).unwrap();
    let error = job.start_with(Arc::clone(&service), patient_options()).finish().await.unwrap_err();
    assert!(error.to_string().contains(" was deleted"), "{error}");
    assert_eq!(service.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_is_deleted_unless_workers_still_send_one_of_its_parts() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = inputs.plan(inputs.bulk(&rows(0..200))).await.unwrap();
    run(&first, &service, 1).await;
    let second = inputs.plan(inputs.bulk(&rows(0..201)).add_rows(ChangedRows::Reject)).await.unwrap();
    // As if the first part had been started with a queue.
    let queue = first.plan().dir().join(folder::QUEUE);
    std::fs::write(&queue, "{}").unwrap();
    for job in [&first, &second] {
        let error = job.clone().delete().await.unwrap_err();
        assert!(error.to_string().contains("workers are sending"), "{error}");
    }
    std::fs::remove_file(&queue).unwrap();
    finish(&first, &service).await;
    std::fs::write(&queue, "{}").unwrap();
    second.delete().await.unwrap();
    assert_eq!(inputs.jobs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_with_a_part_that_is_running_is_not_deleted_in_part() {
    let inputs = Inputs::new();
    let service = Service::reliable();
    let first = inputs.plan(inputs.bulk(&rows(0..2))).await.unwrap();
    finish(&first, &service).await;
    let second = inputs.plan(inputs.bulk(&rows(0..4)).add_rows(ChangedRows::Reject)).await.unwrap();
    let running = crate::lock::JobLock::acquire(second.plan().dir()).unwrap();
    let error = second.clone().delete().await.unwrap_err();
    assert!(matches!(error, BulkError::NotRunnable(_)), "{error}");
    assert_eq!(inputs.jobs(), 2);
    drop(running);
    second.delete().await.unwrap();
    assert_eq!(inputs.jobs(), 0);
}

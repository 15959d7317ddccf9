//! Jobs paused by a rule.

use super::*;

fn rule(text: &str) -> RunOptions {
    patient_options().concurrency(1).stop_on(text.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_job_pauses_when_too_many_emails_bounce_and_stays_paused() {
    let (_folder, job) = planned_job(6_000).await;
    // One in ten emails bounces.
    let service = Service::reliable();
    let report = finish_with(&job, &service, rule("bounced>5%")).await;
    let Ending::Paused { until: None, reason } = &report.ending else { panic!("{report:?}") };
    assert!(reason.contains("sampled emails bounced, more than 5%"), "{reason}");
    assert!(report.counts.sent >= 600 && report.counts.remaining > 0, "{report:?}");
    let requests = service.requests();
    let again = finish_with(&job, &service, rule("bounced>5%")).await;
    assert!(matches!(again.ending, Ending::Paused { until: None, .. }), "{again:?}");
    assert_eq!(service.requests(), requests);
    let higher = finish_with(&job, &service, rule("bounced>11%")).await;
    assert_eq!((higher.ending, service.delivered()), (Ending::Finished, (6_000, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_job_pauses_when_too_many_emails_are_rejected() {
    let (_folder, job) = planned_job(6_000).await;
    // One in a hundred emails is rejected.
    let service = Service::new(|_, _| Some(Fault::Partial));
    let report = finish_with(&job, &service, rule("rejected>0.5%")).await;
    let Ending::Paused { until: None, reason } = &report.ending else { panic!("{report:?}") };
    assert!(reason.contains("emails were rejected, more than 0.5%"), "{reason}");
    assert!((6..50).contains(&report.counts.rejected), "{report:?}");
    let report = finish_with(&job, &service, rule("rejected>1%")).await;
    assert_eq!(report.ending, Ending::Finished);
}

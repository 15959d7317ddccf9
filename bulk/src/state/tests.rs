use super::*;
use crate::{
    clock::{RESEND_WITHIN, TOLERANCE},
    journal::SentId,
};

const NOW: UnixMillis = UnixMillis(1_000_000_000_000);
const HASH: BodyHash = [9; 16];

fn ids(count: usize) -> Vec<SentId> {
    vec![SentId::from("a"); count]
}

fn job(id: &str) -> Record {
    Record::Job(Job { id: id.into(), started: UnixMillis(1) })
}

fn intent(at: u64) -> Record {
    Record::Intent { batch: 0, emails: 2, at: UnixMillis(at), hash: HASH }
}

/// Returns the states after the job record and these records.
fn states(batches: u32, records: &[Record]) -> BatchStates {
    let mut states = BatchStates::new(batches);
    states.apply(&job("j")).unwrap();
    for record in records {
        states.apply(record).unwrap();
    }
    states
}

fn terminal() -> [(Record, BatchState); 4] {
    let emails = vec![EmailOutcome::Rejected("m".into()), EmailOutcome::Unknown];
    [
        (Record::Result { batch: 0, ids: ids(2) }, BatchState::Done),
        (Record::Partial { batch: 0, emails }, BatchState::Partial),
        (Record::Rejected { batch: 0, status: 422, message: "m".into() }, BatchState::Rejected),
        (Record::Unknown { batch: 0, reason: "r".into() }, BatchState::Unknown),
    ]
}

impl BatchStates {
    /// Decides like a delivery.
    pub(super) fn decide(&mut self, batch: u32, result: AttemptResult, now: UnixMillis) -> Decision {
        let situation = self.situation(batch, now);
        if matches!(result, AttemptResult::Uncertain(_)) {
            self.set_uncertain(batch);
        }
        decide(&situation, result, now)
    }
}

/// Summarizes a decision, for the table.
fn summary(decision: &Decision) -> String {
    let record = match &decision.record {
        None => "-",
        Some(Record::Result { .. }) => "RESULT",
        Some(Record::Partial { .. }) => "PARTIAL",
        Some(Record::NotSent { .. }) => "NOT_SENT",
        Some(Record::Rejected { .. }) => "REJECTED",
        Some(Record::Unknown { .. }) => "UNKNOWN",
        Some(other) => panic!("{other:?}"),
    };
    let next = match &decision.next {
        Next::Done => "done",
        Next::RetrySame { after: None } => "retry",
        Next::RetrySame { after: Some(_) } => "retry later",
        Next::BackToFresh => "fresh",
        Next::StopJob(_) => "stop",
        Next::PauseJob { .. } => "pause",
    };
    format!("{record} {next}")
}

#[test]
fn every_result_leads_to_the_decision_of_the_table() {
    let later = Some(Duration::from_secs(2));
    let outcomes = vec![EmailOutcome::Unknown; 2];
    let text = || Box::<str>::from("x");
    // The result; the decision without an earlier uncertain attempt; with one; with one after the key has expired.
    let table = [
        (AttemptResult::Accepted { ids: ids(2) }, "RESULT done", "RESULT done", "RESULT done"),
        (AttemptResult::Accepted { ids: ids(1) }, "PARTIAL done", "PARTIAL done", "PARTIAL done"),
        (AttemptResult::Partial { emails: outcomes }, "PARTIAL done", "PARTIAL done", "PARTIAL done"),
        (AttemptResult::Partial { emails: vec![] }, "PARTIAL done", "PARTIAL done", "PARTIAL done"),
        (AttemptResult::NotSent(text()), "NOT_SENT fresh", "- retry", "UNKNOWN done"),
        (AttemptResult::Throttled { retry_after: None }, "NOT_SENT fresh", "- retry", "UNKNOWN done"),
        (AttemptResult::Throttled { retry_after: later }, "NOT_SENT fresh", "- retry later", "UNKNOWN done"),
        (AttemptResult::Quota { name: text(), retry_after: later }, "NOT_SENT pause", "- pause", "- pause"),
        (AttemptResult::Uncertain(text()), "- retry", "- retry", "UNKNOWN done"),
        (AttemptResult::KeyUsed, "UNKNOWN done", "UNKNOWN done", "UNKNOWN done"),
        (
            AttemptResult::Rejected { status: 422, message: text() },
            "REJECTED done",
            "UNKNOWN done",
            "UNKNOWN done",
        ),
        (AttemptResult::Unauthorized { status: 401, message: text() }, "NOT_SENT stop", "- stop", "- stop"),
    ];
    let limit = RESEND_WITHIN;
    let valid = [Some(Duration::ZERO), Some(limit.checked_sub(Duration::from_millis(1)).unwrap())];
    let expired = [Some(limit), Some(limit * 100), None];
    for (result, first, uncertain, too_late) in table {
        let decision = |age, earlier_uncertain| {
            let situation = Situation { batch: 7, emails: 2, age, earlier_uncertain };
            summary(&decide(&situation, result.clone(), NOW))
        };
        for age in valid {
            assert_eq!(decision(age, false), first, "{result:?} {age:?}");
            assert_eq!(decision(age, true), uncertain, "{result:?} {age:?}");
        }
        for age in expired {
            assert_eq!(decision(age, true), too_late, "{result:?} {age:?}");
            // Nothing was sent before, so the age matters only if this attempt is uncertain.
            let first = if matches!(result, AttemptResult::Uncertain(_)) { too_late } else { first };
            assert_eq!(decision(age, false), first, "{result:?} {age:?}");
        }
    }
}

#[test]
fn a_decision_has_the_details_of_the_result() {
    let situation = Situation { batch: 7, emails: 2, age: Some(RESEND_WITHIN), earlier_uncertain: true };
    let decided = |result| decide(&situation, result, NOW);
    assert_eq!(
        decided(AttemptResult::Uncertain("HTTP 502".into())).record,
        Some(Record::Unknown {
            batch: 7,
            reason: "the first attempt was more than 23 hours ago; last result: HTTP 502".into()
        })
    );
    assert_eq!(
        decided(AttemptResult::Quota { name: "daily".into(), retry_after: Some(Duration::from_secs(3)) })
            .next,
        Next::PauseJob { quota: "daily".into(), until: Some(UnixMillis(NOW.0 + 3_000)) }
    );
    assert_eq!(
        decided(AttemptResult::Unauthorized { status: 403, message: "no".into() }).next,
        Next::StopJob("HTTP 403: no".into())
    );
    let unknown = Record::Partial { batch: 7, emails: vec![EmailOutcome::Unknown; 2] };
    for emails in [0, 1, 3] {
        let outcomes = vec![EmailOutcome::Rejected("no".into()); emails];
        assert_eq!(decided(AttemptResult::Partial { emails: outcomes }).record.as_ref(), Some(&unknown));
        assert_eq!(decided(AttemptResult::Accepted { ids: ids(emails) }).record.as_ref(), Some(&unknown));
    }
    assert_eq!(
        decided(AttemptResult::Rejected { status: 422, message: "no".into() }).record,
        Some(Record::Unknown {
            batch: 7,
            reason: "HTTP 422: no; the outcome of an earlier attempt is unknown".into()
        })
    );
}

#[test]
fn an_attempt_of_an_earlier_process_is_uncertain() {
    let mut states = states(2, &[intent(NOW.0)]);
    states.resume(NOW);
    assert_eq!(states.before_attempt(0, 2, HASH, NOW), BeforeAttempt::Resend);
    let decision = states.decide(0, AttemptResult::Throttled { retry_after: None }, NOW);
    assert_eq!(summary(&decision), "- retry");
    let other = states.before_attempt(0, 2, [8; 16], NOW);
    assert!(
        matches!(&other, BeforeAttempt::Settle(Record::Unknown { reason, .. }) if reason.contains("content differs")),
        "{other:?}"
    );
    let fewer = states.before_attempt(0, 1, HASH, NOW);
    assert!(matches!(fewer, BeforeAttempt::Settle(_)));
}

#[test]
fn a_wall_clock_behind_the_journal_expires_open_attempts_but_not_later_ones() {
    // F-11
    let mut states = states(2, &[intent(NOW.0)]);
    let tolerance = u64::try_from(TOLERANCE.as_millis()).unwrap();
    assert_eq!(states.resume(UnixMillis(NOW.0 - tolerance)), NOW);
    assert_eq!(states.before_attempt(0, 2, HASH, NOW), BeforeAttempt::Resend, "within the tolerance");
    assert_eq!(states.resume(UnixMillis(NOW.0 - tolerance - 1)), NOW);
    let settled = states.before_attempt(0, 2, HASH, NOW);
    assert!(
        matches!(&settled, BeforeAttempt::Settle(Record::Unknown { reason, .. }) if reason.starts_with("the clock is behind")),
        "{settled:?}"
    );
    let BeforeAttempt::Start(intent) = states.before_attempt(1, 2, HASH, NOW) else { panic!() };
    states.apply(&intent).unwrap();
    assert_eq!(summary(&states.decide(1, AttemptResult::Uncertain("timeout".into()), NOW)), "- retry");
    assert_eq!(states.before_attempt(1, 2, HASH, NOW), BeforeAttempt::Resend);
}

#[test]
fn every_record_has_the_documented_effect_in_every_state() {
    // Fresh.
    for (record, _) in terminal() {
        assert!(states(1, &[]).apply(&record).is_err(), "{record:?}");
    }
    assert_eq!(states(1, &[Record::NotSent { batch: 0 }]).state(0), Some(BatchState::Fresh));
    let attempt = |at| Record::Attempt { batch: 0, at: UnixMillis(at) };
    assert_eq!(states(1, &[]).apply(&attempt(5)), Err(Contradiction("an ATTEMPT without an INTENT")));
    let maybe = |at| BatchState::Maybe { first_attempt: UnixMillis(at), hash: HASH };
    assert_eq!(states(1, &[intent(5)]).state(0), Some(maybe(5)));

    // Maybe.
    assert_eq!(states(1, &[intent(5), intent(3), intent(4)]).state(0), Some(maybe(3)));
    assert_eq!(states(1, &[intent(5), Record::NotSent { batch: 0 }]).state(0), Some(BatchState::Fresh));
    let mut attempted = states(1, &[intent(5), attempt(6)]);
    assert_eq!((attempted.state(0), attempted.resume(UnixMillis(0))), (Some(maybe(5)), UnixMillis(6)));
    let (content, number) =
        ("a second INTENT with other content", "another number of emails than in the INTENT");
    for (other, reason) in [
        (Record::Intent { batch: 0, emails: 3, at: UnixMillis(5), hash: HASH }, content),
        (Record::Intent { batch: 0, emails: 2, at: UnixMillis(5), hash: [8; 16] }, content),
        (Record::Result { batch: 0, ids: ids(3) }, number),
        (Record::Partial { batch: 0, emails: vec![EmailOutcome::Unknown] }, number),
    ] {
        assert_eq!(states(1, &[intent(5)]).apply(&other), Err(Contradiction(reason)), "{other:?}");
    }

    // Terminal.
    for (record, expected) in terminal() {
        let mut ended = states(1, &[intent(5), record.clone()]);
        assert_eq!(ended.state(0), Some(expected));
        let counts = ended.settled_counts();
        assert_eq!(
            ended.apply(&intent(6)),
            Err(Contradiction("an INTENT after the end of its batch")),
            "{record:?}"
        );
        for later in
            terminal().map(|(record, _)| record).into_iter().chain([Record::NotSent { batch: 0 }, attempt(6)])
        {
            ended.apply(&later).unwrap();
            assert_eq!(
                (ended.state(0), ended.settled_counts()),
                (Some(expected), counts),
                "{record:?} {later:?}"
            );
        }
        assert_eq!(ended.before_attempt(0, 2, HASH, NOW), BeforeAttempt::Ended);
    }
}

#[test]
fn each_email_of_a_split_batch_passes_through_the_states_of_a_batch() {
    let split = Record::Split { batch: 0 };
    let email_intent = |email, at| Record::EmailIntent { batch: 0, email, at: UnixMillis(at) };
    let result = |email, outcome| Record::EmailResult { batch: 0, email, outcome };
    let accepted = || EmailOutcome::Accepted(SentId::from("a"));
    assert_eq!(states(1, &[]).apply(&split), Err(Contradiction("a SPLIT without an INTENT")));
    for before in [vec![], vec![intent(5)]] {
        for record in [email_intent(0, 6), result(0, None)] {
            assert!(states(1, &before).apply(&record).is_err(), "{before:?} {record:?}");
        }
    }
    let open =
        [intent(5), split.clone(), email_intent(0, 6), result(0, Some(accepted())), email_intent(1, 7)];
    for record in [email_intent(2, 8), result(2, None), email_intent(0, 8)] {
        assert!(states(1, &open).apply(&record).is_err(), "{record:?}");
    }

    // The next process knows which emails may have been sent, and since when.
    let mut resumed = states(1, &open);
    resumed.resume(NOW);
    assert_eq!(resumed.select_email(0, 0), Some(&accepted()));
    assert_eq!(resumed.select_email(0, 1), None);
    assert!(resumed.situation(0, NOW).earlier_uncertain);
    assert!(matches!(resumed.before_attempt(0, 2, HASH, NOW), BeforeAttempt::Settle(_)));
    let soon = UnixMillis(8);
    assert_eq!(resumed.before_attempt(0, 2, HASH, soon), BeforeAttempt::Resend);
    resumed.apply(&result(1, None)).unwrap();
    assert!(!resumed.situation(0, NOW).earlier_uncertain);
    let start = BeforeAttempt::Start(email_intent(1, NOW.0));
    assert_eq!(resumed.before_attempt(0, 2, HASH, NOW), start);

    let mut behind = states(1, &[intent(5), split.clone(), email_intent(0, NOW.0)]);
    behind.resume(UnixMillis(5));
    assert_eq!(behind.situation(0, NOW).age, None, "the clock was set back");

    let ended = Record::Partial { batch: 0, emails: vec![accepted(), EmailOutcome::Rejected("m".into())] };
    resumed.apply(&ended).unwrap();
    for late in [email_intent(1, 9), result(1, None), split] {
        resumed.apply(&late).unwrap();
    }
    assert_eq!(resumed.settled_counts(), Counts { sent: 1, rejected: 1, ..Counts::default() });
    assert!(!resumed.is_split(0));
}

#[test]
fn records_that_do_not_fit_the_job_are_contradictions() {
    let mut empty = BatchStates::new(1);
    assert!(empty.apply(&Record::Rate(1.0)).is_err(), "the first record must be the job");
    assert_eq!(empty.job(), None);
    empty.apply(&job("j")).unwrap();
    let takeover = Job { id: "j".into(), started: UnixMillis(2) };
    empty.apply(&Record::Job(takeover.clone())).unwrap();
    assert_eq!(empty.job(), Some(&takeover));
    assert!(empty.apply(&job("k")).is_err());
    for record in [
        Record::Intent { batch: 1, emails: 2, at: UnixMillis(5), hash: HASH },
        Record::NotSent { batch: u32::MAX },
        Record::Result { batch: 1, ids: vec![] },
    ] {
        assert!(empty.apply(&record).is_err(), "{record:?}");
    }
}

#[test]
fn finished_must_agree_with_the_records_before_it() {
    let finished = |sent| Record::Finished(Counts { sent, ..Counts::default() });
    let mut open = states(1, &[intent(5)]);
    assert!(open.apply(&finished(0)).is_err(), "a batch isn't settled");
    open.apply(&Record::Result { batch: 0, ids: ids(2) }).unwrap();
    assert!(open.is_complete() && !open.is_finished());
    assert!(open.apply(&finished(3)).is_err());
    open.apply(&finished(2)).unwrap();
    assert!(open.is_finished());
}

#[test]
fn counts_are_derived_from_the_records_and_the_plan() {
    let intent = |batch| Record::Intent { batch, emails: 2, at: UnixMillis(5), hash: HASH };
    let mixed = vec![EmailOutcome::Accepted(SentId::from("a")), EmailOutcome::Unknown];
    let states = states(
        7,
        &[
            intent(0),
            Record::Result { batch: 0, ids: ids(2) },
            intent(1),
            Record::Partial { batch: 1, emails: mixed },
            intent(2),
            Record::Rejected { batch: 2, status: 422, message: "m".into() },
            intent(3),
            Record::Unknown { batch: 3, reason: "r".into() },
            intent(4),
            intent(5),
            Record::NotSent { batch: 5 },
        ],
    );
    let remaining =
        (0..8).filter(|&batch| states.is_open(batch)).map(|batch| if batch == 6 { 1 } else { 2 }).sum();
    let counts = Counts { remaining, ..states.settled_counts() };
    assert_eq!(counts, Counts { sent: 3, rejected: 2, unknown: 3, remaining: 5 });
    counts.check(13).unwrap();
    assert_eq!(states.maybe().collect::<Vec<_>>(), [4]);
    assert_eq!(states.unsent_batches().collect::<Vec<_>>(), [5, 6]);
    assert_eq!(states.state(7), None);
}

#[test]
fn a_rate_that_is_no_positive_number_is_ignored() {
    for other in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert_eq!(states(1, &[Record::Rate(other)]).rate(), None, "{other}");
        assert_eq!(states(1, &[Record::Rate(2.5), Record::Rate(other)]).rate(), Some(2.5), "{other}");
    }
}

#[test]
fn a_batch_takes_32_bytes() {
    assert_eq!(size_of::<Slot>(), 32);
}

#[test]
fn a_response_is_assigned_to_the_emails_only_where_it_proves_an_outcome() {
    // B-23
    let (a, b) = (|| EmailOutcome::Accepted(SentId::from("a")), || EmailOutcome::Accepted(SentId::from("b")));
    let no = || EmailOutcome::Rejected("no".into());
    let unknown = || EmailOutcome::Unknown;
    let response = |ids: &[&str], errors: &[usize]| {
        let ids = ids.iter().map(|id| SentId::from(*id)).collect();
        let errors = errors.iter().map(|index| (*index, "no".into())).collect();
        match AttemptResult::from_response(3, ids, errors) {
            AttemptResult::Partial { emails } => emails,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(AttemptResult::from_response(2, ids(2), vec![]), AttemptResult::Accepted { ids: ids(2) });
    assert_eq!(response(&["a", "b"], &[1]), [a(), no(), b()]);
    assert_eq!(response(&["a"], &[2, 0]), [no(), a(), no()]);
    assert_eq!(response(&[], &[0, 1, 2]), [no(), no(), no()]);
    assert_eq!(response(&["a"], &[1]), [unknown(), no(), unknown()], "an ID is missing");
    assert_eq!(response(&["a", "b"], &[]), [unknown(), unknown(), unknown()]);
    assert_eq!(response(&["a", "b"], &[3]), [unknown(), unknown(), unknown()], "an index is out of range");
    assert_eq!(response(&["a"], &[1, 1]), [unknown(), unknown(), unknown()], "an index is repeated");
    assert_eq!(response(&["a", "b", "c"], &[1]), [unknown(), unknown(), unknown()], "there are too many IDs");
    assert_eq!(response(&["a", "b", "c", "d"], &[]), [unknown(), unknown(), unknown()]);
}

use super::*;

fn at_seconds(seconds: u64) -> Now {
    let elapsed = Duration::from_secs(seconds);
    Now { wall: SystemTime::UNIX_EPOCH + elapsed, monotonic: elapsed }
}

fn write_mark(since: u64, attempts: u32) -> Command {
    Command::Write(Change::Pending(Some(RefreshPending { since: at_seconds(since).wall, attempts })))
}

/// Returns a refresh that is about to write its mark, at 0 s.
fn marking() -> Refresh {
    let mut refresh = Refresh::new(Policy::default());
    let wanted = Event::Wanted { left: Duration::ZERO, hard: Duration::ZERO };
    assert_eq!(refresh.next(wanted, at_seconds(0)), Command::Lock { timeout: Duration::from_secs(75) });
    assert_eq!(refresh.next(Event::Locked, at_seconds(0)), Command::Read);
    let held = Held {
        token: 1,
        left: Duration::ZERO,
        enough: Duration::from_mins(2),
        pending: None,
        ended: false,
        unsaved: false,
    };
    assert_eq!(refresh.next(Event::Found(Some(held)), at_seconds(0)), write_mark(0, 1));
    refresh
}

#[test]
fn a_stale_mark_is_rewritten_before_anything_is_sent() {
    let mut refresh = marking();
    assert_eq!(refresh.next(Event::Written, at_seconds(11)), write_mark(11, 1));
    // Ten seconds is still acceptable.
    assert_eq!(refresh.next(Event::Written, at_seconds(21)), Command::Exchange);
}

#[test]
fn a_store_that_is_always_too_slow_fails_and_keeps_no_mark() {
    let mut refresh = marking();
    // Until the maximum wait of 75 s has passed.
    for seconds in [15, 30, 45, 60, 75] {
        assert_eq!(refresh.next(Event::Written, at_seconds(seconds)), write_mark(seconds, 1));
    }
    assert_eq!(refresh.next(Event::Written, at_seconds(86)), Command::Write(Change::Pending(None)));
    assert_eq!(refresh.next(Event::Written, at_seconds(86)), Command::Unlock);
    assert_eq!(refresh.next(Event::Unlocked, at_seconds(86)), Command::Finish(Verdict::Failed));
}

#[test]
fn a_lost_refresh_is_awaited_if_it_settles_within_the_maximum_wait() {
    // The second attempt, at 0 s, settles after two minutes.
    let pending = Some(RefreshPending { since: at_seconds(0).wall, attempts: 2 });
    for (now, remaining, is_awaited) in [(45, 75, true), (44, 76, false)] {
        let mut refresh = Refresh::new(Policy::default());
        refresh.next(Event::Wanted { left: Duration::ZERO, hard: Duration::ZERO }, at_seconds(now));
        refresh.next(Event::Locked, at_seconds(now));
        let Event::Found(Some(held)) = found_event(0, false) else { unreachable!() };
        let found = Event::Found(Some(Held { pending: pending.clone(), ..held }));
        assert_eq!(refresh.next(found, at_seconds(now)), Command::Unlock);
        let remaining = Duration::from_secs(remaining);
        let expected =
            if is_awaited { Command::Pause(remaining) } else { Command::Finish(Verdict::Wait(remaining)) };
        assert_eq!(refresh.next(Event::Unlocked, at_seconds(now)), expected);
    }
}

#[test]
fn a_mark_from_the_future_is_awaited_once() {
    // The wall clock was set back by an hour; the monotonic clock still measures the delay.
    let mut refresh = Refresh::new(Policy::default());
    let pending = RefreshPending { since: at_seconds(3_600).wall, attempts: 1 };
    let held = |pending| Held {
        token: 1,
        left: Duration::ZERO,
        enough: Duration::from_mins(2),
        pending,
        ended: false,
        unsaved: false,
    };
    refresh.next(Event::Wanted { left: Duration::ZERO, hard: Duration::ZERO }, at_seconds(0));
    refresh.next(Event::Locked, at_seconds(0));
    assert_eq!(refresh.next(Event::Found(Some(held(Some(pending.clone())))), at_seconds(0)), Command::Unlock);
    assert_eq!(refresh.next(Event::Unlocked, at_seconds(0)), Command::Pause(Duration::from_mins(1)));
    assert_eq!(
        refresh.next(Event::Resumed, at_seconds(60)),
        Command::Lock { timeout: Duration::from_secs(15) }
    );
    refresh.next(Event::Locked, at_seconds(60));
    assert_eq!(refresh.next(Event::Found(Some(held(Some(pending)))), at_seconds(60)), write_mark(60, 2));
}

#[test]
fn unexpected_events_send_nothing() {
    for event in [Event::Written, Event::RefreshOutcome(Outcome::Tokens), Event::Resumed, Event::Failed] {
        let mut refresh = Refresh::new(Policy::default());
        assert_eq!(refresh.next(event, at_seconds(0)), Command::Unlock);
        assert_eq!(refresh.next(Event::Unlocked, at_seconds(0)), Command::Finish(Verdict::Failed));
    }
}

/// Returns a refresh that holds the lock, with an access token that is valid for `left` seconds.
fn reading_refresh(left: u64) -> Refresh {
    let mut refresh = locking(left);
    assert_eq!(refresh.next(Event::Locked, at_seconds(0)), Command::Read);
    refresh
}

fn locking(left: u64) -> Refresh {
    let mut refresh = Refresh::new(Policy::default());
    let wanted = Event::Wanted { left: Duration::from_secs(left), hard: Duration::ZERO };
    assert!(matches!(refresh.next(wanted, at_seconds(0)), Command::Lock { .. }));
    refresh
}

fn found_event(left: u64, unsaved: bool) -> Event {
    let (left, enough) = (Duration::from_secs(left), Duration::from_mins(2));
    Event::Found(Some(Held { token: 1, left, enough, pending: None, ended: false, unsaved }))
}

fn ends_unlocked(refresh: &mut Refresh, verdict: Verdict) {
    assert_eq!(refresh.next(Event::Unlocked, at_seconds(1)), Command::Finish(verdict));
}

#[test]
fn a_store_that_fails_before_the_request_fails_a_call_only_without_a_valid_access_token() {
    for (left, verdict) in [(60, Verdict::Use), (0, Verdict::Failed)] {
        // There is no lock to release.
        assert_eq!(locking(left).next(Event::Failed, at_seconds(1)), Command::Finish(verdict));
        let mut refresh = reading_refresh(left);
        assert_eq!(refresh.next(Event::Failed, at_seconds(1)), Command::Unlock);
        ends_unlocked(&mut refresh, verdict);
        let mut refresh = reading_refresh(left);
        assert_eq!(refresh.next(found_event(left, false), at_seconds(1)), write_mark(1, 1));
        assert_eq!(refresh.next(Event::Failed, at_seconds(1)), Command::Unlock);
        ends_unlocked(&mut refresh, verdict);
    }
}

#[test]
fn a_login_that_another_process_removed_has_ended() {
    let mut refresh = reading_refresh(60);
    assert_eq!(refresh.next(Event::Found(None), at_seconds(1)), Command::Unlock);
    ends_unlocked(&mut refresh, Verdict::LoggedOut);
}

#[test]
fn while_tokens_cannot_be_saved_their_access_token_is_used_and_nothing_is_sent() {
    for (left, verdict) in [(60, Verdict::UseUnsaved), (0, Verdict::Failed)] {
        let mut refresh = reading_refresh(left);
        assert_eq!(refresh.next(found_event(left, true), at_seconds(1)), Command::Write(Change::Again));
        assert_eq!(refresh.next(Event::Failed, at_seconds(1)), Command::Unlock);
        ends_unlocked(&mut refresh, verdict);
    }
}

#[test]
fn a_refused_refresh_fails_no_call_while_the_access_token_is_valid() {
    for (left, verdict) in [(60, Verdict::Use), (0, Verdict::Failed)] {
        for removed in [Event::Written, Event::Failed] {
            let mut refresh = reading_refresh(left);
            assert_eq!(refresh.next(found_event(left, false), at_seconds(1)), write_mark(1, 1));
            assert_eq!(refresh.next(Event::Written, at_seconds(1)), Command::Exchange);
            let refused = Event::RefreshOutcome(Outcome::Rejected);
            assert_eq!(refresh.next(refused, at_seconds(1)), Command::Write(Change::Pending(None)));
            assert_eq!(refresh.next(removed, at_seconds(1)), Command::Unlock);
            ends_unlocked(&mut refresh, verdict);
        }
    }
}

#[test]
fn an_attempt_that_was_not_executed_keeps_the_mark_of_an_earlier_one() {
    let not_sent = Outcome::NotSent { again: false };
    for outcome in [not_sent, Outcome::Throttled { retry_after: Some(Duration::MAX) }, Outcome::Rejected] {
        let mut refresh = reading_refresh(0);
        let Event::Found(Some(held)) = found_event(0, false) else { unreachable!() };
        let pending = Some(RefreshPending { since: at_seconds(0).wall, attempts: 1 });
        let found = Event::Found(Some(Held { pending, ..held }));
        assert_eq!(refresh.next(found, at_seconds(60)), write_mark(60, 2));
        assert_eq!(refresh.next(Event::Written, at_seconds(60)), Command::Exchange);
        assert_eq!(refresh.next(Event::RefreshOutcome(outcome), at_seconds(60)), write_mark(0, 1));
    }
}

/// Returns a refresh whose request was sent and whose access token has expired.
fn sending() -> Refresh {
    let mut refresh = reading_refresh(0);
    assert_eq!(refresh.next(found_event(0, false), at_seconds(1)), write_mark(1, 1));
    assert_eq!(refresh.next(Event::Written, at_seconds(1)), Command::Exchange);
    refresh
}

#[test]
fn an_end_that_another_process_recorded_is_not_recorded_again() {
    let mut refresh = sending();
    assert_eq!(refresh.next(Event::RefreshOutcome(Outcome::InvalidGrant), at_seconds(1)), Command::Read);
    let Event::Found(Some(held)) = found_event(0, false) else { unreachable!() };
    let ended = Event::Found(Some(Held { ended: true, ..held }));
    assert_eq!(refresh.next(ended, at_seconds(1)), Command::Unlock);
    ends_unlocked(&mut refresh, Verdict::Ended);
}

#[test]
fn a_request_that_was_not_sent_is_retried_twice_after_growing_pauses() {
    let mut refresh = sending();
    let not_sent = || Event::RefreshOutcome(Outcome::NotSent { again: true });
    for pause in [500, 1_000] {
        assert_eq!(refresh.next(not_sent(), at_seconds(1)), Command::Pause(Duration::from_millis(pause)));
        assert_eq!(refresh.next(Event::Resumed, at_seconds(1)), write_mark(1, 1));
        assert_eq!(refresh.next(Event::Written, at_seconds(1)), Command::Exchange);
    }
    assert_eq!(refresh.next(not_sent(), at_seconds(1)), Command::Write(Change::Pending(None)));
}

#[test]
fn new_tokens_are_saved_again_after_growing_pauses_and_then_kept_in_memory() {
    let mut refresh = sending();
    let mut command = refresh.next(Event::RefreshOutcome(Outcome::Tokens), at_seconds(1));
    for pause in [100, 200] {
        assert_eq!(command, Command::Write(Change::Tokens));
        let pause = Command::Pause(Duration::from_millis(pause));
        assert_eq!(refresh.next(Event::Failed, at_seconds(1)), pause);
        command = refresh.next(Event::Resumed, at_seconds(1));
    }
    assert_eq!(command, Command::Write(Change::Tokens));
    assert_eq!(refresh.next(Event::Failed, at_seconds(1)), Command::Unlock);
    ends_unlocked(&mut refresh, Verdict::UseUnsaved);
}

use super::*;

fn at(seconds: u64) -> Now {
    let elapsed = Duration::from_secs(seconds);
    Now { wall: SystemTime::UNIX_EPOCH + elapsed, monotonic: elapsed }
}

fn mark(since: u64, attempts: u32) -> Command {
    Command::Write(Change::Pending(Some(RefreshPending { since: at(since).wall, attempts })))
}

/// A refresh that is about to write its mark, at 0 s.
fn marking() -> Refresh {
    let mut refresh = Refresh::new(Policy::default());
    let wanted = Event::Wanted { left: Duration::ZERO, hard: Duration::ZERO };
    assert_eq!(refresh.next(wanted, at(0)), Command::Lock { timeout: Duration::from_secs(75) });
    assert_eq!(refresh.next(Event::Locked, at(0)), Command::Read);
    let held = Held {
        token: 1,
        left: Duration::ZERO,
        enough: Duration::from_mins(2),
        pending: None,
        ended: false,
        unsaved: false,
    };
    assert_eq!(refresh.next(Event::Found(Some(held)), at(0)), mark(0, 1));
    refresh
}

#[test]
fn a_stale_mark_is_rewritten_before_anything_is_sent() {
    let mut refresh = marking();
    assert_eq!(refresh.next(Event::Written, at(11)), mark(11, 1));
    assert_eq!(refresh.next(Event::Written, at(21)), Command::Exchange);
}

#[test]
fn a_store_that_is_always_too_slow_fails_and_keeps_no_mark() {
    let mut refresh = marking();
    for seconds in [11, 22, 33, 44, 55, 66] {
        assert_eq!(refresh.next(Event::Written, at(seconds)), mark(seconds, 1));
    }
    assert_eq!(refresh.next(Event::Written, at(77)), Command::Write(Change::Pending(None)));
    assert_eq!(refresh.next(Event::Written, at(77)), Command::Unlock);
    assert_eq!(refresh.next(Event::Unlocked, at(77)), Command::Finish(Verdict::Failed));
}

#[test]
fn a_mark_from_the_future_is_awaited_once() {
    // The wall clock was set back by an hour; the monotonic clock still measures the delay.
    let mut refresh = Refresh::new(Policy::default());
    let pending = RefreshPending { since: at(3_600).wall, attempts: 1 };
    let held = |pending| Held {
        token: 1,
        left: Duration::ZERO,
        enough: Duration::from_mins(2),
        pending,
        ended: false,
        unsaved: false,
    };
    refresh.next(Event::Wanted { left: Duration::ZERO, hard: Duration::ZERO }, at(0));
    refresh.next(Event::Locked, at(0));
    assert_eq!(refresh.next(Event::Found(Some(held(Some(pending.clone())))), at(0)), Command::Unlock);
    assert_eq!(refresh.next(Event::Unlocked, at(0)), Command::Pause(Duration::from_mins(1)));
    assert_eq!(refresh.next(Event::Resumed, at(60)), Command::Lock { timeout: Duration::from_secs(15) });
    refresh.next(Event::Locked, at(60));
    assert_eq!(refresh.next(Event::Found(Some(held(Some(pending)))), at(60)), mark(60, 2));
}

#[test]
fn unexpected_events_send_nothing() {
    for event in [Event::Written, Event::RefreshOutcome(Outcome::Tokens), Event::Resumed, Event::Failed] {
        let mut refresh = Refresh::new(Policy::default());
        assert_eq!(refresh.next(event, at(0)), Command::Unlock);
        assert_eq!(refresh.next(Event::Unlocked, at(0)), Command::Finish(Verdict::Failed));
    }
}

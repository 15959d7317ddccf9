//! Tests of a session's in-memory state, primarily an exhaustive search over all interleavings of a logout with other changes: reads, refreshes that
//! end, and calls that decide. Each actor is a list of steps; a step is atomic, since it runs under the mutex.

use std::sync::Arc;

use super::{
    protocol::Now,
    state::{Decision, Outcome, State},
    token::{Clocks, Token},
};
use crate::{auth::record::TokenRecord, error::AuthError, types::AccessToken};

/// The store, the session's state, and the variables that each actor keeps between steps.
struct World {
    store: Option<Token>,
    locked: bool,
    state: State,
    clocks: Clocks,
    read: Option<(u64, Token)>,
    known: Option<(u64, Token)>,
    flight: Option<(u64, Token)>,
    outcome: Option<Outcome>,
    /// Keeps the flight's channel open.
    done: Option<tokio::sync::watch::Sender<Option<Outcome>>>,
    /// The caller received a token of a login that had already ended.
    harm: Option<&'static str>,
}

fn token(generation: u64, left: u64) -> Token {
    let refresh = format!("rt{generation}").into();
    let mut record = TokenRecord::new("https://a.test", "https://a.test/t", "c", refresh);
    record.generation = generation;
    record.access_token = AccessToken::new(format!("at{generation}")).ok();
    record.expires_in = std::time::Duration::from_secs(left);
    let now = Now { wall: record.obtained_at, ..now() };
    Token::new(record, now, None)
}

fn now() -> Now {
    Now { wall: std::time::SystemTime::now(), monotonic: std::time::Duration::ZERO }
}

type Step = fn(&mut World);

/// The first read of a session: check the state, read the store, publish.
const LOAD: &[Step] = &[
    |world| {
        world.read = world.store.clone().map(|token| (world.state.epoch, token));
    },
    |world| {
        if let Some((epoch, token)) = world.read.take()
            && world.state.publish(epoch, token.clone())
        {
            world.known = Some((epoch, token));
        }
    },
];

/// A call that holds a token: decide, and start a refresh.
const CALL: &[Step] = &[
    |world| {
        if world.known.is_none() {
            world.known = world.state.current.clone().map(|token| (world.state.epoch, token));
        }
    },
    |world| {
        let Some((epoch, token)) = world.known.take() else { return };
        match world.state.decide(epoch, &token, &world.clocks, now()) {
            Decision::Use(_) if world.store.is_none() && world.state.current.is_none() => {
                world.harm = Some("a token of an ended login was used");
            }
            Decision::Refresh(token, _) => {
                let (done, flight) = tokio::sync::watch::channel(None);
                (world.state.flight, world.done) = (Some(flight), Some(done));
                world.flight = Some((world.state.epoch, token));
            }
            _ => {}
        }
    },
];

/// The refresh: with the lock, it finds the record or none; without the lock, it continues with the record in memory; then it ends.
const REFRESH: &[Step] = &[
    |world| {
        let Some((epoch, token)) = &world.flight else { return };
        let missing = || Err(Arc::new(AuthError::LoggedOut));
        world.outcome = Some(match (&world.store, world.locked) {
            (_, true) => Ok(token.clone()),
            (None, false) => {
                world.state.log_out_epoch(*epoch);
                missing()
            }
            (Some(stored), false) => {
                let renewed = self::token(stored.record.generation + 1, 900);
                world.store = Some(renewed.clone());
                Ok(renewed)
            }
        });
    },
    |world| {
        let (Some((epoch, before)), Some(outcome)) = (world.flight.take(), world.outcome.take()) else {
            return;
        };
        let outcome = world.state.finish_flight(epoch, &before, outcome, now());
        if let Some(done) = world.done.take() {
            done.send_replace(Some(outcome));
        }
    },
];

/// The logout: lock, remove the record, end the login. The lock is then released.
const LOGOUT: &[Step] = &[
    |world| {
        world.locked = true;
    },
    |world| {
        world.store = None;
    },
    |world| {
        world.state.log_out();
    },
    |world| {
        world.locked = false;
    },
];

/// Runs the actors in every interleaving of their steps.
fn interleave(
    actors: &[&[Step]],
    done: &mut Vec<usize>,
    order: &mut Vec<usize>,
    check: &mut impl FnMut(&[usize]),
) {
    let mut finished = true;
    for actor in 0..actors.len() {
        if done[actor] < actors[actor].len() {
            finished = false;
            done[actor] += 1;
            order.push(actor);
            interleave(actors, done, order, check);
            order.pop();
            done[actor] -= 1;
        }
    }
    if finished {
        check(order);
    }
}

fn search(loaded: bool, left: u64) -> usize {
    let actors = [LOAD, CALL, REFRESH, LOGOUT];
    let mut orders = 0;
    interleave(&actors, &mut vec![0; actors.len()], &mut Vec::new(), &mut |order| {
        orders += 1;
        let stored = token(1, left);
        let mut world = World {
            store: Some(stored.clone()),
            locked: false,
            state: State::default(),
            clocks: Clocks::default(),
            read: None,
            known: None,
            flight: None,
            outcome: None,
            done: None,
            harm: None,
        };
        if loaded {
            world.state.publish(0, stored);
        }
        let mut at = [0; 4];
        for &actor in order {
            actors[actor][at[actor]](&mut world);
            at[actor] += 1;
        }
        assert_eq!(world.harm, None, "{order:?}");
        assert!(world.state.current.is_none(), "{order:?}: a token of an ended login was restored");
        assert!(world.store.is_none(), "{order:?}: the record was restored");
    });
    orders
}

#[test]
fn no_order_of_reads_calls_and_refreshes_undoes_a_logout() {
    // D-20
    for loaded in [false, true] {
        // Valid, due for a refresh soon, expired.
        for left in [900, 60, 0] {
            assert_eq!(search(loaded, left), 18_900);
        }
    }
}

#[test]
fn a_call_waits_for_a_refresh_in_flight_only_if_its_token_expires_within_ten_seconds() {
    for (seconds, waits) in [(889, false), (890, true)] {
        let (_done, flight) = tokio::sync::watch::channel(None);
        let token = token(1, 900);
        let now = Now { wall: token.record.obtained_at, monotonic: std::time::Duration::from_secs(seconds) };
        let mut state = State::default();
        state.flight = Some(flight);
        let decision = state.decide(0, &token, &Clocks::default(), now);
        assert_eq!(matches!(decision, Decision::Wait(_, false)), waits, "after {seconds} s");
        assert_eq!(matches!(decision, Decision::Use(_)), !waits, "after {seconds} s");
    }
}

#[test]
fn a_late_rejection_of_a_replaced_token_does_not_affect_the_current_one() {
    let (old, mut current) = (token(1, 900), token(2, 900));
    current.own = true;
    let mut state = State::default();
    state.publish(0, current.clone());
    let uses = |state: &State| match state.decide(0, &current, &Clocks::default(), now()) {
        Decision::Use(_) => true,
        Decision::Refresh(token, false) if token.is_same_as(&current) => false,
        _ => panic!("neither used nor refreshed"),
    };
    state.reject_fresh(&old);
    assert!(state.reject(&old).is_ok() && uses(&state));
    assert!(state.reject(&current).is_ok() && !uses(&state));
    // It doesn't replace the rejection of the current token either.
    assert!(state.reject(&old).is_ok() && !uses(&state));
    state.reject_fresh(&current);
    state.reject_fresh(&old);
    assert!(matches!(state.reject(&current), Err(AuthError::TokenRejected { .. })));
}

//! A model of one call: the peer follows a script of one event per attempt and records what it sees; the model predicts the call's end from
//! the same script. The error's outcome and key, and the number of requests, must agree with both.
//!
//! Most sequences run without sockets, over a scripted transport whose time passes while everything waits; some over HTTP/1.1 and HTTP/2 on
//! loopback, where the test moves the time when the peer is silent; some block their thread, in real time.

mod call;
mod event;
mod prediction;
mod script;
mod sequences;
mod service;
mod setting;
mod sockets;

use std::{
    io::Write as _,
    sync::{Arc, mpsc},
    time::Duration,
};

use idempost::transport::Transport;
use tokio::task::{JoinSet, spawn_blocking};

use self::{
    call::{Case, Clock},
    event::{Act, EVENTS, Event},
    script::Script,
    sequences::Sequences,
    service::Service,
    setting::{
        ADAPTIVE, DEADLINE, DROPPED_DELAY, DROPPED_LIMITER, DROPPED_STALL, LATE_DEADLINE, LIMITED,
        LIMITED_DEADLINE, LIMITED_TOO_LATE, NO_BUDGET, Operation, PLAIN, SESSION, SMALL_BUDGET,
    },
    sockets::{Peer, Protocol},
};

/// Printed past the test's output capture: the number of sequences is part of the result.
fn report(network: &str, sequences: usize) {
    let line = format!("model of a call: {sequences} sequences of events over {network}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_agrees_with_the_model_after_every_sequence_of_events() {
    // B-01, B-02
    let settings = [
        &PLAIN,
        &NO_BUDGET,
        &SMALL_BUDGET,
        &DEADLINE,
        &LATE_DEADLINE,
        &LIMITED,
        &LIMITED_DEADLINE,
        &LIMITED_TOO_LATE,
        &ADAPTIVE,
        &DROPPED_STALL,
        &DROPPED_DELAY,
        &DROPPED_LIMITER,
        &SESSION,
    ];
    let mut cases = Sequences::new(&Operation::POSTS, &settings, Act::is_scripted).chosen(1, 5_000, 3);
    // Without a key, fewer settings make a difference.
    let settings = [&PLAIN, &SMALL_BUDGET, &LATE_DEADLINE];
    cases.extend(Sequences::new(&Operation::KEYLESS, &settings, Act::is_scripted).chosen(1, 1_000, 3));
    for case in &cases {
        let (service, mut signals) = Service::new();
        let client = case.client(script::BASE_URL, Script(service.clone()), &service).await;
        case.run(&client, &service, &mut signals, Clock::Passes).await;
    }
    report("a scripted transport", cases.len());
    assert!(cases.len() > 6_000, "{}", cases.len());
}

/// The cases over sockets.
fn wired_cases() -> Vec<Case> {
    let settings = [&PLAIN, &NO_BUDGET, &DEADLINE, &LIMITED_TOO_LATE, &DROPPED_STALL, &DROPPED_DELAY];
    let mut cases = Sequences::new(&Operation::ALL, &settings, Act::is_wired).chosen(1, 80, 2);
    // Nothing shows the test when a learned limit ends.
    let limited = Sequences::new(&[Operation::Send], &[&LIMITED, &DROPPED_LIMITER], Act::is_wired);
    let limited = limited.only(|event| event.least_delay().is_zero());
    cases.extend(limited.chosen(0, 20, 2));
    cases
}

async fn run_over_sockets(protocol: Protocol) {
    // Time doesn't pass while a thread is blocked.
    let (blocked, end) = mpsc::channel::<()>();
    spawn_blocking(move || end.recv());
    let cases = wired_cases();
    let (service, mut signals) = Service::new();
    let mut peer = Peer::start(protocol, &service).await;
    for case in &cases {
        let transport = peer.transport(case.pools());
        let run = async {
            let client = case.client(sockets::BASE_URL, transport, &service).await;
            case.run(&client, &service, &mut signals, Clock::Moved).await;
            service.requests().len()
        };
        let requests = tokio::select! {
            () = peer.serve() => unreachable!(),
            requests = run => requests,
        };
        peer.closed().await;
        assert_eq!(service.requests().len(), requests, "{case}");
    }
    drop(blocked);
    report(&format!("{protocol:?}"), cases.len());
    assert!(cases.len() >= 200, "{}", cases.len());
}

#[tokio::test(start_paused = true)]
async fn a_call_over_http1_agrees_with_the_model_and_the_peer() {
    // B-01, B-02
    run_over_sockets(Protocol::Http1).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_over_http2_agrees_with_the_model_and_the_peer() {
    // B-01, B-02, B-27
    run_over_sockets(Protocol::Http2).await;
}

/// The cases in real time: calls that take no time, and calls that end because the peer is silent.
fn blocking_cases(exists: impl Fn(Act) -> bool, random: usize) -> Vec<Case> {
    let settings = [&PLAIN, &NO_BUDGET, &LIMITED_TOO_LATE];
    let mut cases =
        Sequences::new(&Operation::ALL, &settings, exists).only(Event::is_immediate).chosen(0, random, 2);
    // Longer than it takes a busy machine to send a request.
    let setting = PLAIN.deadline(Duration::from_secs(3));
    let failed = EVENTS.iter().find(|event| event.name == "500").unwrap();
    for silent in EVENTS.iter().filter(|event| event.act.stalls()) {
        for events in [vec![silent], vec![failed, silent]] {
            cases.push(Case { operation: Operation::Send, setting, events });
        }
    }
    cases
}

async fn run_blocking(protocol: Option<Protocol>, case: Case) {
    let (service, _signals) = Service::new();
    let run = async |case: Case, base_url: &str, transport: Arc<dyn Transport>| {
        let client = case.client(base_url, transport, &service).await;
        let service = service.clone();
        spawn_blocking(move || case.run_blocking(&client, &service)).await.unwrap();
    };
    let Some(protocol) = protocol else {
        return run(case, script::BASE_URL, Arc::new(Script(service.clone()))).await;
    };
    let mut peer = Peer::start(protocol, &service).await;
    let transport = Arc::new(peer.transport(case.pools()));
    tokio::select! {
        () = peer.serve() => unreachable!(),
        () = run(case, sockets::BASE_URL, transport) => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_call_agrees_with_the_model_and_the_peer() {
    // B-01, B-02
    let (mut sequences, mut silent) = (0, JoinSet::new());
    for (protocol, exists, random) in [
        (None, Act::is_scripted as fn(Act) -> bool, 500),
        (Some(Protocol::Http1), Act::is_wired, 60),
        (Some(Protocol::Http2), Act::is_wired, 60),
    ] {
        for case in blocking_cases(exists, random) {
            sequences += 1;
            let ends_silent = case.events.last().is_some_and(|event| event.act.stalls());
            if ends_silent {
                silent.spawn(run_blocking(protocol, case));
            } else {
                run_blocking(protocol, case).await;
            }
        }
    }
    silent.join_all().await;
    report("calls that block their thread", sequences);
    assert!(sequences > 640, "{sequences}");
}

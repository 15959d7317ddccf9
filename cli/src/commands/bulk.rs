//! `bulk`: jobs that send an email per row of a file, each row at most once.

mod account;
mod cancel;
mod delete;
mod doctor;
mod failure;
mod job;
mod list;
mod message;
mod metrics;
mod overview;
mod pause;
mod plan;
mod planning;
mod progress;
#[cfg_attr(not(feature = "nats"), path = "bulk/no_queue.rs")]
mod queue;
mod reconcile;
mod report;
mod resume;
mod retry;
mod rows;
mod running;
mod salvage;
mod schedule;
mod send;
mod status;
mod words;
#[cfg(feature = "nats")]
mod worker;

use crate::rows::prelude::*;

noun!(Jobs, "Send an email per row of a CSV or JSON Lines file, each at most once", VERBS);

/// A job finishes its requests in flight after a signal.
const RUNS_JOB: &[Property] = &[Property::HandlesSignals, Property::Concurrent];

const VERBS: &[Verb] = &[
    Verb::custom("plan", &own(plan::run)).is(&[Property::Local]),
    Verb::custom("send", &own(send::run)).is(RUNS_JOB),
    Verb::custom("resume", &own(resume::run)).is(RUNS_JOB),
    Verb::custom("status", &own(status::run)).is(&[Property::Local]),
    Verb::custom("pause", &own(pause::run)).is(&[Property::Local]),
    Verb::custom("cancel", &own(cancel::run)),
    Verb::custom("delete", &own(delete::run)).is(&[Property::Local]),
    Verb::custom("report", &own(report::run)).is(&[Property::Local]),
    Verb::custom("reconcile", &own(reconcile::run)),
    Verb::custom("retry", &own(retry::run)).is(RUNS_JOB),
    Verb::custom("salvage", &own(salvage::run)).is(&[Property::Local]),
    Verb::custom("doctor", &own(doctor::run)),
    Verb::custom("list", &own(list::run)).alias("ls").is(&[Property::Local]),
    #[cfg(feature = "nats")]
    Verb::custom("worker", &own(worker::run)).is(RUNS_JOB),
];

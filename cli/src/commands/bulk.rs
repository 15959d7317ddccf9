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

use crate::rows::operation::Own;
use crate::rows::{Noun, Property, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Jobs;

/// A job finishes its requests in flight after a signal.
const RUNS_JOB: &[Property] = &[Property::HandlesSignals, Property::Concurrent];

impl Noun for Jobs {
    const ABOUT: &'static str = "Send an email per row of a CSV or JSON Lines file, each at most once";
    const VERBS: &'static [Verb] = &[
        Verb::custom("plan", &Own(|args: Box<plan::Args>, context| Box::pin(plan::run(*args, context))))
            .is(&[Property::Local]),
        Verb::custom("send", &Own(|args: Box<send::Args>, context| Box::pin(send::run(*args, context))))
            .is(RUNS_JOB),
        Verb::custom(
            "resume",
            &Own(|args: Box<resume::Args>, context| Box::pin(resume::run(*args, context))),
        )
        .is(RUNS_JOB),
        Verb::custom("status", &Own(|args, context| Box::pin(status::run(args, context))))
            .is(&[Property::Local]),
        Verb::custom("pause", &Own(|args, context| Box::pin(pause::run(args, context))))
            .is(&[Property::Local]),
        Verb::custom("cancel", &Own(|args, context| Box::pin(cancel::run(args, context)))),
        Verb::custom("delete", &Own(|args, context| Box::pin(delete::run(args, context))))
            .is(&[Property::Local]),
        Verb::custom("report", &Own(|args, context| Box::pin(report::run(args, context))))
            .is(&[Property::Local]),
        Verb::custom("reconcile", &Own(|args, context| Box::pin(reconcile::run(args, context)))),
        Verb::custom("retry", &Own(|args: Box<retry::Args>, context| Box::pin(retry::run(*args, context))))
            .is(RUNS_JOB),
        Verb::custom("salvage", &Own(|args, context| Box::pin(salvage::run(args, context))))
            .is(&[Property::Local]),
        Verb::custom("doctor", &Own(|args, context| Box::pin(doctor::run(args, context)))),
        Verb::custom("list", &Own(|args, context| Box::pin(list::run(args, context))))
            .alias("ls")
            .is(&[Property::Local]),
        #[cfg(feature = "nats")]
        Verb::custom("worker", &Own(|args, context| Box::pin(worker::run(args, context)))).is(RUNS_JOB),
    ];
}

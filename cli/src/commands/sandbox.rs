//! `sandbox`: the whole service on this machine, where emails go nowhere.

use clap::Subcommand;

use crate::context::Context;
use crate::fail::Fail;

/// The whole service on this machine: emails are accepted, shown and go nowhere
#[derive(Debug, Subcommand)]
pub(crate) enum Command {}

/// Runs one of them.
#[expect(clippy::unused_async, reason = "its commands wait for the network")]
pub(crate) async fn run(command: Command, _: Context) -> Result<(), Fail> {
    match command {}
}

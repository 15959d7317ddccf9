//! Code shared by the commands: mutations, lists, waits and confirmations.

pub(crate) mod attachments;
pub(crate) mod browser;
pub(crate) mod confirm;
pub(crate) mod dry_run;
pub(crate) mod editor;
pub(crate) mod export;
pub(crate) mod html_command;
pub(crate) mod http_server;
pub(crate) mod metrics;
pub(crate) mod mutation;
pub(crate) mod outage;
pub(crate) mod pages;
pub(crate) mod repeat;
pub(crate) mod shell;
pub(crate) mod tail;
pub(crate) mod trace;
pub(crate) mod wait;

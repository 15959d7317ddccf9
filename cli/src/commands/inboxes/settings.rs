//! `inboxes create`, `update` and `agent`.

use idempost::inboxes::InboxAction;
use idempost::{
    Client,
    inboxes::{InboxAgentPatch, InboxPatch, InboxTone, NewInbox},
};

use super::change;
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::clear::{self, Clears};
use crate::input::flags::{Choices, Flags};

/// Create an inbox and print its ID
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost inboxes create support@acme.test --name Support --from-name 'Acme Support'\n  \
    idempost inboxes create sales@acme.test --forwarding --jq .id")]
pub(crate) struct CreateArgs {
    /// Address of a domain that receives mail
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// Name, at most 64 characters [default: the address]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Sender's name of its emails, at most 78 characters
    #[arg(long, value_name = "TEXT")]
    from_name: Option<String>,
    /// Another provider receives the mail and forwards it to the inbox's receiving_address
    #[arg(long)]
    forwarding: bool,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let CreateArgs { address, name, from_name, forwarding, dry_run } = args;
    let mut flags = Flags::default();
    flags.field("/email_address", "ADDRESS", Some(&address));
    flags.field("/name", "--name", name.as_deref());
    flags.field("/from_name", "--from-name", from_name.as_deref());
    let mut inbox = NewInbox::new(address);
    if let Some(name) = name {
        inbox = inbox.name(name);
    }
    if let Some(name) = from_name {
        inbox = inbox.from_name(name);
    }
    if forwarding {
        inbox = inbox.forwarding(true);
    }
    let unknown = "the inbox may have been created; check: idempost inboxes list";
    change(flags, inbox.check(), &dry_run, unknown, context, |client| client.inboxes().create(&inbox)).await
}

/// Change the name or the sender's name of an inbox
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost inboxes update support@acme.test --from-name 'Acme Support'\n  \
    idempost inboxes update support@acme.test --clear from-name"
)]
pub(crate) struct UpdateArgs {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// Name, at most 64 characters
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Sender's name of its emails, at most 78 characters
    #[arg(long, value_name = "TEXT")]
    from_name: Option<String>,
    /// Clear a field: from-name
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["from-name"]), hide_possible_values = true)]
    clear: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

const CLEARS: &Clears<InboxPatch> = &[("from-name", InboxPatch::clear_from_name)];

pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { inbox, name, from_name, clear, dry_run } = args;
    let mut flags = Flags::default();
    flags.field("", "a field to change", None);
    flags.field("/name", "--name", name.as_deref());
    flags.field("/from_name", "--from-name", from_name.as_deref());
    let set: &[&str] = if from_name.is_some() { &["from-name"] } else { &[] };
    let mut patch = clear::apply(InboxPatch::new(), &clear, CLEARS, set, &mut flags);
    if let Some(name) = name {
        patch = patch.name(name);
    }
    if let Some(name) = from_name {
        patch = patch.from_name(name);
    }
    let unknown = format!("the inbox may have been changed; check: idempost inboxes get {inbox}");
    let make = |client: &Client| client.inboxes().update(&inbox, &patch);
    change(flags, patch.check(), &dry_run, &unknown, context, make).await
}

/// Show the settings of an inbox's agent, or change them
///
/// Without flags it shows them. A sandbox stores the settings; no agent acts there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost inboxes agent support@acme.test\n  \
    idempost inboxes agent support@acme.test --instructions 'Be kind' --tone concise_casual --action draft_reply --action archive")]
pub(crate) struct AgentArgs {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// Instructions, at most 4,000 characters
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// Tone: concise_professional, concise_casual, expanded_professional or expanded_casual
    #[arg(long, value_name = "TONE", value_parser = Choices(InboxTone::KNOWN), hide_possible_values = true)]
    tone: Option<String>,
    /// Action that it may take, replacing all others; repeatable
    #[arg(long, value_name = "ACTION", value_parser = Choices(InboxAction::KNOWN))]
    action: Vec<String>,
    /// Clear a field: instructions, tone or actions
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["instructions", "tone", "actions"]), hide_possible_values = true)]
    clear: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

const AGENT_CLEARS: &Clears<InboxAgentPatch> = &[
    ("instructions", InboxAgentPatch::clear_instructions),
    ("tone", InboxAgentPatch::clear_tone),
    ("actions", |patch| patch.actions([])),
];

pub(super) async fn agent(args: AgentArgs, context: &Context) -> Result<(), Fail> {
    let AgentArgs { inbox, instructions, tone, action, clear, dry_run } = args;
    if instructions.is_none() && tone.is_none() && action.is_empty() && clear.is_empty() {
        return mutation::show(context, |client| client.inboxes().agent(&inbox)).await;
    }
    let mut flags = Flags::default();
    flags.field("/instructions", "--instructions", instructions.as_deref());
    flags.field("/tone", "--tone", tone.as_deref());
    flags.list("/actions", "--action", &action);
    let given =
        [("instructions", instructions.is_some()), ("tone", tone.is_some()), ("actions", !action.is_empty())];
    let set: Vec<_> = given.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
    let mut patch = clear::apply(InboxAgentPatch::new(), &clear, AGENT_CLEARS, &set, &mut flags);
    if let Some(instructions) = instructions {
        patch = patch.instructions(instructions);
    }
    if let Some(tone) = tone {
        patch = patch.tone(tone);
    }
    if !action.is_empty() {
        patch = patch.actions(action.into_iter().map(InboxAction::from).collect::<Vec<_>>());
    }
    let unknown = format!("the settings may have been changed; check: idempost inboxes agent {inbox}");
    let make = |client: &Client| client.inboxes().update_agent(&inbox, &patch);
    change(flags, patch.check(), &dry_run, &unknown, context, make).await
}

//! `inboxes agent`.

use idempost::inboxes::InboxAction;
use idempost::{
    Client,
    inboxes::{InboxAgentPatch, InboxTone},
};

use super::change;
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::clear::{self, Clears};
use crate::input::flags::{Choices, Flags};

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

//! Inboxes of the public API: the mail of one address in threads. (The module `crate::inbox` is the sandbox's page of mails.)

pub(crate) mod draft;
pub(crate) mod email;
pub(crate) mod label;
pub(crate) mod search;
pub(crate) mod thread;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::size::{heap_size, no_heap};
use crate::store::table::{self, lower_case};
use crate::wire::timestamp::iso;
use crate::wire::view::view;
use crate::wire::words::words;

/// An inbox.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Inbox {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) address: String,
    /// The domain of the address; an ID without a domain if the account hasn't added it.
    pub(crate) domain: Uuid,
    /// The address that another provider forwards the mail to, in lower case.
    pub(crate) receiving_address: Option<String>,
    pub(crate) from_name: Option<String>,
    pub(crate) agent: Agent,
    pub(crate) last_received: Option<Timestamp>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

heap_size!(Inbox {
    id,
    name,
    address,
    domain,
    receiving_address,
    from_name,
    agent,
    last_received,
    created_at,
    updated_at,
});

impl table::Record for Inbox {
    const NOUN: &'static str = "an inbox";
    const PLURAL: &'static str = "inboxes";

    /// The address that mail is forwarded to.
    type Group = String;

    fn key(&self) -> Option<&str> {
        Some(&self.address)
    }

    fn normalize(key: &str) -> Cow<'_, str> {
        lower_case(key)
    }

    fn conflict(&self, holder: &Self) -> crate::wire::problem::Problem {
        crate::wire::problem::Problem::validation(format!(
            "`email_address` must be an address without an inbox; {} has the inbox {}.",
            holder.address, holder.id
        ))
    }

    fn groups(&self) -> Vec<String> {
        self.receiving_address.iter().cloned().collect()
    }
}

/// The settings of an inbox's agent. They are stored; no agent acts.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Agent {
    pub(crate) instructions: Option<String>,
    pub(crate) tone: Option<Tone>,
    pub(crate) actions: Vec<Action>,
}

heap_size!(Agent { instructions, tone, actions });
no_heap!(Tone, Action);

words! {
    /// The tone of an agent's drafts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum Tone {
        ConciseProfessional = "concise_professional",
        ConciseCasual = "concise_casual",
        ExpandedProfessional = "expanded_professional",
        ExpandedCasual = "expanded_casual",
    }
}

words! {
    /// What an agent may do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum Action {
        DraftReply = "draft_reply",
        ForwardThread = "forward_thread",
        AddLabels = "add_labels",
        AssignThread = "assign_thread",
        MarkAsSpam = "mark_as_spam",
        Archive = "archive",
        MoveToTrash = "move_to_trash",
    }
}

/// An inbox as responses and events show it.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) inbox: Arc<Inbox>,
    /// The number of unread threads in the folder `inbox`.
    pub(crate) unread: usize,
    /// The number of drafts that weren't sent.
    pub(crate) drafts: usize,
}

view! {
    pub(crate) Item of counted: Counted {
        id: counted.inbox.id,
        name: counted.inbox.name,
        email_address: counted.inbox.address,
        from_name: counted.inbox.from_name,
        unread: counted.unread,
        last_received: counted.inbox.last_received.map(iso),
        created_at: iso(counted.inbox.created_at),
        updated_at: iso(counted.inbox.updated_at),
    }
}

view! {
    pub(crate) Detail of counted: Counted {
        object: "inbox",
        ..Item,
        domain_id: counted.inbox.domain,
        receiving_address: counted.inbox.receiving_address,
        drafts: counted.drafts,
    }
}

view! {
    pub(crate) AgentView of agent: Agent {
        object: "inbox_agent",
        instructions: agent.instructions,
        tone: agent.tone,
        actions: agent.actions,
    }
}

//! Inboxes of the public API: the mail of one address in threads.

pub mod draft;
pub mod email;
pub mod label;
pub mod search;
pub mod thread;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::table;
use crate::wire::{Problem, to_iso, view, words};

/// An inbox.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Inbox {
    pub id: Uuid,
    pub name: String,
    pub address: String,
    /// The domain of the address; an ID without a domain if the account hasn't added it.
    pub domain: Uuid,
    /// The address for mail forwarded by another provider, in lower case.
    pub receiving_address: Option<String>,
    pub from_name: Option<String>,
    pub agent: Agent,
    pub last_received: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl table::Record for Inbox {
    const NOUN: &'static str = "an inbox";
    const PLURAL: &'static str = "inboxes";
    const IGNORES_CASE: bool = true;

    /// The address that mail is forwarded to.
    type Group = String;

    fn key(&self) -> Option<&str> {
        Some(&self.address)
    }

    fn conflict(&self, holder: &Self) -> Problem {
        Problem::validation(format!(
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
pub struct Agent {
    pub instructions: Option<String>,
    pub tone: Option<Tone>,
    pub actions: Vec<Action>,
}

words! {
    /// The tone of an agent's drafts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Tone {
        ConciseProfessional = "concise_professional",
        ConciseCasual = "concise_casual",
        ExpandedProfessional = "expanded_professional",
        ExpandedCasual = "expanded_casual",
    }
}

words! {
    /// The permitted actions of an agent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Action {
        DraftReply = "draft_reply",
        ForwardThread = "forward_thread",
        AddLabels = "add_labels",
        AssignThread = "assign_thread",
        MarkAsSpam = "mark_as_spam",
        Archive = "archive",
        MoveToTrash = "move_to_trash",
    }
}

/// An inbox in responses and events.
#[derive(Debug)]
pub struct Counted {
    pub inbox: Arc<Inbox>,
    /// The number of unread threads in the folder `inbox`.
    pub unread: usize,
    /// The number of drafts that weren't sent.
    pub drafts: usize,
}

view! {
    pub Item of counted: Counted {
        id: counted.inbox.id,
        name: counted.inbox.name,
        email_address: counted.inbox.address,
        from_name: counted.inbox.from_name,
        unread: counted.unread,
        last_received: counted.inbox.last_received.map(to_iso),
        created_at: to_iso(counted.inbox.created_at),
        updated_at: to_iso(counted.inbox.updated_at),
    }
}

view! {
    pub Detail of counted: Counted {
        object: "inbox",
        ..Item,
        domain_id: counted.inbox.domain,
        receiving_address: counted.inbox.receiving_address,
        drafts: counted.drafts,
    }
}

view! {
    pub AgentView of agent: Agent {
        object: "inbox_agent",
        instructions: agent.instructions,
        tone: agent.tone,
        actions: agent.actions,
    }
}

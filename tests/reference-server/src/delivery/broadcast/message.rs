//! One contact's email: the broadcast's message with the contact's values in place of the placeholders.
//!
//! The placeholders are `FIRST_NAME`, `LAST_NAME`, `EMAIL`, `SERVICE_UNSUBSCRIBE_URL` (also `RESEND_UNSUBSCRIBE_URL` and `UNSUBSCRIBE_URL`), and
//! `contact.` with a property or one of the contact's own fields. A missing value is replaced by the text after the `|`, else by the property's
//! fallback value, else by nothing. Other names stay unchanged, so that a misspelling is visible; the specification doesn't define this.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::content::placeholders::{MAX_TEXT_BYTES, Outline, to_header_line};
use crate::delivery::broadcast::audience;
use crate::delivery::unsubscribe;
use crate::model::contact::Contact;
use crate::model::email::bodies::Bodies;
use crate::model::email::draft::{Draft, Origin};
use crate::model::email::personalized::{Personalized, SharedContent, Values};
use crate::model::email::recipients::Mailbox;
use crate::state::State;
use crate::state::tenant::Tenant;

/// Creates the emails of one step of a broadcast.
pub struct MessageBuilder<'a> {
    tenant: &'a Tenant,
    shared: &'a Arc<SharedContent>,
    fallbacks: Arc<HashMap<String, String>>,
    /// The outlines of the bodies and the preview, which predict their sizes.
    outlines: Vec<Outline<'a>>,
}

impl<'a> MessageBuilder<'a> {
    pub(super) fn new(tenant: &'a Tenant, shared: &'a Arc<SharedContent>) -> Self {
        let message = shared.message();
        let texts = [message.html.as_deref(), message.text.as_deref(), message.preview_text.as_deref()];
        let outlines = texts.into_iter().flatten().map(Outline::new).collect();
        Self { tenant, shared, fallbacks: Arc::new(audience::fallbacks(tenant)), outlines }
    }

    /// Creates the email for one contact, and its ID; `None` if its address is invalid, or if its values exceed the size limit of an email.
    pub(super) fn build_for(&self, contact: Arc<Contact>, state: &State) -> Option<(Uuid, Draft)> {
        let to = Mailbox::parse(&contact.email).ok()?;
        let message = self.shared.message();
        let id = state.next_id();
        let link = unsubscribe::link(state, self.tenant, id, contact.id, message.topic);
        let values = Values { contact, link: link.as_str().into(), fallbacks: Arc::clone(&self.fallbacks) };
        let fits = |outline: &Outline<'_>| outline.filled_size(|one| values.value(one)) <= MAX_TEXT_BYTES;
        if !self.outlines.iter().all(fits) {
            return None;
        }
        let subject = to_header_line(&values.fill(&message.subject)?);
        let personal = Personalized { shared: Arc::clone(self.shared), values };
        let draft = Draft {
            id: Some(id),
            from: message.from.clone(),
            to: vec![to],
            cc: None,
            bcc: None,
            reply_to: message.reply_to.clone(),
            subject,
            bodies: Bodies::Personalized(Arc::new(personal)),
            // RFC 2369, and RFC 8058 for the unsubscribe button of mail clients.
            headers: vec![
                ("List-Unsubscribe".to_owned(), format!("<{link}>")),
                ("List-Unsubscribe-Post".to_owned(), unsubscribe::ONE_CLICK.to_owned()),
            ],
            attachments: Vec::new(),
            tags: Arc::default(),
            topic: message.topic,
            scheduled_at: None,
            origin: Origin { broadcast: Some(self.shared.broadcast.id), ..Origin::default() },
        };
        Some((id, draft))
    }
}

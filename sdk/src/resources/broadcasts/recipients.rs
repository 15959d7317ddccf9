//! The recipients of a broadcast and their clicked links. (The specification doesn't define them; the format is Resend's.)

use crate::types::ContactId;

open_enum! {
    /// The type of event that a broadcast's recipient had.
    RecipientType {
        /// The email was sent.
        Sent = "sent",
        /// The email was delivered.
        Delivered = "delivered",
        /// The email was opened.
        Opened = "opened",
        /// A link was clicked.
        Clicked = "clicked",
        /// The email bounced.
        Bounced = "bounced",
        /// The recipient reported the email as spam.
        Complained = "complained",
        /// The recipient used the unsubscribe link.
        Unsubscribed = "unsubscribed",
        /// The address is on the suppression list.
        Suppressed = "suppressed",
    }
}

open_enum! {
    /// Whether a bounce is permanent.
    BounceType {
        /// The address doesn't exist.
        Permanent = "permanent",
        /// A later email may be delivered.
        Transient = "transient",
        /// The recipient's server didn't say.
        Undetermined = "undetermined",
    }
}

record! {
    /// A recipient of a broadcast.
    pub struct BroadcastRecipient {
        /// An opaque cursor for [`List::after`](crate::List::after), not the ID of a record.
        pub id: String,
        /// The contact; `None` if no contact has this address anymore.
        pub contact_id: Option<ContactId>,
        /// The address.
        pub email: String,
        /// How often the email was opened or clicked; only for these two types.
        pub count: Option<u64>,
        /// The type of the bounce; only for [`RecipientType::Bounced`].
        pub bounce_type: Option<BounceType>,
        /// The links that the recipient clicked; only for [`RecipientType::Clicked`].
        pub clicked_links: Vec<RecipientLink>,
    }
}

record! {
    /// A link that a recipient clicked.
    #[derive(PartialEq, Eq)]
    pub struct RecipientLink {
        /// The link's URL.
        pub url: String,
        /// How often the recipient clicked it.
        pub clicks: Option<u64>,
    }
}

record! {
    /// A clicked link in a broadcast.
    pub struct ClickedLink {
        /// An opaque cursor for [`List::after`](crate::List::after), not the ID of a record.
        pub id: String,
        /// The link's URL.
        pub url: String,
        /// The number of clicks, including repeated ones.
        pub clicks: Option<u64>,
        /// The number of recipients who clicked it.
        pub unique_clicks: Option<u64>,
    }
}

items!(BroadcastRecipient, ClickedLink);

filters! {
    /// Filters for [`Broadcasts::recipients`](super::Broadcasts::recipients).
    BroadcastRecipient {
        /// Lists only recipients whose address contains this text.
        email: String;
        /// Lists only recipients with this type of bounce; for [`RecipientType::Bounced`] only.
        bounce_type: BounceType;
    }
}

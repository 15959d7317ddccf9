//! Why an address is on the suppression list.

open_enum! {
    /// Why an address is on the suppression list.
    SuppressionOrigin {
        /// An email to it bounced.
        Bounce = "bounce",
        /// Its owner reported an email as spam.
        Complaint = "complaint",
        /// It was added manually.
        Manual = "manual",
    }
}

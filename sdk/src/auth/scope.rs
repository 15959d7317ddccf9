//! OAuth scopes.

open_enum! {
    /// What an access token may do (`SPEC.md`, Authentication 3).
    Scope {
        /// Every route.
        FullAccess = "full_access",
        /// The routes that send an email, and the one that sends a broadcast.
        EmailsSend = "emails:send",
    }
}

//! OAuth scopes.

open_enum! {
    /// The scope of an access token (`docs/specification.md`, Authentication 3).
    Scope {
        /// All operations.
        FullAccess = "full_access",
        /// Sending emails and broadcasts.
        EmailsSend = "emails:send",
    }
}

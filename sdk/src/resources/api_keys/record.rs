//! API keys as the service returns them.

use crate::types::{ApiKeyId, ApiKeyToken, Timestamp};

record! {
    /// A newly created API key. The service returns its token only once, and serializing the record leaves it out.
    pub struct CreatedApiKey {
        /// The key's ID.
        pub id: ApiKeyId,
        /// The token: the API key itself.
        pub token - secret: ApiKeyToken,
    }
}

record! {
    /// An API key in a list, without its token.
    pub struct ApiKeySummary {
        /// The key's ID.
        pub id: ApiKeyId,
        /// The key's name.
        pub name: String,
        /// When the key was created.
        pub created_at: Option<Timestamp>,
        /// When the key was last used; `None` if never.
        pub last_used_at: Option<Timestamp>,
    }
}

items!(ApiKeySummary);

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn the_token_never_shows_in_debug() {
        let made: CreatedApiKey = from_value(json!({ "id": "k", "token": "re_sentinel" })).unwrap();
        assert!(!format!("{made:?}").contains("sentinel"));
        assert_eq!(made.token.expose(), "re_sentinel");
    }
}
